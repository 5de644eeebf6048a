// The guard's registration, and what data types the device has.
#include "device/guard.h"

namespace openreg {

// LITERALINCLUDE START: GUARD CAPABILITY
c10::DeviceCapability Guard::getDeviceCapability(c10::Device device) const {
  (void)resolveIndex(device); // a device that is not there has no capabilities
  c10::DeviceCapability capability;
  auto& types = capability.capability_data.supported_scalar_types;
  // A default-made one claims every type that PyTorch has. Memory is bytes, so nearly all can be stored and copied,
  // whether or not an operator computes in them. What can't: quantised types, whose tensors have a dispatch key of
  // their own, and integers of less than eight bits, which PyTorch itself doesn't copy.
  types.has_QInt8 = types.has_QUInt8 = types.has_QInt32 = types.has_QUInt4x2 = types.has_QUInt2x4 = 0;
  types.has_Int1 = types.has_Int2 = types.has_Int3 = types.has_Int4 = types.has_Int5 = types.has_Int6 = 0;
  types.has_UInt1 = types.has_UInt2 = types.has_UInt3 = types.has_UInt4 = types.has_UInt5 = types.has_UInt6 = 0;
  types.has_Int7 = types.has_UInt7 = 0;
  return capability;
}
// LITERALINCLUDE END: GUARD CAPABILITY

// LITERALINCLUDE START: REGISTER GUARD
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);
// LITERALINCLUDE END: REGISTER GUARD

} // namespace openreg
