/**
 * @file frames.h
 * @brief The kinds of frames and their payloads.
 *
 * `stream` is always the number of a stream of the executor's device, chosen by the host; 0 is the default stream. In
 * Launch, Copy and Fill it may be kGraph and the number of a graph: then the work is not done, but becomes its next
 * node.
 */
#pragma once

#include <cstdint>

namespace openreg::process {

/// What a frame asks for. "→ X" marks requests and the payload of their answer; all other kinds are posted.
enum class Kind : uint16_t {
  Gap = 0,           ///< Fills the ring's end; no payload.
  Ping = 1,          ///< → nothing. Is the executor alive?
  Quit = 2,          ///< Drop what is queued, wait for the running kernel, exit with status 0.
  StreamCreate = 3,  ///< StreamFrame.
  StreamDestroy = 4, ///< StreamFrame. What is queued still runs.
  Fence = 5,         ///< FenceFrame.
  Wait = 6,          ///< WaitFrame.
  Nudge = 7,         ///< StreamFrame. A thread waits for this stream: no naps.
  Malloc = 8,        ///< SizeFrame → AddressFrame.
  Free = 9,          ///< AddressFrame. The host has waited for the device.
  MemInfo = 10,      ///< → MemInfoAnswer.
  Copy = 11,         ///< CopyFrame.
  Fill = 12,         ///< FillFrame.
  ModuleLoad = 13,   ///< The path and the name that the program gave, each with its final zero → HandleFrame.
  ModuleKernel = 14, ///< HandleFrame of the module and the name, with its final zero → KernelAnswer.
  Launch = 15,       ///< LaunchFrame, the orPointerArg of each pointer, the argument bytes.
  EventTime = 16,    ///< EventFrame → TimeAnswer.
  PeerMemory = 17,   ///< PeerMemoryFrame, after a Grant: another device's memory may be copied from and to.
  PeerForget = 18,   ///< PeerFrame. That memory is gone.
  PeerBlock = 19,    ///< PeerBlockFrame. An allocation of that memory has begun or ended.
  PeerEnable = 20,   ///< PeerFrame. Kernels may be given that memory.
  PeerDisable = 21,  ///< PeerFrame.
  Delay = 22,        ///< DelayFrame. For tests.
  Pin = 23,          ///< RangeFrame. Copies may name these pages of the pinned range from now on.
  Unpin = 24,        ///< RangeFrame. They may not any more; the host has waited for those that do.
  OpenMemory = 25,   ///< OpenMemoryFrame, after a Grant → nothing. Memory of another process has these addresses.
  CloseMemory = 26,  ///< PeerBlockFrame. It has them no longer; the host has waited for what uses it.
  GraphCreate = 27,  ///< GraphFrame. An empty graph; frames of work that name it in place of a stream fill it.
  GraphLaunch = 28,  ///< GraphLaunchFrame.
  GraphDestroy = 29, ///< GraphFrame. What is queued still runs.
  kCount = 30
};

/// What messages call a request; null for a kind that is posted.
constexpr const char* requestName(Kind kind) {
  switch (kind) {
    case Kind::Ping:
      return "Ping";
    case Kind::Malloc:
      return "Malloc";
    case Kind::MemInfo:
      return "MemInfo";
    case Kind::ModuleLoad:
      return "ModuleLoad";
    case Kind::ModuleKernel:
      return "ModuleKernel";
    case Kind::EventTime:
      return "EventTime";
    case Kind::OpenMemory:
      return "OpenMemory";
    default:
      return nullptr;
  }
}

struct StreamFrame {
  uint32_t stream = 0;
  int32_t priority = 0; ///< Of StreamCreate.
};

/// When the work submitted before is done, the stream's fence on the board becomes `value`.
struct FenceFrame {
  uint32_t stream = 0;
  uint32_t event = 0; ///< Number of the event whose time is taken then, or kNoEvent.
  uint64_t value = 0;
  uint64_t version = 0; ///< Of that event: an older version never overwrites the time of a newer one.
};
constexpr uint32_t kNoEvent = UINT32_MAX;

/// Which of a stream's two fences on the board.
enum class FenceKind : uint32_t {
  Device = 0, ///< Advanced by the executor: work is done.
  Host = 1    ///< Advanced by the host: a function of the host has returned.
};

/// What is submitted later waits until a fence on the board has come to `value`.
struct WaitFrame {
  uint32_t stream = 0;
  int32_t ofDevice = 0;
  uint32_t ofStream = 0;
  FenceKind kind = FenceKind::Device;
  uint64_t value = 0;
  uint64_t correlation = 0; ///< As in all kinds of work: the executor records when it was done, unless it is 0.
};

struct SizeFrame {
  uint64_t size = 0;
};

struct AddressFrame {
  uint64_t address = 0;
};

struct MemInfoAnswer {
  uint64_t free = 0;
  uint64_t total = 0;
};

/// Which memory an end of a copy lies in.
enum class Where : uint32_t {
  Device = 0, ///< `at` is an address of device memory, the executor's own or a granted peer's.
  Pinned = 1  ///< `at` is an offset in the pinned range, of pages that a Pin has named.
};

struct CopyFrame {
  uint32_t stream = 0;
  Where toWhere = Where::Device;
  Where fromWhere = Where::Device;
  uint32_t reserved = 0;
  uint64_t to = 0;
  uint64_t from = 0;
  uint64_t size = 0;
  uint64_t correlation = 0;
};

struct FillFrame {
  uint32_t stream = 0;
  int32_t value = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t correlation = 0;
};

struct HandleFrame {
  uint64_t handle = 0; ///< The executor's name of a module or kernel.
};

struct KernelAnswer {
  uint64_t handle = 0;
  uint64_t minArgsSize = 0; ///< A launch with fewer argument bytes is refused by the host.
};

struct LaunchFrame {
  uint32_t stream = 0;
  uint16_t argsSize = 0;
  uint16_t pointerCount = 0;
  uint64_t kernel = 0;
  uint64_t correlation = 0;
};

/// Numbers of graphs are chosen by the host, below kGraph.
struct GraphFrame {
  uint32_t graph = 0;
  uint32_t reserved = 0;
};

struct GraphLaunchFrame {
  uint32_t stream = 0;
  uint32_t graph = 0;
  uint64_t correlation = 0; ///< Of all its nodes.
};

struct EventFrame {
  uint32_t event = 0;
  uint32_t reserved = 0;
};

struct TimeAnswer {
  int64_t ns = 0; ///< CLOCK_MONOTONIC.
};

struct PeerMemoryFrame {
  int32_t device = 0;
  uint32_t reserved = 0;
  uint64_t base = 0;
  uint64_t bytes = 0;
};

struct PeerFrame {
  int32_t device = 0;
  uint32_t reserved = 0;
};

struct PeerBlockFrame {
  int32_t device = 0;
  uint32_t reserved = 0;
  uint64_t address = 0;
  uint64_t size = 0; ///< 0: it has ended, as always of CloseMemory.
};

/// Memory of another process, behind a device's own: the executor's or a granted peer's.
struct OpenMemoryFrame {
  int32_t device = 0;
  uint32_t reserved = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t offset = 0; ///< Where it begins in the file whose descriptor was granted.
};

/// Whole pages of the pinned range.
struct RangeFrame {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct DelayFrame {
  int64_t kernelNs = 0;
  int64_t copyNs = 0;
};

} // namespace openreg::process
