// Who uses something until when: points in the work of streams that must be reached before it is given away.
#pragma once

#include <algorithm>
#include <vector>

namespace openreg {

/// Of each stream the last point. Guarded by its owner.
/// @tparam Point Has reached(), isOfStream(other), and order(), which grows along a stream.
template <class Point>
class Visits {
 public:
  /// In use until `end`.
  void note(Point end) {
    std::erase_if(points_, [&](const Point& point) {
      const bool same = end.isOfStream(point);
      end = same && end.order() < point.order() ? point : end;
      return same || point.reached();
    });
    points_.push_back(end);
  }

  /// Copied, so that whoever waits for them holds no lock.
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

} // namespace openreg
