// Registrations that are wrong, for test_custom_ops_wrong.py. Each function registers one, and says what came of it.
#include <torch/library.h>

#include <cstring>
#include <exception>
#include <optional>

namespace {

at::Tensor two(const at::Tensor& x, const at::Tensor& /*y*/) {
  return x;
}

TORCH_LIBRARY(wrong_cpp, m) {
  m.def("one(Tensor x) -> Tensor");
}

/// Registers and writes the error's text. @return Whether there was an error.
template <class Register>
int attempt(char* text, size_t size, Register registers) {
  try {
    registers();
    return 0;
  } catch (const std::exception& error) {
    std::strncpy(text, error.what(), size - 1);
    return 1;
  }
}

} // namespace

extern "C" int other_arguments(char* text, size_t size) {
  return attempt(text, size, [] {
    torch::Library m(torch::Library::IMPL, "wrong_cpp", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    m.impl("one", two);
  });
}

extern "C" int namespace_twice(char* text, size_t size) {
  return attempt(text, size, [] { torch::Library(torch::Library::DEF, "openreg", std::nullopt, __FILE__, __LINE__); });
}
