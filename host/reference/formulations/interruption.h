// Long solutions ask, an iteration after the other, whether they are to stop: whoever runs them on a thread says how.
#pragma once

#include <exception>

namespace dualstep::formulations {

struct Interrupted : std::exception {};

using AskToStop = bool (*)();

// of this thread; null where nobody asks
inline AskToStop& ask_to_stop() {
  thread_local AskToStop ask = nullptr;
  return ask;
}

inline void stop_if_asked() {
  const AskToStop ask = ask_to_stop();
  if (ask && ask()) throw Interrupted();
}

}  // namespace dualstep::formulations
