// The name of the device.
#pragma once

namespace openreg {

// LITERALINCLUDE START: DEVICE NAME
/// As in torch.device(kDeviceName). Errors begin with it. In Python it is in torch_openreg/_name.py.
constexpr char kDeviceName[] = "openreg";
// LITERALINCLUDE END: DEVICE NAME

} // namespace openreg
