// Pure functions: numbers, scales, and what a recording holds at a step.

/** Text of a number with so many decimals; a dash where there is none. */
export function fixed(value, decimals = 1) {
  return value === null || value === undefined ? "–" : value.toFixed(decimals);
}

/** What a reader must know of a line that has fewer points than its run had steps; nothing of a complete one. */
export function thinned(points, steps) {
  if (points >= steps) return "";
  return `${points} points stand for ${steps} steps: accuracy counts every sample, the memory is shown as it was at each point.`;
}

/** Round numbers inside [low, high], about `count` of them. */
export function ticks(low, high, count = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) {
    found.push(Number((k * step).toPrecision(10)));
  }
  return found;
}

/** The range of the values with some air; nulls do not count. */
export function range(values, share = 0.08) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return [0, 1];
  const low = Math.min(...known);
  const high = Math.max(...known);
  const air = Math.max((high - low) * share, 1e-3);
  return [low - air, high + air];
}

/** Linear map from [low, high] to [from, to]. */
export function scale([low, high], [from, to]) {
  return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
}

/** The rows of a frame by pseudo-label: [[label, rows], ...], labels ascending. A row is {sample, label, wrong, fresh}. */
export function grouped(record, k) {
  const frame = record.frames[k];
  const before = new Set(k > 0 ? record.frames[k - 1].rows : []);
  const groups = new Map();
  frame.rows.forEach((sample, i) => {
    const label = frame.labels[i];
    const row = {
      sample,
      label,
      wrong: record.samples.truth[sample] !== label,
      fresh: !before.has(sample),
    };
    groups.set(label, [...(groups.get(label) ?? []), row]);
  });
  return [...groups].sort((a, b) => a[0] - b[0]);
}

/** What the reasons of decisions mean, in words; a reason of somebody's own policy stays as it is. */
export const REASONS = {
  room: "there was room",
  "replaced oldest": "it was the oldest",
  "replaced worst": "it was the worst by age and uncertainty",
  "replaced nearest": "it was the nearest to the new one",
  "replaced redundant": "it was the most redundant",
  "replaced random": "it was drawn at random",
  redundant: "it is too close to a stored one",
  "worse than nearest": "the nearest stored one is better",
  "class full": "its class is full of better ones",
  "memory full": "the memory is full of better ones",
  coin: "the draw went against it",
  uncertain: "the model was not certain enough",
  unexplained: "the policy did not say why",
  missed: "the method was busy with an earlier batch, or not exposed to this one",
  "not offered": "the source model predicted in place of the adapted one",
};

/** One decision as a sentence. */
export function told(decision, names) {
  const [position, label, reason, slot, evicted] = decision;
  const why = REASONS[reason] ?? (reason ? reason.replaceAll("_", " ") : "the policy did not say why");
  const what = `#${position} (${names[label] ?? label})`;
  if (slot < 0) return `${what} not stored: ${why}.`;
  if (evicted === null) return `${what} stored: ${why}.`;
  return `${what} replaced #${evicted}: ${why}.`;
}

/** How many samples of a frame were stored and how many were not, as a sentence. */
export function counted(frame) {
  const shown = frame.decisions;
  const stored = shown.filter(([, , , slot]) => slot >= 0).length;
  const replaced = shown.filter(([, , , , evicted]) => evicted !== null).length;
  const which = frame.decided > shown.length ? `Of the first ${shown.length} samples` : `Of ${shown.length} samples`;
  return `${which} ${stored} ${stored === 1 ? "was" : "were"} stored, ${replaced} of them in place of another.`;
}

/** The name of a domain as people write it. */
export function place(domain) {
  return domain.replaceAll("_", " ");
}

/** The ids in an address such as `#run=a,b`, or none. */
export function runsIn(hash) {
  return hash.startsWith("#run=") ? hash.slice(5).split(",").map(decodeURIComponent) : [];
}
