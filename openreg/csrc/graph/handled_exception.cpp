// Which exception the program is handling.
#include "graph/handled_exception.h"

#include <atomic>

namespace openreg {
namespace {
constinit std::atomic<HandledException> ask{nullptr};
} // namespace

void setHandledException(HandledException function) {
  ask.store(function);
}

const void* handledException() {
  const auto function = ask.load();
  return function == nullptr ? nullptr : function();
}

} // namespace openreg
