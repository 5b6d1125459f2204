// SPDX-License-Identifier: Apache-2.0
// The filesystem entries of an image: nodes, rights, flags, keys, and what is refused.
#include <array>
#include <bit>

#include "tests/unit/fs_image_words.h"

namespace sbpf::policy {
namespace {

std::string name(const Image& image, std::uint32_t node, std::string_view text) {
  return at(image, fs_name_key(node, text));
}

std::size_t file_entries(const Image& image) {
  return static_cast<std::size_t>(std::count_if(image.entries.begin(), image.entries.end(), [](const auto& entry) {
    return entry.first.kind == SBPF_RULE_FS_INODE || entry.first.kind == SBPF_RULE_FS_NAME;
  }));
}

Error refusal(const Policy& policy, const FsView& view) {
  const auto image = compile(policy, 1, view);
  EXPECT_FALSE(image);
  if (image) return {};
  EXPECT_FALSE(image.error().hint.empty());
  return image.error();
}

TEST(FilesystemHash, has_these_values) {
  // Fixed: the kernel side computes the same of a dentry's name.
  EXPECT_EQ(fs_name_hash("a"), 5474277324784132214u);
  EXPECT_EQ(fs_name_hash("tests"), 14421125941737097621u);
  EXPECT_EQ(fs_name_hash(std::string(32, 'x')), 529540632295129153u);
  EXPECT_EQ(fs_name_hash(std::string(33, 'x')), 9966156792343585270u);
  EXPECT_EQ(fs_name_hash(std::string(255, 'x')), 44997960063720152u);
}

TEST(FilesystemHash, covers_whole_pieces_of_32_bytes) {
  const auto fold = [](const std::vector<std::uint64_t>& words) {
    std::uint64_t hash = 0x5342504600000000ull;
    for (const std::uint64_t word : words) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
      hash ^= hash >> 29;
    }
    return hash;
  };
  EXPECT_EQ(fs_name_hash("abcdefgh"), fold({0x6867666564636261, 0, 0, 0}));
  EXPECT_EQ(fs_name_hash("abcdefghi"), fold({0x6867666564636261, 0x69, 0, 0}));
  EXPECT_EQ(fs_name_hash(std::string(32, 'a') + "b"),
            fold({0x6161616161616161, 0x6161616161616161, 0x6161616161616161, 0x6161616161616161, 0x62, 0, 0, 0}));
}

TEST(FilesystemKeys, are_as_the_abi_has_them) {
  const sbpf_rule_key by_inode = fs_inode_key({0x1122334455667788, 0x99aabbcc, 0xddeeff00, true});
  sbpf_fs_inode inode_part;
  std::memcpy(&inode_part, by_inode.addr, sizeof inode_part);
  EXPECT_EQ(by_inode.kind, SBPF_RULE_FS_INODE);
  EXPECT_EQ(inode_part.ino, 0x1122334455667788u);
  EXPECT_EQ(inode_part.dev, 0x99aabbccu);
  EXPECT_EQ(inode_part.generation, 0xddeeff00u);
  const sbpf_rule_key by_name = fs_name_key(7, "tests");
  sbpf_fs_name name_part;
  std::memcpy(&name_part, by_name.addr, sizeof name_part);
  EXPECT_EQ(by_name.kind, SBPF_RULE_FS_NAME);
  EXPECT_EQ(name_part.hash, fs_name_hash("tests"));
  EXPECT_EQ(name_part.node, 7u);
  EXPECT_EQ(name_part.len, 5u);
  EXPECT_EQ(by_name.pad | by_name.port | by_name.proto | by_name.prefix_len | by_name.match, 0);
  // An abstract name of a socket is no file below the node 0.
  const sbpf_rule_key abstract = unix_key("@tests"), file = fs_name_key(0, "tests");
  EXPECT_EQ(abstract.kind, SBPF_RULE_UNIX);
  EXPECT_EQ(std::memcmp(abstract.addr, file.addr, sizeof file.addr), 0);
}

// One word's top bit goes through the hash as two bits, which the next word takes back: of any name with two words from
// `at` on.
std::string twin_of(std::string name, std::size_t at) {
  for (const auto& [byte, bits] : {std::pair{7, 0x80}, std::pair{12, 0x04}, std::pair{15, 0x80}})
    name[at + byte] = static_cast<char>(name[at + byte] ^ bits);
  return name;
}

TEST(FilesystemImage, a_name_with_the_hash_of_another_is_not_that) {
  const std::string longer(64, 'n'), longest(255, 'n');
  for (const auto& [name, at] : {std::pair{std::string("agent-output.svc"), 0u}, std::pair{longer, 0u},
                                 std::pair{longer, 48u}, std::pair{longest, 0u}, std::pair{longest, 224u}}) {
    const std::string twin = twin_of(name, at);
    ASSERT_NE(twin, name);
    ASSERT_EQ(fs_name_hash(twin), fs_name_hash(name));
    const Policy policy = policy_of("  read: [/srv]\n  write: [/srv/" + name + "]\n");
    const Image image = compile(policy, 1, empty_view(policy)).value();
    EXPECT_TRUE(fs_rights_at(image, "/srv/" + name) & SBPF_FS_WRITE) << name << at;
    EXPECT_FALSE(fs_rights_at(image, "/srv/" + twin) & SBPF_FS_WRITE) << name << at;
    EXPECT_FALSE(fs_rights_at(image, "/srv/" + name + "n") & SBPF_FS_WRITE) << name << at;
  }
}

TEST(UnixImage, an_abstract_name_with_the_hash_of_another_is_not_that) {
  for (const auto& [name, at] : {std::pair{std::string(16, 'n'), 0u}, std::pair{std::string(107, 'n'), 48u}}) {
    Policy policy;
    policy.name = "p";
    policy.network.unix_peers.push_back({"@" + name, {}});
    const Image image = compile(policy, 1, empty_view(policy)).value();
    const std::string twin = twin_of(name, at);
    ASSERT_EQ(std::memcmp(unix_key("@" + twin).addr, unix_key("@" + name).addr, sizeof(sbpf_rule_key::addr)), 0);
    EXPECT_TRUE(find_named(image.entries, unix_key("@" + name), name)) << name;
    EXPECT_FALSE(find_named(image.entries, unix_key("@" + twin), twin)) << name;
  }
}

// The kernel side takes a remembered verdict for a file only if its bit is clear.
TEST(FilesystemImage, the_header_has_the_bit_of_each_file_with_an_entry_and_of_no_directory) {
  sbpf_policy_header header{};
  set_file_bit(header, fs_inode_key({7, 1, 0, true}));
  set_file_bit(header, fs_name_key(7, "name"));
  EXPECT_EQ(header.fs_files[0] | header.fs_files[1], 0u);
  std::array<unsigned, 2> halves{};
  for (std::uint64_t ino = 1; ino <= 100; ++ino) {
    sbpf_policy_header one{};
    set_file_bit(one, fs_inode_key({ino, 1, 0, false}));
    EXPECT_EQ(std::popcount(one.fs_files[0]) + std::popcount(one.fs_files[1]), 1) << ino;
    for (std::size_t half = 0; half < 2; ++half) halves[half] += one.fs_files[half] != 0;
  }
  EXPECT_GT(halves[0], 20u);
  EXPECT_GT(halves[1], 20u);
  Host host;
  host.make("/etc/hosts");
  host.inodes["/etc/hosts"].directory = false;
  const Policy policy = policy_of("  read: [/etc/hosts]\n");
  const Image image = compiled(policy, host.view(policy));
  sbpf_policy_header wanted{};
  set_file_bit(wanted, fs_inode_key(host.inodes["/etc/hosts"]));
  EXPECT_EQ(image.header().fs_files[0], wanted.fs_files[0]);
  EXPECT_EQ(image.header().fs_files[1], wanted.fs_files[1]);
}

TEST(FilesystemImage, every_component_is_a_node_by_inode_and_by_name) {
  const Policy policy = policy_of(
      "  write: [/workspace]\n  deny: [/workspace/.git/hooks]\n  protect: [/workspace/tests]\n  read: [/usr]\n");
  Host host;
  host.make("/usr");
  host.make("/workspace/.git");
  const Image image = compiled(policy, host.view(policy));
  // Rules by path: 0 /usr, 1 /workspace, 2 /workspace/.git/hooks, 3 /workspace/tests.
  EXPECT_EQ(inode(image, host, "/"), "1 - named holds default");
  EXPECT_EQ(inode(image, host, "/usr"), "2 r ruled by 0");
  EXPECT_EQ(name(image, 1, "usr"), "2 r ruled by 0");
  EXPECT_EQ(inode(image, host, "/workspace"), "3 rw named holds ruled by 1");
  EXPECT_EQ(name(image, 1, "workspace"), "3 rw named holds ruled by 1");
  EXPECT_EQ(inode(image, host, "/workspace/.git"), "4 rw named holds by 1");
  EXPECT_EQ(name(image, 3, ".git"), "4 rw named holds by 1");
  EXPECT_EQ(name(image, 4, "hooks"), "5 - ruled by 2");
  EXPECT_EQ(name(image, 3, "tests"), "6 r ruled by 3");
  EXPECT_EQ(file_entries(image), 4u + 5u);
  EXPECT_EQ(image.header().n_rules, 9u);
  EXPECT_EQ(image.header().flags, static_cast<__u32>(SBPF_POLICY_FS | SBPF_POLICY_DEVICES));
}

TEST(FilesystemImage, root_has_the_default_or_its_own_rule) {
  Host host;
  for (const auto& [text, expected] :
       {std::pair("  default: read\n", "1 r default"), std::pair("  default: write\n", "1 rw default"),
        std::pair("  default: deny\n", "1 - default"),
        std::pair("  default: write\n  read: [/]\n", "1 r ruled by 0")}) {
    const Policy policy = policy_of(text);
    EXPECT_EQ(inode(compiled(policy, host.view(policy)), host, "/"), expected) << text;
  }
  const Policy writable = policy_of("  default: write\n  write: [/a/b]\n");
  EXPECT_EQ(inode(compiled(writable, host.view(writable)), host, "/"), "1 rw named default") << "nothing is held";
}

TEST(FilesystemImage, rules_are_numbered_on_after_the_network) {
  auto parsed = parse(
      "version: 1\nname: n\nnetwork:\n  connect: [{address: 10.0.0.1, ports: [1]}]\n"
      "  bind: [{address: 10.0.0.1, ports: [1]}, {address: 10.0.0.2, ports: [1]}]\n"
      "filesystem: {protect: [/workspace/tests], read: [/usr]}\n",
      "p.yaml", nullptr);
  ASSERT_TRUE(parsed);
  Host host;
  host.make("/workspace/tests");
  const Image image = compiled(*parsed, host.view(*parsed));
  EXPECT_EQ(inode(image, host, "/workspace/tests"), "4 r ruled by 4");
  EXPECT_EQ(rule_text(*parsed, 0).rfind("network.connect: ", 0), 0u);
  EXPECT_EQ(rule_text(*parsed, 2).rfind("network.bind: ", 0), 0u);
  EXPECT_EQ(rule_text(*parsed, 3), "filesystem.read: /usr");
  EXPECT_EQ(rule_text(*parsed, 4), "filesystem.protect: /workspace/tests");
  EXPECT_EQ(rule_text(*parsed, 5), "");
  EXPECT_EQ(rule_text(*parsed, kNoRule), "");
}

TEST(FilesystemImage, without_the_section_files_are_not_judged) {
  for (const char* section : {"", "filesystem: {dangerously_allow_all: true}\n"}) {
    const Policy policy = parse("version: 1\nname: n\n" + std::string(section), "p", nullptr).value();
    const Image image = compiled(policy, FsView{});
    // What rules say of devices is asked for only with the section.
    EXPECT_EQ(image.header().flags, *section ? static_cast<__u32>(SBPF_POLICY_DEVICES) : 0u) << section;
    EXPECT_EQ(file_entries(image), 0u);
  }
}

TEST(FilesystemImage, digest_covers_the_entries) {
  const Policy policy = policy_of("  read: [/usr]\n");
  Host host;
  const Image before = compiled(policy, host.view(policy));
  host.make("/usr");
  const Image after = compiled(policy, host.view(policy));
  EXPECT_NE(image_sha256(before.entries), image_sha256(after.entries));
  const auto header = after.header();
  const auto digest = image_sha256(after.entries);
  EXPECT_EQ(std::memcmp(header.image_sha256, digest.data(), digest.size()), 0);
}

TEST(FilesystemImage, a_link_and_where_it_leads_have_the_rule) {
  const Policy policy = policy_of("  read: [/bin, /usr]\n");
  Host host;
  host.make("/usr/bin");
  host.make("/bin");
  host.links["/bin"] = "/usr/bin";
  const Image image = compiled(policy, host.view(policy));
  EXPECT_EQ(inode(image, host, "/bin"), "2 r ruled by 0");
  EXPECT_EQ(inode(image, host, "/usr"), "3 r named holds ruled by 1");
  EXPECT_EQ(inode(image, host, "/usr/bin"), "4 r ruled by 0");
}

TEST(FilesystemImage, of_two_rules_that_lead_to_one_place_the_lower_number_counts) {
  const Policy policy = policy_of("  write: [/data, /a, /z]\n");
  Host host;
  host.make("/data");
  host.links["/a"] = host.links["/z"] = "/data";
  const Image image = compiled(policy, host.view(policy));
  EXPECT_EQ(inode(image, host, "/data"), "3 rw ruled by 0") << "by /a";
}

TEST(FilesystemRefused, rules_that_lead_to_one_place_with_different_access) {
  const Policy policy = policy_of("  write: [/srv/data]\n  protect: [/data]\n");
  Host host;
  host.make("/srv/data");
  host.links["/data"] = "/srv/data";
  const Error error = refusal(policy, host.view(policy));
  EXPECT_EQ(error.code.text(), "fs_conflict");
  EXPECT_EQ(
      error.message,
      "filesystem: p.yaml:5:13: filesystem.protect: /data; p.yaml:4:11: filesystem.write: /srv/data: both lead to "
      "/srv/data");
}

TEST(FilesystemImage, one_inode_by_two_paths_is_one_node) {
  const Policy policy = policy_of("  write: [/a, /b]\n  deny: [/b/secret]\n  protect: [/a/tests]\n");
  Host host;
  host.make("/a");
  host.make("/b");
  host.inodes["/b"] = host.inodes["/a"];  // a bind mount
  const Image image = compiled(policy, host.view(policy));
  EXPECT_EQ(inode(image, host, "/a"), "2 rw named holds ruled by 0");
  EXPECT_EQ(name(image, 1, "a"), "2 rw named holds ruled by 0");
  EXPECT_EQ(name(image, 1, "b"), "2 rw named holds ruled by 0");
  EXPECT_EQ(name(image, 2, "tests"), "3 r ruled by 1");
  EXPECT_EQ(name(image, 2, "secret"), "5 - ruled by 3") << "it may be made through either path";
  EXPECT_EQ(file_entries(image), 2u + 4u);
}

TEST(FilesystemRefused, one_inode_by_two_paths_with_different_rights) {
  const Policy policy = policy_of("  default: read\n  write: [/a]\n  deny: [/b/c]\n");
  Host host;
  host.make("/a");
  host.make("/b/c");
  host.inodes["/b/c"] = host.inodes["/a"];
  const Error error = refusal(policy, host.view(policy));
  EXPECT_EQ(error.code.text(), "fs_same_inode");
  EXPECT_EQ(
      error.message,
      "filesystem: /a (by p.yaml:5:11: filesystem.write: /a); /b/c (by p.yaml:6:10: filesystem.deny: /b/c): these "
      "are the same file or directory");
  host.inodes["/b/c"] = {77, 1, 0};
  host.inodes["/b"] = host.inodes["/a"];
  EXPECT_NE(refusal(policy, host.view(policy)).message.find("/b (by filesystem.default: read)"), std::string::npos);
}

TEST(FilesystemRefused, one_name_of_one_directory_by_two_paths_with_different_rights) {
  const Policy policy = policy_of("  write: [/a, /b]\n  deny: [/a/x]\n  protect: [/b/x]\n");
  Host host;
  host.make("/a");
  host.make("/b");
  host.inodes["/b"] = host.inodes["/a"];
  EXPECT_EQ(refusal(policy, host.view(policy)).code.text(), "fs_same_inode");
}

TEST(FilesystemImage, all_that_is_above_a_protected_name_is_held) {
  const Policy policy = policy_of("  write: [/]\n  protect: [/a/b/c]\n");
  Host host;
  host.make("/a/b/c");
  const Image image = compiled(policy, host.view(policy));
  EXPECT_EQ(inode(image, host, "/"), "1 rw named holds ruled by 0");
  EXPECT_EQ(inode(image, host, "/a"), "2 rw named holds by 0");
  EXPECT_EQ(inode(image, host, "/a/b"), "3 rw named holds by 0");
  EXPECT_EQ(inode(image, host, "/a/b/c"), "4 r ruled by 1");
}

TEST(FilesystemImage, one_directory_by_two_paths_holds_what_is_below_either) {
  const Policy policy = policy_of("  write: [/a, /b]\n  protect: [/b/tests]\n");
  Host host;
  host.make("/a");
  host.make("/b");
  host.inodes["/b"] = host.inodes["/a"];  // a bind mount
  const Image image = compiled(policy, host.view(policy));
  EXPECT_EQ(inode(image, host, "/a"), "2 rw named holds ruled by 0");
  EXPECT_EQ(name(image, 1, "a"), "2 rw named holds ruled by 0");
}

TEST(FilesystemRefused, more_names_than_can_be_watched) {
  const Policy policy = policy_of("  write: [/w]\n  deny: [/w/1/2/3/4/5/6/7/8/9]\n");
  Host host;
  host.make("/w");
  const Error error = refusal(policy, host.view(policy));
  EXPECT_EQ(error.code.text(), "fs_too_deep");
  EXPECT_EQ(error.message.rfind("filesystem: p.yaml:5:10: filesystem.deny: /w/1/2/3/4/5/6/7/8/9: only /w exists", 0),
            0u)
      << error.message;
  EXPECT_EQ(error.hint, "create /w/1, or put the rule higher up");
  host.make("/w/1");
  compiled(policy, host.view(policy));
  compiled(policy, empty_view(policy));
}

TEST(FilesystemRefused, a_view_that_lacks_a_path_or_contradicts_itself) {
  const Policy policy = policy_of("  read: [/a/b, /a/c]\n");
  Host host;
  host.make("/a");
  FsView view = host.view(policy);
  view.paths.erase("/a/c");
  EXPECT_EQ(refusal(policy, view).code.text(), "fs_unresolved");
  view = host.view(policy);
  view.paths["/a/c"].clear();
  EXPECT_EQ(refusal(policy, view).code.text(), "fs_unresolved");
  view.paths["/a/c"] = {{}};
  EXPECT_EQ(refusal(policy, view).code.text(), "fs_unresolved");
  view.paths["/a/c"] = {{{"", std::nullopt}, {"a", std::nullopt}}};
  EXPECT_EQ(refusal(policy, view).code.text(), "fs_unresolved");
  view.paths["/a/c"] = {{{"", host.inodes.at("/")}, {"a", FsInode{1, 2, 3, true}}, {"c", std::nullopt}}};
  EXPECT_EQ(refusal(policy, view).code.text(), "fs_unresolved") << "/a is another one than that of /a/b";
  view.paths["/a/c"] = {{{"", FsInode{1, 2, 3, true}}}};
  EXPECT_EQ(refusal(policy, view).code.text(), "fs_unresolved") << "another root";
  EXPECT_EQ(refusal(policy_of("  default: read\n"), FsView{}).code.text(), "fs_unresolved") << "no root at all";
}

TEST(FilesystemRefused, more_names_than_an_image_holds) {
  Policy policy;
  policy.filesystem.requested = true;
  for (int i = 0; i < SBPF_MAX_RULES; ++i)
    policy.filesystem.rules.push_back(FsRule{"/" + std::to_string(i), FsAccess::read, {}});
  EXPECT_EQ(refusal(policy, empty_view(policy)).code.text(), "too_many_rules");
}

TEST(FilesystemImage, empty_view_has_each_rule_at_its_own_path) {
  const Policy policy = policy_of("  read: [/, /a/b]\n");
  const FsView view = empty_view(policy);
  EXPECT_TRUE(view.assumed);
  ASSERT_EQ(view.paths.size(), 2u);
  EXPECT_EQ(view.paths.at("/")[0].size(), 1u);
  ASSERT_EQ(view.paths.at("/a/b")[0].size(), 3u);
  EXPECT_EQ(view.paths.at("/a/b")[0][2].name, "b");
  EXPECT_FALSE(view.paths.at("/a/b")[0][2].inode);
}

}  // namespace
}  // namespace sbpf::policy
