// A device's addresses, and the private view through which device code reaches the bytes behind them.
#pragma once

#include <cstddef>
#include <memory>

#include "mapping.h"

namespace openreg {

/// Two mappings of equal size at a constant distance: `base()` has no access rights and is what host code gets to see,
/// so that reading a device pointer on the host always faults; the view holds the bytes. No rights ever change.
///
/// Whoever works on the bytes shares ownership: a reset drops the device's own share, and the view goes away when the
/// last copy that still runs is done with it.
class Space {
 public:
  static constexpr size_t kAlignment = 2 << 20; ///< Size of a huge page.

  // `bytes` are the device's own; `size()` is twice that. What lies behind is for memory of other processes
  // (orIpcOpenMemHandle), which takes addresses and none of the device's bytes.

  /// Null if the machine has not enough addresses.
  static std::shared_ptr<Space> reserve(size_t bytes);

  /// Addresses alone: the bytes are in another process. Null likewise.
  static std::shared_ptr<Space> addressesOnly(size_t bytes);

  /// A view alone: another process has reserved the addresses, and may share the bytes, which are those of a file. Null
  /// likewise.
  static std::shared_ptr<Space> viewOf(char* base, size_t bytes, int file);

  /// Addresses that the driver has reserved, and keeps: its hardware knows what is behind them.
  static std::shared_ptr<Space> given(char* base, size_t bytes);

  char* base() const { return base_; }
  size_t size() const { return size_; }

  /// Where device code finds what `ptr`, an address of this space, points to.
  char* view(const void* ptr) const { return view_.begin() + offsetOf(ptr); }

  /// Nothing is allocated in [offset, offset + bytes): whole pages.
  void discard(size_t offset, size_t bytes) {
    if (hasView()) {
      view_.discard(offset, bytes);
    }
  }

  bool hasView() const { return static_cast<bool>(view_); }

  // What is behind whole pages of addresses from now on. The caller sees to it that nobody uses their bytes meanwhile.

  /// Those of a file, which others may share. False if the machine refuses, and then nothing has changed.
  bool replace(const void* ptr, size_t bytes, int file, size_t fileOffset);
  /// Private ones, which read as zero. False likewise.
  bool renew(const void* ptr, size_t bytes);

  /// The view is to go; the first `used` bytes of addresses stay taken for ever, so that no later pointer equals a
  /// stale one. The rest is given back.
  void retire(size_t used) { addresses_.abandon(used); }

 private:
  size_t offsetOf(const void* ptr) const { return static_cast<size_t>(static_cast<const char*>(ptr) - base()); }

  char* base_ = nullptr;
  size_t size_ = 0;
  Mapping addresses_;
  Mapping view_;
};

/// Bytes that are safe to touch as long as this lives.
struct Span {
  std::shared_ptr<const void> held; ///< A share of what the bytes lie in.
  char* bytes = nullptr;
};

} // namespace openreg
