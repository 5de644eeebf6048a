// Search and filter of the page of operators: shows the rows that are served as chosen.
document.addEventListener("DOMContentLoaded", () => {
  searchTable({
    selector: "table.coverage",
    placeholder: "Operator, or what it ends in",
    label: "Served",
    options: () => [
      ["", "served in any way"],
      ...[...document.querySelectorAll("table.coverage-counts .served")].map((it) => [it.classList[1], it.textContent]),
    ],
    tick: "core set only",
    fits: (row, served, core) => (!served || row.dataset.served === served) && (!core || "core" in row.dataset),
  });
});
