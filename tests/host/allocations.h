// Counts every request for memory in this program, whichever way it is made. Empty where a sanitizer has its
// own allocator.
#pragma once

namespace dualstep::test {

// requests since the program began, from all threads
long allocations();
// false where they cannot be counted
bool counts_allocations();
// the request of this thread after so many others is denied, and those behind it are not; -1: none. False where the
// one that was to be denied has not come yet
bool deny_allocation_after(long requests);

}  // namespace dualstep::test
