// SPDX-License-Identifier: Apache-2.0
// The policies that can be named: built-in ones and the files of a directory, each checked by `sbpf policy check`.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/asio.h"

namespace sbpf::service {

struct PolicyFile {
  std::string path;     // "" of a built-in one
  std::string content;  // its SHA-256; to tell whether the file changed
  bool valid = false;
  std::string sha256;  // of the policy as it is understood; "" unless valid
  Error error;         // unless valid
};

class Policies {
 public:
  Policies(asio::io_context& context, std::string sbpf, std::string directory)
      : context_(context), sbpf_(std::move(sbpf)), directory_(std::move(directory)) {}

  // Reads the directory; if a file came, went or changed, checks them all, for one policy may extend another. Gives the
  // names of those that are new, or that read or mean something else than before. One at a time: whoever comes second
  // waits. Errors: "spawn", "time", "sbpf"; then everything is as it was.
  asio::awaitable<Result<std::vector<std::string>>> scan(std::chrono::milliseconds limit);

  // As of the last scan, by name.
  const std::map<std::string, PolicyFile>& all() const { return all_; }

  // What `sbpf --policy` is to be given for a name: the name of a built-in one, else the path of its file.
  std::string reference(const std::string& name) const;

 private:
  asio::awaitable<Result<void>> check(std::map<std::string, PolicyFile>& files, std::chrono::milliseconds limit);

  asio::io_context& context_;
  std::string sbpf_, directory_;
  std::map<std::string, PolicyFile> all_;
  bool scanning_ = false;
};

}  // namespace sbpf::service
