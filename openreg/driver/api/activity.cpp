// Records of what the devices have done.
#include "entry.h"

using openreg::api::Entry;

orError_t orActivitySubscribe(orSubscriber_t* subscriber, orActivityFn_t function, void* userData) {
  Entry entry("orActivitySubscribe");
  entry.notNull(subscriber != nullptr, "subscriber", "where to put the handle");
  entry.notNull(function != nullptr, "function", "a function that receives the records");
  return entry.call(&OrDriver::ActivitySubscribe, subscriber, function, userData);
}

orError_t orActivityUnsubscribe(orSubscriber_t subscriber) {
  return openreg::api::release("orActivityUnsubscribe", &OrDriver::ActivityUnsubscribe, subscriber);
}
