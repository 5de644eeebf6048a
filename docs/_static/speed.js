// Search, filter and order of the page of speed: shows the rows that contain every word typed, by name or the slowest
// first. Without a script the page is the whole table, by name.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector("table.speed");
  if (!table) {
    return;
  }
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const element = (tag, properties) => Object.assign(document.createElement(tag), properties);

  const bar = element("form", { className: "coverage-bar" });
  bar.addEventListener("submit", (event) => event.preventDefault());
  const box = element("input", { type: "search", className: "form-control", placeholder: "Operator, shape or reason" });
  box.setAttribute("aria-label", box.placeholder);
  const order = element("select", { className: "form-select" });
  order.setAttribute("aria-label", "Order");
  for (const [value, text] of [["", "by name"], ["3", "× at one element"], ["6", "× at a million"]]) {
    order.append(element("option", { value, textContent: text }));
  }
  const slow = element("input", { type: "checkbox", className: "form-check-input" });
  const label = element("label", { className: "form-check-label" });
  label.append(slow, " above the bar only");
  const count = element("p", { className: "coverage-count" });
  count.setAttribute("role", "status");
  bar.append(box, order, label);
  const scrolled = table.closest(".pst-scrollable-table-container") || table;
  scrolled.before(bar, count);

  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      const fits = words.every((word) => texts[i].includes(word)) && (!slow.checked || "above" in row.dataset);
      row.hidden = !fits;
      shown += fits;
    });
    count.textContent = `${shown} of ${rows.length} operators`;
  };
  const sort = () => {
    const times = (row) => Number.parseFloat(row.cells[order.value].textContent) || 0;
    const sorted = order.value ? [...rows].sort((one, other) => times(other) - times(one)) : rows;
    table.tBodies[0].append(...sorted);
  };
  box.addEventListener("input", show);
  slow.addEventListener("input", show);
  order.addEventListener("input", sort);
  show();
});
