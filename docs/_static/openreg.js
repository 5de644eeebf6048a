// A long path in the page's table of contents breaks behind a slash.
document.addEventListener("DOMContentLoaded", () => {
  for (const path of document.querySelectorAll("nav.page-toc code .pre")) {
    path.innerHTML = path.innerHTML.replaceAll("/", "/<wbr>");
  }
});

// Paper is white, whatever the screen is.
{
  const page = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => {
    theme = page.dataset.theme;
    page.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.dataset.theme = theme;
  });
}
