// SPDX-License-Identifier: Apache-2.0
// AF_UNIX servers of the outside.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack/driver/victim.h"

namespace attack::driver {

namespace {

class UnixServer : public Receiver {
 public:
  UnixServer(const Scene& scene, int type, bool abstract)
      : Receiver(scene.token),
        path_(scene.directory + "/socket"),
        name_("sbpf-attack-" + scene.token),
        host_(scene.directory) {
    Fd fd = open_socket(AF_UNIX, type | SOCK_NONBLOCK);
    bind_to(fd, abstract ? unix_abstract(name_) : unix_path(path_));
    if (!abstract) must(chmod(path_.c_str(), 0777), "chmod");
    if (type == SOCK_DGRAM) {
      receive_at(std::move(fd));
    } else {
      listen_on(fd);
      listen_at(std::move(fd));
    }
  }
  ~UnixServer() override { unlink(path_.c_str()); }
  Arguments arguments() const override { return {{"path", path_}, {"name", name_}, {"host", host_}}; }

 private:
  std::string path_, name_, host_;
};

}  // namespace

std::unique_ptr<VictimState> make_local_victim(Victim kind, const Scene& scene) {
  if (kind == Victim::unix_stream) return std::make_unique<UnixServer>(scene, SOCK_STREAM, false);
  if (kind == Victim::unix_stream_abstract) return std::make_unique<UnixServer>(scene, SOCK_STREAM, true);
  if (kind == Victim::unix_dgram) return std::make_unique<UnixServer>(scene, SOCK_DGRAM, false);
  if (kind == Victim::unix_dgram_abstract) return std::make_unique<UnixServer>(scene, SOCK_DGRAM, true);
  if (kind == Victim::unix_seqpacket) return std::make_unique<UnixServer>(scene, SOCK_SEQPACKET, false);
  return nullptr;
}

}  // namespace attack::driver
