// SPDX-License-Identifier: Apache-2.0
// Rules on the command line, added to those of a policy: `sbpf run --read /data --connect db.example:5432`.
#pragma once

#include <string>
#include <vector>

#include "cli/common.h"

namespace sbpf::cli {

struct MoreRules {
  std::vector<std::string> read, write;  // paths; relative ones are beneath the working directory
  std::vector<std::string> connect;      // HOST:PORT, ADDRESS:PORT or [ADDRESS]:PORT, by TCP
  bool empty() const { return read.empty() && write.empty() && connect.empty(); }
};

// The text of a policy that extends `base`, which the name `extended` stands for, by `more`. What `base` allows stays
// allowed, but for a private loopback where something beyond it is to be reached: then it is the host's, of which the
// lists say what is open. Errors: "usage": `base` judges no files and so allows all of them, it denies or protects a path itself, a word
// that is no path or no endpoint, bytes that are not UTF-8.
Result<std::string> extending_policy(const std::string& extended, const policy::Policy& base, const MoreRules& more);

// The same as load_policy() of common.h, with more rules. Errors: those of both.
Result<LoadedPolicy> load_policy(const std::string& reference, const MoreRules& more);

}  // namespace sbpf::cli
