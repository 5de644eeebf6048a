"""The name of a backend: what it may be, and what it becomes in each place where this repository has its own."""

import keyword
import re
from importlib import util

import torch

# The name becomes a namespace in C++ and a folder of the project. So it can't be a keyword, a namespace that PyTorch or
# the standard library has, or a folder that a project has.
_KEYWORDS_OF_CPP = """
alignas alignof and_eq asm auto bitand bitor bool case catch char class compl concept const consteval constexpr
constinit decltype default delete do double dynamic_cast else enum explicit export extern float friend goto inline int
long mutable namespace new noexcept not_eq nullptr operator or_eq private protected public register reinterpret_cast
requires short signed sizeof static static_assert static_cast struct switch template this throw typedef typeid typename
union unsigned using virtual void volatile wchar_t while xor xor_eq co_await co_return co_yield linux unix
"""
_NAMESPACES = ["at", "caffe", "std", "torch", "pybind"]
_FOLDERS = ["bindings", "build", "csrc", "device", "dist", "docs", "driver", "kernels", "tests", "tools"]

# What a file of ours may be called at the vendor's, too: `acme.h` and `libacme.so` are theirs.
_OURS = {"openreg.h": "{}_device.h", "libopenreg.so": "lib{}_device.so", "OPENREG_H": "{}_DEVICE_H"}


def check(name: str, *, ours: bool = False) -> None:
    """Checks that PyTorch can have a device of this name.

    Args:
        name: The name.
        ours: Whether a package of that name may be installed: because it is the one that is generated again, or because
            none is generated.

    Raises:
        ValueError: If not. The text says why, and what is expected.
    """

    def refuse(why: str) -> None:
        raise ValueError(f"NAME is {name!r}, {why}; expected a word of your own in small letters, such as 'acme'")

    if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name):
        refuse("and torch.device() reads nothing but letters, with '_' between them")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        refuse(f"so torch.{name} would be no Python")
    if name in _KEYWORDS_OF_CPP.split():
        refuse(f"so namespace {name} would be no C++")
    if name in _NAMESPACES:
        refuse("which is a namespace of another library")
    if name in _FOLDERS:
        refuse("which is a folder that each project has")
    if name == "openreg":
        refuse("which is this repository's own name")
    try:
        torch.device(name)
    except RuntimeError:
        pass
    else:
        refuse("which is a device that PyTorch has")
    for owner, attribute in (
        (torch, name),
        (torch.Tensor, name),
        (torch.Tensor, f"is_{name}"),
        (torch.nn.Module, name),
    ):
        if hasattr(owner, attribute):
            refuse(f"and {owner.__name__}.{attribute} is something else in PyTorch")
    if not ours and util.find_spec(f"torch_{name}"):
        refuse(f"and a package torch_{name} is installed")


def renamed(text: str, name: str) -> str:
    """A text, or a path, with the name in each of its forms: openreg, OPENREG, OpenReg; occl becomes acme_ccl."""
    text = text.replace("occl", f"{name}_ccl").replace("OCCL", f"{name.upper()}_CCL")  # not xccl: PyTorch has it
    title = "".join(part.capitalize() for part in name.split("_"))
    for ours, theirs in _OURS.items():
        text = re.sub(rf"\b{re.escape(ours)}\b", theirs.format(name.upper() if ours.isupper() else name), text)
    return text.replace("openreg", name).replace("OPENREG", name.upper()).replace("OpenReg", title)


def renamed_build(text: str, name: str) -> str:
    """The same for CMake, where the device library is the target `openreg`: it is not the vendor's libNAME.so."""
    return renamed(re.sub(r"(?<![\w/\"])openreg(?![\w/])", "openreg_device", text), name)


def leftovers(text: str) -> list[str]:
    """Words in which this repository's name is left."""
    return re.findall(r"\w*openreg\w*|\boccl\b", text, re.IGNORECASE)
