// SPDX-License-Identifier: Apache-2.0
// A connection to sbpfd.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace sbpf::cli {

// The path of a sandbox in the API. Errors: "usage": a name that no sandbox can have.
Result<std::string> sandbox_path(const std::string& name);

// Where the commands of users look for sbpfd: $SBPF_SOCKET, else the service's own place.
std::string usual_socket();

class ServiceClient {
 public:
  // Errors: "no_service" (nobody serves there), "not_permitted" (not a member of the service's group).
  static Result<ServiceClient> connect(const std::string& path);
  ServiceClient(ServiceClient&&) noexcept;
  ServiceClient& operator=(ServiceClient&&) noexcept;
  ~ServiceClient();

  // Sends a JSON object and waits for the answer, however long that takes. Errors: the service's own, by their codes;
  // "service_lost" (it went away, or does not answer as agreed upon).
  Result<nlohmann::ordered_json> post(const std::string& target, const nlohmann::ordered_json& body);
  // Asks for an object. Errors: as post().
  Result<nlohmann::ordered_json> get(const std::string& target);
  // Calls `each` with every object of a stream of server-sent events, until the stream ends, `each` says false, or, if
  // `patience` is not 0, nothing came for so long. Errors: the service's own, by their codes; "service_lost".
  Result<void> stream(const std::string& target, std::chrono::milliseconds patience,
                      const std::function<bool(const nlohmann::ordered_json&)>& each);
  // The same in steps: asks for the stream; then takes what has come, once fd() is readable. False: it has ended, or
  // `each` said false. Errors: as above.
  Result<void> begin_stream(const std::string& target);
  Result<bool> take_from_stream(const std::function<bool(const nlohmann::ordered_json&)>& each);
  // Readable when the service has gone away, or when there is more of a stream.
  int fd() const;
  // Says that nothing more comes, and waits until the service has closed its end, at most 10 s. False: it has not.
  bool finish();

 private:
  struct Connection;
  Result<nlohmann::ordered_json> ask(int verb, const std::string& target, std::string body);
  explicit ServiceClient(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace sbpf::cli
