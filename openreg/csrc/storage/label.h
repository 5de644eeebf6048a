// What memory is for: "weights", "cache". Storages count their bytes under it.
#pragma once

#include <c10/core/Device.h>
#include <c10/macros/Export.h>

#include <cstdint>
#include <map>
#include <string>

namespace openreg {

// LITERALINCLUDE START: LABEL
/** @brief The bytes of one device's storages that have a label. Never destroyed. */
struct Label {
  std::string name;
  int64_t bytes = 0; ///< Guarded by the lock of label.cpp.
};

/**
 * @brief The label of a name on a device. Any thread.
 * @param name Empty: none.
 * @return Null for no label.
 */
Label* findLabel(const std::string& name, c10::DeviceIndex device);

/** @brief Adds to what is counted under a label. Any thread. @param label Null counts nothing. */
void count(Label* label, int64_t bytes) noexcept;

/** @brief The bytes under each label of which a device's storages have some. Any thread. */
C10_EXPORT std::map<std::string, int64_t> bytesByLabel(c10::DeviceIndex device);

/** @brief Sets the label of what the calling thread makes from now on. @return The one before; empty: none. */
C10_EXPORT std::string exchangeCurrentLabel(std::string name);

/** @brief The label of what the calling thread makes on a device; null for none. */
Label* currentLabel(c10::DeviceIndex device);
// LITERALINCLUDE END: LABEL

} // namespace openreg
