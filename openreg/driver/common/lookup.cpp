// Messages about handles.
#include "lookup.h"

#include <string>

namespace openreg {

namespace {

/// "stream", "event", …; empty if `handle` was not made here.
std::string kindOf(uint64_t handle) {
  switch (static_cast<HandleKind>(handle >> 56)) {
    case HandleKind::Stream:
      return "stream";
    case HandleKind::Event:
      return "event";
    case HandleKind::Module:
      return "module";
    case HandleKind::Kernel:
      return "kernel";
    case HandleKind::Subscriber:
      return "subscriber";
    case HandleKind::Graph:
      return "graph";
    case HandleKind::GraphExec:
      return "exec";
  }
  return "";
}

std::string withArticle(const std::string& kind) {
  return kind == "exec" ? "an instantiated graph" : (kind == "event" ? "an " : "a ") + kind;
}

} // namespace

void refuseHandle(HandleKind expected, uint64_t handle, const char* argument) {
  const std::string wanted = kindOf(uint64_t{static_cast<uint8_t>(expected)} << 56);
  const std::string kind = kindOf(handle);
  char is[32] = "null";
  std::string why;
  if (handle != 0) {
    std::snprintf(is, sizeof(is), "0x%llx", static_cast<unsigned long long>(handle));
    why = kind.empty()     ? ", which no call here has returned"
          : kind == wanted ? ", which was destroyed, or made before its device was reset"
                           : ", which is " + withArticle(kind);
  }
  throw Refused{orDriverError(
      orErrorInvalidHandle, "argument '%s' is %s%s; expected %s", argument != nullptr ? argument : wanted.c_str(), is,
      why.c_str(), withArticle(wanted).c_str())};
}

} // namespace openreg
