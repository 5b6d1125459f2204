// SPDX-License-Identifier: Apache-2.0
#include "service/server.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fmt/core.h>
#include <array>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "service/child.h"
#include "service/log.h"
#include "service/sbpf.h"

namespace sbpf::service {
namespace {

namespace http = boost::beast::http;
namespace beast = boost::beast;
using Local = asio::local::stream_protocol;
using Response = http::response<http::string_body>;
using Quiet = boost::system::error_code;

constexpr std::size_t kMostTurnedAway = 64;   // at once; beyond, without an answer
constexpr std::uint32_t kHeaderBytes = 8192;  // of a request

Error socket_error(const std::string& what) {
  return Error{"socket",
               fmt::format("{}: {}", what, std::strerror(errno)),
               "name another place with `socket` in sbpfd.yaml",
               errno,
               "",
               false};
}

bool somebody_listens(const std::string& path) {
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Held as long as the path is served. Errors: "already_running"; those of socket_error().
Result<Fd> claim(const std::string& path) {
  Fd lock(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return tl::unexpected<Error>(socket_error(fmt::format("cannot make {}.lock", path)));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 && !somebody_listens(path)) return lock;
  return fail("already_running", fmt::format("another sbpfd serves {}", path),
              "stop it, or name a socket in another directory in sbpfd.yaml");
}

Response response_of(Reply reply, unsigned version, bool keep_alive) {
  Response response(static_cast<http::status>(reply.status), version);
  response.set(http::field::content_type, reply.type);
  response.set(http::field::cache_control, "no-store");
  if (reply.status == 429) response.set(http::field::retry_after, "1");
  response.keep_alive(keep_alive);
  response.body() = std::move(reply.body);
  response.prepare_payload();
  return response;
}

asio::awaitable<bool> write(Server::Stream& stream, Response& response, std::chrono::seconds limit) {
  Quiet error;
  stream.expires_after(limit);
  co_await http::async_write(stream, response, asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

// The client may still be writing what nobody will read. Closed at once, it would lose the answer.
asio::awaitable<void> close_gently(Server::Stream& stream) {
  Quiet error;
  stream.socket().shutdown(Local::socket::shutdown_send, error);
  stream.expires_after(std::chrono::seconds(1));
  std::array<char, 4096> unread;
  while (!error)
    co_await stream.async_read_some(asio::buffer(unread), asio::redirect_error(asio::use_awaitable, error));
  stream.close();
}

Error bad_request(const Quiet& error, std::size_t body_bytes) {
  if (error == http::error::body_limit)
    return {"body_too_large",
            fmt::format("the body is larger than {} bytes", body_bytes),
            "raise limits.body_bytes of sbpfd.yaml",
            0,
            "",
            false};
  if (error == http::error::header_limit)
    return {"headers_too_large",
            fmt::format("the request's headers are larger than {} bytes", kHeaderBytes),
            "send fewer",
            0,
            "",
            false};
  return {"bad_request",
          fmt::format("this is not an HTTP request: {}", error.message()),
          "docs/openapi.yaml describes the API",
          0,
          "",
          false};
}

// The next request. A client that asks first whether it may send the body (Expect: 100-continue) is told to.
asio::awaitable<Quiet> read_request(Server::Stream& stream, beast::flat_buffer& buffer,
                                    http::request_parser<http::string_body>& parser, const Limits& limits) {
  parser.header_limit(kHeaderBytes);
  parser.body_limit(limits.body_bytes);
  stream.expires_after(limits.receive);
  Quiet error;
  co_await http::async_read_header(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, error));
  if (!error && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    co_await http::async_write(stream, go_on, asio::redirect_error(asio::use_awaitable, error));
  }
  if (!error) co_await http::async_read(stream, buffer, parser, asio::redirect_error(asio::use_awaitable, error));
  co_return error;
}

// A line of `sbpf events` as an event of a stream.
std::string server_sent(const std::string& line) {
  const Json event = Json::parse(line, nullptr, false);
  const bool error = event.is_object() && event.contains("error");
  return fmt::format("{}data: {}\n\n", error ? "event: error\n" : "", line);
}

}  // namespace

Result<void> Server::open() {
  path_ = core_.config.socket;
  root_path_ = root_socket(core_.config);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);  // under umask 022
  for (const auto& [path, lock] : {std::pair(&path_, &lock_), std::pair(&root_path_, &root_lock_)}) {
    auto claimed = claim(*path);
    if (!claimed) return tl::unexpected<Error>(claimed.error());
    *lock = std::move(*claimed);
  }
  if (auto open = listen(acceptor_, path_, core_.group, 0660); !open) return open;
  return listen(root_acceptor_, root_path_, 0, 0600);
}

Result<void> Server::listen(Acceptor& acceptor, const std::string& path, gid_t group, mode_t mode) {
  const std::string fresh = path + ".new";
  (void)::unlink(fresh.c_str());
  Quiet error;
  acceptor.open(Local(), error);
  // Nobody gets in before it is who may: the mode is there from the start.
  const mode_t mask = ::umask(0177);
  if (!error) acceptor.bind(Local::endpoint(fresh), error);
  ::umask(mask);
  if (!error && (::chown(fresh.c_str(), static_cast<uid_t>(-1), group) != 0 || ::chmod(fresh.c_str(), mode) != 0))
    error = {errno, boost::system::system_category()};
  if (!error) acceptor.listen(64, error);
  if (!error && std::rename(fresh.c_str(), path.c_str()) != 0) error = {errno, boost::system::system_category()};
  if (!error) return {};
  errno = error.value();
  return tl::unexpected<Error>(socket_error(fmt::format("cannot serve {}", path)));
}

Result<void> Server::set_group() {
  if (::chown(path_.c_str(), static_cast<uid_t>(-1), core_.group) == 0) return {};
  return tl::unexpected<Error>(socket_error(fmt::format("cannot give {} to its group", path_)));
}

void Server::close() {
  Quiet ignored;
  acceptor_.close(ignored);
  root_acceptor_.close(ignored);
  (void)::unlink(path_.c_str());
  (void)::unlink(root_path_.c_str());
}

asio::awaitable<void> Server::run() {
  asio::co_spawn(core_.context, accept_from(root_acceptor_), asio::detached);
  co_await accept_from(acceptor_);
}

asio::awaitable<void> Server::accept_from(Acceptor& acceptor) {
  while (acceptor.is_open()) {
    Quiet error;
    Local::socket socket(core_.context);
    co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor.is_open()) co_return;
    if (error) {  // out of descriptors: some will come free
      asio::steady_timer pause(core_.context, std::chrono::milliseconds(100));
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    auto peer = peer_of(socket.native_handle());
    auto room = room_for(peer);
    Stream stream(std::move(socket));
    if (room)
      asio::co_spawn(core_.context, serve(std::move(stream), std::move(*peer)), asio::detached);
    else if (turned_away_ < kMostTurnedAway || (peer && peer->uid == 0))
      asio::co_spawn(core_.context, turn_away(std::move(stream), std::move(room.error())), asio::detached);
  }
}

void Server::Place::release() {
  if (!server_) return;
  const auto found = server_->served_.find(uid_);
  if (--found->second == 0) server_->served_.erase(found);
  server_ = nullptr;
}

Result<void> Server::room_for(const Result<Peer>& peer) const {
  if (!peer) return tl::unexpected<Error>(peer.error());
  const Limits& limits = core_.config.limits;
  const auto found = served_.find(peer->uid);
  const std::size_t own = found == served_.end() ? 0 : found->second;
  std::size_t of_users = 0;
  for (const auto& [uid, count] : served_) of_users += uid == 0 ? 0 : count;
  const bool root = peer->uid == 0;
  if (!root && own >= limits.connections_per_user)
    return fail("too_many", fmt::format("uid {} has {} connections already", peer->uid, own),
                "close one, or raise limits.connections_per_user of sbpfd.yaml");
  if ((root ? own : of_users) >= limits.connections)
    return fail("too_many", "too many connections", "try again later, or raise limits.connections of sbpfd.yaml");
  return {};
}

asio::awaitable<void> Server::turn_away(Stream stream, Error why) {
  turned_away_++;
  const std::shared_ptr<void> done(nullptr, [this](void*) { turned_away_--; });
  core_.metrics.request(why.code.http_status());
  Response response = response_of(reply_of(std::move(why)), 11, false);
  (void)co_await write(stream, response, std::chrono::seconds(1));
  co_await close_gently(stream);
}

asio::awaitable<void> Server::serve(Stream stream, Peer peer) {
  Place place(*this, peer.uid);
  beast::flat_buffer buffer;
  for (;;) {
    const Limits limits = core_.config.limits;
    http::request_parser<http::string_body> parser;
    const Quiet error = co_await read_request(stream, buffer, parser, limits);
    stream.expires_never();
    if (error == http::error::end_of_stream || error == beast::error::timeout ||
        error == asio::error::connection_reset || error == asio::error::operation_aborted)
      co_return;

    Result<Route> asked = fail("bad_request", "");
    bool keep_alive = false;
    unsigned version = 11;
    if (error) {
      asked = tl::unexpected<Error>(bad_request(error, limits.body_bytes));
    } else {
      const auto& request = parser.get();
      keep_alive = request.keep_alive();
      version = request.version();
      asked = route({request.method_string().data(), request.method_string().size()},
                    {request.target().data(), request.target().size()});
    }
    // Who may not is told nothing but that, whatever was asked for.
    Wants what = asked ? wants(asked->asks) : Wants::read;
    const bool of_owner =
        asked && asked->asks == Asks::detach && peer.uid != 0 && api_.runs().owned_by(asked->name, peer.uid);
    if (of_owner) what = Wants::run;
    auto allowed = api_.permit(peer, what);
    if (allowed && asked && is_of_owner(asked->asks)) allowed = api_.permit_owner(peer, asked->name);
    if (!allowed) asked = tl::unexpected<Error>(allowed.error());
    if (asked && asked->asks == Asks::events) {
      co_await stream_events(stream, *asked);
      co_return;
    }
    if (asked && (asked->asks == Asks::run || asked->asks == Asks::exec)) {
      if (co_await serve_run(stream, peer, *asked, std::move(parser.get().body()), version, keep_alive, place))
        co_return;
      continue;
    }
    Reply reply;
    if (asked && of_owner)
      reply = co_await api_.runs().end_of_owner(asked->name);
    else if (asked)
      reply = co_await api_.answer(*asked, std::move(parser.get().body()));
    else
      reply = reply_of(asked.error());
    core_.metrics.request(reply.status);
    log::debug("request", {{"UID", std::to_string(peer.uid)},
                           {"PID", std::to_string(peer.pid)},
                           {"STATUS", std::to_string(reply.status)}});
    Response response = response_of(std::move(reply), version, keep_alive);
    if (!co_await write(stream, response, limits.receive)) co_return;
    if (keep_alive) continue;
    co_await close_gently(stream);
    co_return;
  }
}

asio::awaitable<bool> Server::serve_run(Stream& stream, const Peer& peer, Route asked, std::string body,
                                        unsigned version, bool keep_alive, Place& place) {
  StartedRun run;
  Reply reply;
  if (asked.asks == Asks::run)
    reply = co_await api_.runs().start(peer, std::move(body), run);
  else
    reply = co_await api_.runs().exec(peer, std::move(asked.name), std::move(body), run);
  core_.metrics.request(reply.status);
  const bool runs = !run.name.empty();
  Response response = response_of(std::move(reply), version, runs || keep_alive);
  const bool told = co_await write(stream, response, core_.config.limits.receive);
  if (!runs && told && keep_alive) co_return false;
  if (runs && told) {
    // Those of users have a limit of their own.
    place.release();
    stream.expires_never();
    std::array<char, 1> more;
    Quiet ended;
    co_await stream.async_read_some(asio::buffer(more), asio::redirect_error(asio::use_awaitable, ended));
  }
  if (runs) co_await api_.runs().end(run);
  co_await close_gently(stream);
  co_return true;
}

asio::awaitable<void> Server::stream_events(Stream& stream, Route route) {
  Result<void> possible = api_.known(route.name);
  Command command;
  command.arguments = {core_.sbpf, "events", route.name, "--json"};
  if (route.follow) command.arguments.push_back("--follow");
  std::shared_ptr<Child> child;
  if (possible) {
    auto started = Child::start(core_.context, command);
    if (started)
      child = std::make_shared<Child>(std::move(*started));
    else
      possible = tl::unexpected<Error>(started.error());
  }
  core_.metrics.request(possible ? 200 : possible.error().code.http_status());
  Quiet error;
  if (!possible) {
    Response response = response_of(reply_of(possible.error()), 11, false);
    if (co_await write(stream, response, core_.config.limits.receive)) co_await close_gently(stream);
    co_return;
  }
  static constexpr std::string_view kHead =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";
  stream.expires_after(core_.config.limits.receive);
  co_await asio::async_write(stream, asio::buffer(kHead), asio::redirect_error(asio::use_awaitable, error));
  stream.expires_never();
  if (error) co_return;
  // A client has nothing more to say: what can be read is that it went away. Then the program ends, and its output with
  // it.
  const auto socket =
      std::make_shared<asio::posix::stream_descriptor>(core_.context, ::dup(stream.socket().native_handle()));
  asio::co_spawn(
      core_.context,
      [child, socket]() -> asio::awaitable<void> {
        Quiet over;
        co_await socket->async_wait(asio::posix::stream_descriptor::wait_read,
                                    asio::redirect_error(asio::use_awaitable, over));
        if (!over) child->signal(SIGTERM);
      },
      asio::detached);
  std::string buffer, message;
  for (;;) {
    const std::size_t n = co_await asio::async_read_until(child->out(), asio::dynamic_buffer(buffer, 1 << 20), '\n',
                                                          asio::redirect_error(asio::use_awaitable, error));
    if (error) break;
    const std::string line = buffer.substr(0, n - 1);
    buffer.erase(0, n);
    message = server_sent(line);
    stream.expires_after(core_.config.limits.receive);
    co_await asio::async_write(stream, asio::buffer(message), asio::redirect_error(asio::use_awaitable, error));
    stream.expires_never();
    if (error) break;
  }
  socket->cancel(error);
  child->signal(SIGTERM);
  co_await child->ended().async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::redirect_error(asio::use_awaitable, error));
  (void)child->wait();
  child->ended().close(error);
  stream.close();
}

}  // namespace sbpf::service
