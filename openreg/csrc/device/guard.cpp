// The guard's registration, and what data types the device has.
#include "device/guard.h"

namespace openreg {

// LITERALINCLUDE START: GUARD CAPABILITY
c10::DeviceCapability Guard::getDeviceCapability(c10::Device device) const {
  (void)resolveIndex(device); // a device that is not there has no capabilities
  c10::DeviceCapability capability;
  // A default-made one claims every type PyTorch has ever had, the quantised and bit types too.
  capability.capability_data.capability_bits = 0;
#define OPENREG_SUPPORTS(_, name) capability.capability_data.supported_scalar_types.has_##name = 1;
  AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(OPENREG_SUPPORTS)
#undef OPENREG_SUPPORTS
  return capability;
}
// LITERALINCLUDE END: GUARD CAPABILITY

// LITERALINCLUDE START: REGISTER GUARD
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);
// LITERALINCLUDE END: REGISTER GUARD

} // namespace openreg
