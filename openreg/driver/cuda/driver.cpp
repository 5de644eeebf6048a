// Which devices there are.
#include "driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string_view>

namespace openreg::cuda {

namespace {

/// cuInit would make the process one whose children can't use the GPU, and who counts does not use it yet. So the
/// devices are counted where the system shows them. Of CUDA_VISIBLE_DEVICES only the number of entries matters here.
int countGpus() {
  int found = 0;
  while (access(("/dev/nvidia" + std::to_string(found)).c_str(), F_OK) == 0) {
    ++found;
  }
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    const std::string_view text = visible;
    const auto entries = text.empty() || text[0] == '-' ? 0 : 1 + std::ranges::count(text, ',');
    found = std::min(found, static_cast<int>(entries));
  }
  return found;
}

/// OPENREG_CUDA=devices=2: so many devices, whatever the number of GPUs; 0 if it does not say.
int devicesWanted() {
  const char* value = std::getenv("OPENREG_CUDA");
  const std::string text = value != nullptr ? value : "";
  constexpr std::string_view kKey = "devices=";
  if (text.empty()) {
    return 0;
  }
  char* end = nullptr;
  const long number = text.starts_with(kKey) ? std::strtol(text.c_str() + kKey.size(), &end, 10) : 0;
  if (end == nullptr || *end != '\0' || number < 1 || number > kMaxDevices) {
    throw std::invalid_argument("OPENREG_CUDA is '" + text + "'; expected devices=N, from 1 to 16");
  }
  return static_cast<int>(number);
}

} // namespace

Cuda::Cuda() {
  const int wanted = devicesWanted();
  // A library for tests has no files of the system's beside it.
  const int gpus = std::getenv("OPENREG_CUDA_LIBRARY") != nullptr ? 1 : countGpus();
  if (!library().missing.empty()) {
    whyNone_ = library().missing;
  } else if (gpus == 0) {
    whyNone_ = "the system has no /dev/nvidia0, or CUDA_VISIBLE_DEVICES hides it";
  }
  Options options;
  options.devices = !whyNone_.empty() ? 0 : wanted != 0 ? wanted : std::min(gpus, kMaxDevices);
  options.memory = 0; // Known once the device is: Device::identify.
  start(options);
}

Cuda& Cuda::instance() {
  static Cuda& instance = *new Cuda;
  return instance;
}

int Cuda::initialize() {
  static std::mutex mutex;
  static int gpus = 0;
  const std::lock_guard lock(mutex);
  if (gpus == 0) {
    // Streams that share a connection of the hardware wait for each other. This is the most there can be.
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    // Code that is loaded at its first launch may wait for the device, which a launch must not.
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    OPENREG_CUDA(cuInit, 0);
    OPENREG_CUDA(cuDeviceGetCount, &gpus);
    if (gpus == 0) {
      throw Refused{orDriverError(orErrorDeviceLost, "CUDA finds no GPU; expected one, as /dev/nvidia0 is there")};
    }
  }
  return gpus;
}

} // namespace openreg::cuda
