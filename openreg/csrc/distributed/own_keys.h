// Keys in the store that no earlier group has used.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace openreg {

/**
 * @brief A view of `store` with keys of this generation's own. Every rank of a group calls it once. May block.
 * @param store What the ranks meet in.
 * @param size How many ranks there are.
 */
c10::intrusive_ptr<c10d::Store> ownKeys(const c10::intrusive_ptr<c10d::Store>& store, int size);

} // namespace openreg
