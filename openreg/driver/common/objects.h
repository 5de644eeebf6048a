// All that a driver has behind handles, and its devices.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "activity.h"
#include "api/failure.h"
#include "check.h"
#include "common/graph/capture.h"
#include "common/graph/graph_object.h"
#include "handle.h"
#include "lookup.h"
#include "openreg_driver.h"
#include "options.h"

namespace openreg {

constexpr uint32_t kMaxModules = 4096; ///< Of all devices together. See orModuleLoad.

/// Base of the one object of a driver, whose `instance()` gives it. The functions of openreg.h (stream_calls.h and its
/// neighbours) are written over it once. A driver is a set of types: what its devices, streams, events, modules and
/// kernels do is its own.
template <class DeviceType, class StreamType, class EventType, class ModuleType, class KernelType>
struct Objects {
  using Device = DeviceType;
  using Stream = StreamType;
  using Event = EventType;
  using Module = ModuleType;
  using Kernel = KernelType;

  HandleTable<Stream, HandleKind::Stream, 16 * 1024> streams;
  HandleTable<Event, HandleKind::Event, 1024 * 1024> events;
  HandleTable<Module, HandleKind::Module, kMaxModules> modules;
  HandleTable<Kernel, HandleKind::Kernel, 64 * 1024> kernels;
  HandleTable<GraphObject<Device, GraphNodes>, HandleKind::Graph, 64 * 1024> graphs;
  HandleTable<GraphObject<Device, typename Device::Program>, HandleKind::GraphExec, 64 * 1024> graphExecs;
  std::mutex modulesMutex;
  std::vector<std::unique_ptr<Device>> devices;
  Captures captures;
  Activity activity;

  Device& device(int index) const { return *devices[static_cast<size_t>(index)]; }

  /// The device that has, or had before a reset, that address; null if it is no device memory.
  Device* deviceOf(const void* ptr) const {
    for (const auto& device : devices) {
      if (device->memory.covers(ptr)) {
        return device.get();
      }
    }
    return nullptr;
  }

  /// The device is reset: its events, graphs, modules and kernels are gone. (Streams have work to end.)
  void invalidateHandles(Device& device) {
    events.forEach([&](Event& event) {
      const uint64_t handle = event.handle.load();
      if (handle != 0 && &event.device() == &device) {
        event.close(handle);
      }
    });
    const auto close = [&](auto& table) {
      table.forEach([&](auto& object) {
        const uint64_t handle = object.handle.load();
        if (handle != 0 && object.device.load() == &device && object.close(handle)) {
          table.release(object);
        }
      });
    };
    close(graphs);
    close(graphExecs);
    const std::lock_guard lock(modulesMutex);
    const auto drop = [&](auto& table) {
      table.forEach([&](auto& object) {
        if (object.handle.load() != 0 && object.device.load() == &device) {
          object.handle.store(0);
          table.release(object);
        }
      });
    };
    drop(kernels);
    drop(modules);
  }

  /// The handle of the module or kernel of a device for which `wanted` is true, else of a new one that `make`
  /// completes; refuses the call if there are too many. Under modulesMutex.
  template <class T, HandleKind kKind, uint32_t kMax, class Wanted, class Make>
  static uint64_t findOrMake(HandleTable<T, kKind, kMax>& table, Device& device, Wanted wanted, Make make) {
    uint64_t found = 0;
    table.forEach([&](T& object) {
      if (object.handle.load() != 0 && object.device.load() == &device && wanted(object)) {
        found = object.handle.load();
      }
    });
    if (found != 0) {
      return found;
    }
    T* made = table.acquire();
    if (made == nullptr) {
      throw Refused{orDriverError(
          orErrorMemoryAllocation,
          "there are %u %s, as many as there can be; expected fewer, or a device to be reset first", kMax,
          kKind == HandleKind::Module ? "modules" : "kernels")};
    }
    made->device.store(&device);
    make(*made);
    return table.publish(*made);
  }

 protected:
  /// Makes the devices; `more` are further arguments of theirs.
  template <class... More>
  void start(const Options& options, More&... more) {
    for (int i = 0; i < options.devices; ++i) {
      devices.push_back(std::make_unique<Device>(i, options, more...));
    }
    for (const Options::Fail& fail : options.fail) {
      api::planFailure(fail.entry.c_str(), fail.n, fail.error);
    }
    if (options.check) {
      installFaultReport();
    }
  }
};

} // namespace openreg
