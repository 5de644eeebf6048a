"""Previous and next: pages beside the ladder are in the list at the left, and not between two chapters."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def neighbours(chain: list[str], beside: set[str], page: str) -> tuple[str | None, str | None]:
    """What comes before and after a page when the pages beside the chain are left out; such a page has neither."""
    main = [name for name in chain if name not in beside]
    if page not in main:
        return None, None
    at = main.index(page)
    return main[at - 1] if at else None, main[at + 1] if at + 1 < len(main) else None


def _chain(relations: dict[str, list[str | None]], start: str) -> list[str]:
    """All pages in the order of the tables of contents."""
    chain: list[str] = []
    page: str | None = start
    while page is not None and page not in chain:
        chain.append(page)
        page = relations.get(page, [None, None, None])[2]
    return chain


def _relink(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Gives a page its neighbours anew if pages beside the chain are among those that Sphinx found."""
    beside = set(app.config.openreg_beside)
    if not beside or page not in app.env.found_docs:
        return
    if not hasattr(app, "openreg_chain"):  # the same for all pages of a build
        app.openreg_chain = _chain(app.env.collect_relations(), app.config.root_doc)
    chain = app.openreg_chain
    if page not in chain:
        return
    for key, name in zip(("prev", "next"), neighbours(chain, beside, page), strict=True):
        context[key] = name and {
            "link": app.builder.get_relative_uri(page, name),
            "title": app.builder.render_partial(app.env.titles[name])["title"],
        }


def setup(app: Sphinx) -> None:
    """Registers the list of pages and the hook."""
    app.add_config_value("openreg_beside", [], "html", types=frozenset({list}))
    app.connect("html-page-context", _relink)
