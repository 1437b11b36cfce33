// A recorded run: the images in the memory at each step, and why they are there.
import { bars, element, label, mark } from "./draw.js";
import { fixed, grouped, range, scale, told } from "./numbers.js";

/** The section for a recording; the slider, its arrow keys and the play button move it. */
export function recordView(record) {
  const output = element("output", { for: "step" });
  const groups = element("div", { class: "groups" });
  const balance = element("div", { class: "chart" });
  const journal = element("ol", { class: "decisions" });
  const plot = map(record);
  const slider = element("input", {
    type: "range",
    id: "step",
    min: 0,
    max: record.frames.length - 1,
    value: record.frames.length - 1,
    "aria-label": "Step of the stream",
    on: { input: () => show(Number(slider.value)) },
  });
  const play = element("button", { type: "button", class: "button", on: { click: toggle } }, "Play");
  let timer = 0;

  function toggle() {
    if (timer) return stop();
    if (Number(slider.value) === record.frames.length - 1) slider.value = -1;
    play.textContent = "Stop";
    timer = setInterval(() => {
      if (!slider.isConnected || Number(slider.value) >= record.frames.length - 1) return stop();
      slider.value = Number(slider.value) + 1;
      show(Number(slider.value));
    }, 350);
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  }

  function show(k) {
    const frame = record.frames[k];
    output.textContent = `step ${frame.step + 1} of ${record.steps}, ${frame.domain}: ${frame.rows.length} images, ${wrongs(record, k)} under a wrong label`;
    groups.replaceChildren(...grouped(record, k).map(([name, rows]) => group(record, name, rows)));
    const counts = record.classes.map((name, c) => [
      name,
      frame.labels.filter((l) => l === c).length,
      record.colours[c],
    ]);
    const few = counts.length <= 20 ? counts : counts.filter(([, n]) => n > 0);
    balance.replaceChildren(bars("Images by pseudo-label", few, Math.max(...few.map(([, n]) => n))));
    journal.replaceChildren(...decisions(record, frame));
    plot.show(frame);
  }

  const section = element(
    "section",
    { "aria-label": "Inside the memory", class: "recording" },
    element("h3", {}, "Inside the memory"),
    element("div", { class: "slider" }, play, slider, output),
    element(
      "p",
      { class: "legend" },
      "Grouped by pseudo-label. Dashed: the true class is another. Framed: new since the recorded step before.",
    ),
    groups,
    element(
      "div",
      { class: "columns" },
      element("div", {}, element("h4", {}, "Class balance"), balance),
      element(
        "div",
        { class: "chart" },
        element("h4", {}, "Map of the stream and the memory"),
        plot.drawing,
        note(record),
      ),
      element("div", {}, element("h4", {}, "Decisions of this step"), journal),
    ),
    record.note ? element("p", { class: "legend" }, record.note) : null,
  );
  section.style.setProperty("--sprite", `url(${record.sprite})`);
  show(record.frames.length - 1);
  return section;
}

function wrongs(record, k) {
  return grouped(record, k).flatMap(([, rows]) => rows.filter((row) => row.wrong)).length;
}

function group(record, name, rows) {
  const tiles = rows.map((row) => tile(record, row.sample, row));
  const title = `${record.classes[name] ?? name} · ${rows.length}`;
  return element(
    "div",
    { class: "group" },
    element("div", { class: "name" }, title),
    element("div", { class: "tiles" }, ...tiles),
  );
}

function tile(record, sample, row = {}) {
  const { truth, position, domain } = record.samples;
  const was = record.classes[truth[sample]] ?? truth[sample];
  const text = `#${position[sample]}, ${record.domains[domain[sample]]}, true class ${was}${row.wrong ? ", pseudo-label wrong" : ""}`;
  const kind = `tile${row.wrong ? " wrong" : ""}${row.fresh ? " new" : ""}`;
  const made = element("span", {
    class: kind,
    role: "img",
    "aria-label": text,
    title: text,
    "data-sample": position[sample],
  });
  const side = 36;
  const column = sample % record.across;
  const line = Math.floor(sample / record.across);
  made.style.backgroundSize = `${record.across * side}px auto`;
  made.style.backgroundPosition = `${-column * side}px ${-line * side}px`;
  made.style.backgroundOrigin = "border-box";
  return made;
}

function decisions(record, frame) {
  const shown = frame.decisions.map((decision) => element("li", {}, told(decision, record.classes)));
  const more = frame.decided - frame.decisions.length;
  if (more > 0) shown.push(element("li", {}, `and ${more} more`));
  return shown.length ? shown : [element("li", {}, "none in this step")];
}

function note(record) {
  return element(
    "p",
    { class: "legend" },
    `First two principal components of the ${record.embedding}, ${fixed(100 * record.explained, 0)} % of the variance. Dots: the stream, coloured by predicted class; squares: the memory.`,
  );
}

/** Points of the stream, and over them the rows of the memory at a step. */
function map(record) {
  const [width, height] = [420, 300];
  const { x, y, label: labels } = record.map;
  const across = scale(range(x), [8, width - 8]);
  const up = scale(range(y), [height - 8, 8]);
  const drawing = mark("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": "Map of the stream and the memory",
  });
  x.forEach((value, k) => {
    const fill = record.colours[labels[k]];
    drawing.append(
      mark("circle", { cx: across(value).toFixed(1), cy: up(y[k]).toFixed(1), r: 2, fill, "fill-opacity": 0.35 }),
    );
  });
  const over = mark("g", { class: "held" });
  drawing.append(over);
  if (!x.length) drawing.append(label(width / 2, height / 2, "nothing was recorded to draw", "middle"));
  return {
    drawing,
    show(frame) {
      const squares = frame.rows.map((sample, i) => {
        const place = {
          x: across(record.samples.x[sample]) - 4,
          y: up(record.samples.y[sample]) - 4,
          width: 8,
          height: 8,
        };
        return mark("rect", { ...place, fill: record.colours[frame.labels[i]], stroke: "var(--ink)" });
      });
      over.replaceChildren(...squares);
    },
  };
}
