// SPDX-License-Identifier: Apache-2.0
#include "service/policies.h"

#include <algorithm>
#include <boost/asio.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/sha256.h"
#include "policy/policy.h"
#include "service/child.h"
#include "service/requests.h"
#include "service/sbpf.h"

namespace sbpf::service {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kLargest = 1 << 20;  // as of a policy

std::string digest_of(std::string_view text) {
  Sha256 digest;
  digest.add(text.data(), text.size());
  return policy::hex(digest.finish());
}

// By name, with nothing but path and content. What cannot be read is there, too, so that it is told.
std::map<std::string, PolicyFile> read_directory(const std::string& directory) {
  std::map<std::string, PolicyFile> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path path = entry->path();
    const std::string name = path.stem().string();
    if (path.extension() != ".yaml" || !is_name(name)) continue;
    PolicyFile file{path.string(), "unreadable", false, "", {}};
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored) && fs::file_size(path, ignored) <= kLargest) {
      std::ifstream stream(path, std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(stream), {});
      if (stream) file.content = digest_of(text);
    }
    found[name] = std::move(file);
  }
  return found;
}

}  // namespace

std::string Policies::reference(const std::string& name) const {
  return policy::built_in_profile(name) ? name : (fs::path(directory_) / (name + ".yaml")).string();
}

asio::awaitable<Result<std::vector<std::string>>> Policies::scan(std::chrono::milliseconds limit) {
  asio::steady_timer turn(context_);
  while (scanning_) {
    turn.expires_after(std::chrono::milliseconds(20));
    co_await turn.async_wait(asio::use_awaitable);
  }
  scanning_ = true;
  const std::shared_ptr<void> done(nullptr, [this](void*) { scanning_ = false; });

  std::map<std::string, PolicyFile> next = read_directory(directory_);
  for (const std::string& name : policy::built_in_profile_names()) next[name] = {"", "built-in", false, "", {}};
  const auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.content == b.second.content;
  };
  std::vector<std::string> changed;
  if (std::ranges::equal(next, all_, same)) co_return changed;
  auto checked = co_await check(next, limit);
  if (!checked) co_return tl::unexpected<Error>(checked.error());
  for (const auto& [name, file] : next) {
    const auto known = all_.find(name);
    if (known == all_.end() || known->second.content != file.content || known->second.sha256 != file.sha256)
      changed.push_back(name);
  }
  all_ = std::move(next);
  co_return changed;
}

asio::awaitable<Result<void>> Policies::check(std::map<std::string, PolicyFile>& files,
                                              std::chrono::milliseconds limit) {
  Command command;
  command.arguments = {sbpf_, "policy", "check", "--json"};
  for (const auto& [name, file] : files) command.arguments.push_back(file.path.empty() ? name : file.path);
  Result<Json> answer = co_await ask(context_, std::move(command), limit);
  if (!answer) co_return tl::unexpected<Error>(answer.error());
  const auto list = answer->find("policies");
  if (list == answer->end() || !list->is_array() || list->size() != files.size())
    co_return fail("sbpf", "`sbpf policy check` did not answer for each policy",
                   "sbpf and sbpfd must be of one version");
  std::size_t i = 0;
  for (auto& [name, file] : files) {
    const Json& one = list->at(i++);
    file.valid = one.value("valid", false);
    file.sha256 = file.valid ? one.value("sha256", "") : "";
    if (!file.valid) file.error = error_in(one);
  }
  co_return Result<void>{};
}

}  // namespace sbpf::service
