// Memory that processes of one machine share without a name in any file system, and whether such a process still lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace openreg {

/// A file descriptor that is closed at the end.
class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  ~File();
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

/// Where a SharedPage is, for another process.
struct PageName {
  int process = -1;
  int descriptor = -1;
  uint64_t key = 0; ///< Tells it from what has got the number of its descriptor since.
};

// LITERALINCLUDE START: SHARED PAGE
/// Memory in a file without a name: when nobody has it any more, however they ended, it is gone.
class SharedPage {
 public:
  /** @brief Zeroed. @throws c10::Error with the system's reason. */
  explicit SharedPage(size_t bytes);
  /** @brief What another process has made. @throws c10::Error if this process may not, or it is gone. */
  SharedPage(const PageName& name, size_t bytes);
  ~SharedPage();
  SharedPage(SharedPage&& other) noexcept;
  SharedPage& operator=(SharedPage&&) = delete;
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  char* begin() const { return begin_; }
  PageName name() const;

 private:
  void map();

  File file_;
  size_t bytes_;
  uint64_t key_ = 0;
  char* begin_ = nullptr;
};
// LITERALINCLUDE END: SHARED PAGE

/// A process of this machine. Its number may be another's after its end; this isn't.
class OpenProcess {
 public:
  /** @param number Of a process that lives. */
  OpenProcess(int number); // NOLINT(google-explicit-constructor): a list of numbers becomes a list of these
  int number() const { return number_; }
  /** @brief Also of a process that was killed, and that its parent has not asked about yet. Does not block. */
  bool hasEnded() const;

 private:
  int number_;
  File handle_;
};

/** @brief What two processes have in common that can see each other's: the machine since it started, and a container.
 */
std::string machineName();

} // namespace openreg
