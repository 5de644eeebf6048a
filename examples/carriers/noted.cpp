// A TensorImpl of one's own, with a note in it: what it takes, so that detach() doesn't lose the note.
#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <torch/library.h>

#include <optional>
#include <string>
#include <utility>

namespace {

class NotedTensorImpl final : public c10::TensorImpl {
 public:
  NotedTensorImpl(const c10::TensorImpl& from, std::string note)
      : TensorImpl(c10::Storage(from.storage()), from.key_set(), from.dtype()), note_(std::move(note)) {
    copy_tensor_metadata(&from, this, c10::VariableVersion(0), from.allow_tensor_metadata_change());
  }

  const std::string& note() const { return note_; }

  // detach() and x.data make a new object: this one. Without it, it is a plain TensorImpl.
  c10::intrusive_ptr<c10::TensorImpl>
  shallow_copy_and_detach(const c10::VariableVersion& version, bool allowChange) const override {
    return copy(version, allowChange);
  }
  c10::intrusive_ptr<c10::TensorImpl>
  shallow_copy_and_detach(c10::VariableVersion&& version, bool allowChange) const override {
    return copy(version, allowChange);
  }

 private:
  c10::intrusive_ptr<c10::TensorImpl> copy(const c10::VariableVersion& version, bool allowChange) const {
    auto made = c10::make_intrusive<NotedTensorImpl>(*this, note_);
    copy_tensor_metadata(this, made.get(), version, allowChange);
    return made;
  }

  std::string note_;
};

at::Tensor withNote(const at::Tensor& x, std::string note) {
  return at::Tensor(c10::make_intrusive<NotedTensorImpl>(*x.unsafeGetTensorImpl(), std::move(note)));
}

std::optional<std::string> noteOf(const at::Tensor& x) {
  const auto* noted = dynamic_cast<const NotedTensorImpl*>(x.unsafeGetTensorImpl());
  return noted == nullptr ? std::nullopt : std::optional(noted->note());
}

} // namespace

TORCH_LIBRARY(carriers, m) {
  m.def("with_note(Tensor x, str note) -> Tensor");
  m.def("note_of(Tensor x) -> str?");
}
TORCH_LIBRARY_IMPL(carriers, CompositeExplicitAutograd, m) {
  m.impl("with_note", withNote);
  m.impl("note_of", noteOf);
}
