// SPDX-License-Identifier: Apache-2.0
#include "tests/live/random_policy.h"

#include <iterator>
#include <map>

namespace sbpf::live {

policy::Policy random_policy(Random& random, const std::string& top, const std::function<std::string()>& pick) {
  constexpr policy::FsDefault kDefaults[] = {policy::FsDefault::deny, policy::FsDefault::read,
                                             policy::FsDefault::write};
  constexpr policy::FsAccess kAccess[] = {policy::FsAccess::read, policy::FsAccess::write, policy::FsAccess::write,
                                          policy::FsAccess::deny, policy::FsAccess::protect};
  const auto roll = [&random](std::size_t n) { return random() % n; };
  policy::Policy policy;
  policy.name = "random";
  policy.filesystem.requested = true;
  policy.filesystem.fallback = kDefaults[roll(3)];
  std::map<std::string, policy::FsAccess> files;
  const std::size_t n_files = 1 + roll(8);
  if (roll(2) == 0) files[top] = kAccess[roll(std::size(kAccess))];
  while (files.size() < n_files) files[pick()] = kAccess[roll(std::size(kAccess))];
  for (const auto& [path, access] : files) policy.filesystem.rules.push_back({path, access, {}});
  if (roll(2) == 0) return policy;
  policy.exec.allow_listed = roll(2) == 0;
  policy.exec.deny_writable = roll(3) == 0;
  std::map<std::string, bool> programs;
  const std::size_t n_programs = 1 + roll(4);
  while (programs.size() < n_programs) programs[pick()] = roll(2) == 0;
  for (const auto& [path, allow] : programs) policy.exec.rules.push_back({path, allow, {}});
  return policy;
}

std::string text_of(const policy::Policy& policy) {
  std::string text = "{default: " + std::string(policy::to_string(policy.filesystem.fallback));
  for (const policy::FsRule& rule : policy.filesystem.rules)
    text += ", " + std::string(policy::to_string(rule.access)) + " " + rule.path;
  if (policy.exec.allow_listed) text += ", exec default: deny";
  if (policy.exec.deny_writable) text += ", deny_writable";
  for (const policy::ExecRule& rule : policy.exec.rules) text += (rule.allow ? ", exec " : ", no exec ") + rule.path;
  return text + "}";
}

}  // namespace sbpf::live
