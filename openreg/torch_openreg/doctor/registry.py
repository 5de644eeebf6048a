"""What a probe is, what it can answer, and the list of all probes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import Backend


class Word(StrEnum):
    """The verdict on a mechanism."""

    WORKS = "works"
    NOT_SEEN = "not seen"
    MISSING = "missing"
    SILENT = "silently does nothing"
    WRONG = "wrong"


class Answer(Exception):
    """Raised by a probe whose mechanism doesn't work; the text is the symptom."""

    word = Word.WRONG


class Missing(Answer):
    """The mechanism isn't there, and PyTorch or the backend says so."""

    word = Word.MISSING


class NotSeen(Answer):
    """The call is accepted, and its effect cannot be told from none: nothing was left to wait for."""

    word = Word.NOT_SEEN

    def __init__(self) -> None:
        super().__init__("accepted; the work was done before the call, so nothing shows what it does")


class Silent(Answer):
    """The call is accepted, and has no effect."""

    word = Word.SILENT


class Wrong(Answer):
    """The call has another effect than it should have."""


class NotApplicable(Exception):
    """The probe asks nothing of this backend: it has one device, or no driver with our contract. It has no row."""


@dataclass(frozen=True)
class Finding:
    """A verdict and what led to it."""

    word: Word
    detail: str = ""


Run = Callable[["Backend"], str | None]  # returns a detail where the mechanism works, and raises an Answer otherwise


@dataclass(frozen=True)
class Probe:
    """One question to a backend."""

    name: str
    section: str
    step: int | None  # from which step on the mechanism works
    chapter: str  # that explains it
    write: str  # the function to write where it is missing
    what: str  # what the probe does
    needs: tuple[str, ...]  # probes without which this one can't work
    seconds: float  # its deadline, where that of all is shorter
    heavy: bool  # needs torch._dynamo, whose import takes seconds
    run: Run

    def row(self, finding: Finding, seconds: float = 0.0) -> Row:
        """The row of the table."""
        return Row(
            self.name,
            self.section,
            finding.word,
            finding.detail,
            self.step,
            self.chapter,
            self.write,
            self.what,
            seconds,
        )


@dataclass(frozen=True)
class Row:
    """A line of the table: the probe, and what it found."""

    name: str
    section: str
    word: Word
    detail: str
    step: int | None
    chapter: str
    write: str
    what: str
    seconds: float
    lacks: tuple[str, ...] = ()  # what it needs and what is missing itself: the row says nothing of its own

    @property
    def needs_nothing(self) -> bool:
        """Whether there is nothing to write, or what is to be written belongs to another row."""
        return self.word in (Word.WORKS, Word.NOT_SEEN) or bool(self.lacks)

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        return {**asdict(self), "word": str(self.word), "seconds": round(self.seconds, 3)}


PROBES: dict[str, Probe] = {}


@dataclass(frozen=True)
class Section:
    """Probes of one mechanism: a module of ``probes``."""

    name: str
    step: int | None = None
    chapter: str = ""
    needs: tuple[str, ...] = ("import",)

    def probe(
        self,
        name: str,
        *,
        write: str,
        step: int | None = None,
        chapter: str | None = None,
        needs: tuple[str, ...] | None = None,
        seconds: float = 0.0,
        heavy: bool = False,
    ) -> Callable[[Run], Run]:
        """Registers a function as a probe. Its docstring's first line says what it does.

        Args:
            name: As the table shows it, and as ``--require`` takes it.
            write: The function to write where the mechanism is missing.
            step: From which step on it works, if not from the section's.
            chapter: That explains it, if not the section's.
            needs: Probes without which it can't work, if not the section's.
            seconds: After which it counts as hanging, if that is longer than the deadline of all.
            heavy: Whether it needs torch._dynamo, as optimizers, profiles and compilers do.
        """

        def register(run: Run) -> Run:
            assert name not in PROBES, f"two probes are called {name!r}"
            what = (run.__doc__ or "").partition("\n")[0]
            needed = self.needs if needs is None else needs
            at = self.step if step is None else step
            PROBES[name] = Probe(name, self.name, at, chapter or self.chapter, write, what, needed, seconds, heavy, run)
            return run

        return register
