// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 over a unix socket.
#pragma once

#include <boost/beast/core/basic_stream.hpp>
#include <map>

#include "base/fd.h"
#include "service/api.h"
#include "service/asio.h"

namespace sbpf::service {

class Server {
 public:
  using Stream = boost::beast::basic_stream<asio::local::stream_protocol>;

  Server(Core& core, Api& api) : core_(core), api_(api), acceptor_(core.context), root_acceptor_(core.context) {}

  // Makes the socket, and root's own beside it (root_socket()), whose queue nobody else can fill. Each is made with its
  // mode and group under another name, and renamed. What nobody listens at is replaced. Errors: "already_running",
  // "socket".
  Result<void> open();
  // After another group was configured. Errors: "socket".
  Result<void> set_group();
  // Until close(). To be spawned once; the object must outlive it.
  asio::awaitable<void> run();
  // Accepts nobody any more, and removes the sockets.
  void close();

 private:
  // One of the connections that are served, from construction to destruction or release(): counted by whose it is.
  class Place {
   public:
    Place(Server& server, uid_t uid) : server_(&server), uid_(uid) { server_->served_[uid_]++; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { release(); }
    void release();

   private:
    Server* server_;
    uid_t uid_;
  };

  using Acceptor = asio::local::stream_protocol::acceptor;
  Result<void> listen(Acceptor& acceptor, const std::string& path, gid_t group, mode_t mode);
  asio::awaitable<void> accept_from(Acceptor& acceptor);
  // Is there room for one more? What users hold leaves root's alone, and what one of them holds the others'. Errors:
  // "too_many".
  Result<void> room_for(const Result<Peer>& peer) const;
  asio::awaitable<void> serve(Stream stream, Peer peer);
  asio::awaitable<void> turn_away(Stream stream, Error why);
  // Until the client says anything more, or goes away. False: nothing runs, and the connection goes on.
  asio::awaitable<bool> serve_run(Stream& stream, const Peer& peer, Route asked, std::string body, unsigned version,
                                  bool keep_alive, Place& place);
  asio::awaitable<void> stream_events(Stream& stream, Route route);

  Core& core_;
  Api& api_;
  Acceptor acceptor_, root_acceptor_;
  Fd lock_, root_lock_;
  std::string path_, root_path_;
  std::map<uid_t, std::size_t> served_;
  std::size_t turned_away_ = 0;
};

}  // namespace sbpf::service
