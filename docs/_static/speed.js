// Search, filter and order of the page of speed: the rows by name, or the slowest first.
document.addEventListener("DOMContentLoaded", () => {
  searchTable({
    selector: "table.speed",
    placeholder: "Operator, shape or reason",
    label: "Order",
    options: () => [["", "by name"], ["3", "× at one element"], ["6", "× at a million"]],
    tick: "above the bar only",
    fits: (row, order, slow) => !slow || "above" in row.dataset,
    chosen: (body, rows, column) => {
      const times = (row) => Number.parseFloat(row.cells[column].textContent) || 0;
      body.append(...(column ? [...rows].sort((one, other) => times(other) - times(one)) : rows));
    },
  });
});
