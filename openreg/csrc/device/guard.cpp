// The guard's registration, and what data types the device has.
#include "device/guard.h"

namespace openreg {

// LITERALINCLUDE START: GUARD CAPABILITY
c10::DeviceCapability Guard::getDeviceCapability(c10::Device device) const {
  (void)resolveIndex(device); // a device that is not there has no capabilities
  c10::DeviceCapability capability;
  auto& types = capability.capability_data.supported_scalar_types;
  // A default-made one claims every type that PyTorch has ever had. Memory is bytes, so nearly all can be stored and
  // copied, whether or not an operator computes in them. What can't: quantised types, whose tensors have a dispatch key
  // of their own, and integers of less than eight bits, which PyTorch itself doesn't copy.
  capability.capability_data.capability_bits = 0;
#define OPENREG_STORES(_, name) types.has_##name = 1;
  AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(OPENREG_STORES)
#undef OPENREG_STORES
  types.has_UInt16 = types.has_UInt32 = types.has_UInt64 = 1;
  types.has_Bits1x8 = types.has_Bits2x4 = types.has_Bits4x2 = types.has_Bits8 = types.has_Bits16 = 1;
  types.has_Float4_e2m1fn_x2 = 1;
  return capability;
}
// LITERALINCLUDE END: GUARD CAPABILITY

// LITERALINCLUDE START: REGISTER GUARD
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);
// LITERALINCLUDE END: REGISTER GUARD

} // namespace openreg
