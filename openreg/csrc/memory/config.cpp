// Sizes, and the settings that users give in PYTORCH_ALLOC_CONF.
#include "memory/config.h"

#include "device/device_name.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

namespace openreg {
namespace {

using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;
using namespace c10::CachingAllocator; // kSmallSize and its like

size_t roundUp(size_t size, size_t unit) {
  return size > std::numeric_limits<size_t>::max() - unit ? size : (size + unit - 1) / unit * unit;
}

// LITERALINCLUDE START: PARSE CONFIG
/// The keys that only this allocator has. PyTorch parses the common ones, and refuses what neither knows.
class OwnConfig {
 public:
  static OwnConfig& instance() {
    static OwnConfig config;
    return config;
  }

  void parse(const std::string& text) {
    const ConfigTokenizer tokens(text);
    bool poison = false;
    for (size_t i = 0; i < tokens.size(); i = tokens.skipKey(i) + 2) { // past the value and the comma
      if (tokens[i] == "poison") {
        poison = tokens.toBool(i + 2);
      } else if (tokens[i] == "expandable_segments" || tokens[i] == "garbage_collection_threshold") {
        TORCH_WARN_ONCE("PYTORCH_ALLOC_CONF: ", kDeviceName, "'s allocator has no use for '", tokens[i], "'");
      }
    }
    poison_ = poison;
  }

  bool poison() const { return poison_; }

 private:
  /// The common parser reads the environment when it is first used.
  OwnConfig() {
    (void)Config::instance();
    parse(getAllocatorSettings());
  }

  std::atomic<bool> poison_ = false;
};

// What PyTorch's REGISTER_ALLOCATOR_CONFIG_PARSE_HOOK writes.
const DeviceConfigParserHookRegistry
    hook([](const std::string& text) { OwnConfig::instance().parse(text); }, {"poison"});
// LITERALINCLUDE END: PARSE CONFIG

} // namespace

// LITERALINCLUDE START: SIZES
size_t roundSize(size_t size) {
  if (size <= kMinBlockSize) {
    return kMinBlockSize;
  }
  if (const auto divisions = Config::roundup_power2_divisions(size);
      divisions > 1 && size > kMinBlockSize * divisions) {
    return roundUp(size, std::bit_floor(size) / divisions);
  }
  return roundUp(size, kMinBlockSize);
}

size_t segmentSize(size_t size) {
  if (isSmall(size)) {
    return kSmallBuffer;
  }
  return size < kMinLargeAlloc ? Config::large_segment_size() : roundUp(size, kRoundLarge);
}

bool fits(size_t available, size_t size) {
  const auto huge = Config::max_split_size();
  return size < huge ? available < huge : available <= size + Config::max_non_split_rounding_size();
}

bool worthCutting(size_t available, size_t size, bool small) {
  return small ? available - size >= kMinBlockSize : size < Config::max_split_size() && available - size > kSmallSize;
}
// LITERALINCLUDE END: SIZES

bool poisons() {
  return OwnConfig::instance().poison();
}

} // namespace openreg
