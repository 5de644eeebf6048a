// Memory that processes of one machine share.
#include "distributed/direct/shared_page.h"

#include "device/device_name.h"

#include <c10/util/Exception.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fstream>

namespace openreg {

namespace {

std::string fileName(uint64_t key) {
  return c10::str(kDeviceName, "-meeting-", key);
}

std::string linkTarget(const std::string& link) {
  std::array<char, PATH_MAX> target{};
  const auto length = readlink(link.c_str(), target.data(), target.size());
  return {target.data(), length < 0 ? 0 : static_cast<size_t>(length)};
}

} // namespace

File::~File() {
  if (number_ >= 0) {
    close(number_);
  }
}

void SharedPage::map() {
  void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
  TORCH_CHECK(mapped != MAP_FAILED, "occl: shared memory can't be mapped (", std::strerror(errno), ")");
  begin_ = static_cast<char*>(mapped);
}

SharedPage::SharedPage(size_t bytes) : bytes_(bytes) {
  (void)!getrandom(&key_, sizeof(key_), 0);
  file_ = File(memfd_create(fileName(key_).c_str(), MFD_CLOEXEC));
  TORCH_CHECK(
      file_.number() >= 0 && ftruncate(file_.number(), static_cast<off_t>(bytes)) == 0,
      "occl: shared memory can't be made (", std::strerror(errno), ")");
  map();
}

SharedPage::SharedPage(const PageName& name, size_t bytes) : bytes_(bytes), key_(name.key) {
  const auto link = c10::str("/proc/", name.process, "/fd/", name.descriptor);
  const auto expected = "/memfd:" + fileName(key_);
  // The system lets those in who may look into the other process: its own user, as a rule.
  const bool isIt = linkTarget(link).starts_with(expected); // opening another file might do something
  file_ = File(isIt ? open(link.c_str(), O_RDWR | O_CLOEXEC) : -1);
  struct stat found{};
  TORCH_CHECK(
      file_.number() >= 0 && fstat(file_.number(), &found) == 0 && static_cast<size_t>(found.st_size) >= bytes,
      "occl: memory of process ", name.process, " can't be opened (", std::strerror(errno),
      "); expected a process of the same user on the same machine");
  map();
}

SharedPage::SharedPage(SharedPage&& other) noexcept
    : file_(std::move(other.file_)), bytes_(other.bytes_), key_(other.key_),
      begin_(std::exchange(other.begin_, nullptr)) {}

SharedPage::~SharedPage() {
  if (begin_ != nullptr) {
    munmap(begin_, bytes_);
  }
}

PageName SharedPage::name() const {
  return {getpid(), file_.number(), key_};
}

OpenProcess::OpenProcess(int number) : number_(number), handle_(static_cast<int>(syscall(SYS_pidfd_open, number, 0))) {}

bool OpenProcess::hasEnded() const {
  if (handle_.number() < 0) {
    return kill(number_, 0) != 0 && errno == ESRCH; // an old system has no handles
  }
  pollfd end{handle_.number(), POLLIN, 0};
  return poll(&end, 1, 0) > 0;
}

std::string machineName() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot + " " + linkTarget("/proc/self/ns/pid");
}

} // namespace openreg
