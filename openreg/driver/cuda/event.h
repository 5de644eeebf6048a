// Events: each version is an event of CUDA's own.
#pragma once

#include <memory>

#include "common/event.h"
#include "library.h"

namespace openreg::cuda {

class Device;
class Stream;
struct Cuda;

/// A recorded event of CUDA's. It goes back to its device when nobody waits for it any more.
struct Version {
  Version(Device& device, bool timed);
  ~Version();
  Version(const Version&) = delete;
  Version& operator=(const Version&) = delete;

  Device& device;
  const bool timed;
  CUevent event = nullptr;
};

/// A version, or none, which is always reached.
class Point {
 public:
  explicit Point(std::shared_ptr<const Version> version) : version_(std::move(version)) {}
  bool poll() const;
  void wait() const;
  CUevent event() const { return version_ != nullptr ? version_->event : nullptr; }

 private:
  std::shared_ptr<const Version> version_;
};

/// CUDA would let one of its events be recorded anew, but who waits then waits for either version: hence one for each.
class Event : public EventBase<Event, Cuda, Device> {
 public:
  Point latest() const;
  Stamp stamp() const;
  void readTime(Stamp&) {} ///< See millisecondsSince.

  /// What the device's clock has counted between the two, which are complete.
  float millisecondsSince(const Event& start) const;

  void record(uint64_t expected, Stream& stream, uint64_t streamHandle);

  /// See EventBase.
  void forget() { version_ = nullptr; }

 private:
  std::shared_ptr<const Version> version_; ///< Under mutex_.
};

} // namespace openreg::cuda
