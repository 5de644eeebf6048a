// How the ranks of one machine find each other's memory.
#include "distributed/direct/direct.h"

#include "storage/sharing.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace openreg {

namespace {

// What a rank tells the others about itself.
struct Card {
  PageName page; // rank 0's is the one where all meet
  uint64_t offset = 0;
  std::string machine;
  std::string handle;
  std::string refusal; // why it can't, or isn't to

  std::vector<uint8_t> pack() const {
    const auto text =
        c10::str(page.process, " ", page.descriptor, " ", page.key, " ", offset, "\n", machine, "\n", refusal, "\n");
    std::vector<uint8_t> bytes(text.begin(), text.end());
    bytes.insert(bytes.end(), handle.begin(), handle.end());
    return bytes;
  }

  static Card unpack(const std::vector<uint8_t>& bytes) {
    Card it;
    const std::string text(bytes.begin(), bytes.end());
    const auto first = text.find('\n');
    const auto second = text.find('\n', first + 1);
    const auto third = text.find('\n', second + 1);
    std::istringstream numbers(text.substr(0, first));
    numbers >> it.page.process >> it.page.descriptor >> it.page.key >> it.offset;
    it.machine = text.substr(first + 1, second - first - 1);
    it.refusal = text.substr(second + 1, third - second - 1);
    it.handle = text.substr(third + 1);
    return it;
  }
};

std::vector<uint8_t> bytesOfText(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string firstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

} // namespace

std::string Direct::wanted() {
  const auto* const given = std::getenv("OCCL_TRANSPORT");
  const std::string_view value = given == nullptr ? "" : given;
  TORCH_CHECK_VALUE(
      value.empty() || value == "staged" || value == "direct", "occl: OCCL_TRANSPORT is '", value,
      "'; expected 'staged' or 'direct', or nothing: direct where it can be");
  return std::string(value);
}

at::Tensor Direct::bytes(int rank, int64_t piece, int64_t offset, int64_t count) const {
  return buffers_[static_cast<size_t>(rank)].narrow(0, piece % kParts * kPart + offset, count);
}

// LITERALINCLUDE START: CONNECT DIRECT
// The ranks must come to the same answer, so each tells in the store what it has, and then whether it could open what
// the others have. Whoever can't says why, and goes on: the others wait for its word.
std::unique_ptr<Direct> Direct::connect(
    const c10::intrusive_ptr<c10d::Store>& store,
    int rank,
    int size,
    c10::Device device,
    const std::string& asked,
    std::string& reason) {
  const c10::DeviceGuard guard(device);
  std::unique_ptr<Direct> made(new Direct);
  Card mine;
  std::optional<SharedPage> page;
  if (asked == "staged") {
    mine.refusal = "OCCL_TRANSPORT is 'staged'";
  } else {
    try {
      page.emplace(Meeting::pageBytes(size));
      made->buffers_.assign(static_cast<size_t>(size), at::Tensor());
      auto& own = made->buffers_[static_cast<size_t>(rank)];
      own = at::empty({kParts * kPart}, at::TensorOptions(at::kByte).device(device));
      const auto shared = shareStorage(own.storage());
      mine = {page->name(), shared.offset, machineName(), shared.handle, ""};
    } catch (const c10::Error& error) {
      mine.refusal = firstLine(error.what_without_backtrace());
    }
  }
  store->set(c10::str("card/", rank), mine.pack());

  std::string failure = mine.refusal;
  std::vector<int> processes;
  std::optional<SharedPage> theirs;
  for (int other = 0; other < size; ++other) {
    const auto card = Card::unpack(store->get(c10::str("card/", other)));
    processes.push_back(card.page.process);
    if (!failure.empty() || other == rank || !card.refusal.empty()) {
      continue; // who refuses says so itself
    }
    if (card.machine != mine.machine) {
      failure = c10::str("rank ", other, " is on another machine, or in another container");
      continue;
    }
    try {
      const auto storage =
          openStorage({card.handle, card.offset}, static_cast<size_t>(kParts * kPart), device, /*done=*/-1);
      made->buffers_[static_cast<size_t>(other)] =
          at::empty({0}, at::TensorOptions(at::kByte).device(device)).set_(storage, 0, {kParts * kPart}, {1});
      if (other == 0) {
        theirs.emplace(card.page, Meeting::pageBytes(size));
      }
    } catch (const c10::Error& error) {
      failure = firstLine(error.what_without_backtrace());
    }
  }
  store->set(c10::str("opened/", rank), bytesOfText("." + failure)); // a value can't be empty

  reason.clear();
  for (int other = 0; other < size; ++other) {
    const auto told = store->get(c10::str("opened/", other));
    if (told.size() > 1 && reason.empty()) {
      reason = c10::str("rank ", other, ": ", std::string(told.begin() + 1, told.end()));
    }
  }
  TORCH_CHECK_WITH(
      DistBackendError, reason.empty() || asked != "direct",
      "occl: OCCL_TRANSPORT is 'direct', and this group can't be: ", reason);
  if (!reason.empty()) {
    return nullptr;
  }
  made->meeting_ = std::make_unique<Meeting>(std::move(rank == 0 ? *page : *theirs), rank, std::move(processes));
  return made;
}
// LITERALINCLUDE END: CONNECT DIRECT

} // namespace openreg
