// Search and filter of the page of operators: shows the rows that contain every word typed and are served as chosen.
// Without a script the page is the whole table.
document.addEventListener("DOMContentLoaded", () => {
  const table = document.querySelector("table.coverage");
  if (!table) {
    return;
  }
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const element = (tag, properties) => Object.assign(document.createElement(tag), properties);

  const bar = element("form", { className: "coverage-bar" });
  bar.addEventListener("submit", (event) => event.preventDefault());
  const box = element("input", { type: "search", className: "form-control", placeholder: "Operator, or what it ends in" });
  box.setAttribute("aria-label", box.placeholder);
  const served = element("select", { className: "form-select" });
  served.setAttribute("aria-label", "Served");
  served.append(element("option", { value: "", textContent: "served in any way" }));
  for (const row of document.querySelectorAll("table.coverage-counts .served")) {
    served.append(element("option", { value: row.classList[1], textContent: row.textContent }));
  }
  const core = element("input", { type: "checkbox", className: "form-check-input" });
  const label = element("label", { className: "form-check-label" });
  label.append(core, " core set only");
  const count = element("p", { className: "coverage-count" });
  count.setAttribute("role", "status");
  bar.append(box, served, label);
  table.before(bar, count);

  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      const fits =
        words.every((word) => texts[i].includes(word)) &&
        (!served.value || row.dataset.served === served.value) &&
        (!core.checked || "core" in row.dataset);
      row.hidden = !fits;
      shown += fits;
    });
    count.textContent = `${shown} of ${rows.length} operators`;
  };
  for (const input of [box, served, core]) {
    input.addEventListener("input", show);
  }
  show();
});
