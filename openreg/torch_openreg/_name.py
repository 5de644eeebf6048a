"""The name of the device: of ``torch.device(NAME)`` and ``torch.<NAME>``. In C++ it is in csrc/device/device_name.h."""

NAME = "openreg"
