// SPDX-License-Identifier: Apache-2.0
// The lists of `process.kernel`.
#include "bpf/capabilities.h"
#include "policy/draft.h"

namespace sbpf::policy::internal {
namespace {

// With bpf(2) or what reads the kernel's memory a sandbox could take its own programs apart: never for sale.
constexpr std::uint8_t kNever[] = {SBPF_CAP_BPF, SBPF_CAP_PERFMON};

void read_interfaces(const YamlNode& node, const std::string& key, bool closed, Reader& reader,
                     std::vector<sbpf_kernel_interface>& out) {
  std::vector<std::string_view> words;
  std::vector<sbpf_kernel_interface> interfaces;
  for (int i = 0; i < SBPF_KERNEL_MAX; ++i) {
    const auto interface = static_cast<sbpf_kernel_interface>(i);
    if (closed_by_default(interface) != closed) continue;
    words.push_back(policy::to_string(interface));
    interfaces.push_back(interface);
  }
  reader.list(node, key, closed ? "a list, as in [perf]" : "a list, as in [io_uring]",
              [&](const YamlNode& item, const std::string& item_key) {
                if (auto i = reader.word(item, item_key, "bad_interface", words)) out.push_back(interfaces[*i]);
              });
}

Value<std::uint8_t> parse_capability(std::string_view text) {
  const auto number = text.starts_with("CAP_") ? std::nullopt : capability_number(text);
  if (!number)
    return tl::unexpected(BadValue{"bad_capability", fmt::format("{} is not a capability", quoted(text)),
                                   "write a name of capabilities(7) without CAP_, as in SYS_TIME"});
  for (const std::uint8_t never : kNever)
    if (*number == never)
      return tl::unexpected(BadValue{"bad_capability",
                                     fmt::format("{} reaches sbpf's own programs: no policy allows it", quoted(text)),
                                     "run what needs it outside of the sandbox"});
  if (SBPF_CAPS_OPEN >> *number & 1)
    return tl::unexpected(
        BadValue{"bad_capability", fmt::format("{} is not refused in the first place", quoted(text)), "remove it"});
  return static_cast<std::uint8_t>(*number);
}

}  // namespace

void read_closed_interfaces(const YamlNode& node, const std::string& key, Reader& reader,
                            std::vector<sbpf_kernel_interface>& out) {
  read_interfaces(node, key, true, reader, out);
}

void read_open_interfaces(const YamlNode& node, const std::string& key, Reader& reader,
                          std::vector<sbpf_kernel_interface>& out) {
  read_interfaces(node, key, false, reader, out);
}

void read_host_capabilities(const YamlNode& node, const std::string& key, Reader& reader,
                            std::vector<std::uint8_t>& out) {
  reader.list(node, key, "a list, as in [sys_time]", [&](const YamlNode& item, const std::string& item_key) {
    if (auto number = reader.value<std::uint8_t>(item, item_key, "a capability's name", parse_capability))
      out.push_back(*number);
  });
}

}  // namespace sbpf::policy::internal
