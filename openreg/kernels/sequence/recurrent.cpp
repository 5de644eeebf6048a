// The kernels "lstm_cell" and "gru_cell", and their gradients: all elementwise steps of a recurrent cell at once.
#include "kernels/sequence/recurrent.h"

#include <algorithm>
#include <cmath>

#include "kernels/launch/dtype.h"
#include "kernels/loop/loops.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

/// The sums that go into one sample's gates.
template <class C>
class Gates {
 public:
  template <class Args>
  Gates(const Args& args, int64_t row, int64_t gates)
      : size_(args.size), input_(static_cast<const C*>(args.inputGates) + row * gates * size_),
        hidden_(static_cast<const C*>(args.hiddenGates) + row * gates * size_),
        inputBias_(static_cast<const C*>(args.inputBias)), hiddenBias_(static_cast<const C*>(args.hiddenBias)) {}

  C input(int64_t gate, int64_t i) const { return value(input_, inputBias_, gate * size_ + i); }
  C hidden(int64_t gate, int64_t i) const { return value(hidden_, hiddenBias_, gate * size_ + i); }
  C both(int64_t gate, int64_t i) const { return input(gate, i) + hidden(gate, i); }

 private:
  static C value(const C* gates, const C* bias, int64_t at) { return gates[at] + (bias != nullptr ? bias[at] : C(0)); }

  int64_t size_;
  const C* input_;
  const C* hidden_;
  const C* inputBias_;
  const C* hiddenBias_;
};

template <class C>
C* rowOf(void* array, int64_t row, int64_t length) {
  return static_cast<C*>(array) + row * length;
}

/// The slope of the sigmoid and of the hyperbolic tangent, by their values.
template <class C>
C sigmoidSlope(C y) {
  return (C(1) - y) * y;
}
template <class C>
C tanhSlope(C y) {
  return C(1) - y * y;
}

/// A loop over the numbers of all samples' states.
template <class Args, int64_t kNumbers>
class CellLoop : public LoopOver<Args> {
 public:
  using LoopOver<Args>::LoopOver;
  int64_t count() const { return this->args_.rows * this->args_.size; }
  int64_t grain() const { return grainOfRows(kNumbers); }

 protected:
  /// Calls `use(row, first, last)` for the numbers [begin, end), those of one sample at a time.
  template <class Use>
  void forEachRow(int64_t begin, int64_t end, Use use) const {
    const int64_t size = this->args_.size;
    for (int64_t at = begin; at < end;) {
      const int64_t row = at / size;
      const int64_t first = at - row * size;
      const int64_t last = std::min(size, first + end - at);
      use(row, first, last);
      at += last - first;
    }
  }
};

template <class C>
class LstmCell : public CellLoop<LstmCellArgs, 4> {
 public:
  using CellLoop<LstmCellArgs, 4>::CellLoop;
  void operator()(int64_t begin, int64_t end) const {
    const LstmCellArgs& args = this->args_;
    const int64_t size = args.size;
    this->forEachRow(begin, end, [&](int64_t row, int64_t first, int64_t last) {
      const Gates<C> gates(args, row, 4);
      C* kept = rowOf<C>(args.kept, row, 4 * size);
      for (int64_t i = first; i < last; ++i) {
        const C input = kept[i] = math::sigmoid(gates.both(0, i));
        const C forget = kept[size + i] = math::sigmoid(gates.both(1, i));
        const C cell = kept[2 * size + i] = std::tanh(gates.both(2, i));
        const C output = kept[3 * size + i] = math::sigmoid(gates.both(3, i));
        const C state = forget * rowOf<const C>(args.cell, row, size)[i] + input * cell;
        rowOf<C>(args.newCell, row, size)[i] = state;
        rowOf<C>(args.newHidden, row, size)[i] = output * std::tanh(state);
      }
    });
  }
};

template <class C>
class LstmCellBackward : public CellLoop<LstmCellBackwardArgs, 4> {
 public:
  using CellLoop<LstmCellBackwardArgs, 4>::CellLoop;
  void operator()(int64_t begin, int64_t end) const {
    const LstmCellBackwardArgs& args = this->args_;
    const int64_t size = args.size;
    this->forEachRow(begin, end, [&](int64_t row, int64_t first, int64_t last) {
      const C* kept = rowOf<const C>(args.kept, row, 4 * size);
      C* grads = rowOf<C>(args.gradGates, row, 4 * size);
      for (int64_t i = first; i < last; ++i) {
        const C input = kept[i], forget = kept[size + i], cell = kept[2 * size + i], output = kept[3 * size + i];
        const C gradHidden = args.gradHidden != nullptr ? rowOf<const C>(args.gradHidden, row, size)[i] : C(0);
        const C gradCell = args.gradCell != nullptr ? rowOf<const C>(args.gradCell, row, size)[i] : C(0);
        const C squashed = std::tanh(rowOf<const C>(args.newCell, row, size)[i]);
        const C grad = gradHidden * output * tanhSlope(squashed) + gradCell;
        grads[i] = grad * cell * sigmoidSlope(input);
        grads[size + i] = grad * rowOf<const C>(args.cell, row, size)[i] * sigmoidSlope(forget);
        grads[2 * size + i] = grad * input * tanhSlope(cell);
        grads[3 * size + i] = gradHidden * squashed * sigmoidSlope(output);
        rowOf<C>(args.gradOldCell, row, size)[i] = grad * forget;
      }
    });
  }
};

template <class C>
class GruCell : public CellLoop<GruCellArgs, 5> {
 public:
  using CellLoop<GruCellArgs, 5>::CellLoop;
  void operator()(int64_t begin, int64_t end) const {
    const GruCellArgs& args = this->args_;
    const int64_t size = args.size;
    this->forEachRow(begin, end, [&](int64_t row, int64_t first, int64_t last) {
      const Gates<C> gates(args, row, 3);
      C* kept = rowOf<C>(args.kept, row, 5 * size);
      for (int64_t i = first; i < last; ++i) {
        const C reset = kept[i] = math::sigmoid(gates.both(0, i));
        const C update = kept[size + i] = math::sigmoid(gates.both(1, i));
        const C part = kept[4 * size + i] = gates.hidden(2, i);
        const C fresh = kept[2 * size + i] = std::tanh(gates.input(2, i) + reset * part);
        const C hidden = kept[3 * size + i] = rowOf<const C>(args.hidden, row, size)[i];
        rowOf<C>(args.newHidden, row, size)[i] = fresh + update * (hidden - fresh);
      }
    });
  }
};

template <class C>
class GruCellBackward : public CellLoop<GruCellBackwardArgs, 5> {
 public:
  using CellLoop<GruCellBackwardArgs, 5>::CellLoop;
  void operator()(int64_t begin, int64_t end) const {
    const GruCellBackwardArgs& args = this->args_;
    const int64_t size = args.size;
    this->forEachRow(begin, end, [&](int64_t row, int64_t first, int64_t last) {
      const C* kept = rowOf<const C>(args.kept, row, 5 * size);
      C* input = rowOf<C>(args.gradInputGates, row, 3 * size);
      C* hidden = rowOf<C>(args.gradHiddenGates, row, 3 * size);
      for (int64_t i = first; i < last; ++i) {
        const C reset = kept[i], update = kept[size + i], fresh = kept[2 * size + i];
        const C grad = rowOf<const C>(args.gradHidden, row, size)[i];
        const C gradFresh = grad * (C(1) - update) * tanhSlope(fresh);
        input[i] = hidden[i] = gradFresh * kept[4 * size + i] * sigmoidSlope(reset);
        input[size + i] = hidden[size + i] = grad * (kept[3 * size + i] - fresh) * sigmoidSlope(update);
        input[2 * size + i] = gradFresh;
        hidden[2 * size + i] = gradFresh * reset;
        rowOf<C>(args.gradOldHidden, row, size)[i] = grad * update;
      }
    });
  }
};

const Loops<"lstm_cell", LstmCellArgs, LstmCell, float, double> kLstmCell;
const Loops<"lstm_cell_backward", LstmCellBackwardArgs, LstmCellBackward, float, double> kLstmCellBackward;
const Loops<"gru_cell", GruCellArgs, GruCell, float, double> kGruCell;
const Loops<"gru_cell_backward", GruCellBackwardArgs, GruCellBackward, float, double> kGruCellBackward;

} // namespace

} // namespace openreg::kernels
