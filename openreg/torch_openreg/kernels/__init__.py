"""Compiles the device's kernels before a program asks for them, and for a GPU that is elsewhere.

    python -m torch_openreg.kernels                                 all, for the GPUs of this machine
    python -m torch_openreg.kernels "add.*" --architecture sm_90    some, for a GPU that isn't here
    python -m torch_openreg.kernels --cache FOLDER                  into a folder that others can read

What is in the folder already is not compiled again, so a run that was stopped goes on where it was.
"""
