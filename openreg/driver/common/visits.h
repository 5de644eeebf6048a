// Who uses something until when: points in the work of streams that must be reached before it is given away.
#pragma once

#include <algorithm>
#include <mutex>
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

  /// To be copied, so that whoever waits for them holds no lock.
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

/// Of a device's memory: until when work of other devices may use it.
template <class Point>
class Visitors {
 public:
  void note(const Point& end) {
    const std::lock_guard lock(mutex_);
    visits_.note(end);
  }

  /// Calls `wait` with each point.
  template <class Wait>
  void await(Wait wait) {
    std::unique_lock lock(mutex_);
    const std::vector<Point> points = visits_.points();
    lock.unlock();
    std::ranges::for_each(points, wait);
  }

 private:
  std::mutex mutex_;
  Visits<Point> visits_;
};

} // namespace openreg
