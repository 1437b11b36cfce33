// A recorded run: the images in the memory at each step, and why they are there.
import { bars, element, label, mark } from "./draw.js";
import { counted, fixed, grouped, place, range, scale, told } from "./numbers.js";

/** The section for a recording; the slider, its arrow keys and the play button move it. */
export function recordView(record) {
  const output = element("output", { for: "step" });
  const groups = element("div", { class: "groups" });
  const balance = element("div", { class: "chart" });
  const journal = element("div", { class: "decisions", tabindex: 0, role: "region", "aria-label": "Decisions" });
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
  const labelled = record.true_labels ? "true class" : "pseudo-label";
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
    const at = `step ${frame.step + 1} of ${record.steps}, ${place(frame.domain)}`;
    const wrong = record.true_labels ? "" : `, ${wrongs(record, k)} under a wrong label`;
    output.textContent = `${at}: ${frame.rows.length} images${wrong}`;
    slider.setAttribute("aria-valuetext", at);
    groups.replaceChildren(...grouped(record, k).map(([name, rows]) => group(record, name, rows)));
    const counts = record.classes.map((name, c) => [
      name,
      frame.labels.filter((l) => l === c).length,
      record.colours[c],
    ]);
    const few = counts.length <= 20 ? counts : counts.filter(([, n]) => n > 0);
    balance.replaceChildren(bars(`Images by ${labelled}`, few, Math.max(...few.map(([, n]) => n))));
    journal.replaceChildren(...decisions(record, frame));
    journal.scrollTop = 0;
    plot.show(frame);
  }

  const section = element(
    "section",
    { "aria-label": "Inside the memory", class: "recording" },
    element("h3", {}, record.decides === false ? "The batch of each step" : "Inside the memory"),
    element("div", { class: "slider" }, play, slider, output),
    legendOf(record, labelled),
    groups,
    element(
      "div",
      { class: "columns" },
      element("div", {}, element("h4", {}, `Class balance: images by ${labelled}`), balance),
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
  section.style.setProperty("--across", record.across);
  show(record.frames.length - 1);
  return section;
}

function legendOf(record, labelled) {
  const key = (kind, text) => [element("span", { class: `key ${kind}` }), ` ${text} `];
  const told = record.true_labels ? " This control is told the true classes, so no label is wrong." : "";
  const batch = record.decides === false ? "There is no memory in this run: shown is the batch it adapts on. " : "";
  return element(
    "p",
    { class: "legend" },
    `${batch}Grouped by ${labelled}.${told} `,
    ...(record.true_labels ? [] : key("wrong", "the true class is another;")),
    ...key("new", "new since the recorded step before."),
  );
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
  const was = record.classes[truth[sample]] ?? (truth[sample] < 0 ? "foreign" : truth[sample]);
  const text = `#${position[sample]}, ${place(record.domains[domain[sample]])}, true class ${was}${row.wrong ? ", pseudo-label wrong" : ""}`;
  const kind = `tile${row.wrong ? " wrong" : ""}${row.fresh ? " new" : ""}`;
  const made = element("span", {
    class: kind,
    role: "img",
    "aria-label": text,
    title: text,
    "data-sample": position[sample],
  });
  made.style.setProperty("--column", sample % record.across);
  made.style.setProperty("--line", Math.floor(sample / record.across));
  return made;
}

function decisions(record, frame) {
  if (record.decides === false)
    return [element("p", {}, "None: without a memory the method adapts on each batch as it comes.")];
  if (!frame.decisions.length) return [element("p", {}, "None in this step.")];
  const known = new Map(record.samples.position.map((position, sample) => [position, sample]));
  const lines = frame.decisions.map((decision) => decisionLine(record, decision, known));
  const more = frame.decided - frame.decisions.length;
  if (more > 0) lines.push(element("li", {}, `and ${more} more`));
  return [element("p", {}, counted(frame)), element("ol", {}, ...lines)];
}

/** One decision in words, each sample with its picture if there is one. */
function decisionLine(record, decision, known) {
  const parts = told(decision, record.classes).split(/(?<=^| )#(?=\d)/);
  const numbered = parts.slice(1).map((part) => {
    const sample = known.get(Number.parseInt(part, 10));
    return sample === undefined ? `#${part}` : element("span", {}, tile(record, sample), `#${part}`);
  });
  return element("li", {}, ...numbered);
}

function note(record) {
  return element(
    "p",
    { class: "legend" },
    `First two principal components of the ${record.embedding}, ${fixed(100 * record.explained, 0)} % of the variance. Dots: the stream, coloured by predicted class; squares: the ${record.decides === false ? "batch" : "memory"}, in the colours of the bars.`,
  );
}

/** Points of the stream, and over them the rows of the memory at a step. */
function map(record) {
  const [width, height] = [420, 300];
  const { x, y, label: labels } = record.map;
  const across = scale(range([...x, ...record.samples.x]), [8, width - 8]);
  const up = scale(range([...y, ...record.samples.y]), [height - 8, 8]);
  const drawing = mark("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": "Map of the stream and the memory",
  });
  x.forEach((value, k) => {
    const fill = record.colours[labels[k]];
    drawing.append(
      mark("circle", { cx: across(value).toFixed(1), cy: up(y[k]).toFixed(1), r: 2.5, fill, "fill-opacity": 0.5 }),
    );
  });
  const over = mark("g", { class: "held" });
  drawing.append(over);
  if (!x.length) drawing.append(label(width / 2, height / 2, "nothing was recorded to draw", "middle"));
  return {
    drawing,
    show(frame) {
      const squares = frame.rows.map((sample, i) => {
        const corner = {
          x: across(record.samples.x[sample]) - 4,
          y: up(record.samples.y[sample]) - 4,
          width: 8,
          height: 8,
        };
        const name = `#${record.samples.position[sample]}, ${record.classes[frame.labels[i]]}`;
        const fill = record.colours[frame.labels[i]];
        return mark("rect", { ...corner, fill, stroke: "var(--ink)" }, mark("title", {}, name));
      });
      over.replaceChildren(...squares);
    },
  };
}
