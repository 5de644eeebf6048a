// The levels of a driver: which part of the guide is the first to need an entry of the contract.
#include "device/level.h"

#include <c10/util/StringUtil.h>

#include <cctype>
#include <sstream>
#include <string_view>

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
     "StreamWaitEvent EventCreateWithFlags EventDestroy EventRecord EventQuery EventSynchronize"},
    {"memory, pinned memory, several devices", "07-15", "MemGetInfo MallocHost FreeHost MemcpyPeerAsync"},
    {"graphs", "16",
     "StreamBeginCapture StreamEndCapture StreamGetCaptureInfo ThreadExchangeStreamCaptureMode GraphInstantiate "
     "GraphLaunch GraphDestroy GraphExecDestroy GraphDebugDotPrint"},
    {"collectives", "18", "LaunchHostFunc"},
    {"kernels, one by one", "05-18", "MemsetAsync ModuleLoad ModuleGetKernel LaunchKernel"},
};

// Beside the levels: what one thing in a step needs, while the rest of the step does without.
constexpr Level kOptional[] = {
    {"devices that are reset", "01", "DeviceReset"},
    {"times between events", "06", "EventElapsedTime"},
    {"memory shared between processes", "13",
     "IpcGetMemHandle IpcOpenMemHandle IpcCloseMemHandle IpcGetEventHandle IpcOpenEventHandle"},
    {"what the profiler knows of the device", "15", "ActivitySubscribe ActivityUnsubscribe"},
};

bool hasWord(std::string_view text, std::string_view word) {
  const auto isLetter = [text](size_t at) {
    return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
  };
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    if (!isLetter(at - 1) && !isLetter(at + word.size())) { // before the first letter, at - 1 is beyond the last
      return true;
    }
  }
  return false;
}

bool names(const Level& level, const std::string& message) {
  std::istringstream entries(level.entries);
  for (std::string entry; entries >> entry;) {
    if (hasWord(message, "or" + entry)) {
      return true;
    }
  }
  return false;
}

} // namespace

std::string levelOf(const std::string& message) {
  for (const auto& level : kLevels) {
    if (names(level, message)) {
      return c10::str("level '", level.name, "', from step ", std::string_view(level.steps).substr(0, 2), " on");
    }
  }
  for (const auto& level : kOptional) {
    if (names(level, message)) {
      return c10::str("optional: ", level.name, ", step ", level.steps);
    }
  }
  return "";
}

} // namespace openreg
