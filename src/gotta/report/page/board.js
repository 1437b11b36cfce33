// The leaderboard: which rows its filters show.

/** Does a row with these properties pass the filters? An empty choice passes everything; controls and variants are shown or not. */
export function passes(row, filters) {
  if ((row.control && !filters.controls) || (row.variant && !filters.variants)) return false;
  return ["method", "memory", "prior"].every(
    (name) => filters[name] === "" || row[name] === filters[name] || (name === "memory" && row.control),
  );
}

function kindOf(row) {
  return { ...row.dataset, control: "control" in row.dataset, variant: "variant" in row.dataset };
}

/** Show the rows that pass, and of each board how many there are. */
export function filterBoards() {
  const form = document.getElementById("filters");
  if (!form) return;
  const apply = () => {
    const filters = { controls: form.elements.controls.checked, variants: form.elements.variants?.checked ?? false };
    for (const name of ["method", "memory", "prior"]) filters[name] = form.elements[name].value;
    for (const board of document.querySelectorAll(".board")) {
      const rows = [...board.querySelectorAll("tbody tr")];
      for (const row of rows) row.hidden = !passes(kindOf(row), filters);
      const left = rows.filter((row) => !row.hidden).length;
      const told = left === rows.length ? "" : `${left} of ${rows.length} rows are shown.`;
      board.querySelector(".left").textContent = told;
    }
  };
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  apply();
}
