// Names of the kinds of handles, for messages.
#include "handle.h"

namespace openreg {

const char* kindOf(uint64_t handle) {
  switch (static_cast<HandleKind>(handle >> 56)) {
    case HandleKind::Stream:
      return "a stream";
    case HandleKind::Event:
      return "an event";
    case HandleKind::Module:
      return "a module";
    case HandleKind::Kernel:
      return "a kernel";
  }
  return nullptr;
}

} // namespace openreg
