// Keys in the store that no earlier group has used.
#include "distributed/own_keys.h"

#include <c10/util/StringUtil.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <cstdlib>

namespace openreg {

// LITERALINCLUDE START: OWN KEYS
// Gloo writes the ranks' addresses under fixed keys. In a store that has seen a group of this name before (torchrun's,
// after a restart; any, after destroy_process_group) it may read the old ones, so each generation has keys of its own.
// The count alone is not enough: of ranks that died while they met, some had counted and some had not.
c10::intrusive_ptr<c10d::Store> ownKeys(const c10::intrusive_ptr<c10d::Store>& store, int size) {
  const auto* const attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
  const auto prefix = c10::str("occl/", attempt == nullptr ? "0" : attempt);
  const auto generation = (store->add(prefix, 1) - 1) / size;
  return c10::make_intrusive<c10d::PrefixStore>(c10::str(prefix, "/", generation), store);
}
// LITERALINCLUDE END: OWN KEYS

} // namespace openreg
