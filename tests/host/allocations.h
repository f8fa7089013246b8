// Counts every request for memory in this program, whichever way it is made. Empty where a sanitizer has its
// own allocator.
#pragma once

namespace dualstep::test {

// requests since the program began, from all threads
long allocations();
// false where they cannot be counted
bool counts_allocations();

}  // namespace dualstep::test
