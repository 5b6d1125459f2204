// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/driver/nested.h"

#include <stdexcept>

namespace attack::driver {

namespace {

struct Listed {
  const char* name;
  bool in_run;
};

// The gate finds the two sandboxes in two ways (`in_run` is the other one), and what asks them differs by family: files
// and programs by LSM_ASK_ONCE, guards and capabilities by LSM_ASK, a descriptor that is received by both. The cgroup
// layer's programs are called by the kernel for each cgroup above.
constexpr Listed kListed[] = {
    // The mapping is asked for before and after the program.
    {"executable_mapping_is_refused", false},
    {"mapping_made_executable_is_refused", false},
    {"unlisted_program_is_refused", true},
    // Files: each of these is a hook of its own.
    {"chmod_of_read_only_file_is_refused", false},
    {"creation_in_read_only_directory_is_refused", false},
    {"hard_link_to_read_only_file_is_refused", false},
    {"mapping_of_received_file_is_refused", false},
    {"read_of_denied_file_is_refused", true},
    {"received_writable_file_is_refused", false},
    {"removal_of_read_only_file_is_refused", false},
    {"rename_of_read_only_file_out_is_refused", false},
    {"second_read_of_denied_file_is_refused", true},
    {"tmpfs_over_protected_directory_is_refused", false},
    // Guards, and what is refused without any rule.
    {"clone_into_other_cgroup_is_refused", false},
    {"host_name_change_is_refused", true},
    {"key_in_session_keyring_is_refused", false},
    {"kill_of_outside_process_is_refused", true},
    {"memory_by_call_of_outside_process_is_refused", false},
    {"move_to_root_cgroup_is_refused", false},
    {"nice_value_of_outside_process_is_refused", false},
    {"descriptor_signals_to_outside_are_refused", false},
    // Sockets: of both layers, and those that only the LSM layer sees.
    {"netlink_usersock_is_refused", false},
    {"packet_raw_is_refused", false},
    {"premade_udp_sendto_is_refused", false},
    {"tcp4_bind_to_other_port_is_refused", false},
    {"tcp4_connect_is_refused", true},
    {"udp4_sendto_is_refused", false},
    {"unix_abstract_dgram_sendto_is_refused", false},
    {"unix_stream_connect_is_refused", true},
};

}  // namespace

std::vector<NestedAttack> nested_attacks() {
  std::vector<NestedAttack> all;
  for (const Listed& listed : kListed) {
    const Attack* attack = find(listed.name);
    if (!attack) throw std::logic_error(std::string("no attack is named ") + listed.name);
    all.push_back({attack, listed.in_run});
  }
  return all;
}

std::vector<NestedCase> nested_cases(const NestedAttack& nested) {
  using Kind = Nesting::Kind;
  std::vector<NestedCase> cases = {
      {"nested-both-allow", {Kind::attached, Phase::allowed, Phase::allowed}},
      {"nested-outer-denies", {Kind::attached, Phase::denied, Phase::allowed}},
      {"nested-inner-denies", {Kind::attached, Phase::allowed, Phase::denied}},
  };
  if (nested.in_run)
    cases.insert(cases.end(), {
                                  {"nested-in-run-both-allow", {Kind::in_run, Phase::allowed, Phase::allowed}},
                                  {"nested-in-run-outer-denies", {Kind::in_run, Phase::denied, Phase::allowed}},
                                  {"nested-in-run-inner-denies", {Kind::in_run, Phase::allowed, Phase::denied}},
                              });
  return cases;
}

}  // namespace attack::driver
