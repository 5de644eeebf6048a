// Shared memory without a name.
#include "shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace openreg::process {

namespace {
[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}
} // namespace

Descriptor createMemory(const char* name, size_t bytes) {
  Descriptor memory(memfd_create(name, MFD_CLOEXEC));
  if (!memory || ftruncate(memory.number(), static_cast<off_t>(bytes)) != 0) {
    fail("shared memory cannot be created");
  }
  return memory;
}

void View::map(size_t bytes, int protection, int flags, int file) {
  void* mapped = mmap(nullptr, bytes, protection, flags | MAP_NORESERVE, file, 0);
  if (mapped == MAP_FAILED) {
    fail("shared memory cannot be mapped");
  }
  begin_ = static_cast<char*>(mapped);
  bytes_ = bytes;
}

View::View(const Descriptor& memory, size_t bytes, Access access) {
  map(bytes, access == Access::Read ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, memory.number());
  madvise(begin_, bytes_, MADV_DONTFORK); // A forked child cannot use the device, and must not disturb it.
}

View::View(size_t bytes) {
  map(bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

bool View::open(const Descriptor& memory, size_t offset, size_t bytes, Sharing sharing) {
  const int flags = (sharing == Sharing::Shared ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE | MAP_FIXED;
  return mmap(begin_ + offset, bytes, PROT_READ | PROT_WRITE, flags, memory.number(), static_cast<off_t>(offset)) !=
         MAP_FAILED;
}

void View::close(size_t offset, size_t bytes) {
  [[maybe_unused]] void* hole = mmap(
      begin_ + offset, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
      0); // Over what is there: unmapping it would leave a hole for somebody else's memory.
}

View::~View() {
  if (begin_ != nullptr) {
    munmap(begin_, bytes_);
  }
}

} // namespace openreg::process
