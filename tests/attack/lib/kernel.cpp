// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/kernel.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace attack {

int bpf_call(int command, bpf_attr& attributes, const char* step) {
  return static_cast<int>(must(syscall(SYS_bpf, command, &attributes, sizeof(attributes)), step));
}

Fd bpf_map_by_id(unsigned id) {
  bpf_attr attributes{};
  attributes.map_id = id;
  return Fd(bpf_call(BPF_MAP_GET_FD_BY_ID, attributes, "map by id"));
}

Fd bpf_link_by_id(unsigned id) {
  bpf_attr attributes{};
  attributes.link_id = id;
  return Fd(bpf_call(BPF_LINK_GET_FD_BY_ID, attributes, "link by id"));
}

Fd bpf_pinned(const std::string& path) {
  bpf_attr attributes{};
  attributes.pathname = reinterpret_cast<std::uintptr_t>(path.c_str());
  return Fd(bpf_call(BPF_OBJ_GET, attributes, "get pinned"));
}

void bpf_map_write(const Fd& map, std::uint32_t key, std::uint32_t value) {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<__u32>(map.get());
  attributes.key = reinterpret_cast<std::uintptr_t>(&key);
  attributes.value = reinterpret_cast<std::uintptr_t>(&value);
  bpf_call(BPF_MAP_UPDATE_ELEM, attributes, "map update");
}

void bpf_link_detach(const Fd& link) {
  bpf_attr attributes{};
  attributes.link_detach.link_fd = static_cast<__u32>(link.get());
  bpf_call(BPF_LINK_DETACH, attributes, "link detach");
}

Fd bpf_allow_all_program() {
  bpf_insn code[2] = {};
  code[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  code[0].imm = 1;
  code[1].code = BPF_JMP | BPF_EXIT;
  static constexpr char kLicense[] = "GPL";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_SOCK_ADDR;
  attributes.expected_attach_type = BPF_CGROUP_INET4_CONNECT;
  attributes.insns = reinterpret_cast<std::uintptr_t>(code);
  attributes.insn_cnt = 2;
  attributes.license = reinterpret_cast<std::uintptr_t>(kLicense);
  return Fd(bpf_call(BPF_PROG_LOAD, attributes, "program load"));
}

void change_lo_address(const Fd& socket, bool add, const char* address) {
  struct {
    nlmsghdr header;
    ifaddrmsg message;
    rtattr attribute;
    unsigned char value[16];
  } request{};
  const bool v6 = std::strchr(address, ':') != nullptr;
  const std::size_t size = v6 ? 16 : 4;
  request.header.nlmsg_len = static_cast<__u32>(NLMSG_LENGTH(sizeof(ifaddrmsg)) + RTA_LENGTH(size));
  request.header.nlmsg_type = add ? RTM_NEWADDR : RTM_DELADDR;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_REPLACE : 0);
  request.message.ifa_family = v6 ? AF_INET6 : AF_INET;
  request.message.ifa_prefixlen = static_cast<unsigned char>(size * 8);
  request.message.ifa_flags = v6 ? IFA_F_NODAD : 0;
  request.message.ifa_index = if_nametoindex("lo");
  request.attribute.rta_type = IFA_LOCAL;
  request.attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
  inet_pton(v6 ? AF_INET6 : AF_INET, address, request.value);
  must(send(socket.get(), &request, request.header.nlmsg_len, 0), "netlink send");

  struct {
    nlmsghdr header;
    nlmsgerr error;
    char rest[256];
  } answer{};
  must(recv(socket.get(), &answer, sizeof(answer), 0), "netlink receive");
  if (answer.header.nlmsg_type != NLMSG_ERROR) throw Failure{EPROTO, "netlink ack"};
  if (answer.error.error != 0) throw Failure{-answer.error.error, "netlink ack"};
}

}  // namespace attack
