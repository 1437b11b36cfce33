// Elements and small charts.
import { fixed, range, scale, ticks } from "./numbers.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; texts become text nodes, so nothing is ever parsed as HTML. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  return filled(made, attributes, children);
}

export function mark(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, listen] of Object.entries(value)) made.addEventListener(event, listen);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A line over the stream, with a band for each domain. */
export function lineChart({ title, at, values, visits, limits = range(values), colour = "var(--accent)" }) {
  const [width, height] = [360, 184]; // about as wide as a column, so that letters keep their size
  const frame = { left: 44, right: width - 14, top: 22, bottom: height - 36 };
  const x = scale([0, at.at(-1) ?? 1], [frame.left, frame.right]);
  const y = scale(limits, [frame.bottom, frame.top]);
  const known = values.map((value, k) => [at[k], value]).filter(([, value]) => value !== null);
  const ends = known.length ? `, from ${fixed(known[0][1], 2)} to ${fixed(known.at(-1)[1], 2)}` : "";
  const drawing = mark("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title + ends });
  visits.forEach(([name, start, end], k) => {
    const box = { x: x(start), y: frame.top, width: Math.max(0, x(end) - x(start)), height: frame.bottom - frame.top };
    const fill = k % 2 ? "var(--paper)" : "var(--band)";
    drawing.append(mark("rect", { ...box, fill }, mark("title", {}, name)));
  });
  for (const value of ticks(...limits, 4)) {
    drawing.append(
      mark("line", { x1: frame.left, x2: frame.right, y1: y(value), y2: y(value), stroke: "var(--grid)" }),
      label(frame.left - 5, y(value) + 4, String(value), "end"),
    );
  }
  for (const value of ticks(0, at.at(-1) ?? 1, 4)) {
    drawing.append(label(x(value), height - 21, String(value), "middle"));
  }
  drawing.append(label((frame.left + frame.right) / 2, height - 5, "samples of the stream", "middle"));
  drawing.append(label(frame.left, 14, title, "start"));
  const points = known.map(([a, value]) => `${x(a).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  drawing.append(mark("polyline", { points, fill: "none", stroke: colour, "stroke-width": 2 }));
  return drawing;
}

/** Bars from the left, one for each name. */
export function bars(title, entries, most) {
  const width = 360;
  const line = 20;
  const drawing = mark("svg", {
    viewBox: `0 0 ${width} ${line * entries.length + 4}`,
    role: "img",
    "aria-label": `${title}: ${entries.map(([name, value]) => `${name} ${value}`).join(", ")}`,
  });
  const long = scale([0, most || 1], [0, width - 150]);
  entries.forEach(([name, value, colour], k) => {
    const y = k * line;
    drawing.append(
      label(104, y + 14, name, "end"),
      mark("rect", { x: 110, y: y + 3, width: long(value), height: line - 6, fill: colour }),
      label(116 + long(value), y + 14, String(value), "start"),
    );
  });
  return drawing;
}

export function label(x, y, text, anchor) {
  return mark("text", { x, y, "font-size": 11, fill: "var(--faint)", "text-anchor": anchor }, text);
}
