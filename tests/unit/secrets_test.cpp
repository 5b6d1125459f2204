// SPDX-License-Identifier: Apache-2.0
// Memory for secrets (I10), asked of the kernel and not of the code that set it up: not swapped, not in a core, not in
// a child, and wiped before it goes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "agent/launch/secrets.h"

namespace sbpf::agent {
namespace {

constexpr std::size_t kSize = 64 << 10;
constexpr char kFill = 's';

LockedMemory filled() {
  auto memory = LockedMemory::make(kSize);
  if (!memory) throw std::runtime_error(memory.error().message);
  std::fill_n(memory->data(), memory->size(), kFill);
  return std::move(*memory);
}

// What the kernel says of the mapping that begins at the address (proc(5), VmFlags): lo locked, dd not in a core, wf
// wiped in a child.
std::string flags_of(const void* address) {
  std::ostringstream begin;
  begin << std::hex << reinterpret_cast<std::uintptr_t>(address) << '-';
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(begin.str())) found = true;
    if (found && line.starts_with("VmFlags:")) return line.substr(8) + " ";
  }
  return "";
}

// The page itself, held by a pipe: it stays when the mapping has gone, and shows what was written to it last.
class HeldPage {
 public:
  explicit HeldPage(const char* page) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    reader_ = Fd(ends[0]);
    writer_ = Fd(ends[1]);
    const iovec part{const_cast<char*>(page), kPage};
    held_ = ::vmsplice(writer_.get(), &part, 1, SPLICE_F_NONBLOCK) == static_cast<ssize_t>(kPage);
  }
  bool held() const { return held_; }
  std::size_t left_of(char byte) const {
    std::array<char, kPage> contents{};
    if (::read(reader_.get(), contents.data(), contents.size()) != static_cast<ssize_t>(contents.size()))
      return kPage + 1;
    return static_cast<std::size_t>(std::ranges::count(contents, byte));
  }
  static constexpr std::size_t kPage = 4096;

 private:
  Fd reader_, writer_;
  bool held_ = false;
};

TEST(LockedMemory, IsNeitherSwappedNorDumpedNorInherited) {
  const LockedMemory memory = filled();
  const std::string flags = flags_of(memory.data());
  for (const char* flag : {" dd ", " wf "})
    EXPECT_NE(flags.find(flag), std::string::npos) << flag << "is not in" << flags;
#ifndef __SANITIZE_ADDRESS__  // its mlock does nothing: there it is tests/live/secrets.sh that sees the locked memory
  EXPECT_NE(flags.find(" lo "), std::string::npos) << flags;
#endif
}

TEST(LockedMemory, IsEmptyInAChild) {
  const LockedMemory memory = filled();
  const std::vector<char> other(kSize, kFill);
  const auto sees = [](const char* bytes) { return std::count(bytes, bytes + kSize, kFill) != 0; };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit((sees(memory.data()) ? 1 : 0) + (sees(other.data()) ? 2 : 0));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);  // the other memory is there, this is not
  EXPECT_TRUE(sees(memory.data()));
}

TEST(LockedMemory, IsWipedBeforeItGoes) {
  std::optional<LockedMemory> memory = filled();
  const std::array<HeldPage, 2> pages{HeldPage(memory->data()), HeldPage(memory->data() + kSize - HeldPage::kPage)};
  const HeldPage control(memory->data());
  for (const HeldPage& page : pages) ASSERT_TRUE(page.held());
  EXPECT_EQ(control.left_of(kFill), HeldPage::kPage);
  memory.reset();
  for (const HeldPage& page : pages) EXPECT_EQ(page.left_of(kFill), 0u);
}

TEST(LockedMemory, IsWipedWhereverItWasMovedTo) {
  std::optional<LockedMemory> first = filled();
  const HeldPage page(first->data());
  ASSERT_TRUE(page.held());
  std::optional<LockedMemory> second = std::move(*first);
  first.reset();
  EXPECT_NE(second->data(), nullptr);
  EXPECT_EQ(second->data()[0], kFill);
  second.reset();
  EXPECT_EQ(page.left_of(kFill), 0u);
}

}  // namespace
}  // namespace sbpf::agent
