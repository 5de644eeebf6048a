// The levels of a driver: which part of the guide is the first to need an entry of the contract.
#include "device/level.h"

#include <c10/util/StringUtil.h>

#include <regex>
#include <sstream>

namespace openreg {
namespace {

struct Level {
  const char* name;
  const char* steps;
  const char* entries; // without "or"
};

// Each level needs those before it, but for the last: what has no kernel the CPU computes, on every level.
constexpr Level kLevels[] = {
    {"devices", "01", "GetDeviceCount GetDeviceProperties DeviceGetState DeviceSynchronize"},
    {"tensors, operators by fallback", "02-05",
     "Malloc Free PointerGetAttributes StreamGetDefault MemcpyWithStream MemcpyAsync"},
    {"streams and events", "06",
     "DeviceGetStreamPriorityRange StreamCreateWithPriority StreamDestroy StreamQuery StreamSynchronize "
     "StreamWaitEvent EventCreateWithFlags EventDestroy EventRecord EventQuery EventSynchronize EventElapsedTime"},
    {"memory, pinned memory, several devices", "07-15", "MemGetInfo MallocHost FreeHost MemcpyPeerAsync"},
    {"kernels, one by one", "05-15", "MemsetAsync ModuleLoad ModuleGetKernel LaunchKernel"},
};

} // namespace

std::string levelOf(const std::string& message) {
  for (const auto& level : kLevels) {
    std::istringstream entries(level.entries);
    for (std::string entry; entries >> entry;) {
      if (std::regex_search(message, std::regex("\\bor" + entry + "\\b"))) {
        return c10::str("level '", level.name, "', from step ", std::string_view(level.steps).substr(0, 2), " on");
      }
    }
  }
  return "";
}

} // namespace openreg
