// The list of the drivers that this library brings along.
#include "built_in.h"

#include <array>

namespace openreg::api {

std::span<const BuiltIn* const> builtIns() {
  static constexpr std::array kAll{&simDriver, &processDriver, &fakeDriver, &cudaDriver};
  return kAll;
}

} // namespace openreg::api
