// Parser of OPENREG_PROCESS.
#include "settings.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace openreg::process {

namespace {

constexpr char kProgram[] = "openreg_executor";
constexpr char kPythonProgram[] = "executor_python";

[[noreturn]] void refuse(std::string_view item, const char* expected) {
  throw std::invalid_argument("OPENREG_PROCESS has '" + std::string(item) + "'; expected " + expected);
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

/// Programs are installed in the folder of this library.
std::string beside(const char* program) {
  Dl_info found{};
  dladdr(reinterpret_cast<const void*>(&beside), &found);
  const std::string_view library = found.dli_fname != nullptr ? found.dli_fname : "";
  const size_t slash = library.rfind('/');
  return (slash == library.npos ? "./" : std::string(library.substr(0, slash + 1))) + program;
}

int64_t parseDeadline(std::string_view item, std::string_view value) {
  constexpr char kExpected[] = "a number above 0 with ms or s, such as deadline=10s";
  const bool milliseconds = value.ends_with("ms");
  const std::string_view digits = value.substr(0, value.size() - (milliseconds ? 2 : value.ends_with('s') ? 1 : 0));
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.size() == value.size() || error != std::errc() || end != digits.data() + digits.size() || number <= 0 ||
      number > 1'000'000) {
    refuse(item, kExpected);
  }
  return number * (milliseconds ? 1'000'000 : 1'000'000'000);
}

void parseItem(Settings& settings, std::string_view item) {
  const size_t equals = item.find('=');
  const std::string_view key = item.substr(0, equals);
  const std::string_view value = equals == item.npos ? std::string_view() : item.substr(equals + 1);
  if (key == "executor" && !value.empty()) {
    settings.executor = value;
  } else if (key == "python" && !value.empty()) {
    settings.interpreter = value;
  } else if (key == "deadline") {
    settings.deadlineNs = parseDeadline(item, value);
  } else {
    refuse(item, "executor=PATH, python=PATH or deadline=TIME");
  }
}

} // namespace

Settings readSettings() {
  Settings settings;
  settings.deviceText = variable("OPENREG_SIM");
  settings.devices = parseOptions(settings.deviceText);
  settings.interpreter = "python3";
  const std::string text = variable("OPENREG_PROCESS");
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = rest.find(',');
    parseItem(settings, rest.substr(0, comma));
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  }
  if (settings.executor == "python") {
    settings.executor = beside(kPythonProgram);
  } else {
    settings.interpreter.clear();
    settings.executor = settings.executor.empty() ? beside(kProgram) : settings.executor;
  }
  return settings;
}

} // namespace openreg::process
