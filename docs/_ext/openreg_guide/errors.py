"""The directives `error` and `errorindex`: error text, cause, fix, in the chapter that explains it and on one page.

The text of an entry must be a real one. `:from:` names a recorded file that contains it (a test compares the file with
a run); `:test:` names a test function that has it in a string, or a pattern or f-string that fits all of it, and thus
asserts it: its own, or one of a table of the module that it names.
The text is a whole message, or whole sentences of one, because the search of the index compares it with what is pasted.
"""

from __future__ import annotations

import ast
import hashlib
import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import docname_join, logging
from sphinx.util.docutils import SphinxDirective

from .repository import Repository, RepositoryError, repository

_log = logging.getLogger(__name__)
_RECORDED = re.compile(r"(steps|examples)/[^/]+/(before|after)\.txt|tests/recorded/[^/]+\.txt")
# What is before a message or a sentence, and behind a message.
_BEGINS = re.compile(r"""(^|[\n"'`^]|(Error|Warning|Exception|openreg|\bor[A-Z]\w+):?[ ]|[.!][ ])\s*$""")
_ENDS = re.compile(r"""\s*$|\s*[\n"'`$]""")


class errorindex(nodes.General, nodes.Element):  # noqa: N801 (docutils' style for nodes)
    """Where the list of all entries goes."""


def _blanks(text: str) -> str:
    return " ".join(text.split())


def _unescape(pattern: str) -> str:
    """A `match=` pattern as the text it stands for, as far as backslashes go."""
    return re.sub(r"\\(\W)", r"\1", pattern)


def _function(tree: ast.Module, names: list[str]) -> ast.FunctionDef | None:
    """The test function that a node id names, possibly within a class."""
    body: list[ast.stmt] = tree.body
    found: ast.stmt | None = None
    for name in names:
        found = next(
            (node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name), None
        )
        if found is None:
            return None
        body = found.body
    return found if isinstance(found, ast.FunctionDef) else None


def _with_tables(tree: ast.Module, function: ast.FunctionDef) -> list[ast.AST]:
    """All nodes of a function, and of what the module assigns to the names that it uses."""
    found = list(ast.walk(function))
    used = {node.id for node in found if isinstance(node, ast.Name)}
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(target, ast.Name) and target.id in used for target in targets):
            found += ast.walk(statement)
    return found


def _whole(node: ast.AST, text: str) -> bool:
    """Whether a string of a test stands for all of a text, by a pattern or by values that it puts in.

    A pattern counts if at least half of the text is in it as it is.
    """
    if isinstance(node, ast.JoinedStr):
        parts = [re.escape(_blanks(part.value)) if isinstance(part, ast.Constant) else ".+?" for part in node.values]
        pattern = literal = "".join(parts)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        pattern = literal = _blanks(node.value).removeprefix("^").removesuffix("$")
    else:
        return False
    literal = re.sub(r"\\[dwsS][+*]?|\.[*+]\??|\[[^]]*\][*+]?", "", literal)
    try:
        return 2 * len(_unescape(literal)) >= len(text) and re.fullmatch(pattern, text) is not None
    except re.error:
        return False


def _numbers(text: str) -> str:
    """A text with 0 for each number, and for what a test's program puts in: they are those of one run."""
    return re.sub(r"0x[0-9a-f]+|\d+|\\d\+|\{[^{}]*\}", "0", text)


def _says(source: str, text: str) -> bool:
    """Whether a text stands in a record or in a test from where a message begins to where it or a sentence ends."""
    joined = re.sub(r'"\n *f?"', "", source)  # of a program in a string
    source, text = _numbers(joined), _numbers(text)
    for found in re.finditer(re.sub(r"(\\ )+", r"\\s+", re.escape(text)), source):
        begins = _BEGINS.search(source[: found.start()])
        if begins and (text[-1] in ".!" or _ENDS.match(source[found.end() :])):
            return True
    return False


def check_origin(repo: Repository, text: str, recorded: str | None, test: str | None) -> str:
    """Looks for an entry's text where the entry says it comes from.

    Args:
        repo: The repository.
        text: The error text of the entry.
        recorded: Path of a recorded file, or None.
        test: Node id of a test, or None.

    Returns:
        The path of the file that has the text.

    Raises:
        RepositoryError: It is not there, or not exactly one of the two was given.
    """
    if (recorded is None) == (test is None):
        raise RepositoryError("an error entry has exactly one of :from: and :test:")
    if recorded is not None:
        if not _RECORDED.fullmatch(recorded):
            raise RepositoryError(
                f":from: is {recorded}; expected a recorded file: steps/NAME/before.txt, after.txt or"
                " tests/recorded/NAME.txt"
            )
        if not _says(repo.read(recorded), _blanks(text)):
            raise RepositoryError(f"{recorded} does not have {text!r} as a whole message or as whole sentences of one")
        return recorded
    path, *names = test.split("::")
    tree = ast.parse(repo.read(path))
    function = _function(tree, names)
    if function is None or not names[-1].startswith("test"):
        raise RepositoryError(f":test: is {test}; there is no such test function in {path}")
    nodes_of_it = _with_tables(tree, function)
    strings = [node.value for node in nodes_of_it if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    wanted = _blanks(text)
    said = any(_says(string, wanted) or _says(_unescape(string), wanted) for string in strings)
    if not said and not any(_whole(node, wanted) for node in nodes_of_it):
        raise RepositoryError(f"{test} has no string with {text!r} as a whole message or as whole sentences of one")
    return path


class Error(SphinxDirective):
    """One entry: the text as argument, then a cause and a fix."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {
        "from": directives.unchanged_required,
        "test": directives.unchanged_required,
        "name": directives.unchanged_required,
    }

    def _halves(self) -> tuple[StringList, StringList]:
        """The body, split where the fix begins."""
        starts = [index for index, line in enumerate(self.content) if line.startswith("Fix:")]
        first = next((index for index, line in enumerate(self.content) if line.strip()), 0)
        if len(starts) != 1 or not self.content or not self.content[first].startswith("Cause:"):
            raise self.error(
                "an error entry is a paragraph that starts with 'Cause:' and then one that starts with 'Fix:'"
            )
        cause, fix = self.content[first : starts[0]], self.content[starts[0] :]
        for half, word in ((cause, "Cause:"), (fix, "Fix:")):
            text = half[0].removeprefix(word).lstrip()
            half[0] = text[:1].upper() + text[1:]  # the word before it becomes a heading
            if not "".join(half).strip():
                raise self.error(f"nothing follows {word!r}")
        return cause, fix

    def run(self) -> list[nodes.Node]:
        """Returns the box, and keeps a copy for the index."""
        text = _blanks(self.arguments[0])
        repo = repository(self.env)
        try:
            origin = check_origin(repo, text, self.options.get("from"), self.options.get("test"))
        except RepositoryError as error:
            raise self.error(str(error)) from error
        self.env.note_dependency(str(repo.root / origin))
        anchor = "error-" + hashlib.sha256(text.encode()).hexdigest()[:8]
        box = nodes.container(classes=["error-entry"], ids=[anchor])
        box += nodes.literal_block(text, text, language="text", classes=["error-text"])
        halves = self._halves()
        for half, word in zip(halves, ("Cause", "Fix"), strict=True):
            body = nodes.container(classes=["error-" + word.lower()])
            body += nodes.rubric(word, word, classes=["error-word"])
            body += self.parse_text_to_nodes("\n".join(half), offset=self.content_offset)
            box += body
        self.add_name(box)
        entry = {
            "docname": self.env.docname,
            "anchor": anchor,
            "text": text,
            "line": self.lineno,
            "box": box.deepcopy(),
        }
        self.env.openreg_errors.append(entry)
        return [box]


class ErrorIndex(SphinxDirective):
    """The place of the list."""

    def run(self) -> list[nodes.Node]:
        """Returns a node that is filled when all documents have been read."""
        self.env.openreg_error_indexes.add(self.env.docname)
        return [errorindex()]


class FillErrorIndex(SphinxPostTransform):
    """Puts the sorted entries in place, before references in them are resolved."""

    default_priority = 4

    def _move_references(self, box: nodes.Element) -> None:
        """Makes references of a copied entry start from this page; they resolve relative to where they were read."""
        for reference in box.findall(addnodes.pending_xref):
            if reference.get("reftype") == "doc":
                reference["reftarget"] = "/" + docname_join(reference["refdoc"], reference["reftarget"])
            reference["refdoc"] = self.env.docname

    def run(self, **kwargs: Any) -> None:
        """Replaces each place by the list."""
        for place in list(self.document.findall(errorindex)):
            entries = sorted(self.env.openreg_errors, key=lambda entry: entry["text"].casefold())
            listing = nodes.container(classes=["error-index"])
            for entry in entries:
                box = entry["box"].deepcopy()
                box["names"] = []
                self._move_references(box)
                title = self.env.titles[entry["docname"]].astext()
                link = nodes.reference(title, title, internal=True, refuri="#")
                link["openreg_target"] = (entry["docname"], entry["anchor"])
                box += nodes.paragraph("", "", nodes.Text("From "), link, classes=["error-origin"])
                listing += box
            place.replace_self(listing)


def _prepare(app: Sphinx) -> None:
    for name, empty in (("openreg_errors", []), ("openreg_error_indexes", set())):
        if not hasattr(app.env, name):
            setattr(app.env, name, empty)


def _purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    env.openreg_errors = [entry for entry in env.openreg_errors if entry["docname"] != docname]
    env.openreg_error_indexes.discard(docname)


def _merge(app: Sphinx, env: BuildEnvironment, docnames: list[str], other: BuildEnvironment) -> None:
    env.openreg_errors += [entry for entry in other.openreg_errors if entry["docname"] in docnames]
    env.openreg_error_indexes |= other.openreg_error_indexes & set(docnames)


def _check_unique(app: Sphinx, env: BuildEnvironment) -> None:
    """A text is explained once: two entries would drift apart."""
    first: dict[str, str] = {}
    for entry in env.openreg_errors:
        if entry["text"] in first:
            where = first[entry["text"]]
            place = (entry["docname"], entry["line"])
            _log.warning("the error text %r is explained in %s already", entry["text"], where, location=place)
        first.setdefault(entry["text"], entry["docname"])


def _outdated(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The index is written anew whenever anything is: an entry elsewhere may have changed."""
    return sorted(env.openreg_error_indexes)


def setup(app: Sphinx) -> None:
    """Registers the directives. `error` takes the place of docutils' admonition of that name."""
    app.add_node(errorindex)
    app.add_directive("error", Error, override=True)
    app.add_directive("errorindex", ErrorIndex)
    app.add_post_transform(FillErrorIndex)
    app.connect("builder-inited", _prepare)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("env-updated", _outdated)
    app.connect("env-check-consistency", _check_unique)
