// Calls in no order.
#include "chaos.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "check.h"
#include "kernels/factory/fill.h"
#include "kernels/launch/pointers.h"
#include "openreg_sim.h"

namespace stress {

namespace {

constexpr size_t kSlots = 16;
constexpr size_t kBytes = 4096;
constexpr orPointerArg kPointer = openreg::kernels::contiguousPointer(0, orAccessWrite, kBytes); // Of "fill".

/// Handles and pointers of every thread; each may be stale at any time.
struct Shelf {
  std::array<std::atomic<orStream_t>, kSlots> streams{};
  std::array<std::atomic<orEvent_t>, kSlots> events{};
  std::array<std::atomic<orKernel_t>, kSlots> kernels{};
  std::atomic<uint32_t> opened{0}; ///< Grows when all streams that are held up are let go.
  std::array<std::atomic<void*>, kSlots> memory{};
  std::array<std::atomic<orGraph_t>, kSlots> graphs{};
  std::array<std::atomic<orGraphExec_t>, kSlots> execs{};
};

class Imp {
 public:
  Imp(Shelf& shelf, int devices, uint64_t seed) : shelf_(shelf), devices_(devices), engine_(seed) {}

  void act() {
    orSetDevice(static_cast<int>(random(static_cast<uint64_t>(devices_))));
    switch (random(27)) {
      case 0:
        put(shelf_.streams, [](orStream_t* made) { return orStreamCreate(made); });
        break;
      case 1:
        orStreamDestroy(any(shelf_.streams));
        break;
      case 2:
        put(shelf_.events, [this](orEvent_t* made) {
          const unsigned int shared = unsigned{orEventDisableTiming} | orEventInterprocess;
          return orEventCreateWithFlags(made, random(2) == 0 ? unsigned{orEventDefault} : shared);
        });
        break;
      case 3:
        orEventDestroy(any(shelf_.events));
        break;
      case 4:
        put(shelf_.memory, [](void** made) { return orMalloc(made, kBytes); });
        break;
      case 5:
        orFree(any(shelf_.memory));
        break;
      case 6:
        put(shelf_.kernels, &loadKernel);
        break;
      case 7:
      case 8:
      case 9:
        launch(any(shelf_.streams));
        break;
      case 10:
      case 11:
        orEventRecord(any(shelf_.events), any(shelf_.streams));
        break;
      case 12:
        orStreamWaitEvent(any(shelf_.streams), any(shelf_.events), 0);
        break;
      case 13:
        orEventSynchronize(any(shelf_.events));
        break;
      case 14:
        orStreamSynchronize(any(shelf_.streams));
        break;
      case 15:
        orMemcpyWithStream(host_.data(), any(shelf_.memory), kBytes, orMemcpyDefault, any(shelf_.streams));
        break;
      case 16:
        orMemGetInfo(&free_, &total_, 0);
        break;
      case 17:
        orLaunchHostFunc(any(shelf_.streams), [](void*) {}, nullptr);
        break;
      case 18:
        download();
        break;
      case 19:
      case 20:
        orLaunchHostFunc(any(shelf_.streams), &hold, &shelf_);
        break;
      case 21:
        shelf_.opened.fetch_add(1);
        break;
      case 22:
        orIpcGetMemHandle(&handle_, any(shelf_.memory));
        break;
      case 23:
        rare();
        break;
      case 24:
      case 25:
        graph();
        break;
      default:
        orEventQuery(any(shelf_.events));
        orStreamQuery(any(shelf_.streams));
        break;
    }
  }

 private:
  uint64_t random(uint64_t below) { return engine_() % below; }

  template <class H>
  H any(std::array<std::atomic<H>, kSlots>& handles) {
    return handles[random(kSlots)].load();
  }

  template <class H, class Make>
  void put(std::array<std::atomic<H>, kSlots>& handles, Make make) {
    H made = nullptr;
    if (make(&made) == orSuccess) {
      require(made != nullptr || std::is_same_v<H, orStream_t>, "a call that succeeds gives something");
      handles[random(kSlots)].store(made);
    }
  }

  /// Holds a stream up for two milliseconds, or until it is let go.
  static void hold(void* data) {
    const Shelf& shelf = *static_cast<Shelf*>(data);
    const uint32_t before = shelf.opened.load();
    for (int i = 0; i < 20 && shelf.opened.load() == before; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  static orError_t loadKernel(orKernel_t* kernel) {
    orModule_t module = nullptr;
    const orError_t error = orModuleLoad(&module, "openreg");
    return error != orSuccess ? error : orModuleGetKernel(kernel, module, "fill");
  }

  void download() {
    void* pinned = nullptr;
    CHECK(orMallocHost(&pinned, kBytes));
    orMemcpyAsync(pinned, any(shelf_.memory), kBytes, orMemcpyDefault, any(shelf_.streams));
    CHECK(orFreeHost(pinned)); // Waits for the copy, which ends even if its device fails.
  }

  /// Of a launch of "fill".
  openreg::kernels::FillArgs arguments() {
    openreg::kernels::FillArgs args{};
    args.dst = any(shelf_.memory);
    args.elementSize = 8;
    args.dims = 1;
    args.sizes[0] = 0; // Checked as if it wrote all, but writes nothing: nobody orders these launches.
    args.strides[0] = 8;
    return args;
  }

  void launch(orStream_t stream) {
    const openreg::kernels::FillArgs args = arguments();
    orLaunchKernel(any(shelf_.kernels), &args, sizeof(args), &kPointer, 1, stream);
  }

  void graph() {
    const openreg::kernels::FillArgs args = arguments();
    switch (random(9)) {
      case 0:
        orStreamBeginCapture(any(shelf_.streams), orStreamCaptureModeRelaxed);
        break;
      case 1:
        put(shelf_.graphs, [this](orGraph_t* made) { return orStreamEndCapture(any(shelf_.streams), made); });
        break;
      case 2:
        orGraphDestroy(any(shelf_.graphs));
        orGraphExecDestroy(any(shelf_.execs));
        break;
      case 3:
      case 4:
        capture();
        break;
      case 5:
        orGraphExecKernelNodeSetParams(any(shelf_.execs), 0, &args, sizeof(args), &kPointer, 1);
        break;
      default:
        for (int i = 0; i < 4; ++i) {
          orGraphLaunch(any(shelf_.execs), any(shelf_.streams));
        }
        break;
    }
  }

  /// From a stream to an instantiated graph, if nobody comes in between. Captures are relaxed, so that nobody else is
  /// refused what may wait for a device, and any thread may end them.
  void capture() {
    orStream_t stream = nullptr;
    orGraph_t graph = nullptr;
    orGraphExec_t exec = nullptr;
    void* pinned = nullptr;
    put(shelf_.streams, [&](orStream_t* made) {
      const orError_t error = orStreamCreate(made);
      stream = *made;
      return error;
    });
    CHECK(orMallocHost(&pinned, kBytes));
    orStreamBeginCapture(stream, orStreamCaptureModeRelaxed);
    launch(stream);
    orMemcpyAsync(pinned, any(shelf_.memory), kBytes, orMemcpyDefault, stream);
    orEventRecord(any(shelf_.events), stream);
    orLaunchHostFunc(stream, &hold, &shelf_);
    launch(stream);
    if (random(2) == 0) {
      CHECK(orFreeHost(pinned)); // No launch will find it.
      pinned = nullptr;
    }
    put(shelf_.graphs, [&](orGraph_t* made) {
      const orError_t error = orStreamEndCapture(stream, made);
      graph = *made;
      return error;
    });
    put(shelf_.execs, [&](orGraphExec_t* made) {
      const orError_t error = orGraphInstantiate(made, graph);
      exec = *made;
      return error;
    });
    const openreg::kernels::FillArgs args = arguments();
    for (int i = 0; i < 4; ++i) {
      orGraphLaunch(random(2) == 0 ? exec : any(shelf_.execs), random(2) == 0 ? stream : any(shelf_.streams));
      orGraphExecKernelNodeSetParams(exec, 0, &args, sizeof(args), &kPointer, 1);
    }
    CHECK(orFreeHost(pinned)); // Waits for the launches.
  }

  void rare() {
    const int device = static_cast<int>(random(static_cast<uint64_t>(devices_)));
    switch (random(6)) {
      case 0:
        orSimLoseDevice(device);
        break;
      case 1:
        orDeviceSynchronize(device);
        break;
      default:
        check(orDeviceReset(device), "orDeviceReset");
        break; // Often, as most devices have failed by then.
    }
  }

  Shelf& shelf_;
  int devices_;
  std::mt19937_64 engine_;
  orIpcMemHandle handle_{};
  size_t free_ = 0;
  size_t total_ = 0;
  std::vector<char> host_ = std::vector<char>(kBytes);
};

} // namespace

void playChaos(uint64_t seed, int threads, int operations) {
  int devices = 0;
  CHECK(orGetDeviceCount(&devices));
  Shelf shelf;
  std::vector<std::thread> imps;
  for (int i = 0; i < threads; ++i) {
    imps.emplace_back([&, i] {
      Imp imp(shelf, devices, seed * 1000 + static_cast<uint64_t>(i));
      for (int n = 0; n < operations; ++n) {
        imp.act();
      }
    });
  }
  for (std::thread& imp : imps) {
    imp.join();
  }
  for (int device = 0; device < devices; ++device) {
    CHECK(orDeviceReset(device));
    size_t free = 0;
    size_t total = 0;
    CHECK(orMemGetInfo(&free, &total, device));
    require(free == total, "all memory is free after a reset");
    int active = -1;
    CHECK(orDeviceReset(device));
    CHECK(orDeviceGetState(&active, device));
    require(active == 0, "a device is unused after a reset");
  }
}

} // namespace stress
