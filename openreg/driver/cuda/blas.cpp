// Opens libcublas (NVIDIA's package nvidia-cublas) at the first product, and calls it.
#include "blas.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "common/refused.h"
#include "device.h"
#include "kernels/linalg/gemm.h"
#include "opened_library.h"

namespace openreg::cuda {

namespace {

using kernels::DType;
using kernels::GemmArgs;
using kernels::Matrix;
using BlasHandle = struct cublasContext*;

/// What is used of cuBLAS. OPENREG_CUDA_CUBLAS names another file.
struct Cublas {
  int (*create)(BlasHandle*);
  int (*setStream)(BlasHandle, CUstream);
  int (*gemm)(
      BlasHandle,
      int transA,
      int transB,
      int m,
      int n,
      int k,
      const void* alpha,
      const void* a,
      int typeA,
      int leadingA,
      long long strideA,
      const void* b,
      int typeB,
      int leadingB,
      long long strideB,
      const void* beta,
      void* c,
      int typeC,
      int leadingC,
      long long strideC,
      int batch,
      int computeType,
      int algorithm);
  std::string missing; ///< Empty if all of it is there.
};

const Cublas& cublas() {
  static const Cublas& opened = *[] { // never destroyed: threads may still call when the process ends
    auto* const it = new Cublas{};
    OpenedLibrary library("OPENREG_CUDA_CUBLAS", {"libcublas.so.13", "libcublas.so.12"});
    library.find(it->create, "cublasCreate_v2");
    library.find(it->setStream, "cublasSetStream_v2");
    library.find(it->gemm, "cublasGemmStridedBatchedEx");
    it->missing = library.missing();
    return it;
  }();
  return opened;
}

// cuBLAS wants a handle for each context, and one thread at a time in it.
std::mutex blasMutex;
std::map<CUcontext, BlasHandle>& handles() {
  static auto& all = *new std::map<CUcontext, BlasHandle>; // never destroyed: threads may still call at the end
  return all;
}

/// CUDA's number of a type of elements (cudaDataType), and of what products of them are summed in.
struct Types {
  int element;
  int compute;
};
std::optional<Types> typesOf(DType dtype) {
  constexpr int kIn32Bits = 68; // CUBLAS_COMPUTE_32F: no TF32, whose numbers have ten digits
  constexpr int kIn64Bits = 70;
  switch (dtype) {
    case DType::Half:
      return Types{2, kIn32Bits};
    case DType::BFloat16:
      return Types{14, kIn32Bits};
    case DType::Float:
      return Types{0, kIn32Bits};
    case DType::Double:
      return Types{1, kIn64Bits};
    case DType::ComplexFloat:
      return Types{4, kIn32Bits};
    case DType::ComplexDouble:
      return Types{5, kIn64Bits};
    default:
      return std::nullopt;
  }
}

/// Refuses the call, by the name of the function of cuBLAS's that failed.
void refuseUnlessDone(int status, const char* function) {
  if (status != 0) {
    throw Refused{orDriverError(orErrorVendor, "%s failed with status %d", function, status)};
  }
}

// LITERALINCLUDE START: CUBLAS
/// A matrix in lines that lie one behind the other: rows, or, if it is transposed, columns.
struct Lines {
  bool transposed;
  int64_t leading; ///< Elements from one line to the next.

  Lines(const Matrix& matrix, int64_t rows, int64_t columns) : transposed(matrix.colStride != 1 && columns != 1) {
    const int64_t distance = transposed ? matrix.colStride : matrix.rowStride;
    leading = std::max({distance, transposed ? rows : columns, int64_t{1}});
  }
};

void multiply(Device& device, CUstream stream, const void* bytes) {
  const auto& args = *static_cast<const GemmArgs*>(bytes);
  const auto types = typesOf(args.dtype);
  const Lines a(args.a, args.m, args.k);
  const Lines b(args.b, args.k, args.n);
  const int64_t leadingC = std::max({args.c.rowStride, args.n, int64_t{1}});
  const int64_t largest = std::max({args.m, args.n, args.k, args.batch, a.leading, b.leading, leadingC});
  if (!types || args.c.colStride != 1 || largest > std::numeric_limits<int>::max()) {
    return device.failBehind(stream, orErrorInvalidValue, "a type, stride or size that BLAS does not take");
  }
  if (args.m == 0 || args.n == 0 || args.batch == 0) {
    return;
  }
  const std::lock_guard lock(blasMutex);
  BlasHandle& handle = handles()[device.context()];
  if (handle == nullptr) {
    refuseUnlessDone(cublas().create(&handle), "cublasCreate");
  }
  refuseUnlessDone(cublas().setStream(handle, stream), "cublasSetStream");
  // cuBLAS has matrices in columns. Rows of ours are columns of their transpose, and that of c is b' × a'.
  constexpr int kDefaultAlgorithm = -1;
  refuseUnlessDone(
      cublas().gemm(
          handle, b.transposed ? 1 : 0, a.transposed ? 1 : 0, static_cast<int>(args.n), static_cast<int>(args.m),
          static_cast<int>(args.k), args.alpha, args.b.data, types->element, static_cast<int>(b.leading),
          args.b.batchStride, args.a.data, types->element, static_cast<int>(a.leading), args.a.batchStride, args.beta,
          args.c.data, types->element, static_cast<int>(leadingC), args.c.batchStride, static_cast<int>(args.batch),
          types->compute, kDefaultAlgorithm),
      "cublasGemmStridedBatchedEx");
}
// LITERALINCLUDE END: CUBLAS

} // namespace

VendorCall findVendorCall(std::string_view kernel) {
  // Not integers, which cuBLAS has only for some strides.
  constexpr std::string_view kProducts[] = {"gemm.float", "gemm.double", "gemm.complex_float", "gemm.complex_double"};
  return std::ranges::find(kProducts, kernel) != std::end(kProducts) ? &multiply : nullptr;
}

void expectBlas(const char* kernel) {
  if (!cublas().missing.empty()) {
    throw Refused{orDriverError(
        orErrorNotFound,
        "kernel '%s' is cuBLAS's, and %s; expected NVIDIA's package nvidia-cublas, or OPENREG_CUDA_CUBLAS with the "
        "library's path",
        kernel, cublas().missing.c_str())};
  }
}

void forgetBlas(CUcontext context) {
  const std::lock_guard lock(blasMutex);
  handles().erase(context); // not destroyed: what it had there is gone with the context
}

} // namespace openreg::cuda
