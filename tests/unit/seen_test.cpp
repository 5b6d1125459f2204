// SPDX-License-Identifier: Apache-2.0
// Three answers: which errors say that there is nothing, and what goes on when descriptors run short.
#include "base/seen.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "agent/host/descriptors.h"
#include "base/poll.h"

namespace sbpf {
namespace {

TEST(Seen, OnlyAbsenceIsAbsence) {
  EXPECT_EQ(seen_by_error(ENOENT), Seen::absent);
  for (const int error : {EMFILE, ENFILE, ENOMEM, EINTR, EPERM, EACCES, EROFS, EIO, EAGAIN, EBUSY, ESTALE, 0})
    EXPECT_EQ(seen_by_error(error), Seen::unknown) << error;
}

TEST(Seen, AnotherFileAtAPinIsNoPin) {
  for (const int error : {ENOENT, EACCES, EINVAL, ENOTDIR, ELOOP})
    EXPECT_EQ(seen_by_pin_error(error), Seen::absent) << error;
  for (const int error : {EMFILE, ENFILE, ENOMEM, EINTR, EPERM, EROFS})
    EXPECT_EQ(seen_by_pin_error(error), Seen::unknown) << error;
}

TEST(Seen, AbsenceIsStrongerThanDoubtAndDoubtThanPresence) {
  EXPECT_EQ(both(Seen::there, Seen::there), Seen::there);
  for (const Seen other : {Seen::there, Seen::unknown, Seen::absent}) {
    EXPECT_EQ(both(Seen::absent, other), Seen::absent);
    EXPECT_EQ(both(other, Seen::absent), Seen::absent);
  }
  EXPECT_EQ(both(Seen::unknown, Seen::there), Seen::unknown);
  EXPECT_EQ(both(Seen::there, Seen::unknown), Seen::unknown);
}

// Who ends the sandboxes because descriptors were short has lost them.
TEST(Seen, NoHintTakesIsolationAway) {
  for (int error = 0; error < 134; error++)
    for (const char* word : {"unload", "kill", "detach", "end the"})
      EXPECT_EQ(std::string_view(hint_for(error)).find(word), std::string_view::npos) << error;
}

// In a child: the limit is the process's.
template <typename Test>
int in_child(Test&& test) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(test() ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

TEST(Poll, GoesOnBelowTheLimitOfDescriptors) {
  EXPECT_EQ(in_child([] {
              int ends[2];
              if (::pipe(ends) != 0 || ::write(ends[1], "x", 1) != 1) return false;
              const rlimit few{3, 3};
              if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
              std::array<pollfd, 5> waiting{
                  {{-1, POLLIN, 0}, {-1, POLLIN, 0}, {ends[0], POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
              if (::poll(waiting.data(), waiting.size(), 0) != -1 || errno != EINVAL) return false;  // control
              return poll_all(waiting.data(), waiting.size()) == 1 && waiting[2].revents == POLLIN &&
                     waiting[0].revents == 0;
            }),
            0);
}

TEST(Descriptors, AreRaisedAndTheCallersLimitIsHandedOn) {
  EXPECT_EQ(in_child([] {
              const rlimit few{20, 60};
              rlimit now{};
              if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
              agent::raise_limits();
              ::getrlimit(RLIMIT_NOFILE, &now);
              if (now.rlim_cur < 60) return false;
              if (agent::restore_limits() != 0) return false;
              ::getrlimit(RLIMIT_NOFILE, &now);
              return now.rlim_cur == 20 && now.rlim_max == 60;
            }),
            0);
}

}  // namespace
}  // namespace sbpf
