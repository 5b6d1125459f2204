// SPDX-License-Identifier: Apache-2.0
#include "agent/intent.h"

#include <bpf/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "agent/cgroup.h"
#include "agent/guard.h"
#include "agent/name_rules.h"
#include "agent/sandbox.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

const std::string kDirectory = std::string(kPinRoot) + "/intents";
// In the order in which they are mended: nothing is thawed that is only half of a sandbox.
constexpr std::array kNames = {std::pair{"attach", Intent::What::attach}, std::pair{"detach", Intent::What::detach},
                               std::pair{"swap", Intent::What::swap}, std::pair{"frozen", Intent::What::frozen}};

struct Found {
  std::string path, sandbox;
  std::uint64_t cgroup_id = 0;
};

// WHAT-CGROUP-NAME: bpffs has no files to write to, but directories of any name without dots.
std::optional<Found> parse(const fs::path& path, const std::string& what) {
  const std::string text = path.filename();
  if (text.rfind(what + "-", 0) != 0) return std::nullopt;
  Found found;
  found.path = path;
  const char* const begin = text.data() + what.size() + 1;
  const auto number = std::from_chars(begin, text.data() + text.size(), found.cgroup_id);
  if (number.ec != std::errc() || number.ptr == begin || *number.ptr != '-') return std::nullopt;
  found.sandbox = number.ptr + 1;
  return found;
}

std::vector<Found> all_of(const std::string& what) {
  std::vector<Found> all;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(kDirectory, ec))
    if (auto found = parse(entry.path(), what)) all.push_back(std::move(*found));
  return all;
}

void mend_swap(const Kernel& kernel, const Found& found) {
  auto image = read_policy(kernel, found.cgroup_id);
  if (!image) return;
  (void)set_recording(kernel, found.cgroup_id, *image);
  if (const std::uint32_t names = image->header().names; names != 0)
    if (Fd rules = open_name_rules(found.sandbox); rules && name_rules_in_use(rules.get()) != names)
      (void)use_name_rules(rules.get(), names);
}

void mend_one(const Kernel& kernel, Intent::What what, const Found& found) {
  switch (what) {
    case Intent::What::attach:
    case Intent::What::detach:
      take_down(kernel, found.cgroup_id, found.sandbox);
      break;
    case Intent::What::swap:
      mend_swap(kernel, found);
      break;
    case Intent::What::frozen:
      if (auto cgroup = Cgroup::open_by_id(found.cgroup_id)) (void)cgroup->freeze(false);
      break;
  }
  audit("sandbox " + found.sandbox + ": mended what a killed sbpf left");
}

}  // namespace

Result<Intent> Intent::begin(What what, std::uint64_t cgroup_id, const std::string& name) {
  std::string path = kDirectory + "/";
  for (const auto& [text, meaning] : kNames)
    if (meaning == what) path += text;
  path += "-" + std::to_string(cgroup_id) + "-" + name;
  if ((::mkdir(kDirectory.c_str(), 0700) != 0 && errno != EEXIST) || (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST))
    return fail("pin", "cannot make " + path + ": " + std::strerror(errno),
                "mount bpffs at /sys/fs/bpf: mount -t bpf bpf /sys/fs/bpf", errno);
  return Intent(std::move(path));
}

Intent::~Intent() {
  if (!path_.empty()) ::rmdir(path_.c_str());
}

void mend(const Kernel& kernel) {
  for (const auto& [text, what] : kNames)
    for (const Found& found : all_of(text)) {
      mend_one(kernel, what, found);
      ::rmdir(found.path.c_str());
    }
  drop_unfinished();
}

}  // namespace sbpf::agent
