// The page: toggles of the tables, and the run that the address names.
import { followLines, switchAgain, switched } from "./lines.js";
import { follow } from "./live.js";
import { runsIn } from "./numbers.js";
import { openRuns } from "./run.js";

const live = "live" in document.documentElement.dataset;
const dialog = document.getElementById("run");
let data = JSON.parse(document.getElementById("data").textContent);

function choose(part, key) {
  for (const view of part.querySelectorAll(".view")) view.hidden = view.dataset.view !== key;
}

function chosen(part) {
  return part.querySelector(".toggle input:checked")?.value;
}

async function recording(id) {
  const there = document.getElementById(`record-${id}`);
  if (there) return JSON.parse(there.textContent);
  if (!live || !data.recorded.includes(id)) return null;
  const answer = await fetch(`records/${encodeURIComponent(id)}.json`);
  return answer.ok ? answer.json().catch(() => null) : null; // a damaged file is no recording
}

function route() {
  const ids = runsIn(location.hash);
  if (ids.length) openRuns(dialog, ids, data, recording);
  else if (dialog.open) dialog.close();
}

function leave() {
  const ids = location.hash;
  if (!runsIn(ids).length) return;
  history.pushState(null, "", location.pathname + location.search);
  document.querySelector(`.view:not([hidden]) a[href="${CSS.escape(ids)}"]`)?.focus();
}

/** Where the keyboard is, as a selector: a toggle or a number of a table; empty elsewhere. */
function focused() {
  const at = document.querySelector("main").contains(document.activeElement) ? document.activeElement : null;
  if (at?.matches("input")) return `input[name="${at.name}"][value="${at.value}"]`;
  return at?.matches("a[href]") ? `.view:not([hidden]) a[href="${CSS.escape(at.getAttribute("href"))}"]` : "";
}

function unfolded() {
  return [...document.querySelectorAll("main details")].map((one) => [nameOf(one), one]);
}

function nameOf(details) {
  return `${details.closest(".part")?.id} ${details.firstElementChild.textContent.replace(/\d+/, "")}`;
}

/** Take over a newer page; toggles, what is unfolded, and the keyboard stay as they were. */
function renew(main) {
  const open = new Set(unfolded().flatMap(([name, one]) => (one.open ? [name] : [])));
  const place = focused();
  const lines = switched();
  const before = new Map([...document.querySelectorAll(".part")].map((part) => [part.id, chosen(part)]));
  document.querySelector("main").replaceWith(main);
  data = JSON.parse(document.getElementById("data").textContent);
  for (const [id, key] of before) {
    const part = id && document.getElementById(id);
    const input = part && [...part.querySelectorAll(".toggle input")].find((one) => one.value === key);
    if (input) {
      input.checked = true;
      choose(part, key);
    }
  }
  for (const [name, one] of unfolded()) one.open = open.has(name);
  switchAgain(lines);
  if (place) document.querySelector(place)?.focus({ preventScroll: true });
}

/** Hide the rows of all tables that lack a text. */
function filterRows(text) {
  for (const row of document.querySelectorAll("main tbody tr")) {
    row.hidden = !row.textContent.toLowerCase().includes(text.toLowerCase());
  }
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-filter]")) filterRows(event.target.value);
});
document.addEventListener("change", (event) => {
  if (event.target.matches(".toggle input")) choose(event.target.closest(".part"), event.target.value);
});
dialog.addEventListener("close", leave);
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
addEventListener("hashchange", route);
for (const part of document.querySelectorAll(".part")) choose(part, chosen(part));
route();
followLines();
if (live) follow(renew);
