// SPDX-License-Identifier: Apache-2.0
// JSON as sbpf prints it and sbpfd keeps it: members in their order.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sbpf::service {

using Json = nlohmann::ordered_json;

// On one line, in ASCII: names are anybody's, and a terminal acts on some characters. What is no UTF-8 is replaced.
inline std::string dump(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

// The text of a member; empty where `object` is none, and where the member is missing or no text.
inline std::string text_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace sbpf::service
