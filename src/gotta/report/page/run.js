// One run in a dialog: its numbers, its way over the stream, its settings, its recording.
import { bars, element, lineChart } from "./draw.js";
import { fixed, place, thinned } from "./numbers.js";
import { recordView } from "./record.js";

/** Fill the dialog with the runs of a cell, the wanted one or the first with images in front. `recording(id)` promises its recording or null. */
export function openRuns(dialog, ids, data, recording, wanted = null) {
  const known = ids.filter((id) => id in data.runs);
  const first = known.find((id) => data.inside.includes(id)) ?? known[0];
  const chosen = known.includes(wanted) ? wanted : first;
  if (chosen === undefined) return show(dialog, [element("p", {}, "This page has no such run.")], "No such run");
  const other = picker(dialog, known, chosen, data, recording);
  show(dialog, body(chosen, data, recording), data.runs[chosen].label, other);
}

function picker(dialog, ids, chosen, data, recording) {
  if (ids.length < 2) return null;
  const change = (event) => {
    openRuns(dialog, ids, data, recording, event.target.value);
    dialog.querySelector("select").focus(); // the keyboard stays where it was
  };
  const options = ids.map((id) =>
    element("option", { value: id, selected: id === chosen }, `seed ${data.runs[id].seed}`),
  );
  return element("label", {}, "Run: ", element("select", { on: { change } }, ...options));
}

function show(dialog, children, title, extra = null) {
  const close = element("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Close");
  const bar = element("div", { class: "bar" }, element("h2", { id: "run-title", tabindex: -1 }, title), extra, close);
  dialog.replaceChildren(bar, ...children);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

function body(id, data, recording) {
  const run = data.runs[id];
  const place = element("div", { class: "place" });
  recording(id).then((record) => {
    if (record) place.replaceChildren(recordView(record));
    else place.replaceChildren(element("p", { class: "legend" }, missing(id, data)));
  });
  const middle = run.command ? [again(run)] : [place, overStream(run, data.curves)];
  return [facts(run), ...middle, perDomain(run), decided(run), settings(run)].filter((part) => part !== null);
}

function section(title, ...children) {
  return element("section", {}, element("h3", {}, title), ...children);
}

function table(pairs) {
  const lines = pairs.map(([name, value]) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value)),
  );
  return element("table", {}, element("tbody", {}, ...lines));
}

/** What computes the run again: the command, and the spec that it takes. */
function again(run) {
  return section(
    "Run it again",
    element("p", {}, "In the folder of this page: ", element("code", {}, run.command)),
    element("p", {}, element("a", { href: run.spec }, run.spec), " holds its whole spec:"),
    element("pre", { class: "spec", tabindex: 0 }, run.text),
  );
}

function missing(id, data) {
  if (data.recorded.includes(id) && "live" in document.documentElement.dataset)
    return "The recording of this run cannot be read. Delete its file in records/, and `--record` makes it anew.";
  if (data.recorded.includes(id))
    return "This run was recorded; to keep this file small its images are left out. `gotta watch` shows them.";
  return "The images in its memory were not recorded; `--record` of `gotta bench` and `gotta run` keeps them.";
}

function facts(run) {
  const shown = { "accuracy %": fixed(run.accuracy), "error %": fixed(run.error), seconds: fixed(run.seconds) };
  for (const [phase, seconds] of Object.entries(run.cost)) shown[`${phase} s`] = fixed(seconds, 2);
  const pairs = Object.entries(shown).map(([name, text]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, text)),
  );
  return element("dl", { class: "facts" }, ...pairs);
}

function overStream(run, curves) {
  if (run.at.length < 2) return null;
  const fewer = thinned(run.at.length, run.steps);
  const charts = [lineChart({ title: "Accuracy in %, moving mean", at: run.at, values: run.over, visits: run.visits })];
  for (const [name, values] of Object.entries(run.state)) {
    charts.push(lineChart({ ...curves[name], at: run.at, values, visits: run.visits, colour: "var(--wrong)" }));
  }
  return section(
    "Over the stream",
    element("p", { class: "legend" }, `Bands: the domains in their order, ${domainsOf(run)}.`),
    element("div", { class: "columns" }, ...charts.map((c) => element("div", { class: "chart" }, c))),
    fewer ? element("p", { class: "legend" }, fewer) : null,
  );
}

function domainsOf(run) {
  const names = run.visits.map(([name]) => place(name));
  return names.length > 20 ? `${names.slice(0, 20).join(", ")} and ${names.length - 20} more` : names.join(", ");
}

function perDomain(run) {
  if (!run.domains.length) return null;
  const entries = run.domains.map(([name, value]) => [place(name), Number(value.toFixed(1)), "var(--good)"]);
  const chart = element("div", { class: "chart domains" }, bars("Accuracy in percent", entries, 100));
  return section("Accuracy in each domain, in %", chart);
}

function decided(run) {
  const entries = Object.entries(run.decisions);
  if (!entries.length) return null;
  const counts = entries.map(([reason, count]) => [reason.replaceAll("_", " "), String(count)]);
  return section("Decisions of the memory", table(counts));
}

function settings(run) {
  const all = table([...run.settings, ...Object.entries(run.made)]);
  const summary = element("summary", {}, "Settings and environment");
  return element("details", {}, summary, element("div", { class: "scroll" }, all));
}
