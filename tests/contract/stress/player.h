// One thread of the stress program: random calls, and a model on the host of what they must lead to.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "openreg.h"

namespace stress {

/// Bytes of an array whose model this is.
inline size_t bytesOf(const std::vector<int64_t>& model) {
  return model.size() * sizeof(int64_t);
}

/// What all players share: streams that several of them fill at once, and the kernels.
struct Shared {
  struct OnDevice {
    std::vector<orStream_t> streams;
    orKernel_t add = nullptr;
    orKernel_t fill = nullptr;
    orKernel_t copy = nullptr;
  };
  std::vector<OnDevice> devices;
};

/// Counts of what was done, for the report.
struct Counts {
  std::atomic<uint64_t> operations{0};
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> copies{0};
  std::atomic<uint64_t> events{0};
  std::atomic<uint64_t> hostFunctions{0};
  std::atomic<uint64_t> graphs{0}; ///< Launches of them.
  std::atomic<uint64_t> comparisons{0};
};

/// Works on arrays of its own, so that it alone decides what is in them; on streams that belong to it or to everybody.
/// An array is used on one stream after the other, ordered by events where the stream changes.
class Player {
 public:
  Player(const Shared& shared, Counts& counts, uint64_t seed);

  void play(int operations);

  /// Waits for everything, compares everything, gives everything back.
  void finish();

 private:
  /// An array of the device, and what must be in it.
  struct Array {
    int device;
    int64_t* data;
    std::vector<int64_t> model;
    orStream_t stream; ///< On which it was used last.
  };

  /// Two arrays on one stream, for a copy from the one to the other.
  struct Pair {
    Array& to;
    Array& from;
    orStream_t stream;
    size_t count; ///< Elements that both have.
  };

  /// A host function that counts its calls.
  static void count(void* counter) { ++*static_cast<std::atomic<int64_t>*>(counter); }

  int64_t random(int64_t below) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(below)); }
  Array* pick();
  Array* pickLike(const Array& other, bool sameDevice);
  std::optional<Pair> pickPair(bool sameDevice);
  orStream_t pickStream(int device);
  void moveTo(Array& array, orStream_t stream);
  void modelAdd(Array& out, const Array& other, int64_t alpha);
  void expect(const Array& array, const int64_t* got, const char* where);

  // The operations.
  void allocate();
  void release();
  void share();
  void upload();
  void uploadPinned();
  void download();
  void downloadPinned();
  void copyOnDevice();
  void copyToPeer();
  void setBytes();
  void fill();
  void add();
  void replay();
  void reverse();
  void events();
  void streams();
  void hostFunction();
  void synchronize();

  const Shared& shared_;
  Counts& counts_;
  std::mt19937_64 engine_;
  std::vector<std::unique_ptr<Array>> arrays_;
  std::vector<std::pair<int, orStream_t>> ownStreams_;
  std::atomic<int64_t> called_{0}; ///< By host functions.
  int64_t toBeCalled_ = 0;
};

} // namespace stress
