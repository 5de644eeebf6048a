"""A browser without a window, which runs a script in a page of the site and says what the script returns."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

# Debian's and Ubuntu's names, and those of other packages; BROWSER_FOR_TESTS is a path of one's own.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# Runs at the end of the page, when its own scripts have run, and leaves its answer as the page's only text.
_RUN = """
<script>
window.addEventListener("load", async () => {
  let answer;
  try {
    answer = { value: await (async () => { %s })() };
  } catch (error) {
    answer = { error: String(error.stack || error) };
  }
  const place = document.createElement("pre");
  place.id = "answer";
  place.textContent = JSON.stringify(answer);
  document.body.replaceChildren(place);
});
</script>
"""

# Each page in a frame, one after the other.
_IN_FRAMES = """
        const answers = {};
        for (const page of given.pages) {
          const frame = document.createElement("iframe");
          frame.style = given.style;
          const loaded = new Promise((done) => { frame.onload = done; });
          frame.src = given.site + page;
          document.body.append(frame);
          await loaded;
          answers[page] = new frame.contentWindow.Function(given.script)();
          frame.remove();
        }
        return answers;
"""


def find() -> str | None:
    """Path of a Chromium, or None."""
    names = [os.environ.get("BROWSER_FOR_TESTS"), *NAMES]
    return next((path for path in (shutil.which(name) for name in names if name) if path), None)


def ask(site: Path, page: str, script: str, folder: Path, *, width: int = 1400, theme: str = "light") -> Any:
    """What a script returns in a page, as JSON carries it.

    Args:
        site: The built site, which is not changed.
        page: Path of a page in it.
        script: Body of an async function.
        folder: A folder for this call alone.
        width: Of the window.
        theme: ``light`` or ``dark``.
    """
    copy = folder / page
    copy.parent.mkdir(parents=True, exist_ok=True)
    for name in ("_static", "_sphinx_design_static"):
        if (site / name).is_dir() and not (folder / name).exists():
            (folder / name).symlink_to((site / name).resolve())
    chosen = f"<script>localStorage.mode = localStorage.theme = '{theme}';</script>"
    text = (site / page).read_text(encoding="utf-8").replace("<head>", f"<head>{chosen}", 1)
    copy.write_text(text.replace("</body>", _RUN % script + "</body>"), encoding="utf-8")
    return _answer(copy, folder, width)


def ask_each(site: Path, pages: list[str], script: str, folder: Path, *, width: int = 1400) -> dict[str, Any]:
    """What a script returns in each of these pages, which one browser shows in frames of that width, one by one."""
    given = {"pages": pages, "style": f"width: {width}px; height: 1000px; border: 0", "script": script}
    run = f"const given = {json.dumps(given | {'site': f'{site.resolve().as_uri()}/'})};" + _IN_FRAMES
    runner = folder / "runner.html"
    runner.write_text(f"<!doctype html><body>{_RUN % run}</body>", encoding="utf-8")
    return _answer(runner, folder, width + 100, "--allow-file-access-from-files")


def _answer(page: Path, folder: Path, width: int, *options: str) -> Any:
    """What the script in a page leaves there."""
    browser = find()
    if browser is None:
        pytest.skip("no Chromium: tools/setup.sh installs Debian's where it may")
    command = [
        browser,
        *options,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ]
    command += [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},1000"]
    command += ["--virtual-time-budget=20000", "--dump-dom", page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    found = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, f"the page gave no answer\n{done.stdout[-500:]}\n{done.stderr[-2000:]}"
    answer = json.loads(html.unescape(found[1]))
    assert "error" not in answer, answer["error"]
    return answer["value"]
