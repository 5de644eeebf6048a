// Parser of OPENREG_SIM.
#include "options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "api/control.h"
#include "api/failure.h"

namespace openreg {

namespace {

using Units = std::initializer_list<std::pair<std::string_view, uint64_t>>;

[[noreturn]] void refuse(std::string_view item, const std::string& expected) {
  throw std::invalid_argument("OPENREG_SIM has '" + std::string(item) + "'; expected " + expected);
}

/// A number that fills all of `text`.
bool parseNumber(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

uint64_t parseRange(std::string_view item, std::string_view value, uint64_t most) {
  uint64_t number = 0;
  if (!parseNumber(value, number) || number > most) {
    refuse(item, "a number from 0 to " + std::to_string(most));
  }
  return number;
}

/// A number with a unit; longer units must come before those they end in ("KiB" before "B").
uint64_t parseWithUnit(std::string_view item, std::string_view value, Units units, const char* expected) {
  for (const auto& [unit, factor] : units) {
    uint64_t number = 0;
    if (value.ends_with(unit) && parseNumber(value.substr(0, value.size() - unit.size()), number) &&
        number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / factor) {
      return number * factor;
    }
  }
  refuse(item, expected);
}

size_t parseMemory(std::string_view item, std::string_view value) {
  constexpr char kExpected[] = "a number above 0 with B, KiB, MiB or GiB, such as memory=256MiB";
  const uint64_t bytes =
      parseWithUnit(item, value, {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}, kExpected);
  return bytes > 0 ? bytes : (refuse(item, kExpected), 0);
}

int64_t parseDelay(std::string_view item, std::string_view value) {
  if (value == "0") {
    return 0;
  }
  return static_cast<int64_t>(parseWithUnit(
      item, value, {{"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}},
      "a number with us, ms or s, such as 100us"));
}

Options::Fail parseFail(std::string_view item, std::string_view value) {
  constexpr char kExpected[] = "fail=ENTRY:N:ERROR, such as fail=orMalloc:3:orErrorMemoryAllocation";
  const size_t first = value.find(':');
  const size_t second = first == value.npos ? value.npos : value.find(':', first + 1);
  uint64_t n = 0;
  if (second == value.npos || !parseNumber(value.substr(first + 1, second - first - 1), n) || n < 1 ||
      n > 1'000'000'000) {
    refuse(item, kExpected);
  }
  const std::string entry(value.substr(0, first));
  const std::string errorName(value.substr(second + 1));
  const orError_t error = api::errorOfName(errorName.c_str());
  if (!api::isEntry(entry.c_str()) || error == orSuccess) {
    refuse(item, std::string(kExpected) + ", with a function of openreg.h and an error of orError_t");
  }
  return {entry, static_cast<int>(n), error};
}

std::vector<std::string> parseNames(std::string_view item, std::string_view value) {
  std::vector<std::string> names;
  for (size_t start = 0; start <= value.size();) {
    const size_t plus = std::min(value.find('+', start), value.size());
    if (plus == start) {
      refuse(item, "only=NAME+NAME, with names of kernels, such as only=gemm+copy");
    }
    names.emplace_back(value.substr(start, plus - start));
    start = plus + 1;
  }
  return names;
}

void parseItem(Options& options, std::string_view item) {
  const size_t equals = item.find('=');
  const std::string_view key = item.substr(0, equals);
  const std::string_view value = equals == item.npos ? std::string_view() : item.substr(equals + 1);
  if (equals == item.npos) {
    refuse(item, "KEY=VALUE");
  } else if (key == "devices") {
    options.devices = static_cast<int>(parseRange(item, value, kMaxDevices));
  } else if (key == "memory") {
    options.memory = parseMemory(item, value);
  } else if (key == "check") {
    options.check = parseRange(item, value, 1) != 0;
  } else if (key == "kernel_delay") {
    options.kernelDelayNs = parseDelay(item, value);
  } else if (key == "copy_delay") {
    options.copyDelayNs = parseDelay(item, value);
  } else if (key == "kernels") {
    options.kernels = parseRange(item, value, 1) != 0;
  } else if (key == "only") {
    options.only = parseNames(item, value);
  } else if (key == "fail") {
    options.fail.push_back(parseFail(item, value));
  } else {
    refuse(item, "one of the keys devices, memory, check, kernel_delay, copy_delay, kernels, only, fail");
  }
}

} // namespace

Options parseOptions(const std::string& text) {
  Options options;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    parseItem(options, rest.substr(0, comma));
    if (comma == rest.npos) {
      break;
    }
    rest.remove_prefix(comma + 1);
  }
  return options;
}

} // namespace openreg
