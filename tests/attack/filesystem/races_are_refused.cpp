// SPDX-License-Identifier: Apache-2.0
// What a name means changes while it is looked up: whatever was opened is what is judged, so that two seconds of trying
// never succeed. Without a sandbox it takes some tries.
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

using Clock = std::chrono::steady_clock;

// One thread exchanges two names, the other one tries. `attempt` returns true when it got through; what it throws is
// taken as a refusal, if it is EACCES, and not at all otherwise: names may be missing in between.
template <typename F>
void race(const Context& ctx, const std::string& one, const std::string& other, const F& attempt) {
  std::atomic<bool> over{false};
  std::thread turner([&] {
    while (!over) syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
  });
  // Where it must succeed, it may take as long as a busy machine needs.
  const auto end = Clock::now() + std::chrono::seconds(ctx.denied ? 2 : 30);
  bool through = false, refused = false;
  while (!through && Clock::now() < end) {
    try {
      through = attempt();
    } catch (const Failure& failure) {
      refused = refused || failure.error == EACCES;
    }
  }
  over = true;
  turner.join();
  if (!through) throw Failure{refused ? EACCES : ETIMEDOUT, "race"};
}

bool got_secret(const Context& ctx, const std::string& path) {
  const Fd fd = open_file(path, O_RDONLY);
  char buffer[64];
  const ssize_t got = must(read(fd.get(), buffer, sizeof(buffer)), "read");
  const std::string_view text(buffer, static_cast<std::size_t>(got));
  if (text == "original") return false;
  ctx.loot(text);
  return true;
}

}  // namespace

FILE_ATTACK(race_of_symlinks_is_refused, {.at = "race"}) {
  must(symlink("free", workspace(ctx, "one").c_str()), "symlink");
  must(symlink("secret/token", workspace(ctx, "two").c_str()), "symlink");
  race(ctx, workspace(ctx, "one"), workspace(ctx, "two"), [&] { return got_secret(ctx, workspace(ctx, "one")); });
}

FILE_ATTACK(race_of_directory_and_symlink_is_refused, {.at = "race", .form = Form::carved}) {
  must(mkdir(workspace(ctx, "one").c_str(), 0755), "mkdir");
  write_text(open_file(workspace(ctx, "one/token"), O_CREAT | O_WRONLY), "original");
  must(symlink("secret", workspace(ctx, "two").c_str()), "symlink");
  race(ctx, workspace(ctx, "one"), workspace(ctx, "two"), [&] { return got_secret(ctx, workspace(ctx, "one/token")); });
}

FILE_ATTACK(race_for_writing_is_refused, {.at = "race", .form = Form::open}) {
  must(symlink("free", workspace(ctx, "one").c_str()), "symlink");
  must(symlink("tests/test.py", workspace(ctx, "two").c_str()), "symlink");
  struct stat before {};
  must(stat(workspace(ctx, "tests/test.py").c_str(), &before), "stat");
  race(ctx, workspace(ctx, "one"), workspace(ctx, "two"), [&] {
    overwrite(workspace(ctx, "one"), O_TRUNC);
    struct stat now {};
    must(stat(workspace(ctx, "tests/test.py").c_str(), &now), "stat");
    return now.st_size != before.st_size;
  });
}

// The directories above an allowed file are moved while the way up from it is walked; and the file is a link of the
// denied one's name.
FILE_ATTACK(race_of_parents_is_refused, {.at = "race", .ground = Ground::memory}) {
  for (const char* name : {"one", "two"}) must(mkdir(workspace(ctx, name).c_str(), 0755), "mkdir");
  must(symlink("../free", workspace(ctx, "one/link").c_str()), "symlink");
  must(symlink("../project/vault/token", workspace(ctx, "two/link").c_str()), "symlink");
  race(ctx, workspace(ctx, "one"), workspace(ctx, "two"), [&] { return got_secret(ctx, workspace(ctx, "one/link")); });
}

FILE_ATTACK(race_for_a_hard_link_is_refused, {.at = "race"}) {
  must(mkdir(workspace(ctx, "one").c_str(), 0755), "mkdir");
  write_text(open_file(workspace(ctx, "one/token"), O_CREAT | O_WRONLY), "original");
  must(symlink("secret", workspace(ctx, "two").c_str()), "symlink");
  const std::string hard = workspace(ctx, "hard");
  race(ctx, workspace(ctx, "one"), workspace(ctx, "two"), [&] {
    unlink(hard.c_str());
    must(link(workspace(ctx, "one/token").c_str(), hard.c_str()), "link");
    return got_secret(ctx, hard);
  });
}
