// SPDX-License-Identifier: Apache-2.0
#include "policy/values.h"

#include <fmt/core.h>
#include <algorithm>
#include <charconv>
#include <limits>

namespace sbpf::policy::internal {
namespace {

using std::chrono::milliseconds;

struct Unit {
  std::string_view name;
  std::uint64_t size;
};
constexpr Unit kMemoryUnits[] = {{"TiB", 1ull << 40}, {"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10}};
constexpr Unit kTimeUnits[] = {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr std::uint64_t kMaxMemory = 1ull << 62;
constexpr std::uint64_t kMaxTimeoutMs = 366ull * 24 * 3'600'000;
constexpr std::uint32_t kMinCpuMillis = 10;  // the kernel's smallest quota: 1 ms of 100 ms
constexpr std::uint32_t kMaxCpuMillis = 8192 * 1000;

constexpr std::size_t kMaxName = 255;  // NAME_MAX
constexpr std::string_view kOfPatterns = "*?[]";
constexpr std::size_t kMaxPath = 4095;     // PATH_MAX, without its NUL
constexpr std::size_t kMaxAbstract = 108;  // sun_path: the NUL, here @, and the name

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Length of the run of digits that `text` starts with.
std::size_t digits_of(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), digit) - text.begin());
}

tl::unexpected<BadValue> bad_path(std::string_view text, const char* what, const char* hint) {
  return tl::unexpected(BadValue{"bad_path", fmt::format("{} {}", quoted(text), what), hint});
}

// No program that shows the path would show it right. U+0080 to U+009f are control characters as well.
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

// Nothing where a character of patterns stands without its backslash. Any other backslash is part of a name.
std::optional<std::string> unescaped_path(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes =
        text[i] == '\\' && i + 1 < text.size() && kOfPatterns.find(text[i + 1]) != std::string_view::npos;
    if (!escapes && text[i] != ']' && kOfPatterns.find(text[i]) != std::string_view::npos) return std::nullopt;
    path += escapes ? text[++i] : text[i];
  }
  return path;
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::size_t end = std::min(text.size(), kLongest);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  std::string out;
  for (std::size_t i = 0; i < end; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xc2 && i + 1 < end && static_cast<unsigned char>(text[i + 1]) < 0xa0;  // U+0080 to U+009f
    constexpr char kHex[] = "0123456789abcdef";
    const unsigned shown_byte = c1 ? static_cast<unsigned char>(text[++i]) : c;
    if (c1 || c < 0x20 || c == 0x7f)
      out += {'\\', 'x', kHex[shown_byte >> 4], kHex[shown_byte & 0xf]};
    else
      out += text[i];
  }
  return end < text.size() ? out + "…" : out;
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", shown(text)); }

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || !digit(text[0]) || error != std::errc() || at != end) return std::nullopt;
  if (text[0] == '0' && text.size() > 1) return std::nullopt;
  return value;
}

Value<PortRange> parse_ports(std::string_view text, std::uint16_t lowest) {
  const std::string bounds = std::to_string(lowest) + " to 65535";
  const auto dash = text.find('-', 1);
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last)
    return tl::unexpected(BadValue{
        "bad_port", fmt::format("{} is not a port", quoted(text)),
        fmt::format("write decimal numbers from {} without zeros before them, or ranges as in 6000-6010", bounds)});
  if (*first > 65535 || *last > 65535 || *first < lowest || *last < lowest)
    return tl::unexpected(
        BadValue{"bad_port", fmt::format("port {} is out of range", shown(text)),
                 fmt::format("ports go from {}{}", bounds, lowest == 0 ? "; 0 lets the kernel pick" : "")});
  if (*first > *last)
    return tl::unexpected(BadValue{"reversed_range", fmt::format("the port range {} is reversed", shown(text)),
                                   fmt::format("write {}-{}", *last, *first)});
  return PortRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

Value<std::uint64_t> parse_memory(std::string_view text) {
  const BadValue bad{"bad_memory", fmt::format("{} is not an amount of memory", quoted(text)),
                     "write a whole number and KiB, MiB, GiB or TiB, as in 512MiB, or bytes alone"};
  const std::size_t digits = digits_of(text);
  const auto number = parse_number(text.substr(0, digits));
  const std::string_view suffix = text.substr(digits);
  if (!number) return tl::unexpected(bad);
  std::uint64_t unit = suffix.empty() ? 1 : 0;
  for (const Unit& u : kMemoryUnits)
    if (suffix == u.name) unit = u.size;
  if (unit == 0) return tl::unexpected(bad);
  if (*number == 0 || *number > kMaxMemory / unit)
    return tl::unexpected(BadValue{"bad_memory", fmt::format("{} is out of range", quoted(text)),
                                   "write more than 0 and up to 4194304TiB"});
  return *number * unit;
}

Value<std::uint32_t> parse_cpu(std::string_view text) {
  const BadValue bad{"bad_cpu", fmt::format("{} is not a number of CPUs", quoted(text)),
                     "write a number from 0.01 to 8192 with at most three decimals, as in 1.5"};
  const std::size_t whole_digits = digits_of(text);
  const auto whole = parse_number(text.substr(0, whole_digits));
  if (!whole || *whole > kMaxCpuMillis / 1000) return tl::unexpected(bad);
  std::uint32_t millis = static_cast<std::uint32_t>(*whole) * 1000;
  if (whole_digits < text.size()) {
    const std::string_view decimals = text.substr(whole_digits + 1);
    if (text[whole_digits] != '.' || decimals.empty() || decimals.size() > 3 || digits_of(decimals) != decimals.size())
      return tl::unexpected(bad);
    std::uint32_t scale = 100;
    for (const char c : decimals) {
      millis += static_cast<std::uint32_t>(c - '0') * scale;
      scale /= 10;
    }
  }
  if (millis < kMinCpuMillis || millis > kMaxCpuMillis) return tl::unexpected(bad);
  return millis;
}

Value<milliseconds> parse_timeout(std::string_view text) {
  const BadValue bad{"bad_timeout", fmt::format("{} is not a time", quoted(text)),
                     "write h, m, s and ms, largest first, as in 10m or 1h30m"};
  std::uint64_t total = 0;
  std::size_t next_unit = 0;  // units go down, each at most once
  for (std::string_view rest = text; !rest.empty();) {
    while (rest.size() > 1 && rest[0] == '0' && digit(rest[1]))
      rest.remove_prefix(1);  // 1h05m is no octal number to anybody
    const std::size_t digits = digits_of(rest);
    const auto number = parse_number(rest.substr(0, digits));
    rest.remove_prefix(digits);
    const auto letters = static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), letter) - rest.begin());
    const std::string_view name = rest.substr(0, letters);
    rest.remove_prefix(letters);
    while (next_unit < std::size(kTimeUnits) && kTimeUnits[next_unit].name != name) ++next_unit;
    if (!number || next_unit == std::size(kTimeUnits)) return tl::unexpected(bad);
    if (*number > kMaxTimeoutMs / kTimeUnits[next_unit].size)
      return tl::unexpected(
          BadValue{"bad_timeout", fmt::format("{} is out of range", quoted(text)), "the longest is 8784h (366 days)"});
    total += *number * kTimeUnits[next_unit++].size;
  }
  if (text.empty()) return tl::unexpected(bad);
  if (total == 0 || total > kMaxTimeoutMs)
    return tl::unexpected(BadValue{"bad_timeout", fmt::format("{} is out of range", quoted(text)),
                                   "write more than 0 and up to 8784h (366 days); leave the key out for no limit"});
  return milliseconds(total);
}

// One path, one spelling: what is refused here would otherwise name the same file in two ways, or look as if it did
// more than it does.
Value<std::string> parse_path(std::string_view text) {
  if (text.empty() || text[0] != '/')
    return tl::unexpected(BadValue{"relative_path", fmt::format("{} is not an absolute path", quoted(text)),
                                   "write the whole path, from / on; ~ and variables are not expanded"});
  if (text.size() > kMaxPath) return bad_path(text, "is longer than 4095 bytes", "name a directory above it");
  if (has_control(text)) return bad_path(text, "has a control character", "name a directory above it");
  const auto whole = unescaped_path(text);
  if (!whole)
    return tl::unexpected(BadValue{
        "glob", fmt::format("{} has one of the characters * ? [, and patterns are not read", quoted(text)),
        "name the directory: it covers everything below it; a \\ before the character stands for the character itself"});
  if (*whole == "/") return *whole;
  const std::string_view path = std::string_view(*whole).substr(0, whole->size() - (whole->back() == '/' ? 1 : 0));
  for (std::size_t start = 1; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view name = path.substr(start, end - start);
    if (name.empty()) return bad_path(text, "has an empty name", "write one slash, not two");
    if (name == "." || name == "..") return bad_path(text, "has a . or .. in it", "write the path without it");
    if (name.size() > kMaxName)
      return bad_path(text, "has a name of more than 255 bytes", "no file can have such a name");
    start = end + 1;
  }
  return std::string(path);
}

bool within(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

Value<std::string> parse_host_pattern(std::string_view text) {
  constexpr std::size_t kMaxHost = 253, kMaxLabel = 63;
  const auto bad = [text](const char* what, const char* hint) {
    return tl::unexpected(BadValue{"bad_host", fmt::format("{} {}", quoted(text), what), hint});
  };
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (name.ends_with('.')) name.pop_back();
  if (parse_address(name)) return bad("is an address", "write address: instead of host:");
  std::string_view labels = name;
  if (labels.starts_with("**."))
    labels.remove_prefix(3);
  else if (labels.starts_with("*."))
    labels.remove_prefix(2);
  if (labels.empty() || name.size() > kMaxHost || name == "*" || name == "**")
    return bad("is not a host name", "write a name as in packages.example.org, *.example.org or **.example.org");
  while (true) {
    const std::string_view label = labels.substr(0, labels.find('.'));
    const bool good =
        !label.empty() && label.size() <= kMaxLabel && label.front() != '-' && label.back() != '-' &&
        std::all_of(label.begin(), label.end(), [](char c) { return letter(c) || digit(c) || c == '-' || c == '_'; });
    if (!good)
      return bad("is not a host name", label.find('*') != std::string_view::npos
                                           ? "a * stands only for the first labels: *.example.org, **.example.org"
                                           : "labels are letters, digits, - and _; other scripts are written as xn--…");
    if (label.size() == labels.size()) return name;
    labels.remove_prefix(label.size() + 1);
  }
}

namespace {

// Directories in which sockets lie that control the host or act for its users, beside others and under names that
// nobody can list (ssh-agent's in /tmp, a session's in /run/user). Each of those sockets can be named by itself.
bool holds_agents(std::string_view path) {
  constexpr std::string_view kWide[] = {"/",    "/dev", "/home", "/proc",    "/root",         "/run",    "/run/user",
                                        "/sys", "/tmp", "/var",  "/var/run", "/var/run/user", "/var/tmp"};
  constexpr std::string_view kOwners[] = {"/home/", "/run/user/",
                                          "/var/run/user/"};  // each user's own directory, whole
  const auto is_owners = [path](std::string_view above) {
    return path.starts_with(above) && path.find('/', above.size()) == std::string_view::npos;
  };
  return std::find(std::begin(kWide), std::end(kWide), path) != std::end(kWide) ||
         std::any_of(std::begin(kOwners), std::end(kOwners), is_owners);
}

// sbpf's own, which no policy opens.
bool is_own_socket(std::string_view path) { return within(path, "/run/sbpf") || within(path, "/var/run/sbpf"); }

}  // namespace

Value<std::string> parse_unix_peer(std::string_view text) {
  if (text.empty() || text[0] != '@') {
    auto path = parse_path(text);
    if (path && holds_agents(*path))
      return tl::unexpected(BadValue{
          "too_wide",
          fmt::format(
              "{} holds sockets that control the host or act for its users (docker, systemd, D-Bus, X11, ssh-agent)",
              quoted(text)),
          "name the socket, or a directory that has nothing else"});
    if (path && is_own_socket(*path))
      return tl::unexpected(BadValue{
          "own_socket", fmt::format("{} is sbpf's own, and no sandbox may reach it", quoted(text)), "remove it"});
    return path;
  }
  if (text.size() == 1 || text.size() > kMaxAbstract || has_control(text))
    return tl::unexpected(BadValue{"bad_abstract_name",
                                   fmt::format("{} is no name of an abstract socket", quoted(text)),
                                   "write @ and 1 to 107 characters, as ss -xl shows it"});
  return std::string(text);
}

Value<std::string> parse_sha256(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  if (text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos)
    return std::string(text);
  return tl::unexpected(BadValue{"bad_sha256", fmt::format("{} is not a SHA-256", quoted(text)),
                                 "write 64 digits as sha256sum prints them"});
}

bool valid_policy_name(std::string_view text) {
  return !text.empty() && text.size() < SBPF_NAME_LEN && std::all_of(text.begin(), text.end(), [](char c) {
    return letter(c) || digit(c) || c == '.' || c == '_' || c == '-';
  });
}

bool is_file_reference(std::string_view text) {
  return text.starts_with("/") || text.starts_with("./") || text.starts_with("../");
}

std::string file_reference(std::string_view from, std::string_view written) {
  const std::size_t slash = from.rfind('/');
  if (written.starts_with('/') || slash == std::string_view::npos) return std::string(written);
  while (written.starts_with("./")) written.remove_prefix(std::min(written.find_first_not_of('/', 1), written.size()));
  return fmt::format("{}/{}", from.substr(0, slash), written);
}

bool valid_env_name(std::string_view text) {
  return !text.empty() && !digit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return letter(c) || digit(c) || c == '_'; });
}

std::string to_string(const PortRange& range) {
  const std::string first = std::to_string(range.first);
  return range.first == range.last ? first : first + "-" + std::to_string(range.last);
}

std::string cpu_text(std::uint32_t millis) {
  std::string text = std::to_string(millis / 1000);
  if (millis % 1000 != 0) {
    text += "." + std::to_string(1000 + millis % 1000).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string timeout_text(milliseconds timeout) {
  auto rest = static_cast<std::uint64_t>(timeout.count());
  std::string text;
  for (const Unit& unit : kTimeUnits) {
    if (rest >= unit.size) text += std::to_string(rest / unit.size) + std::string(unit.name);
    rest %= unit.size;
  }
  return text;
}

std::vector<PortRange> normal_ports(std::vector<PortRange> ports) {
  std::sort(ports.begin(), ports.end());
  std::vector<PortRange> joined;
  for (const PortRange& range : ports) {
    if (!joined.empty() && range.first <= joined.back().last + 1)
      joined.back().last = std::max(joined.back().last, range.last);
    else
      joined.push_back(range);
  }
  return joined;
}

}  // namespace sbpf::policy::internal

namespace sbpf::policy {

std::string escaped_path(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (internal::kOfPatterns.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

std::string memory_text(std::uint64_t bytes) {
  for (const internal::Unit& unit : internal::kMemoryUnits)
    if (bytes != 0 && bytes % unit.size == 0) return std::to_string(bytes / unit.size) + std::string(unit.name);
  return std::to_string(bytes);
}

bool env_by_name_only(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH",       "NLSPATH",      "BASH_ENV",   "ENV",
      "PERL5LIB",   "PERL5OPT",       "PYTHONSTARTUP", "PYTHONHOME",   "PYTHONPATH", "NODE_OPTIONS",
      "NODE_PATH",  "RUBYOPT",        "RUBYLIB",       "GIT_EXEC_PATH"};
  return name.starts_with("LD_") || name.starts_with("BASH_FUNC_") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace sbpf::policy
