// SPDX-License-Identifier: Apache-2.0
// What a valid policy should not do all the same: advice for its author, which changes nothing.
#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"

namespace sbpf::policy {

struct Advice {
  std::string key;  // dotted path: "process.env.set.API_KEY"
  std::string message;
  std::string hint;
};

// Values of process.env.set that look like a key, a token or a password: a policy's text and a program's environment
// are both no place for them. A value is judged by how well-known services begin their keys, and by the variable's
// name. The advice does not contain the value.
std::vector<Advice> lint(const Policy& policy);

}  // namespace sbpf::policy
