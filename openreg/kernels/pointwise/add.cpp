// The kernel "add": out = a + alpha * b over contiguous arrays.
#include "kernels/pointwise/add.h"

#include <type_traits>

#include "kernels/loop/ivdep.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

/// Integers wrap around, as everywhere in PyTorch; in C++ only unsigned ones may.
template <class T>
T addScaled(T a, T b, T alpha) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(alpha) * static_cast<U>(b));
  } else {
    return a + alpha * b;
  }
}

class Add {
 public:
  static const char* refusal(const AddArgs& args) {
    const bool isKnown =
        args.type == ElementType::Float32 || args.type == ElementType::Float64 || args.type == ElementType::Int64;
    return isKnown ? nullptr : "type is not an ElementType";
  }

  explicit Add(const AddArgs& args) : args_(args) {}

  int64_t count() const { return args_.count; }

  void operator()(int64_t begin, int64_t end) const {
    switch (args_.type) {
      case ElementType::Float32:
        return run<float>(begin, end);
      case ElementType::Float64:
        return run<double>(begin, end);
      case ElementType::Int64:
        return run<int64_t>(begin, end);
    }
  }

 private:
  template <class T>
  void run(int64_t begin, int64_t end) const {
    auto* out = static_cast<T*>(args_.out);
    const auto* a = static_cast<const T*>(args_.a);
    const auto* b = static_cast<const T*>(args_.b);
    const T alpha = std::is_integral_v<T> ? static_cast<T>(args_.alphaInt) : static_cast<T>(args_.alpha);
    OPENREG_IVDEP // `out` may be `a` or `b`, but element by element that is no dependency.
    for (int64_t i = begin; i < end; ++i) {
      out[i] = addScaled<T>(a[i], b[i], alpha);
    }
  }

  const AddArgs& args_;
};

const Loop<"add", AddArgs, Add> registration;

} // namespace

} // namespace openreg::kernels
