// SPDX-License-Identifier: Apache-2.0
// The service's configuration, /etc/sbpf/sbpfd.yaml.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sbpf::service {

inline constexpr const char* kConfigFile = "/etc/sbpf/sbpfd.yaml";

enum class LogLevel { debug, info, warning, error };

struct Limits {
  std::size_t connections = 32;          // at once, event streams included; root has as many of its own
  std::size_t connections_per_user = 8;  // each user but root may hold so many of them
  std::size_t body_bytes = 256 * 1024;   // of a request
  std::chrono::seconds receive{10};      // for a request to arrive, and for the client to take what is written
  std::chrono::seconds request{60};      // for `sbpf` to carry a request out
  std::chrono::seconds watch{3};         // a watch that makes no pass for so long is started anew
  std::size_t runs = 256;                // sandboxes of users at once, by POST /v1/runs
  std::size_t runs_per_user = 16;        // likewise, of one user other than root
};

struct Config {
  std::string socket = "/run/sbpf/api.sock";
  std::string group = "sbpf";                   // its members may read
  std::string sbpf;                             // the executable; empty: beside sbpfd
  std::string policies = "/etc/sbpf/policies";  // NAME.yaml each
  LogLevel log_level = LogLevel::info;
  bool metrics = true;  // /metrics on the socket
  Limits limits;
};

// Root's own socket lies beside `socket`: a queue that its members cannot fill.
inline constexpr std::string_view kRootSocket = "root.sock";
std::string root_socket(const Config& config);

// Everything that is wrong is in the message, as "file:line:column: key: what", each with its hint on the next line. A
// text that says nothing gives the defaults. Errors: "invalid_config".
Result<Config> parse_config(std::string_view text, std::string_view file);

// Reads the file; one that is not there gives the defaults if `optional`. Errors: "invalid_config", "no_config".
Result<Config> load_config(const std::string& path, bool optional);

}  // namespace sbpf::service
