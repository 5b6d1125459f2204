// SPDX-License-Identifier: Apache-2.0
// bpf/abi.h as the C++ compiler lays it out, against the BTF of the object that the kernel gets.
#include <bpf/btf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "bpf/abi.h"

namespace {

struct Layout {
  std::size_t size = 0;
  std::map<std::string, std::size_t> offsets;
};

struct FreeBtf {
  void operator()(btf* b) const { btf__free(b); }
};

Layout from_object(const btf* types, const char* name) {
  Layout layout;
  const int id = btf__find_by_name_kind(types, name, BTF_KIND_STRUCT);
  if (id < 0) return layout;
  const btf_type* type = btf__type_by_id(types, static_cast<__u32>(id));
  layout.size = type->size;
  for (__u32 i = 0; i < btf_vlen(type); i++) {
    const std::string member = btf__name_by_offset(types, btf_members(type)[i].name_off);
    if (!member.empty()) layout.offsets[member] = btf_member_bit_offset(type, i) / 8;
  }
  return layout;
}

class AbiLayout : public ::testing::Test {
 protected:
  void SetUp() override {
    types_.reset(btf__parse_elf(SBPF_BPF_OBJECT, nullptr));
    ASSERT_NE(types_, nullptr) << SBPF_BPF_OBJECT;
  }
  void expect(const char* name, std::size_t size, const std::map<std::string, std::size_t>& offsets) {
    const Layout object = from_object(types_.get(), name);
    EXPECT_EQ(object.size, size) << name;
    for (const auto& [member, offset] : offsets) {
      ASSERT_TRUE(object.offsets.count(member)) << name << "." << member;
      EXPECT_EQ(object.offsets.at(member), offset) << name << "." << member;
    }
  }
  std::unique_ptr<btf, FreeBtf> types_;
};

#define OFFSET(type, member) \
  { #member, offsetof(type, member) }

TEST_F(AbiLayout, policy) {
  expect("sbpf_rule_key", sizeof(sbpf_rule_key),
         {OFFSET(sbpf_rule_key, kind), OFFSET(sbpf_rule_key, proto), OFFSET(sbpf_rule_key, prefix_len),
          OFFSET(sbpf_rule_key, match), OFFSET(sbpf_rule_key, port), OFFSET(sbpf_rule_key, addr)});
  expect("sbpf_port_range", sizeof(sbpf_port_range),
         {OFFSET(sbpf_port_range, first), OFFSET(sbpf_port_range, last), OFFSET(sbpf_port_range, rule)});
  expect("sbpf_rule", sizeof(sbpf_rule), {OFFSET(sbpf_rule, n_ranges), OFFSET(sbpf_rule, range)});
  expect("sbpf_policy_header", sizeof(sbpf_policy_header),
         {OFFSET(sbpf_policy_header, flags), OFFSET(sbpf_policy_header, sockets),
          OFFSET(sbpf_policy_header, n_connect_prefixes), OFFSET(sbpf_policy_header, n_bind_prefixes),
          OFFSET(sbpf_policy_header, generation), OFFSET(sbpf_policy_header, n_rules),
          OFFSET(sbpf_policy_header, image_sha256)});
  expect("sbpf_prefixes", sizeof(sbpf_prefixes), {OFFSET(sbpf_prefixes, len)});
  expect("sbpf_policy_id", sizeof(sbpf_policy_id),
         {OFFSET(sbpf_policy_id, policy_sha256), OFFSET(sbpf_policy_id, on_loss)});
  expect("sbpf_policy_name", sizeof(sbpf_policy_name), {OFFSET(sbpf_policy_name, name)});
  expect("sbpf_policy_process", sizeof(sbpf_policy_process),
         {OFFSET(sbpf_policy_process, capabilities), OFFSET(sbpf_policy_process, kernel)});
}

TEST_F(AbiLayout, sandbox) {
  expect("sbpf_sandbox", sizeof(sbpf_sandbox),
         {OFFSET(sbpf_sandbox, cgroup_id), OFFSET(sbpf_sandbox, level), OFFSET(sbpf_sandbox, flags),
          OFFSET(sbpf_sandbox, name), OFFSET(sbpf_sandbox, stdio_inode), OFFSET(sbpf_sandbox, created_ns),
          OFFSET(sbpf_sandbox, window_start_ns), OFFSET(sbpf_sandbox, window_events), OFFSET(sbpf_sandbox, lost_full),
          OFFSET(sbpf_sandbox, lost_rate), OFFSET(sbpf_sandbox, events), OFFSET(sbpf_sandbox, repeated),
          OFFSET(sbpf_sandbox, moved_out), OFFSET(sbpf_sandbox, denied)});
  expect("sbpf_cgroup_ref", sizeof(sbpf_cgroup_ref),
         {OFFSET(sbpf_cgroup_ref, cgroup_id), OFFSET(sbpf_cgroup_ref, dns4_be), OFFSET(sbpf_cgroup_ref, dns6_be),
          OFFSET(sbpf_cgroup_ref, flags), OFFSET(sbpf_cgroup_ref, generation), OFFSET(sbpf_cgroup_ref, digest),
          OFFSET(sbpf_cgroup_ref, next)});
  expect("sbpf_opened", sizeof(sbpf_opened),
         {OFFSET(sbpf_opened, until_ns), OFFSET(sbpf_opened, last_ns), OFFSET(sbpf_opened, host_names_id),
          OFFSET(sbpf_opened, also), OFFSET(sbpf_opened, rule)});
  expect("sbpf_announcement", sizeof(sbpf_announcement),
         {OFFSET(sbpf_announcement, cgroup_id), OFFSET(sbpf_announcement, lost), OFFSET(sbpf_announcement, addr),
          OFFSET(sbpf_announcement, name_key), OFFSET(sbpf_announcement, name)});
  expect("sbpf_gate", sizeof(sbpf_gate),
         {OFFSET(sbpf_gate, root_level), OFFSET(sbpf_gate, other_levels), OFFSET(sbpf_gate, root_id),
          OFFSET(sbpf_gate, alive_id)});
  expect("sbpf_alive", sizeof(sbpf_alive), {OFFSET(sbpf_alive, ran)});
  expect("sbpf_canary", sizeof(sbpf_canary),
         {OFFSET(sbpf_canary, tgid), OFFSET(sbpf_canary, hook), OFFSET(sbpf_canary, hit), OFFSET(sbpf_canary, runner),
          OFFSET(sbpf_canary, wanted)});
  expect("sbpf_guard", sizeof(sbpf_guard),
         {OFFSET(sbpf_guard, agents), OFFSET(sbpf_guard, pins_ino), OFFSET(sbpf_guard, pins_dev),
          OFFSET(sbpf_guard, pins_mount), OFFSET(sbpf_guard, pins_parent), OFFSET(sbpf_guard, open_until),
          OFFSET(sbpf_guard, let_through), OFFSET(sbpf_guard, refused), OFFSET(sbpf_guard, reason)});
  expect("sbpf_journal", sizeof(sbpf_journal),
         {OFFSET(sbpf_journal, cgroup_id), OFFSET(sbpf_journal, what), OFFSET(sbpf_journal, name)});
  expect("sbpf_meta", sizeof(sbpf_meta),
         {OFFSET(sbpf_meta, prog_id), OFFSET(sbpf_meta, link_id), OFFSET(sbpf_meta, target), OFFSET(sbpf_meta, tag),
          OFFSET(sbpf_meta, object_sha256), OFFSET(sbpf_meta, layout_sha256)});
}

TEST_F(AbiLayout, events) {
  expect("sbpf_event", sizeof(sbpf_event),
         {OFFSET(sbpf_event, ts_ns), OFFSET(sbpf_event, cgroup_id), OFFSET(sbpf_event, tgid), OFFSET(sbpf_event, tid),
          OFFSET(sbpf_event, uid), OFFSET(sbpf_event, generation), OFFSET(sbpf_event, hook), OFFSET(sbpf_event, domain),
          OFFSET(sbpf_event, verdict), OFFSET(sbpf_event, reason), OFFSET(sbpf_event, sys_errno),
          OFFSET(sbpf_event, comm), OFFSET(sbpf_event, key), OFFSET(sbpf_event, times), OFFSET(sbpf_event, first)});
  expect("sbpf_told", sizeof(sbpf_told), {OFFSET(sbpf_told, seed), OFFSET(sbpf_told, kinds), OFFSET(sbpf_told, one)});
  expect("sbpf_told_one", sizeof(sbpf_told_one),
         {OFFSET(sbpf_told_one, key), OFFSET(sbpf_told_one, second), OFFSET(sbpf_told_one, untold)});
  expect("sbpf_event_net", sizeof(sbpf_event_net),
         {OFFSET(sbpf_event_net, family), OFFSET(sbpf_event_net, type), OFFSET(sbpf_event_net, protocol),
          OFFSET(sbpf_event_net, port), OFFSET(sbpf_event_net, addr), OFFSET(sbpf_event_net, level),
          OFFSET(sbpf_event_net, option)});
  expect("sbpf_event_task", sizeof(sbpf_event_task),
         {OFFSET(sbpf_event_task, target_pid), OFFSET(sbpf_event_task, detail)});
}

}  // namespace
