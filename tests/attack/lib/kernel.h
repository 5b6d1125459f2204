// SPDX-License-Identifier: Apache-2.0
// bpf(2) and rtnetlink by hand; used by attackers and, to set up victims, by the driver.
#pragma once

#include <linux/bpf.h>

#include <string>

#include "tests/attack/lib/attack.h"

namespace attack {

// bpf(2) as a step named after the command.
int bpf_call(int command, bpf_attr& attributes, const char* step);
Fd bpf_map_by_id(unsigned id);                                              // "map by id"
Fd bpf_link_by_id(unsigned id);                                             // "link by id"
Fd bpf_pinned(const std::string& path);                                     // "get pinned"
void bpf_map_write(const Fd& map, std::uint32_t key, std::uint32_t value);  // "map update"
void bpf_link_detach(const Fd& link);                                       // "link detach"
Fd bpf_allow_all_program();  // cgroup/connect4 that allows. "program load"

// One rtnetlink request, its acknowledgement awaited: adds or removes an address on lo. "netlink send", "netlink ack"
void change_lo_address(const Fd& socket, bool add, const char* address);

}  // namespace attack
