// SPDX-License-Identifier: Apache-2.0
// AF_ALG is kernel attack surface. Nobody outside can see it used: the hash itself is the proof.
#include <linux/if_alg.h>
#include <unistd.h>

#include <cstring>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(alg_socket_is_refused, {.allow = "dangerously_allow_sockets: [alg]",
                               .at = "socket",
                               .modules = "af_alg algif_hash",
                               .lacking = {{EAFNOSUPPORT}},
                               .claims = "the hash is told to nobody else"}) {
  const Fd fd = open_socket(AF_ALG, SOCK_SEQPACKET);
  sockaddr_alg name{};
  name.salg_family = AF_ALG;
  std::memcpy(name.salg_type, "hash", 5);
  std::memcpy(name.salg_name, "sha256", 7);
  must(bind(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), "bind");
  const Fd hash(must(accept4(fd.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
  must(write(hash.get(), "abc", 3), "write");
  unsigned char digest[32];
  must(read(hash.get(), digest, sizeof(digest)), "read");
  if (digest[0] != 0xba || digest[1] != 0x78 || digest[31] != 0xad) throw Failure{EPROTO, "SHA-256 of abc"};
}
