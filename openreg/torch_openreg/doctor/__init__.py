"""Says of each mechanism of a backend whether it works, is missing, silently does nothing, or is wrong.

    python -m torch_openreg.doctor                  the backend that this package is
    python path/to/doctor --device npu              any other; this folder needs nothing beside it but PyTorch

It asks PyTorch's public interfaces only, and compares with the CPU. A probe is a function in a module of ``probes``.
"""
