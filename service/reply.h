// SPDX-License-Identifier: Apache-2.0
// The answer to a request.
#pragma once

#include <string>

#include "service/requests.h"

namespace sbpf::service {

struct Reply {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
};

inline Reply reply_of(const Error& error) { return {error.code.http_status(), "application/json", error_body(error)}; }

// A JSON text of one line.
inline std::string text(const Json& json) { return dump(json) + "\n"; }

}  // namespace sbpf::service
