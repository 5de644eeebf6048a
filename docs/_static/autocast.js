// Search and filter of the page of autocast's lists: shows the rows whose operator is in the chosen list here.
document.addEventListener("DOMContentLoaded", () => {
  searchTable({
    selector: "table.autocast",
    placeholder: "Operator",
    label: "List",
    options: () => [
      ["", "in any list"],
      ...[...document.querySelectorAll("table.autocast-counts .rule")].map((it) => [it.classList[1], it.textContent]),
    ],
    tick: "only where devices differ",
    fits: (row, rule, differs) => (!rule || row.dataset.rule === rule) && (!differs || "differs" in row.dataset),
  });
});
