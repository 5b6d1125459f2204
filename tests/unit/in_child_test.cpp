// SPDX-License-Identifier: Apache-2.0
// What is asked by a process that can be given up, and how it hands over what it found.
#include "agent/host/in_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/files/view_codec.h"
#include "base/fd.h"

namespace sbpf::agent {
namespace {

using namespace std::chrono_literals;

TEST(InChild, GivesWhatWasReturned) {
  const std::string large(300'000, 'x');  // more than a pipe holds
  EXPECT_EQ(*in_child(20s, {}, [&](Doing) { return large; }), large);
}

TEST(InChild, GivesUpAndNamesWhatItWasAt) {
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = in_child(1s, {}, [](Doing doing) {
    doing.note("/first");
    doing.note("/mnt/far/away");
    ::pause();
    return std::string("never");
  });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code.text(), "no_answer");
  EXPECT_EQ(answer.error().message, "/mnt/far/away gives no answer for 1 s");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST(InChild, CutsWhatIsTooLongToNote) {
  const auto answer = in_child(500ms, {}, [](Doing doing) {
    doing.note(std::string(100'000, 'a'));
    ::pause();
    return std::string();
  });
  ASSERT_FALSE(answer);
  EXPECT_LT(answer.error().message.size(), 5000u);
}

TEST(InChild, EndedWithoutAnAnswerIsAnError) {
  const auto answer = in_child(20s, {}, [](Doing) -> std::string { ::_exit(0); });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code.text(), "spawn");
}

TEST(InChild, HasTheDescriptorsThatItIsGivenAlone) {
  const Fd kept(::open("/dev/null", O_RDONLY | O_CLOEXEC)), lock(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto answer = in_child(20s, {kept.get()}, [&](Doing) {
    return std::string(::fcntl(kept.get(), F_GETFD) >= 0 ? "kept" : "gone") +
           (::fcntl(lock.get(), F_GETFD) >= 0 ? " kept" : " gone");
  });
  EXPECT_EQ(*answer, "kept gone");
}

policy::FsPath path(std::initializer_list<policy::FsComponent> components) { return components; }

TEST(ViewText, IsWhatWasPacked) {
  policy::FsView view;
  const std::string bytes("\xff\x00\n\"", 4);  // a name is no text
  const policy::FsInode root{2, 7, 0, true}, file{1ULL << 63, ~0u, 9, false};
  view.paths["/" + bytes] = {path({{"", root}, {bytes, file}}), path({{"", root}, {"x", std::nullopt}})};
  view.paths["/none"] = {};
  view.mounts = {path({{"", root}})};
  view.links = {{"/none", path({{"", root}, {bytes, file}}), {path({{"", root}})}, "../" + bytes}};
  view.elsewhere = {{path({{"", root}, {"y", std::nullopt}, {"z", root}}), 1}};
  view.linked = {path({{"", root}, {bytes, file}})};
  const auto got = unpacked(packed(view));
  ASSERT_TRUE(got);
  ASSERT_EQ(got->paths.size(), 2u);
  ASSERT_EQ(got->links.size(), 1u);
  EXPECT_EQ(got->links[0].rule, "/none");
  EXPECT_EQ(got->links[0].path[1].inode, file);
  ASSERT_EQ(got->links[0].aliases.size(), 1u);
  EXPECT_EQ(got->links[0].aliases[0][0].inode, root);
  EXPECT_EQ(got->links[0].target, "../" + bytes);
  const auto& found = got->paths.at("/" + bytes);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0][1].name, bytes);
  EXPECT_EQ(found[0][1].inode, file);
  EXPECT_EQ(found[1][1].inode, std::nullopt);
  EXPECT_EQ(got->elsewhere.at(0).path.at(2).inode, root);
  EXPECT_EQ(got->elsewhere.at(0).mounted_at, 1u);
  EXPECT_EQ(got->linked.at(0).at(1).inode, file);
  EXPECT_EQ(got->mounts.at(0).at(0).inode, root);
  EXPECT_TRUE(unpacked(packed(policy::FsView{})));
}

TEST(ViewText, HandsErrorsOn) {
  const Error error{"fs_view", "p.yaml:3:1: /\xff cannot be looked up", "hint", 13, "filesystem", true};
  const auto got = unpacked(packed(tl::unexpected<Error>(error)));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error.code);
  EXPECT_EQ(got.error().message, error.message);
  EXPECT_EQ(got.error().hint, error.hint);
  EXPECT_EQ(got.error().sys_errno, error.sys_errno);
  EXPECT_EQ(got.error().domain, error.domain);
  EXPECT_TRUE(got.error().retryable);
}

TEST(ViewText, OtherBytesAreAnError) {
  const std::string whole = packed(policy::FsView{});
  for (const std::string& text :
       {std::string(), std::string("\xa0"), whole.substr(0, whole.size() - 1), std::string("nonsense")})
    EXPECT_FALSE(unpacked(text)) << text.size();
}

}  // namespace
}  // namespace sbpf::agent
