// SPDX-License-Identifier: Apache-2.0
// The service and its programs, with another one in the place of `sbpf`; and the directory that it watches.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "service/child.h"
#include "service/directory.h"
#include "service/sbpf.h"
#include "service/watch.h"
#include "tests/unit/temp_dir.h"

namespace sbpf::service {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Programs : public InTempDir, public Observer {
 protected:
  // A shell script; the path of it.
  std::string program(const std::string& text) {
    const fs::path path = top_ / "sbpf";
    std::ofstream(path) << "#!/bin/sh\n" << text;
    ::chmod(path.c_str(), 0755);
    return path.string();
  }

  void write(const std::string& name, const std::string& text) { std::ofstream(top_ / name) << text; }

  // Runs until `done` or the time is up; was it done?
  bool until(const std::function<bool()>& done, milliseconds limit = milliseconds(10000)) {
    const auto end = Clock::now() + limit;
    while (!done() && Clock::now() < end) {
      if (context_.stopped()) context_.restart();
      context_.run_for(milliseconds(20));
    }
    return done();
  }

  Result<Json> ask_it(const std::string& text, milliseconds limit) {
    Command command;
    command.arguments = {program(text), "status"};
    std::optional<Result<Json>> answer;
    asio::co_spawn(
        context_, [&]() -> asio::awaitable<void> { answer = co_await ask(context_, std::move(command), limit); },
        asio::detached);
    until([&] { return answer.has_value(); });
    if (answer) return std::move(*answer);
    return fail("time", "it never came to an end");
  }

  void pass(const Json&) override { passes_++; }
  void sandbox(const Json&, const Json&) override {}
  void gone(const std::string&, const Json&) override {}
  void loss(const Json&) override {}
  void restored(const Json&) override {}
  void trouble(const Json&) override {}

  asio::io_context context_;
  int passes_ = 0;
};

// A socket of Asio's is not closed on exec: what lasts longer than the service would keep its clients waiting.
TEST_F(Programs, GetNothingOfTheServicesOpenFiles) {
  const Fd inherited(::dup(0));
  ASSERT_GE(inherited.get(), 3);
  const auto answer = ask_it("echo \"{\\\"open\\\": \\\"$(ls /proc/self/fd | xargs)\\\"}\"\n", milliseconds(10000));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["open"], "0 1 2 3");  // 3: of ls
}

TEST_F(Programs, AnswerIsTakenAsItIs) {
  auto answer = ask_it("echo '{\"a\": 1}'", milliseconds(10000));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("a"), 1);
  EXPECT_EQ(ask_it("echo '{\"error\": {\"code\": \"busy\", \"message\": \"m\"}}'; exit 125", milliseconds(10000))
                .error()
                .code.text(),
            "busy");
}

TEST_F(Programs, LateOneIsEnded) {
  const auto begin = Clock::now();
  EXPECT_EQ(ask_it("exec sleep 60", milliseconds(300)).error().code.text(), "time");
  EXPECT_LT(Clock::now() - begin, milliseconds(2000));
  // It does not end at SIGTERM: two seconds later it has no choice.
  EXPECT_EQ(ask_it("trap '' TERM; while :; do :; done", milliseconds(300)).error().code.text(), "time");
  EXPECT_LT(Clock::now() - begin, milliseconds(9000));
}

TEST_F(Programs, KilledOneIsAnErrorWithAReason) {
  const Error error = ask_it("kill -9 $$", milliseconds(10000)).error();
  EXPECT_EQ(error.code.text(), "sbpf");
  EXPECT_NE(error.message.find("exit code 137"), std::string::npos) << error.message;
  EXPECT_NE(ask_it("echo half; echo why >&2; exit 1", milliseconds(10000)).error().message.find("why"),
            std::string::npos);
}

// A client that hangs up at once has its program ended before that has begun.
TEST_F(Programs, SignalOfOneThatHasNotBegunDoesNotReachTheService) {
  asio::signal_set signals(context_, SIGTERM, SIGINT, SIGHUP);
  std::vector<int> reached, codes;
  signals.async_wait([&](boost::system::error_code error, int number) {
    if (!error) reached.push_back(number);
  });
  Command command;
  command.arguments = {program("exec sleep 1"), "events"};
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    for (int i = 0; i < 50; i++) {
      auto child = Child::start(context_, command);
      ASSERT_TRUE(child.has_value());
      child->signal(number);
      codes.push_back(child->wait() - number);
    }
  until([&] { return !reached.empty(); }, milliseconds(200));
  EXPECT_EQ(reached, std::vector<int>());
  EXPECT_EQ(codes, std::vector<int>(150, 128));
}

TEST_F(Programs, WatchThatHangsIsStartedAnew) {
  World world(*this);
  std::vector<std::string> reasons;
  Watch watch(context_, world, program("echo '{\"pass\": {\"sandboxes\": 0}}'; exec sleep 60"),
              [&](const std::string& why) { reasons.push_back(why); });
  watch.set_limit(std::chrono::seconds(1));
  bool over = false;
  asio::co_spawn(context_, watch.run(), [&](std::exception_ptr) { over = true; });
  EXPECT_TRUE(until([&] { return passes_ == 3; }));
  ASSERT_GE(reasons.size(), 2u);
  EXPECT_NE(reasons[0].find("it made no pass for 1"), std::string::npos) << reasons[0];
  watch.stop();
  EXPECT_TRUE(until([&] { return over; }));
}

TEST_F(Programs, WatchThatEndsIsStartedAnewAndKnowsNothingUntilItsFirstPass) {
  World world(*this);
  std::vector<std::string> reasons;
  Watch watch(context_, world, program("echo '{\"pass\": {\"sandboxes\": 0}}'; exit 7"), [&](const std::string& why) {
    EXPECT_TRUE(world.current());
    reasons.push_back(why);
    program("exec sleep 60");  // the next one says nothing
  });
  bool over = false;
  asio::co_spawn(context_, watch.run(), [&](std::exception_ptr) { over = true; });
  ASSERT_TRUE(until([&] { return !reasons.empty() && !world.current(); }));
  EXPECT_EQ(reasons[0], "it ended with exit code 7");
  EXPECT_EQ(passes_, 1);
  watch.stop();
  EXPECT_TRUE(until([&] { return over; }));
}

TEST_F(Programs, DirectoryWaitsForTheEndOfAWrite) {
  int changes = 0;
  write("a.yaml", "1");
  Directory directory(context_, top_.string(), [&] { changes++; });
  ASSERT_TRUE(directory.open());
  asio::co_spawn(context_, directory.run(), asio::detached);
  {
    std::ofstream half(top_ / "a.yaml");
    half << "2" << std::flush;
    EXPECT_TRUE(until([&] { return directory.being_written().contains("a.yaml"); }));
    until([] { return false; }, milliseconds(600));
    EXPECT_TRUE(directory.being_written().contains("a.yaml"));
  }
  const int before = changes;
  EXPECT_TRUE(until([&] { return changes > before; }));
  EXPECT_TRUE(directory.being_written().empty());
  directory.close();
}

TEST_F(Programs, DirectoryDoesNotWaitForAFileThatNobodyHasOpen) {
  int changes = 0;
  write("a.yaml", "12345");
  Directory directory(context_, top_.string(), [&] { changes++; });
  ASSERT_TRUE(directory.open());
  asio::co_spawn(context_, directory.run(), asio::detached);
  ASSERT_EQ(::truncate((top_ / "a.yaml").c_str(), 2), 0);
  EXPECT_TRUE(until([&] { return changes > 0; }));
  EXPECT_TRUE(directory.being_written().empty());
  directory.close();
}

}  // namespace
}  // namespace sbpf::service
