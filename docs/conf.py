"""Sphinx configuration of the guide. `make guide` builds it; warnings are errors."""

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
sys.path.insert(0, str(_HERE / "_ext"))

project = "OpenReg"
author = "the OpenReg authors"
copyright = "the OpenReg authors, BSD-3-Clause"  # noqa: A001 (Sphinx reads this name)
html_title = "OpenReg"

extensions = [
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "breathe",
    "openreg_guide",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext", "_static", "_templates"]
templates_path = ["_templates"]

# -- Markdown ----------------------------------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
highlight_language = "none"

# -- references --------------------------------------------------------------------------------------------------------
nitpicky = True
# Names that other projects document. There is no intersphinx: the site builds without a network.
nitpick_ignore_regex = [
    (r"cpp:identifier", r"(u?int(8|16|32|64)_t|size_t|va_list)"),  # the C library
    (r"cpp:.*", r"(std|c10|c10d|at|torch|libkineto|pybind11)(::.*)?"),  # the C++ library, PyTorch, pybind11
    (r"cpp:identifier", r"kernels(::.*)?"),  # plain data that travels to device code: openreg/kernels
    (r"cpp:identifier", r"(RecordContext|TraceEntry)(::.*)?"),  # PyTorch's, by a shorter name
    (r"cpp:identifier", r"(Backend::)?Options"),  # of a c10d::Backend, by the shorter name that its subclasses see
    (r"cpp:identifier", r"openreg"),  # the namespace: its members have entries, it has none
    (r"cpp:identifier", r"OPENREG_MAX_\w+"),  # macros, where a value is one
    # Opaque on purpose: never defined.
    (r"cpp:identifier", r"or(Stream|Event|Module|Kernel|Subscriber|Graph|GraphExec)"),
    (r"py:.*", r"(torch\.(?!openreg)|collections\.|contextlib\.|types\.|typing\.).*"),  # PyTorch and the Python library
    (r"py:class", r"ctypes\..*"),
    (r"py:class", r"torch_openreg\._C\..*"),  # made in C++; what they have is in _C.pyi
    (r"py:class", r"(int|str|bool|None|float|tuple|list|dict|optional|Any|Self)"),  # built in
]
breathe_projects = {name: str(_ROOT / "build" / "doxygen" / name / "xml") for name in ("contract", "backend")}
breathe_default_project = "contract"
toc_object_entries_show_parents = "hide"
breathe_show_include = False
breathe_default_members = ("members",)
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True

# -- order -------------------------------------------------------------------------------------------------------------
openreg_beside = [
    "guide/drivers",
    "guide/your-backend",
    "guide/isolated-device",
    "guide/gpu",
    "guide/code-generation",
    "guide/replacing-operators",
    "guide/doctor",
    "guide/registration-contract",
    "guide/what-backends-get-wrong",
]  # chapters beside the ladder: neither previous nor next of one

# -- code --------------------------------------------------------------------------------------------------------------
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- HTML --------------------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["openreg.css"]
html_js_files = [
    (script, {"defer": "defer"})
    for script in ("openreg.js", "errors.js", "tables.js", "coverage.js", "speed.js", "autocast.js", "ladder.js")
]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "OpenReg", "image_light": "_static/logo.svg", "image_dark": "_static/logo-dark.svg"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button-field"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 9,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "navigation_depth": 2,
    "collapse_navigation": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
    "back_to_top_button": True,
}
# Pages beside the chapters have no pages below them: an empty column would only take room.
html_sidebars = {page: [] for page in ("index", "how-to-use", "map", "errors", "bugs", "glossary", "about")}
