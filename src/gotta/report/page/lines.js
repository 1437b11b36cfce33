// The lines of a chart: they light up under the pointer and the keyboard, and the legend switches them on and off.

const NAMED = "[data-line], [data-key]";
const lineOf = (one) => one.dataset.line ?? one.dataset.key;

/** Light the lines of this name and dim the others; null ends it. */
function light(figure, name) {
  for (const one of figure.querySelectorAll(NAMED)) {
    one.classList.toggle("lit", name !== null && lineOf(one) === name);
    one.classList.toggle("dim", name !== null && lineOf(one) !== name);
  }
}

/** Show or hide a line. */
export function switchLine(figure, name, on) {
  for (const one of figure.querySelectorAll(NAMED)) {
    if (lineOf(one) !== name) continue;
    if (one.dataset.key === undefined) one.classList.toggle("off", !on);
    else one.setAttribute("aria-pressed", on);
  }
}

/** A line is thin: an unseen wide one around it is easier to hit. */
function widen(figure) {
  if (figure.dataset.wide) return;
  figure.dataset.wide = "true";
  for (const line of figure.querySelectorAll("[data-line] > polyline")) {
    const wide = line.cloneNode();
    wide.setAttribute("class", "wide");
    line.before(wide);
  }
}

/** What the reader switched: the name of a figure and of a line, and whether it is shown. */
export function switched() {
  return [...document.querySelectorAll("[data-switched]")].map((key) => [
    titleOf(key),
    key.dataset.key,
    key.getAttribute("aria-pressed") === "true",
  ]);
}

/** The same again, on a newer page. */
export function switchAgain(before) {
  for (const [title, name, on] of before) {
    const key = [...document.querySelectorAll("[data-key]")].find(
      (one) => one.dataset.key === name && titleOf(one) === title,
    );
    if (!key) continue;
    key.dataset.switched = "true";
    switchLine(key.closest("figure"), name, on);
  }
}

function titleOf(key) {
  return `${key.closest(".part")?.id} ${key.closest("figure").querySelector("h4").textContent}`;
}

/** Listen on the whole page, so that a newer one needs nothing. */
export function followLines() {
  const at = (event) => event.target.closest?.(".lines [data-line], .lines [data-key]") ?? null;
  for (const name of ["pointerover", "focusin"]) {
    document.addEventListener(name, (event) => {
      const figure = event.target.closest?.("figure.lines");
      if (!figure) return;
      widen(figure);
      const one = at(event);
      light(figure, one ? lineOf(one) : null);
    });
  }
  for (const name of ["pointerout", "focusout"]) {
    document.addEventListener(name, (event) => {
      const one = at(event);
      if (one) light(one.closest("figure"), null);
    });
  }
  document.addEventListener("click", (event) => {
    const key = event.target.closest?.(".lines [data-key]");
    if (!key) return;
    const on = key.getAttribute("aria-pressed") !== "true";
    key.dataset.switched = "true";
    switchLine(key.closest("figure"), key.dataset.key, on);
    light(key.closest("figure"), on ? key.dataset.key : null);
  });
}
