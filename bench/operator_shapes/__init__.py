"""Arguments of operators that a rule does not find at the sizes that the sweep measures: one element, and a million.

An entry is by operator, in all its forms. What isn't said here is made by the rules of
tests/backend/overload_arguments.py.
"""

from __future__ import annotations

from . import images, losses, matrices, normalization, points, selections, sequences
from .describe import MILLION, Shapes

__all__ = ["MILLION", "shapes_of"]

_SECTIONS = (images, losses, matrices, normalization, points, selections, sequences)
_TABLES = {big: {k: v for section in _SECTIONS for k, v in section.shapes(big).items()} for big in (False, True)}


def shapes_of(name: str, overload: str, big: bool) -> Shapes:
    """What is written down for an operator at one of the two sizes; nothing where the rules do."""
    table = _TABLES[big]
    plain = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    for key in (f"{name}.{overload}", name, f"{plain}.{overload}", plain):
        if key in table:
            return table[key]
    if name.startswith("_foreach_"):
        return table["_foreach_other" if overload == "Tensor" else "_foreach"]
    return {}
