// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/assigned.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/file.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostBytes = policy::kMaxTextBytes + 8192;

std::string file_of(const std::string& name) { return std::string(kAssignedDirectory) + "/" + name; }

// Names of sandboxes come from command lines. A leading dot is for what is being written.
bool is_file_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
}

std::optional<std::string> read_of_ours(const std::string& name) {
  const Fd file = open_regular(file_of(name), O_RDONLY);
  return file ? read_up_to(file, kMostBytes) : std::nullopt;
}

tl::unexpected<Error> state_error(const std::string& what, int error) {
  return fail(
      "state",
      SystemError{error, fmt::format("the assignment is kept in {}, which must be writable", kAssignedDirectory)}, "{}",
      what);
}

void flush_directory() {
  const Fd directory(::open(std::string(kAssignedDirectory).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) (void)::fsync(directory.get());
}

}  // namespace

std::string assignment_text(const std::string& cgroup, const policy::Policy& policy) {
  return cgroup + "\n" + policy::canonical(policy);
}

Result<Assignment> parse_assignment(const std::string& name, const std::string& text) {
  const std::string file = file_of(name);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || text[0] != '/')
    return fail("state", fmt::format("{} does not begin with the path of a cgroup", file),
                "attach the cgroup again, or remove the file");
  auto parsed = policy::parse(text.substr(end + 1), file, [](std::string_view) { return std::nullopt; });
  if (!parsed)
    return fail("state", fmt::format("{} holds no valid policy\n{}", file, policy::format(parsed.error())),
                "attach the cgroup again, or remove the file");
  return Assignment{name, text.substr(0, end), std::move(*parsed)};
}

Result<void> assign(const std::string& name, const std::string& cgroup, const policy::Policy& policy) {
  if (cgroup.empty() || cgroup[0] != '/' || cgroup.find('\n') != std::string::npos)
    return fail("not_a_cgroup", "the path of the cgroup cannot be written down", "name it without a line break");
  if (!is_file_name(name))
    return fail("bad_name", fmt::format("{} cannot be the name of an assignment", name), "choose another --name");
  std::error_code ec;
  fs::create_directories(fs::path(kAssignedDirectory), ec);
  if (ec) return state_error(fmt::format("cannot make {}", kAssignedDirectory), ec.value());
  const std::string fresh = std::string(kAssignedDirectory) + "/.new";
  const Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return state_error(fmt::format("cannot make {}", fresh), errno);
  if (!write_all(file.get(), assignment_text(cgroup, policy)) || ::fsync(file.get()) != 0)
    return state_error("cannot write the assignment", errno);
  if (std::rename(fresh.c_str(), file_of(name).c_str()) != 0)
    return state_error(fmt::format("cannot make {}", file_of(name)), errno);
  flush_directory();
  return {};
}

Result<bool> end_assignment(const std::string& name) {
  if (!is_file_name(name)) return false;
  if (::unlink(file_of(name).c_str()) == 0) {
    flush_directory();
    return true;
  }
  if (errno == ENOENT) return false;
  return state_error(fmt::format("cannot remove {}", file_of(name)), errno);
}

std::vector<std::string> assigned_names() {
  std::vector<std::string> names;
  std::error_code ec;
  for (fs::directory_iterator entry(fs::path(kAssignedDirectory), ec), end; !ec && entry != end; entry.increment(ec))
    if (std::string name = entry->path().filename().string(); is_file_name(name)) names.push_back(std::move(name));
  std::ranges::sort(names);
  return names;
}

Result<Assignment> read_assignment(const std::string& name) {
  const auto text = read_of_ours(name);
  if (!text) return state_error(fmt::format("cannot read {}", file_of(name)), errno);
  return parse_assignment(name, *text);
}

std::string assigned_cgroup(const std::string& name) {
  const auto text = is_file_name(name) ? read_of_ours(name) : std::nullopt;
  return text ? text->substr(0, text->find('\n')) : "";
}

}  // namespace sbpf::agent
