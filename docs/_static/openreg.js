// A long path in the page's table of contents breaks behind a slash.
document.addEventListener("DOMContentLoaded", () => {
  for (const path of document.querySelectorAll("nav.page-toc code .pre")) {
    path.innerHTML = path.innerHTML.replaceAll("/", "/<wbr>");
  }
});

// The filter of the error index: shows the entries that contain every word typed. Works without a network, like the rest.
document.addEventListener("DOMContentLoaded", () => {
  const index = document.querySelector(".error-index");
  if (!index) {
    return;
  }
  const entries = [...index.querySelectorAll(".error-entry")];
  const texts = entries.map((entry) => entry.textContent.toLowerCase());

  const box = document.createElement("input");
  box.type = "search";
  box.className = "error-filter form-control";
  box.placeholder = "Paste a part of your error message";
  box.setAttribute("aria-label", box.placeholder);
  const count = document.createElement("p");
  count.className = "error-count";
  count.setAttribute("role", "status");
  index.before(box, count);

  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    entries.forEach((entry, i) => {
      const fits = words.every((word) => texts[i].includes(word));
      entry.hidden = !fits;
      shown += fits;
    });
    count.textContent = `${shown} of ${entries.length} errors`;
  };
  box.addEventListener("input", show);
  show();
});
