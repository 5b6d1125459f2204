// SPDX-License-Identifier: Apache-2.0
#include "cli/service_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/file.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Code = boost::system::error_code;

constexpr int kFinishMs = 10000;
constexpr std::size_t kMostStreamed = 1 << 20;   // of an answer that is not taken yet
constexpr std::size_t kMostAnswered = 64 << 20;  // the status of many sandboxes

Error lost(const std::string& why) {
  return Error{
      "service_lost", fmt::format("sbpfd did not answer: {}", why), "see `systemctl status sbpfd`", 0, "", true};
}

// The object of an answer, or the error that it is.
Result<Json> read_answer(const std::string& body, unsigned status) {
  const Json answer = Json::parse(body, nullptr, false);
  if (!answer.is_object()) return tl::unexpected<Error>(lost(fmt::format("HTTP {} without an object", status)));
  if (const auto failed = answer.find("error"); failed != answer.end() && failed->is_object())
    return fail(ErrorCode::relayed(text_in(*failed, "code")), text_in(*failed, "message"), text_in(*failed, "hint"));
  if (status / 100 != 2) return tl::unexpected<Error>(lost(fmt::format("HTTP {}", status)));
  return answer;
}

// The error that an answer is.
Error error_in(const std::string& body, unsigned status) {
  const auto answer = read_answer(body, status);
  return answer ? lost(fmt::format("HTTP {}", status)) : answer.error();
}

// More bytes of the answer; false: it has ended.
Result<bool> receive(int fd, std::string& text) {
  std::array<char, 16384> buffer{};
  ssize_t n = 0;
  do n = ::recv(fd, buffer.data(), buffer.size(), 0);
  while (n < 0 && errno == EINTR);
  if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0;
}

// An answer as it comes: its head, then lines "data: {…}".
struct Streamed {
  std::string text;     // that was not taken yet
  unsigned status = 0;  // of HTTP; 0: the head is not there yet

  bool take_head() {
    if (status != 0) return true;
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    status = static_cast<unsigned>(std::strtoul(text.substr(0, end).c_str() + text.find(' '), nullptr, 10));
    text.erase(0, end + 4);
    return true;
  }

  // False: `each` wants no more. Errors: what the service says went wrong meanwhile.
  Result<bool> take_events(const std::function<bool(const Json&)>& each) {
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      if (!text.starts_with("data: ")) continue;
      const Json event = Json::parse(text.substr(6, end - 6), nullptr, false);
      if (!event.is_object()) continue;
      if (event.contains("error")) return tl::unexpected<Error>(error_in(dump(event), 500));
      if (!each(event)) return false;
    }
    return true;
  }
};

}  // namespace

Result<std::string> sandbox_path(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; };
  if (!name.empty() && std::ranges::all_of(name, fits)) return "/v1/sandboxes/" + name;
  return fail("usage", fmt::format("'{}' is not the name of a sandbox", name), "`sbpf list` shows the names");
}

std::string usual_socket() {
  const char* named = std::getenv("SBPF_SOCKET");
  return named != nullptr && *named != '\0' ? named : "/run/sbpf/api.sock";
}

struct ServiceClient::Connection {
  asio::io_context context;
  asio::local::stream_protocol::socket socket{context};
  boost::beast::flat_buffer buffer;
  Streamed streamed;
};

ServiceClient::ServiceClient(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
ServiceClient::ServiceClient(ServiceClient&&) noexcept = default;
ServiceClient& ServiceClient::operator=(ServiceClient&&) noexcept = default;
ServiceClient::~ServiceClient() = default;

int ServiceClient::fd() const { return connection_->socket.native_handle(); }

Result<ServiceClient> ServiceClient::connect(const std::string& path) {
  constexpr std::size_t kLongest = 107;  // of sun_path
  if (path.empty() || path.size() > kLongest)
    return fail("usage", fmt::format("\"{}\" is not the path of a socket", path), "--socket /run/sbpf/api.sock");
  auto connection = std::make_unique<Connection>();
  Code error;
  connection->socket.connect(asio::local::stream_protocol::endpoint(path), error);
  if (!error) {
    // What it says of isolation is believed: it must be root's.
    ucred server{};
    socklen_t size = sizeof server;
    if (::getsockopt(connection->socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &server, &size) == 0 &&
        server.uid == 0)
      return ServiceClient(std::move(connection));
    return fail("no_service", fmt::format("{} is served by uid {}, not by root's sbpfd", path, server.uid),
                "name the socket of sbpfd");
  }
  if (error.value() == EACCES || error.value() == EPERM)
    return fail("not_permitted", fmt::format("sbpfd at {} is not for this user: {}", path, error.message()),
                "be a member of its group (`usermod -aG sbpf USER`, then log in anew), or run sbpf as root",
                error.value());
  return fail(
      "no_service", fmt::format("sbpfd does not answer at {}: {}; only root runs without it", path, error.message()),
      "start it (`systemctl start sbpfd`) and be a member of the group sbpf, or run sbpf as root", error.value());
}

Result<Json> ServiceClient::post(const std::string& target, const Json& body) {
  return ask(static_cast<int>(http::verb::post), target, dump(body));
}

Result<Json> ServiceClient::get(const std::string& target) {
  return ask(static_cast<int>(http::verb::get), target, "");
}

Result<Json> ServiceClient::ask(int verb, const std::string& target, std::string body) {
  http::request<http::string_body> request(static_cast<http::verb>(verb), target, 11);
  request.set(http::field::host, "sbpf");
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = std::move(body);
  request.prepare_payload();
  Code error;
  http::write(connection_->socket, request, error);
  // A service that refuses before it has read everything answers all the same.
  http::response_parser<http::string_body> answer;
  answer.body_limit(kMostAnswered);
  Code unread;
  http::read(connection_->socket, connection_->buffer, answer, unread);
  if (unread) return tl::unexpected<Error>(lost((error ? error : unread).message()));
  return read_answer(answer.get().body(), answer.get().result_int());
}

Result<void> ServiceClient::begin_stream(const std::string& target) {
  connection_->streamed = {};
  if (write_all(fd(), fmt::format("GET {} HTTP/1.1\r\nHost: sbpf\r\nConnection: close\r\n\r\n", target))) return {};
  return tl::unexpected<Error>(lost(std::strerror(errno)));
}

Result<bool> ServiceClient::take_from_stream(const std::function<bool(const Json&)>& each) {
  Streamed& answer = connection_->streamed;
  const auto more = receive(fd(), answer.text);
  if (!more) return tl::unexpected<Error>(more.error());
  if (!*more && answer.status == 200) return false;
  if (!*more) return tl::unexpected<Error>(error_in(answer.text, answer.status));
  if (answer.text.size() > kMostStreamed) return tl::unexpected<Error>(lost("a line without an end"));
  if (!answer.take_head() || answer.status != 200) return true;  // an error's object ends with the connection
  return answer.take_events(each);
}

Result<void> ServiceClient::stream(const std::string& target, std::chrono::milliseconds patience,
                                   const std::function<bool(const Json&)>& each) {
  if (auto begun = begin_stream(target); !begun) return begun;
  for (;;) {
    pollfd readable{fd(), POLLIN, 0};
    const int ready = ::poll(&readable, 1, patience.count() > 0 ? static_cast<int>(patience.count()) : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return tl::unexpected<Error>(lost("nothing came"));
    const auto more = take_from_stream(each);
    if (!more) return tl::unexpected<Error>(more.error());
    if (!*more) return {};
  }
}

bool ServiceClient::finish() {
  (void)::shutdown(fd(), SHUT_WR);
  pollfd closed{fd(), POLLIN, 0};
  return ::poll(&closed, 1, kFinishMs) == 1;
}

}  // namespace sbpf::cli
