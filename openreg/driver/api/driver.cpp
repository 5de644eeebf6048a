// Choice and loading of the driver.
#include "driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "built_in.h"
#include "entry.h"
#include "fork.h"

namespace openreg::api {

namespace {

/// Finds the table of the driver that `choice` names; null after reporting why not.
const OrDriver* findTable(const char* entry, const std::string& choice, const Controls*& controls) {
  std::string names;
  for (const BuiltIn* it : builtIns()) {
    if (choice == it->table.name) {
      controls = it->controls;
      return &it->table;
    }
    names.append("'").append(it->table.name).append("', ");
  }
  names.replace(names.size() - 2, 2, " or");
  if (choice.find('/') == std::string::npos) {
    report(
        entry, orErrorDriver,
        "OPENREG_DRIVER is '%s'; expected %s the path (with a slash in it) of a shared library that exports "
        "orGetDriver",
        choice.c_str(), names.c_str());
    return nullptr;
  }
  void* library = dlopen(choice.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    report(entry, orErrorDriver, "OPENREG_DRIVER is '%s', which cannot be loaded: %s", choice.c_str(), dlerror());
    return nullptr;
  }
  const auto get = reinterpret_cast<decltype(&orGetDriver)>(dlsym(library, "orGetDriver"));
  if (get == nullptr) {
    report(entry, orErrorDriver, "OPENREG_DRIVER is '%s', which does not export orGetDriver", choice.c_str());
    return nullptr;
  }
  const OrDriver* table = get(OPENREG_DRIVER_VERSION);
  if (table == nullptr) {
    report(
        entry, orErrorDriver, "the driver '%s' does not serve version %u of the contract, which this library has",
        choice.c_str(), OPENREG_DRIVER_VERSION);
  }
  return table; // The library stays open: the table lives in it.
}

/// Reads OPENREG_LAUNCH_BLOCKING; false after reporting what is wrong with it.
bool readLaunchBlocking(const char* entry, bool& blocking) {
  const char* value = std::getenv("OPENREG_LAUNCH_BLOCKING");
  const std::string_view wanted = value != nullptr ? value : "";
  blocking = wanted == "1";
  if (blocking || wanted.empty() || wanted == "0") {
    return true;
  }
  report(entry, orErrorInvalidValue, "OPENREG_LAUNCH_BLOCKING is '%s'; expected 0 or 1", value);
  return false;
}

} // namespace

orError_t loadDriver(const char* entry) {
  const std::lock_guard lock(configurationMutex());
  if (loadedDriver.load(std::memory_order_relaxed) != nullptr) {
    return orSuccess; // Another thread was faster.
  }
  const char* wanted = std::getenv("OPENREG_DRIVER");
  const std::string choice = wanted != nullptr && *wanted != '\0' ? wanted : builtIns().front()->table.name;
  bool launchBlocking = false;
  if (!readLaunchBlocking(entry, launchBlocking)) {
    return orErrorInvalidValue;
  }
  const Controls* controls = nullptr;
  const OrDriver* table = findTable(entry, choice, controls);
  if (table == nullptr) {
    return orErrorDriver;
  }
  if (table->version != OPENREG_DRIVER_VERSION) {
    return report(
        entry, orErrorDriver, "the driver '%s' has version %u of the contract; expected %u: %s", choice.c_str(),
        table->version, OPENREG_DRIVER_VERSION,
        table->version > OPENREG_DRIVER_VERSION ? "it is newer than this library" : "it is too old for this library");
  }
  if (table->size < offsetof(OrDriver, GetDeviceCount) || table->name == nullptr) {
    return report(
        entry, orErrorDriver, "the table of driver '%s' has size %zu and %s; expected at least %zu and a name",
        choice.c_str(), table->size, table->name == nullptr ? "no name" : "a name", offsetof(OrDriver, GetDeviceCount));
  }

  auto loaded = std::make_unique<Driver>();
  std::memcpy(&loaded->table, table, std::min(table->size, sizeof(OrDriver)));
  loaded->controls = controls;
  loaded->launchBlocking = launchBlocking;
  if (loaded->table.GetDeviceCount != nullptr) {
    if (const orError_t error = loaded->table.GetDeviceCount(&loaded->count); error != orSuccess) {
      return reportDriver(entry, error);
    }
    if (loaded->count == 0 && thread.describedError == orErrorInvalidDevice) {
      loaded->whyNone = std::string("; ") + thread.description;
      thread.describedError = orSuccess;
    }
  }
  watchForks();
  // Never deleted: threads may be in a call while the process ends.
  loadedDriver.store(loaded.release(), std::memory_order_release);
  attention.fetch_and(~unsigned{kNotLoaded}, std::memory_order_release);
  return orSuccess;
}

} // namespace openreg::api
