// What a rank says about an operation before it exchanges any values.
#include "distributed/direct/announcement.h"

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

namespace openreg {

const char* nameOf(c10d::OpType type) {
  switch (type) {
    case c10d::OpType::BROADCAST:
      return "broadcast";
    case c10d::OpType::ALLREDUCE:
      return "all_reduce";
    case c10d::OpType::REDUCE:
      return "reduce";
    case c10d::OpType::ALLGATHER:
      return "all_gather";
    case c10d::OpType::_ALLGATHER_BASE:
      return "all_gather_into_tensor";
    case c10d::OpType::GATHER:
      return "gather";
    case c10d::OpType::SCATTER:
      return "scatter";
    case c10d::OpType::REDUCE_SCATTER:
      return "reduce_scatter";
    case c10d::OpType::_REDUCE_SCATTER_BASE:
      return "reduce_scatter_tensor";
    case c10d::OpType::ALLTOALL_BASE:
      return "all_to_all_single";
    case c10d::OpType::ALLTOALL:
      return "all_to_all";
    case c10d::OpType::SEND:
      return "send";
    case c10d::OpType::RECV:
      return "recv";
    case c10d::OpType::BARRIER:
      return "barrier";
    case c10d::OpType::COALESCED:
      return "coalesced operations";
    default:
      return "an operation without a name";
  }
}

namespace {

const char* reductionName(int64_t reduction) {
  constexpr const char* kNames[] = {"sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum"};
  return reduction >= 0 && reduction < static_cast<int64_t>(std::size(kNames)) ? kNames[reduction] : "?";
}

} // namespace

std::vector<int64_t> Announcement::pack() const {
  std::vector<int64_t> numbers{static_cast<int64_t>(type), root, reduction, dtype};
  numbers.insert(numbers.end(), sends.begin(), sends.end());
  numbers.insert(numbers.end(), expects.begin(), expects.end());
  return numbers;
}

Announcement Announcement::unpack(const int64_t* numbers, int size) {
  Announcement it;
  it.type = static_cast<c10d::OpType>(numbers[0]);
  it.root = numbers[1];
  it.reduction = numbers[2];
  it.dtype = numbers[3];
  it.sends.assign(numbers + 4, numbers + 4 + size);
  it.expects.assign(numbers + 4 + size, numbers + length(size));
  return it;
}

std::string Announcement::describe() const {
  std::string text = nameOf(type);
  if (reduction >= 0) {
    text += c10::str(" (", reductionName(reduction), ")");
  }
  if (root >= 0) {
    text += c10::str(" of root ", root);
  }
  const auto most = [](const std::vector<int64_t>& bytes) {
    return bytes.empty() ? int64_t{0} : *std::max_element(bytes.begin(), bytes.end());
  };
  text += c10::str(" of ", std::max(most(sends), most(expects)), " bytes");
  if (dtype >= 0) {
    text += c10::str(" of ", c10::toString(static_cast<c10::ScalarType>(dtype)));
  }
  return text;
}

// LITERALINCLUDE START: CHECK AGREEMENT
void checkAgreement(const std::vector<Announcement>& all) {
  const auto check = [&](bool agree, size_t a, size_t b) {
    TORCH_CHECK_WITH(
        DistBackendError, agree, "the ranks disagree: rank ", a, " calls ", all[a].describe(), ", rank ", b, " calls ",
        all[b].describe(), "; expected the same operations in the same order, with sizes that fit");
  };
  for (size_t a = 0; a < all.size(); ++a) {
    for (size_t b = a + 1; b < all.size(); ++b) {
      check(
          all[a].type == all[b].type && all[a].root == all[b].root && all[a].reduction == all[b].reduction &&
              all[a].dtype == all[b].dtype,
          a, b);
      check(all[a].sends[b] == all[b].expects[a] && all[b].sends[a] == all[a].expects[b], a, b);
    }
  }
}
// LITERALINCLUDE END: CHECK AGREEMENT

} // namespace openreg
