import assert from "node:assert/strict";
import test from "node:test";
import {
  counted,
  fixed,
  grouped,
  place,
  range,
  runsIn,
  scale,
  thinned,
  ticks,
  told,
} from "../../../src/gotta/report/page/numbers.js";

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 100), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(0.12, 0.31, 4), [0.15, 0.2, 0.25, 0.3]);
  assert.deepEqual(ticks(3, 3), [3]);
});

test("ranges leave air and pass over gaps", () => {
  const [low, high] = range([null, 0, 10], 0.1);
  assert.deepEqual([low, high], [-1, 11]);
  assert.deepEqual(range([null]), [0, 1]);
});

test("scales are linear", () => {
  assert.equal(scale([0, 10], [100, 0])(2.5), 75);
});

test("numbers that are missing are dashes", () => {
  assert.equal(fixed(null), "–");
  assert.equal(fixed(0.126, 2), "0.13");
});

test("rows are grouped by pseudo-label, wrong and fresh ones known", () => {
  const record = {
    samples: { truth: [0, 1, 1] },
    frames: [
      { rows: [0], labels: [0] },
      { rows: [0, 1, 2], labels: [1, 1, 0] },
    ],
  };
  const groups = grouped(record, 1);
  assert.deepEqual(
    groups.map(([label, rows]) => [label, rows.map((row) => [row.sample, row.wrong, row.fresh])]),
    [
      [0, [[2, true, true]]],
      [
        1,
        [
          [0, true, false],
          [1, false, true],
        ],
      ],
    ],
  );
});

test("decisions are told in words", () => {
  const names = ["ant", "bee"];
  assert.equal(
    told([12, 1, "replaced nearest", 3, 4], names),
    "#12 (bee) replaced #4: it was the nearest to the new one.",
  );
  assert.equal(told([12, 0, "room", 3, null], names), "#12 (ant) stored: there was room.");
  assert.equal(told([12, 0, "coin", -1, null], names), "#12 (ant) not stored: the draw went against it.");
  assert.equal(told([1, 7, "my_reason", 0, null], names), "#1 (7) stored: my reason.");
});

test("samples that never came before the memory say why", () => {
  const text = told([3, 0, "missed", -1, null], ["ant"]);
  assert.equal(text, "#3 (ant) not stored: the method was busy with an earlier batch, or not exposed to this one.");
});

test("decisions are counted, and a cut list says so", () => {
  const decisions = [
    [0, 1, "room", 0, null],
    [1, 1, "replaced oldest", 0, 0],
    [2, 1, "coin", -1, null],
  ];
  const tail = "2 were stored, 1 of them in place of another.";
  assert.equal(counted({ decisions, decided: 3 }), `Of 3 samples ${tail}`);
  assert.equal(counted({ decisions, decided: 9 }), `Of the first 3 samples ${tail}`);
});

test("domains are written with spaces", () => {
  assert.equal(place("shot_noise-5"), "shot noise-5");
});

test("addresses name runs", () => {
  assert.deepEqual(runsIn("#run=a,b"), ["a", "b"]);
  assert.deepEqual(runsIn("#set-up-1"), []);
});

test("a line with fewer points than steps says so", () => {
  assert.match(thinned(96, 2350), /^96 points stand for 2350 steps/);
  assert.equal(thinned(8, 8), "");
});
