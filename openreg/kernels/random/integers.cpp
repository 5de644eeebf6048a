// The kernel "random": integers of a range.
#include "kernels/random/draw.h"

namespace openreg::kernels {

namespace {

struct Integers : IntegersParameters {
  using Value = int64_t;
  using Bits = uint64_t;
  void operator()(int64_t count, const Bits* bits, int64_t* values) const {
    for (int64_t i = 0; i < count; ++i) {
      values[i] = static_cast<int64_t>(static_cast<uint64_t>(from) + below(this->count, bits[i]));
    }
  }
};

const Draw<"random", Integers> registration;

} // namespace

} // namespace openreg::kernels
