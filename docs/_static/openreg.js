// A long path in the page's table of contents breaks behind a slash.
document.addEventListener("DOMContentLoaded", () => {
  for (const path of document.querySelectorAll("nav.page-toc code .pre")) {
    path.innerHTML = path.innerHTML.replaceAll("/", "/<wbr>");
  }
});
