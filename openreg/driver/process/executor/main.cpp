// openreg_executor: a device in a process of its own. Started by the driver "process", never by hand.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "service.h"

using namespace openreg;
using namespace openreg::process;

// LITERALINCLUDE START: EXECUTOR MAIN
int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "openreg_executor is started by OPENREG_DRIVER=process, with a socket as descriptor 3\n");
    return 2;
  }
  // If the parent dies, so do we; and if it has died before that took effect, too. The end of the socket says the same,
  // but a child that the parent has forked may hold that open.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::strtol(arguments[1], nullptr, 10)) {
    return 0;
  }
  signal(SIGINT, SIG_IGN); // Ctrl-C goes to the whole group: what it means for us is for the parent to say.
  close_range(kSocket + 1, ~0u, 0);
  return serve(Descriptor(kSocket));
}
// LITERALINCLUDE END: EXECUTOR MAIN
