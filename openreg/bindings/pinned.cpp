// Python ↔ statistics of pinned memory.
#include "module.h"

#include "device/device.h"

#include <ATen/core/CachingHostAllocator.h>
#include <torch/csrc/Exceptions.h>

namespace openreg {
namespace {

namespace py = pybind11;

at::HostAllocator& allocator() {
  return *at::getHostAllocator(kDeviceType);
}

// LITERALINCLUDE START: HOST MEMORY STATS
// The names are those of torch.cuda.host_memory_stats, so that a program can read either.
py::dict toDict(const c10::CachingAllocator::Stat& stat) {
  using namespace py::literals;
  return py::dict(
      "current"_a = stat.current, "peak"_a = stat.peak, "allocated"_a = stat.allocated, "freed"_a = stat.freed);
}

py::dict toDict(const c10::CachingAllocator::DurationStat& stat) {
  using namespace py::literals;
  const auto average = stat.count == 0 ? 0.0 : static_cast<double>(stat.total) / static_cast<double>(stat.count);
  return py::dict(
      "total"_a = stat.total, "max"_a = stat.max, "min"_a = stat.min, "count"_a = stat.count, "avg"_a = average);
}

py::dict hostMemoryStats() {
  using namespace py::literals;
  const auto stats = allocator().get_stats();
  return py::dict(
      "allocations"_a = toDict(stats.allocations), "allocated_bytes"_a = toDict(stats.allocated_bytes),
      "active_requests"_a = toDict(stats.active_requests), "active_bytes"_a = toDict(stats.active_bytes),
      "num_host_alloc"_a = stats.num_host_alloc, "num_host_free"_a = stats.num_host_free,
      "host_alloc_time"_a = toDict(stats.host_alloc_time), "host_free_time"_a = toDict(stats.host_free_time));
}
// LITERALINCLUDE END: HOST MEMORY STATS

const Binding pinned([](py::module_& module) {
  module.def("_host_memory_stats", hostMemoryStats);
  module.def("_reset_peak_host_memory_stats", torch::wrap_pybind_function([] { allocator().reset_peak_stats(); }));
  module.def("_reset_accumulated_host_memory_stats", torch::wrap_pybind_function([] {
               allocator().reset_accumulated_stats();
             }));
});

} // namespace
} // namespace openreg
