// SPDX-License-Identifier: Apache-2.0
// A connection to sbpfd.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace sbpf::cli {

inline constexpr const char* kServiceSocket = "/run/sbpf/api.sock";

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
  // Readable when the service has gone away.
  int fd() const;
  // Says that nothing more comes, and waits until the service has closed its end, at most 10 s.
  void finish();

 private:
  struct Connection;
  explicit ServiceClient(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace sbpf::cli
