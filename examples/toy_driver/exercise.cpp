// The toy driver with one entry more: how much memory is free. It takes in the toy's file, to show only what is new.
#include "toy_driver.cpp"

namespace {

orError_t getMemoryInfo(size_t* free, size_t* total, int device) {
  const std::lock_guard lock(mutex);
  *free = kMemory - devices[device].used;
  *total = kMemory;
  return orSuccess;
}

const auto added = table.MemGetInfo = getMemoryInfo;

} // namespace
