// SPDX-License-Identifier: Apache-2.0
#include "service/config.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <fmt/core.h>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "policy/reader.h"

namespace sbpf::service {
namespace {

using policy::internal::BadValue;
using policy::internal::Reader;
using policy::internal::Value;
using policy::internal::YamlNode;

void read_number(Reader& reader, const YamlNode& node, const std::string& key, std::size_t least, std::size_t most,
                 const std::function<void(std::size_t)>& set) {
  const std::string range = fmt::format("a number from {} to {}", least, most);
  const auto number = reader.value<std::size_t>(node, key, range, [&](std::string_view text) -> Value<std::size_t> {
    const auto n = policy::internal::parse_number(text);
    if (!n || *n < least || *n > most)
      return tl::unexpected(BadValue{"bad_number", fmt::format("{} is not {}", policy::internal::quoted(text), range),
                                     "write a plain number"});
    return *n;
  });
  if (number) set(*number);
}

void read_path(Reader& reader, const YamlNode& node, const std::string& key, std::size_t longest, std::string& out) {
  const auto path =
      reader.value<std::string>(node, key, "an absolute path", [&](std::string_view text) -> Value<std::string> {
        if (text.size() < 2 || text[0] != '/' || text.size() > longest || text.ends_with('/') ||
            text.find("/../") != text.npos || text.ends_with("/..") || text.find('\0') != text.npos ||
            text.find('\n') != text.npos)
          return tl::unexpected(
              BadValue{"bad_path", fmt::format("\"{}\" is not an absolute path", policy::internal::shown(text)),
                       fmt::format("at most {} characters, without .. and without a / at its end", longest)});
        return std::string(text);
      });
  if (path) out = *path;
}

// Root's socket is beside it, under another name.
void read_socket(Reader& reader, const YamlNode& node, const std::string& key, std::string& out) {
  // Both are bound under longer names first, and root's may be longer by as much as a name of one letter is shorter.
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - sizeof(".new") - kRootSocket.size();
  std::string path = out;
  read_path(reader, node, key, kLongest, path);
  if (std::filesystem::path(path).filename() == kRootSocket)
    reader.error(node, key,
                 {"bad_path", fmt::format("\"{}\" is the name of root's own socket", policy::internal::shown(path)),
                  "give this one another name"});
  else
    out = path;
}

void read_group(Reader& reader, const YamlNode& node, const std::string& key, std::string& out) {
  const auto group =
      reader.value<std::string>(node, key, "a group's name", [](std::string_view text) -> Value<std::string> {
        constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
        if (text.empty() || text.size() > 32 || text[0] == '-' || text.find_first_not_of(kAllowed) != text.npos)
          return tl::unexpected(BadValue{"bad_group",
                                         fmt::format("\"{}\" is not a group's name", policy::internal::shown(text)),
                                         "as in /etc/group"});
        return std::string(text);
      });
  if (group) out = *group;
}

void read_limits(Reader& reader, const YamlNode& node, const std::string& key, Limits& out) {
  const auto number = [&reader](std::size_t least, std::size_t most, auto set) {
    return [&reader, least, most, set](const YamlNode& value, const std::string& name) {
      read_number(reader, value, name, least, most, set);
    };
  };
  reader.map(node, key,
             {{"connections", number(1, 1000, [&out](std::size_t n) { out.connections = n; })},
              {"connections_per_user", number(1, 1000, [&out](std::size_t n) { out.connections_per_user = n; })},
              {"body_bytes", number(1024, 1 << 20, [&out](std::size_t n) { out.body_bytes = n; })},
              {"receive_seconds", number(1, 600, [&out](std::size_t n) { out.receive = std::chrono::seconds(n); })},
              {"request_seconds", number(1, 3600, [&out](std::size_t n) { out.request = std::chrono::seconds(n); })},
              {"watch_seconds", number(1, 60, [&out](std::size_t n) { out.watch = std::chrono::seconds(n); })},
              {"runs", number(0, 4000, [&out](std::size_t n) { out.runs = n; })},
              {"runs_per_user", number(0, 4000, [&out](std::size_t n) { out.runs_per_user = n; })}},
             {});
}

}  // namespace

std::string root_socket(const Config& config) {
  return (std::filesystem::path(config.socket).parent_path() / kRootSocket).string();
}

Result<Config> parse_config(std::string_view text, std::string_view file) {
  Config config;
  std::vector<policy::Diagnostic> wrong;
  auto root = policy::internal::load_yaml(text, file);
  if (!root && root.error().code == "empty") return config;  // nothing but comments
  if (!root) wrong.push_back(root.error());
  if (root && root->kind != YamlNode::Kind::null) {
    Reader reader(file, wrong);
    const auto path = [&reader](std::size_t longest, std::string& out) {
      return [&reader, longest, &out](const YamlNode& node, const std::string& key) {
        read_path(reader, node, key, longest, out);
      };
    };
    reader.map(
        *root, "",
        {{"socket",
          [&](const YamlNode& node, const std::string& key) { read_socket(reader, node, key, config.socket); }},
         {"group", [&](const YamlNode& node, const std::string& key) { read_group(reader, node, key, config.group); }},
         {"sbpf", path(4095, config.sbpf)},
         {"policies", path(3000, config.policies)},
         {"log_level",
          [&](const YamlNode& node, const std::string& key) {
            const auto level = reader.word(node, key, "bad_level", {"debug", "info", "warning", "error"});
            if (level) config.log_level = static_cast<LogLevel>(*level);
          }},
         {"metrics",
          [&](const YamlNode& node, const std::string& key) {
            if (const auto on = reader.boolean(node, key)) config.metrics = *on;
          }},
         {"limits",
          [&](const YamlNode& node, const std::string& key) { read_limits(reader, node, key, config.limits); }}},
        {{"listen", "the API is on a unix socket alone; a proxy of yours can offer /metrics by TCP"},
         {"tcp", "the API is on a unix socket alone; a proxy of yours can offer /metrics by TCP"}});
  }
  if (wrong.empty()) return config;
  std::string message = policy::format(wrong);
  while (message.ends_with('\n')) message.pop_back();
  return fail("invalid_config", std::move(message));
}

Result<Config> load_config(const std::string& path, bool optional) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT && optional) return Config{};
    return fail("no_config", SystemError{errno, "name another file with --config"}, "cannot read {}", path);
  }
  if (!S_ISREG(found.st_mode))
    return fail("no_config", fmt::format("cannot read {}: not a file", path), "name another file with --config");
  const auto text = read_up_to(path, policy::kMaxTextBytes + 1);
  if (!text) return fail("no_config", SystemError{errno, "name another file with --config"}, "cannot read {}", path);
  return parse_config(*text, path);
}

}  // namespace sbpf::service
