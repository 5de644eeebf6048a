"""A process that compiles: started by its path, so that it waits for no import of PyTorch.

NVRTC reads a source under a lock, so threads of one process wait for each other, and processes don't. What kills the
compiler kills no more than one of these.

Arguments: the library and the folder. A line of the input is a kernel's name and an architecture; the answer is a line
of JSON: 1 for a kernel that is new in the folder, 0 for one that was there, or a string that says what failed.
"""

import ctypes
import json
import signal
import sys


def compiled(library: ctypes.CDLL, kernel: str, architecture: int, folder: str) -> int | str:
    """Compiles a kernel; returns the answer."""
    made = ctypes.c_int()
    if library.orCudaCompile(kernel.encode(), architecture, folder.encode(), ctypes.byref(made)):
        return library.orGetLastErrorMessage().decode(errors="replace").removeprefix("orCudaCompile: ")
    return made.value


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command is told, and ends its workers itself
    loaded, place = ctypes.CDLL(sys.argv[1]), sys.argv[2]
    loaded.orGetLastErrorMessage.restype = ctypes.c_char_p
    for line in sys.stdin:
        name, number = line.split()
        print(json.dumps(compiled(loaded, name, int(number), place)), flush=True)
