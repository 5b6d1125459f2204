// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/relay.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "agent/host/asio_address.h"
#include "agent/launch/relay_datagram.h"

namespace sbpf::agent {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using asio::ip::udp;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kConnections = 400, kClients = 400;  // the process may have 2048 descriptors
// What the kernel keeps for a socket, in bytes for each direction; twice that is charged. A far host takes more, of the
// first few: all together are to stay below the process's memory (agent/launch/relay_process.cpp).
constexpr int kNearBuffer = 32768, kFarBuffer = 262144;
constexpr std::size_t kFarBuffers = 64;
constexpr int kClientSilence = 60;  // seconds, after which it is asked whether it is there
constexpr std::size_t kPiece = 16384, kLargestDatagram = 65536;
constexpr auto kPatience = std::chrono::seconds(10);
constexpr auto kPause = std::chrono::milliseconds(100);  // where there are no descriptors
constexpr auto kLook = std::chrono::milliseconds(10);    // how often it is asked whether all is passed on

asio::redirect_error_t<asio::use_awaitable_t<>> redirect(boost::system::error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

// Where what reaches this socket is to be passed on.
class Destinations {
 public:
  explicit Destinations(const RelaySocket& relayed)
      : address_(asio_address(relayed.endpoint.address)),
        port_(relayed.endpoint.port),
        is_every_(policy::is_beyond_loopback(relayed.endpoint)) {
    for (const policy::Address& one : relayed.loopback) loopback_.insert(asio_address(one));
  }
  // The hooks have judged every address that was asked for, but those of loopback: the sandbox's own is open to it as a
  // whole. So of loopback only what is listed leads to the host.
  template <typename Endpoint>
  std::optional<Endpoint> of(const asio::ip::address& asked) const {
    if (!is_every_) return Endpoint(address_, port_);
    if (asked.is_unspecified() || (asked.is_loopback() && !loopback_.contains(asked))) return std::nullopt;
    return Endpoint(asked, port_);
  }

 private:
  asio::ip::address address_;
  std::uint16_t port_;
  bool is_every_;
  std::set<asio::ip::address> loopback_;
};

// ---- the host's side ----

// Of loopback it is bound there before it connects, so that nobody else's datagrams are taken for answers; and not to
// the port that it connects to: it would connect to itself where nobody listens. False: there is none, or no port.
template <typename Socket, typename Endpoint>
bool open_for(Socket& socket, const Endpoint& endpoint) {
  constexpr int kTries = 10;
  const asio::ip::address local = endpoint.address().is_v6() ? asio::ip::address(asio::ip::address_v6::loopback())
                                                             : asio::ip::address_v4::loopback();
  if (!endpoint.address().is_loopback()) {
    boost::system::error_code error;
    socket.open(endpoint.protocol(), error);
    return !error;
  }
  for (int tries = 0; tries < kTries; ++tries) {
    boost::system::error_code error;
    socket.close(error);
    socket.open(endpoint.protocol(), error);
    if (!error) socket.bind(Endpoint(local, 0), error);
    if (error) return false;
    if (socket.local_endpoint(error).port() != endpoint.port() && !error) return true;
  }
  return false;
}

// ---- TCP ----

void set_option(int socket, int level, int option, int value) {
  (void)::setsockopt(socket, level, option, &value, sizeof value);
}

void limit_buffers(int socket, int bytes) {
  for (const int direction : {SO_RCVBUF, SO_SNDBUF}) set_option(socket, SOL_SOCKET, direction, bytes);
}

// What is small goes at once: whoever wants it gathered has gathered it.
void set_up_side(tcp::socket& side, int buffer) {
  limit_buffers(side.native_handle(), buffer);
  set_option(side.native_handle(), IPPROTO_TCP, TCP_NODELAY, 1);
}

// A client that closed its socket says no more when its kernel forgets it, unless it is asked.
void ask_when_silent(tcp::socket& client) {
  const int socket = client.native_handle();
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kClientSilence);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

// It was reset, or ended by a swap, while it waited to be accepted.
bool is_over(tcp::socket& client) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(client.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_state == TCP_CLOSE;
}

// Both sides of a connection that is passed on. It ends with the last one who holds it.
struct Passed {
  Passed(tcp::socket from, std::set<Passed*>& of_all)
      : client(std::move(from)), host(client.get_executor()), all(of_all) {
    all.insert(this);
    reset_at_close(client, true);
  }
  Passed(const Passed&) = delete;
  Passed& operator=(const Passed&) = delete;
  ~Passed() { all.erase(this); }

  // So that both peers learn of an early end, that of this process too, and do not take it for the other one's.
  static void reset_at_close(tcp::socket& side, bool reset) {
    boost::system::error_code ignored;
    side.set_option(asio::socket_base::linger(reset, 0), ignored);
  }
  void reset() {
    boost::system::error_code ignored;
    client.close(ignored);
    host.close(ignored);
  }

  // Both sides have said that there is no more to come, or who is there is gone: an end as any other.
  void close() {
    for (tcp::socket* side : {&client, &host}) reset_at_close(*side, false);
    reset();
  }

  tcp::socket client, host;
  bool client_ended = false, host_ended = false;  // it has no more to say, and the other side was told
  std::set<Passed*>& all;
};

awaitable<void> pass_on(std::shared_ptr<Passed> passed, tcp::socket& from, tcp::socket& to, bool& ended) {
  std::array<char, kPiece> piece{};
  boost::system::error_code error;
  while (true) {
    const std::size_t size = co_await from.async_read_some(asio::buffer(piece), redirect(error));
    if (error) break;
    co_await asio::async_write(to, asio::buffer(piece, size), redirect(error));
    if (error) break;
  }
  if (error != asio::error::eof) {
    passed->reset();
    co_return;
  }
  to.shutdown(tcp::socket::shutdown_send, error);
  ended = true;
  if (passed->client_ended && passed->host_ended) passed->close();
}

awaitable<void> connect_and_pass_on(std::shared_ptr<Passed> passed, tcp::endpoint endpoint) {
  boost::system::error_code error = asio::error::no_descriptors;
  asio::steady_timer timer(passed->client.get_executor(), kPatience);
  timer.async_wait([passed](const boost::system::error_code& cancelled) {
    if (!cancelled) passed->reset();
  });
  if (open_for(passed->host, endpoint)) {
    set_up_side(passed->host, passed->all.size() <= kFarBuffers ? kFarBuffer : kNearBuffer);
    co_await passed->host.async_connect(endpoint, redirect(error));
  }
  timer.cancel();
  if (error) {
    passed->reset();
    co_return;
  }
  Passed::reset_at_close(passed->host, true);
  asio::co_spawn(passed->client.get_executor(), pass_on(passed, passed->client, passed->host, passed->client_ended),
                 asio::detached);
  co_await pass_on(passed, passed->host, passed->client, passed->host_ended);
}

// Has a connection whose client has closed it make room for another. False: there is none.
bool end_closed_one(const std::set<Passed*>& connections) {
  const auto closed =
      std::ranges::find_if(connections, [](const Passed* one) { return one->client_ended && one->client.is_open(); });
  if (closed == connections.end()) return false;
  (*closed)->reset();
  return true;
}

awaitable<void> serve_tcp(tcp::acceptor& acceptor, Destinations destinations, std::set<Passed*>& connections) {
  asio::steady_timer pause(acceptor.get_executor());
  while (true) {
    boost::system::error_code error;
    tcp::socket client = co_await acceptor.async_accept(redirect(error));
    if (error) {
      pause.expires_after(kPause);
      co_await pause.async_wait(redirect(error));
      continue;
    }
    const auto asked = client.local_endpoint(error);
    const auto to = error ? std::nullopt : destinations.of<tcp::endpoint>(asked.address());
    const auto passed = std::make_shared<Passed>(std::move(client), connections);
    if (!to || is_over(passed->client) || (connections.size() > kConnections && !end_closed_one(connections))) {
      passed->reset();
      continue;
    }
    set_up_side(passed->client, kNearBuffer);
    ask_when_silent(passed->client);
    asio::co_spawn(acceptor.get_executor(), connect_and_pass_on(passed, *to), asio::detached);
  }
}

// ---- UDP ----

// Of one client of one endpoint, who gets what the host answers to it.
struct Client {
  Client(const asio::any_io_executor& executor, udp::endpoint endpoint) : host(executor), to(std::move(endpoint)) {}
  udp::socket host;
  udp::endpoint to;  // of the host's side
  Clock::time_point heard = Clock::now();
};

// Those of all endpoints: by the socket that they sent to, their own endpoint, and the address that they sent to.
using ClientKey = std::tuple<udp::socket*, udp::endpoint, asio::ip::address>;
using Clients = std::map<ClientKey, std::shared_ptr<Client>>;

// What is answered comes from where it was asked.
awaitable<void> answer(Clients& clients, ClientKey key, std::shared_ptr<Client> client) {
  const auto& [inside, asker, asked] = key;
  std::vector<char> datagram(kLargestDatagram);
  while (client->host.is_open()) {
    boost::system::error_code error;
    udp::endpoint from;
    const std::size_t size = co_await client->host.async_receive_from(asio::buffer(datagram), from, redirect(error));
    if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) co_return;
    if (error == asio::error::connection_aborted) {  // by a swap
      client->host.close(error);
      clients.erase(key);
      co_return;
    }
    if (error || from != client->to) continue;  // nobody listens there now; or it came before the socket was connected
    client->heard = Clock::now();
    send_datagram(inside->native_handle(), {datagram.data(), size}, asker, asked);
  }
}

void forget_quietest(Clients& clients) {
  auto quietest = clients.begin();
  for (auto at = clients.begin(); at != clients.end(); ++at)
    if (at->second->heard < quietest->second->heard) quietest = at;
  boost::system::error_code ignored;
  quietest->second->host.close(ignored);
  clients.erase(quietest);
}

// Nothing: there are no descriptors.
std::shared_ptr<Client> client_of(Clients& clients, const ClientKey& key, const udp::endpoint& to) {
  const auto known = clients.find(key);
  if (known != clients.end()) return known->second;
  if (clients.size() >= kClients) forget_quietest(clients);
  udp::socket& inside = *std::get<udp::socket*>(key);
  auto client = std::make_shared<Client>(inside.get_executor(), to);
  boost::system::error_code error;
  if (!open_for(client->host, to) || client->host.connect(to, error)) return nullptr;
  limit_buffers(client->host.native_handle(), kNearBuffer);
  clients.emplace(key, client);
  asio::co_spawn(inside.get_executor(), answer(clients, key, client), asio::detached);
  return client;
}

awaitable<void> serve_udp(udp::socket& inside, Destinations destinations, Clients& clients) {
  std::vector<char> datagram(kLargestDatagram);
  while (true) {
    boost::system::error_code error;
    co_await inside.async_wait(udp::socket::wait_read, redirect(error));
    const auto received = receive_datagram(inside.native_handle(), datagram);
    if (!received) continue;  // the error of an answer that did not arrive
    const auto to = destinations.of<udp::endpoint>(received->to);
    const auto client = to ? client_of(clients, {&inside, received->from, received->to}, *to) : nullptr;
    if (!client) continue;
    client->heard = Clock::now();
    co_await client->host.async_send(asio::buffer(datagram.data(), received->size), redirect(error));
  }
}

// ---- the end ----

// Is there something to be taken from one of these?
template <typename Sockets>
bool any_readable(Sockets& sockets) {
  return std::ranges::any_of(sockets, [](auto& socket) {
    pollfd ready{socket.native_handle(), POLLIN, 0};
    return ::poll(&ready, 1, 0) > 0;
  });
}

// What the sandbox has sent is passed on after its end, up to `patience`. What is left then is reset: a destructor of
// Asio's would not. Nobody is there for what the host says.
awaitable<void> finish(asio::io_context& context, const Fd& stop, std::chrono::seconds patience,
                       std::set<Passed*>& connections, std::deque<tcp::acceptor>& acceptors,
                       std::deque<udp::socket>& datagrams) {
  asio::posix::stream_descriptor end(context, ::fcntl(stop.get(), F_DUPFD_CLOEXEC, 3));
  boost::system::error_code error;
  co_await end.async_wait(asio::posix::stream_descriptor::wait_read, redirect(error));
  const auto until = Clock::now() + patience;
  asio::steady_timer timer(context);
  const auto has_more = [](const Passed* passed) { return !passed->client_ended; };
  while (Clock::now() < until &&
         (std::ranges::any_of(connections, has_more) || any_readable(acceptors) || any_readable(datagrams))) {
    timer.expires_after(kLook);
    co_await timer.async_wait(redirect(error));
  }
  for (Passed* passed : std::vector<Passed*>(connections.begin(), connections.end()))
    has_more(passed) ? passed->reset() : passed->close();
  context.stop();
}

}  // namespace

void serve_relay(std::vector<RelaySocket> all, const Fd& stop, std::chrono::seconds patience) {
  std::set<Passed*> connections;  // outlives the context, whose coroutines are entered in it
  asio::io_context context(1);
  Clients clients;
  std::deque<tcp::acceptor> acceptors;
  std::deque<udp::socket> datagrams;
  for (RelaySocket& relayed : all) {
    const bool is_v6 = asio_address(relayed.endpoint.address).is_v6();
    Destinations destinations(relayed);
    if (relayed.endpoint.tcp) {
      acceptors.emplace_back(context, is_v6 ? tcp::v6() : tcp::v4(), relayed.socket.release());
      asio::co_spawn(context, serve_tcp(acceptors.back(), std::move(destinations), connections), asio::detached);
    } else {
      datagrams.emplace_back(context, is_v6 ? udp::v6() : udp::v4(), relayed.socket.release());
      asio::co_spawn(context, serve_udp(datagrams.back(), std::move(destinations), clients), asio::detached);
    }
  }
  asio::co_spawn(context, finish(context, stop, patience, connections, acceptors, datagrams), asio::detached);
  context.run();
}

}  // namespace sbpf::agent
