// A form above a long table of operators: a search for the rows that contain every word typed, a choice and a tick box.
// Without a script the page is the whole table.
//
//   selector     of the table; a page without one is left alone
//   placeholder  what can be searched for
//   label        of the choice, and its `options`: a function that returns pairs of value and text
//   tick         the text beside the tick box
//   fits         whether a row is shown: (row, chosen value, ticked)
//   chosen       called with the rows' parent, the rows and the value, when another one is chosen; may be left out
const searchTable = ({ selector, placeholder, label, options, tick, fits, chosen }) => {
  const table = document.querySelector(selector);
  if (!table) {
    return;
  }
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const element = (tag, properties) => Object.assign(document.createElement(tag), properties);

  const bar = element("form", { className: "coverage-bar" });
  bar.addEventListener("submit", (event) => event.preventDefault());
  const box = element("input", { type: "search", className: "form-control", placeholder });
  box.setAttribute("aria-label", box.placeholder);
  const choice = element("select", { className: "form-select" });
  choice.setAttribute("aria-label", label);
  for (const [value, text] of options()) {
    choice.append(element("option", { value, textContent: text }));
  }
  const ticked = element("input", { type: "checkbox", className: "form-check-input" });
  const beside = element("label", { className: "form-check-label" });
  beside.append(ticked, ` ${tick}`);
  const count = element("p", { className: "coverage-count" });
  count.setAttribute("role", "status");
  bar.append(box, choice, beside);
  const scrolled = table.closest(".pst-scrollable-table-container") || table;
  scrolled.before(bar, count);

  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      const isShown = words.every((word) => texts[i].includes(word)) && fits(row, choice.value, ticked.checked);
      row.hidden = !isShown;
      shown += isShown;
    });
    count.textContent = `${shown} of ${rows.length} operators`;
  };
  for (const input of [box, choice, ticked]) {
    input.addEventListener("input", show);
  }
  if (chosen) {
    choice.addEventListener("input", () => chosen(table.tBodies[0], rows, choice.value));
  }
  show();
};
