// Convolutions as products of matrices, for a device that has no kernel of them.
#pragma once

#include <kernels/image/convolution.h>

#include <ATen/core/Tensor.h>

#include <optional>

namespace openreg {

/** @brief Whether a tensor's device can unfold images of its type, fold them, and multiply matrices. */
bool hasConvolutionProducts(const at::Tensor& tensor);

/**
 * @brief The three arrays that a convolution relates, any one of which is made of the other two. All of it is queued on
 *     the current stream of their device; nothing blocks.
 *
 * Beside the arrays there is memory for unfolded images: some of the batch at a time, 256 MiB of floats in all or one
 * image, whichever is more.
 */
class ConvolutionProducts {
 public:
  /**
   * @param args Describes the arrays; their pointers are not read.
   * @param image, weight, result Contiguous, of one type. One of them is written.
   */
  ConvolutionProducts(
      const kernels::ConvolutionArgs& args,
      const at::Tensor& image,
      const at::Tensor& weight,
      const at::Tensor& result);

  /** @brief result = weight × unfolded image + bias */
  void toResult(const std::optional<at::Tensor>& bias) const;

  /** @brief image = what weightᵀ × result is when it is folded, + bias */
  void toImage(const std::optional<at::Tensor>& bias) const;

  /** @brief weight = result × unfolded imageᵀ, summed over the batch */
  void toWeight() const;

 private:
  /// Calls `use(first, count)` for some images of the batch at a time.
  template <class Use>
  void forEachPart(Use use) const;

  kernels::ConvolutionArgs args_;
  bool isPointwise_;  ///< Whether an image is its own unfolded matrix.
  at::Tensor image_;  ///< batch × groups × channels × elements of a plane
  at::Tensor weight_; ///< groups × filters × (channels · elements of the window)
  at::Tensor result_; ///< batch × groups × filters × positions of the window
};

} // namespace openreg
