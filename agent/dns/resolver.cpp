// SPDX-License-Identifier: Apache-2.0
#include "agent/dns/resolver.h"

#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "agent/host/asio_address.h"

namespace sbpf::agent::dns {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;
using asio::ip::udp;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLargestMessage = 65535, kLargestQuery = 4096;
constexpr auto kTcpIdle = std::chrono::seconds(10);

// Nobody beside the path to the upstream may guess what it must echo.
std::uint16_t unguessable() {
  std::uint16_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) continue;
  return number;
}

void set_id(Bytes& message, std::uint16_t id) {
  message[0] = static_cast<std::uint8_t>(id >> 8);
  message[1] = static_cast<std::uint8_t>(id & 0xff);
}

// So many a second, and a reserve of four seconds.
class Bucket {
 public:
  explicit Bucket(unsigned per_second) : rate_(per_second), left_(4.0 * per_second) {}
  bool take() {
    const auto now = Clock::now();
    left_ = std::min(4.0 * rate_, left_ + std::chrono::duration<double>(now - last_).count() * rate_);
    last_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  double rate_, left_;
  Clock::time_point last_ = Clock::now();
};

// The names that were asked for below each pattern with a *, of this hour.
class NewNames {
 public:
  explicit NewNames(unsigned per_hour) : limit_(per_hour) {}
  bool admit(const std::string& pattern, const std::string& name) {
    if (Clock::now() - since_ > std::chrono::hours(1)) {
      names_.clear();
      since_ = Clock::now();
    }
    std::set<std::string>& known = names_[pattern];
    if (known.contains(name)) return true;
    if (known.size() >= limit_) return false;
    known.insert(name);
    return true;
  }

 private:
  unsigned limit_;
  Clock::time_point since_ = Clock::now();
  std::map<std::string, std::set<std::string>> names_;
};

class Resolver {
 public:
  Resolver(asio::io_context& context, const Options& options)
      : context_(context),
        options_(options),
        bucket_(options.limits.queries_per_second),
        refusals_(options.limits.queries_per_second),
        new_names_(options.limits.new_names_per_hour) {}

  awaitable<void> serve_udp(udp::socket& socket) {
    Bytes buffer(kLargestQuery);
    asio::steady_timer pause(context_);
    while (true) {
      udp::endpoint client;
      boost::system::error_code error;
      const std::size_t size = co_await socket.async_receive_from(asio::buffer(buffer), client, redirect(error));
      if (error == asio::error::operation_aborted) co_return;
      if (error) continue;  // of an answer that did not arrive
      if (is_too_much()) {
        // The kernel drops the rest: a flood costs the resolver no more than the queries that it answers.
        pause.expires_after(std::chrono::milliseconds(1000 / options_.limits.queries_per_second));
        co_await pause.async_wait(redirect(error));
        continue;
      }
      asio::co_spawn(
          context_,
          answer_udp(socket, client, Bytes(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size))),
          asio::detached);
    }
  }

  awaitable<void> serve_tcp(tcp::acceptor& acceptor) {
    while (true) {
      boost::system::error_code error;
      tcp::socket client = co_await acceptor.async_accept(redirect(error));
      if (error == asio::error::operation_aborted) co_return;
      if (!error && tcp_clients_ < options_.limits.tcp_clients && !is_too_much())
        asio::co_spawn(context_, answer_tcp(std::move(client)), asio::detached);
    }
  }

 private:
  static asio::redirect_error_t<asio::use_awaitable_t<>> redirect(boost::system::error_code& error) {
    return asio::redirect_error(use_awaitable, error);
  }

  awaitable<void> answer_udp(udp::socket& socket, udp::endpoint client, Bytes query) {
    const auto question = read_question(query);
    const Bytes whole = co_await answer(query);
    const Bytes reply = fit_udp(whole, question ? question->udp_size : kSmallestUdp);
    boost::system::error_code ignored;
    if (!reply.empty()) co_await socket.async_send_to(asio::buffer(reply), client, redirect(ignored));
  }

  // Closes the socket when the timer is through. Shared: the handler may already be under way when its coroutine ends.
  template <typename Socket>
  static void limit(asio::steady_timer& timer, const std::shared_ptr<Socket>& socket) {
    timer.async_wait([socket](const boost::system::error_code& error) {
      boost::system::error_code ignored;
      if (!error) socket->close(ignored);
    });
  }

  awaitable<void> answer_tcp(tcp::socket accepted) {
    ++tcp_clients_;
    const auto client = std::make_shared<tcp::socket>(std::move(accepted));
    asio::steady_timer idle(context_);
    for (bool first = true;; first = false) {  // the first question is counted with its connection
      idle.expires_after(kTcpIdle);
      limit(idle, client);
      const auto query = co_await read_framed(*client);
      if (!query || (!first && is_too_much())) break;
      const Bytes reply = co_await answer(*query);
      if (reply.empty() || !co_await write_framed(*client, reply)) break;
    }
    idle.cancel();
    --tcp_clients_;
  }

  static awaitable<std::optional<Bytes>> read_framed(tcp::socket& socket) {
    std::array<std::uint8_t, 2> length{};
    boost::system::error_code error;
    co_await asio::async_read(socket, asio::buffer(length), redirect(error));
    if (error) co_return std::nullopt;
    Bytes message(static_cast<std::size_t>(length[0] << 8 | length[1]));
    co_await asio::async_read(socket, asio::buffer(message), redirect(error));
    if (error) co_return std::nullopt;
    co_return message;
  }

  static awaitable<bool> write_framed(tcp::socket& socket, const Bytes& message) {
    const std::array<std::uint8_t, 2> length{static_cast<std::uint8_t>(message.size() >> 8),
                                             static_cast<std::uint8_t>(message.size() & 0xff)};
    const std::array<asio::const_buffer, 2> framed{asio::buffer(length), asio::buffer(message)};
    boost::system::error_code error;
    co_await asio::async_write(socket, framed, redirect(error));
    co_return !error;
  }

  static std::vector<const policy::HostRule*> matching(const Rules& rules, const std::string& name) {
    std::vector<const policy::HostRule*> matches;
    for (const policy::HostRule& rule : rules.hosts)
      if (policy::host_matches(rule.pattern, name)) matches.push_back(&rule);
    return matches;
  }

  void tell(const Rules& rules, const Question& question, Outcome outcome,
            std::vector<policy::Address> addresses = {}) const {
    options_.tell({question.name, question.type, outcome, std::move(addresses), rules.audit});
  }

  // Asked before a query is read.
  bool is_too_much() {
    if (pending_ < options_.limits.pending && bucket_.take()) return false;
    const auto rules = options_.rules();
    const bool audit = rules && rules->audit;
    if (refusals_.take()) options_.tell({"", 0, Outcome::refused_rate, {}, audit});
    return !audit || pending_ >= options_.limits.pending;
  }

  // What speaks against asking for it; nothing: Outcome::answered.
  Outcome objection(const Question& question, const std::vector<const policy::HostRule*>& matches) {
    if (matches.empty() || policy::is_nobodys(question.name)) return Outcome::refused_name;
    const bool exact =
        std::any_of(matches.begin(), matches.end(), [](const auto* rule) { return rule->pattern[0] != '*'; });
    if (!exact && !new_names_.admit(matches.front()->pattern, question.name)) return Outcome::refused_new_names;
    return Outcome::answered;
  }

  // Empty: it deserves no answer.
  awaitable<Bytes> answer(const Bytes& query) {
    const auto question = read_question(query);
    if (!question) co_return question.error() == Code::ok ? Bytes{} : reply_with(query, question.error());
    auto rules = options_.rules();
    // Rules that are replaced while somebody else is asked have no say any more: it is asked again.
    while (rules) {
      auto reply = co_await answer_by(rules, query, *question);
      if (reply) co_return std::move(*reply);
      rules = options_.rules();
    }
    co_return reply_with(query, Code::failure);
  }

  // Nothing: the rules do not hold any more.
  awaitable<std::optional<Bytes>> answer_by(std::shared_ptr<const Rules> rules, const Bytes& query,
                                            const Question& question) {
    const auto matches = matching(*rules, question.name);
    const Outcome objection = this->objection(question, matches);
    if (objection != Outcome::answered) {
      if (refusals_.take()) tell(*rules, question, objection);
      if (!rules->audit) co_return reply_with(query, Code::no_such_name);
    }
    if (!rules->audit && !asks_for_address(question)) {
      tell(*rules, question, Outcome::answered);
      co_return reply_with(query, Code::ok);
    }
    ++pending_;
    auto given = co_await ask_upstreams(*rules, query, question);
    --pending_;
    if (options_.rules() != rules) co_return std::nullopt;
    if (!given) {
      tell(*rules, question, Outcome::failed);
      co_return reply_with(query, Code::failure);
    }
    Filtered& filtered = given->filtered;
    std::vector<policy::Address> addresses;
    for (const Learned& learned : filtered.learned) {
      if (!matches.empty() && !rules->learn(matches, question.name, learned))
        co_return reply_with(query, Code::failure);
      addresses.push_back(learned.address);
    }
    if (options_.rules() != rules) co_return std::nullopt;  // what was opened by them counts no more
    if (objection == Outcome::answered && !filtered.withheld.empty())
      tell(*rules, question, Outcome::withheld, filtered.withheld);
    if (objection == Outcome::answered && (filtered.withheld.empty() || !addresses.empty()))
      tell(*rules, question, Outcome::answered, std::move(addresses));
    co_return rules->audit ? std::move(given->whole) : std::move(filtered.reply);
  }

  struct Given {
    Bytes whole;  // as the upstream gave it
    Filtered filtered;
  };

  awaitable<std::optional<Given>> ask_upstreams(const Rules& rules, const Bytes& query, const Question& question) {
    for (const Upstream& upstream : rules.upstreams) {
      const std::uint16_t number = unguessable();
      const Bytes sent = query_for(question, number);
      if (sent.empty()) break;
      auto given = co_await ask_udp(upstream, sent);
      if (given && given->size() > 2 && ((*given)[2] & 0x02) != 0) given = co_await ask_tcp(upstream, sent);  // TC
      if (!given) continue;
      Bytes asked = query;
      set_id(asked, number);
      auto filtered = filter_answer(asked, *given, options_.limits.longest_ttl_s, rules.may_have);
      if (!filtered) continue;
      const auto id = static_cast<std::uint16_t>(query[0] << 8 | query[1]);
      set_id(*given, id);
      set_id(filtered->reply, id);
      co_return Given{std::move(*given), std::move(*filtered)};
    }
    co_return std::nullopt;
  }

  // A socket for each question, so that its port is as hard to guess as the number. What does not belong is waited
  // past.
  awaitable<std::optional<Bytes>> ask_udp(const Upstream& upstream, const Bytes& query) {
    const udp::endpoint server(asio_address(upstream.address), upstream.port);
    boost::system::error_code error;
    const auto socket = std::make_shared<udp::socket>(context_);
    socket->open(server.protocol(), error);
    if (!error) socket->connect(server, error);
    if (error) co_return std::nullopt;
    asio::steady_timer timer(context_, options_.limits.patience);
    limit(timer, socket);
    co_await socket->async_send(asio::buffer(query), redirect(error));
    Bytes buffer(kLargestMessage);
    while (!error) {
      const std::size_t size = co_await socket->async_receive(asio::buffer(buffer), redirect(error));
      if (error || size < 2 || buffer[0] != query[0] || buffer[1] != query[1]) continue;
      timer.cancel();
      buffer.resize(size);
      co_return std::move(buffer);
    }
    timer.cancel();
    co_return std::nullopt;
  }

  awaitable<std::optional<Bytes>> ask_tcp(const Upstream& upstream, const Bytes& query) {
    boost::system::error_code error;
    const auto socket = std::make_shared<tcp::socket>(context_);
    asio::steady_timer timer(context_, options_.limits.patience);
    limit(timer, socket);
    co_await socket->async_connect(tcp::endpoint(asio_address(upstream.address), upstream.port), redirect(error));
    std::optional<Bytes> given;
    if (!error && co_await write_framed(*socket, query)) given = co_await read_framed(*socket);
    timer.cancel();
    co_return given;
  }

  asio::io_context& context_;
  const Options& options_;
  Bucket bucket_;
  Bucket refusals_;  // that are told; the others are only answered
  NewNames new_names_;
  unsigned pending_ = 0, tcp_clients_ = 0;
};

}  // namespace

void serve(const Options& options, std::vector<Listener> listeners, const Fd& stop) {
  asio::io_context context(1);
  Resolver resolver(context, options);
  std::deque<udp::socket> datagrams;  // which their coroutines refer to
  std::deque<tcp::acceptor> acceptors;
  for (Listener& listener : listeners) {
    sockaddr_storage local{};
    socklen_t size = sizeof local;
    (void)::getsockname(listener.udp.get(), reinterpret_cast<sockaddr*>(&local), &size);
    const bool v6 = local.ss_family == AF_INET6;
    datagrams.emplace_back(context, v6 ? udp::v6() : udp::v4(), listener.udp.release());
    acceptors.emplace_back(context, v6 ? tcp::v6() : tcp::v4(), listener.tcp.release());
    asio::co_spawn(context, resolver.serve_udp(datagrams.back()), asio::detached);
    asio::co_spawn(context, resolver.serve_tcp(acceptors.back()), asio::detached);
  }
  asio::posix::stream_descriptor end(context, ::fcntl(stop.get(), F_DUPFD_CLOEXEC, 3));
  end.async_wait(asio::posix::stream_descriptor::wait_read, [&](const boost::system::error_code&) { context.stop(); });
  context.run();
}

}  // namespace sbpf::agent::dns
