// Calls about activity.
#pragma once

#include "calls.h"

namespace openreg {

template <class Driver>
struct ActivityCalls {
  using Given = openreg::Given<Driver>;

  static void activitySubscribe(orSubscriber_t* subscriber, orActivityFn_t function, void* userData) {
    Given::all().activity.start(function, userData);
    *subscriber = nullptr; // There is one at a time, which needs no name.
  }

  static void activityUnsubscribe(orSubscriber_t) { Given::all().activity.stop(); }
};

} // namespace openreg
