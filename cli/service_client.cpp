// SPDX-License-Identifier: Apache-2.0
#include "cli/service_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <string_view>

#include "cli/format.h"

namespace sbpf::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Code = boost::system::error_code;

constexpr int kFinishMs = 10000;

Error lost(const std::string& why) {
  return Error{"service_lost", "sbpfd did not answer: " + why, "see `systemctl status sbpfd`", 0, "", true};
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

struct ServiceClient::Connection {
  asio::io_context context;
  asio::local::stream_protocol::socket socket{context};
  boost::beast::flat_buffer buffer;
};

ServiceClient::ServiceClient(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
ServiceClient::ServiceClient(ServiceClient&&) noexcept = default;
ServiceClient& ServiceClient::operator=(ServiceClient&&) noexcept = default;
ServiceClient::~ServiceClient() = default;

int ServiceClient::fd() const { return connection_->socket.native_handle(); }

Result<ServiceClient> ServiceClient::connect(const std::string& path) {
  constexpr std::size_t kLongest = 107;  // of sun_path
  if (path.empty() || path.size() > kLongest)
    return fail("usage", "\"" + path + "\" is not the path of a socket", "--socket /run/sbpf/api.sock");
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
    return fail("no_service", path + " is served by uid " + std::to_string(server.uid) + ", not by root's sbpfd",
                "name the socket of sbpfd");
  }
  if (error.value() == EACCES || error.value() == EPERM)
    return fail("not_permitted", "sbpfd at " + path + " is not for this user: " + error.message(),
                "be a member of its group (`usermod -aG sbpf USER`, then log in anew), or run sbpf as root",
                error.value());
  return fail("no_service", "only root runs without sbpfd, and it is not at " + path + ": " + error.message(),
              "start it (`systemctl start sbpfd`) and be a member of the group sbpf, or run sbpf as root",
              error.value());
}

Result<Json> ServiceClient::post(const std::string& target, const Json& body) {
  http::request<http::string_body> request(http::verb::post, target, 11);
  request.set(http::field::host, "sbpf");
  request.set(http::field::content_type, "application/json");
  request.body() = dump(body);
  request.prepare_payload();
  Code error;
  http::write(connection_->socket, request, error);
  // A service that refuses before it has read everything answers all the same.
  http::response<http::string_body> response;
  Code unread;
  http::read(connection_->socket, connection_->buffer, response, unread);
  if (unread) return tl::unexpected<Error>(lost((error ? error : unread).message()));
  const Json answer = Json::parse(response.body(), nullptr, false);
  if (!answer.is_object())
    return tl::unexpected<Error>(lost("HTTP " + std::to_string(response.result_int()) + " without an object"));
  if (const auto failed = answer.find("error"); failed != answer.end() && failed->is_object())
    return fail(ErrorCode::relayed(text_in(*failed, "code")), text_in(*failed, "message"), text_in(*failed, "hint"));
  if (response.result_int() / 100 != 2)
    return tl::unexpected<Error>(lost("HTTP " + std::to_string(response.result_int())));
  return answer;
}

void ServiceClient::finish() {
  (void)::shutdown(fd(), SHUT_WR);
  pollfd closed{fd(), POLLIN, 0};
  (void)::poll(&closed, 1, kFinishMs);
}

}  // namespace sbpf::cli
