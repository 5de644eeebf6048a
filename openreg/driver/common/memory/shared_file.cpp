// Shared files, and handles of them.
#include "shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include "common/refused.h"

namespace openreg {

namespace {

/// What the bytes of a handle are.
struct Name {
  char mark[8];
  int32_t process;
  int32_t descriptor;
  uint64_t offset;
  uint64_t bytes;
  std::array<unsigned char, 16> key;
  unsigned char unused[16];
};
static_assert(sizeof(Name) == sizeof(orIpcMemHandle));

/// How a handle of each kind begins, and what messages call it.
struct Kind {
  char mark[9];
  const char* is;
};
const Kind& about(SharedKind kind) {
  static constexpr Kind kKinds[] = {{"ormemory", "memory"}, {"orevents", "an event"}};
  return kKinds[static_cast<size_t>(kind)];
}

/// Whoever maps a file must be able to rely on its size: touching what is behind its end would end the process.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// The system shows a file's name to those who may look; the key in it tells this file from what has got its number
/// since.
std::string nameOf(const std::array<unsigned char, 16>& key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name = "openreg-";
  for (const unsigned char byte : key) {
    name += kDigits[byte / 16];
    name += kDigits[byte % 16];
  }
  return name;
}

bool leadsTo(const std::string& link, const std::array<unsigned char, 16>& key) {
  char target[PATH_MAX];
  const ssize_t length = readlink(link.c_str(), target, sizeof(target));
  if (length < 0) {
    return false;
  }
  errno = ENOENT;
  return std::string(target, static_cast<size_t>(length)).starts_with("/memfd:" + nameOf(key));
}

[[noreturn]] void refuse(const Name& name, const char* is) {
  const int reason = errno;
  if (reason == ENOENT) {
    throw Refused{orDriverError(
        orErrorInvalidValue,
        "argument 'handle' names %s of process %d, which has freed it or has ended; expected it to live", is,
        name.process)};
  }
  const bool full = reason == EMFILE || reason == ENFILE || reason == ENOMEM;
  throw Refused{orDriverError(
      full ? orErrorMemoryAllocation : orErrorInvalidValue,
      "argument 'handle' names %s of process %d, which cannot be opened (%s); expected one of a process of the same "
      "user",
      is, name.process, std::strerror(reason))};
}

} // namespace

SharedFile::SharedFile(size_t bytes) {
  if (getrandom(key_.data(), key_.size(), 0) == static_cast<ssize_t>(key_.size())) {
    file_ = Descriptor(memfd_create(nameOf(key_).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!file_ || ftruncate(file_.number(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file_.number(), F_ADD_SEALS, kSeals) != 0) {
    throw std::system_error(errno, std::generic_category(), "shared memory cannot be created");
  }
}

void SharedFile::write(const char* bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    const ssize_t now = pwrite(number(), bytes + done, count - done, static_cast<off_t>(done));
    if (now < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "shared memory cannot be written");
    }
    done += static_cast<size_t>(std::max<ssize_t>(now, 0));
  }
}

orIpcMemHandle SharedFile::handleOf(SharedKind kind, size_t offset, size_t bytes) const {
  Name name{{}, getpid(), file_.number(), offset, bytes, key_, {}};
  std::memcpy(name.mark, about(kind).mark, sizeof(name.mark));
  orIpcMemHandle handle;
  std::memcpy(&handle, &name, sizeof(handle));
  return handle;
}

SharedPart openShared(const orIpcMemHandle& handle, SharedKind kind) {
  Name name;
  std::memcpy(&name, &handle, sizeof(name));
  const char* is = about(kind).is;
  const auto madeUp = [&] {
    throw Refused{orDriverError(
        orErrorInvalidValue, "argument 'handle' has bytes that no driver wrote to name %s; expected those of %s", is,
        kind == SharedKind::Memory ? "orIpcGetMemHandle" : "orIpcGetEventHandle")};
  };
  if (std::memcmp(name.mark, about(kind).mark, sizeof(name.mark)) != 0) {
    madeUp();
  }
  if (name.process == getpid()) {
    throw Refused{orDriverError(
        orErrorInvalidValue,
        "argument 'handle' names %s of this process; expected another's: here what it was made of serves", is)};
  }
  const std::string link = "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  // Before opening, as that can do something where it is not our file; and after it, as it may be another one by then.
  if (!leadsTo(link, name.key)) {
    refuse(name, is);
  }
  Descriptor file(open(link.c_str(), O_RDWR | O_CLOEXEC));
  if (!file || !leadsTo("/proc/self/fd/" + std::to_string(file.number()), name.key)) {
    refuse(name, is);
  }
  struct stat found{};
  const int seals = fcntl(file.number(), F_GET_SEALS);
  const bool whole = fstat(file.number(), &found) == 0 && seals >= 0 && (seals & kSeals) == kSeals;
  const auto size = static_cast<uint64_t>(found.st_size);
  if (!whole || name.bytes == 0 || name.offset % kSharedAlignment != 0 || name.offset > size ||
      name.bytes > size - name.offset) {
    madeUp();
  }
  return {std::move(file), name.offset, name.bytes};
}

} // namespace openreg
