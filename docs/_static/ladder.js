// The reader's finished steps: a box at the end of each chapter and in each row of the ladder, kept in this browser alone.
document.addEventListener("DOMContentLoaded", () => {
  const KEY = "openreg-finished-steps";
  const finished = () => {
    try {
      return new Set(JSON.parse(localStorage.getItem(KEY) ?? "[]"));
    } catch {
      return new Set(); // No storage here, or not ours: the boxes work until the page is left.
    }
  };
  const keep = (number, done) => {
    const steps = finished();
    steps[done ? "add" : "delete"](number);
    try {
      localStorage.setItem(KEY, JSON.stringify([...steps].sort()));
    } catch {
      // Likewise.
    }
    show();
  };
  const boxes = new Map(); // box -> [number of its step, row that it stands in]
  const box = (number, words) => {
    const input = document.createElement("input");
    Object.assign(input, { type: "checkbox", className: "form-check-input step-done" });
    input.setAttribute("aria-label", words);
    input.addEventListener("change", () => keep(number, input.checked));
    return input;
  };
  const show = () => {
    const steps = finished();
    for (const [input, [number, row]] of boxes) {
      input.checked = steps.has(number);
      row?.classList.toggle("done", input.checked);
    }
  };

  for (const row of document.querySelectorAll("div.ladder tbody tr")) {
    const number = row.cells[0].textContent.trim();
    if (row.cells[1].querySelector("a")) {
      const input = box(number, `Step ${number} is finished`);
      (row.cells[0].querySelector("p") ?? row.cells[0]).append(" ", input); // beside the number, not below it
      boxes.set(input, [number, row]);
    }
  }
  const chapter = location.pathname.match(/\/guide\/(\d\d)-[^/]*$/);
  const article = document.querySelector("article.bd-article");
  if (chapter && article) {
    const label = document.createElement("label");
    label.className = "step-finished";
    const input = box(chapter[1], `Step ${chapter[1]} is finished`);
    label.append(input, ` I have finished step ${chapter[1]}. The ladder on the start page remembers it, in this browser.`);
    article.append(label);
    boxes.set(input, [chapter[1], null]);
  }
  addEventListener("storage", show); // another page of the guide, in another window
  show();
});
