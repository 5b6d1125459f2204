// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <algorithm>
#include <cstdio>

#include "cli/format.h"

namespace sbpf::cli {
namespace {

constexpr std::size_t kWidths[] = {24, 11, 7, 20, 6, 6, 10, 9, 8};  // of all columns but the last

std::string pad(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string row(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); i++)
    line += i < std::size(kWidths) ? pad(cells[i].substr(0, kWidths[i]), kWidths[i]) + " " : cells[i];
  return line;
}

std::string rate(std::uint64_t more, double seconds) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.1f", seconds > 0 ? static_cast<double>(more) / seconds : 0);
  return text;
}

// Where most was denied since the last look.
std::string busiest_hook(const agent::Status& now, const agent::Status* before) {
  std::size_t busiest = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < now.denied.size(); i++) {
    const std::uint64_t more = now.denied[i] - (before != nullptr ? before->denied[i] : now.denied[i]);
    if (more > most) most = more, busiest = i;
  }
  return most > 0 && busiest < agent::all_hooks().size() ? agent::all_hooks()[busiest].name : "";
}

}  // namespace

std::string top_text(std::span<const agent::Status> now, std::span<const agent::Status> before, double seconds,
                     const std::string& time, std::size_t lines, std::size_t columns) {
  struct Line {
    const agent::Status* status;
    const agent::Status* before;
    std::uint64_t more;
  };
  std::vector<Line> all;
  std::size_t active = 0;
  for (const agent::Status& status : now) {
    const auto old =
        std::ranges::find_if(before, [&](const agent::Status& b) { return b.cgroup_id == status.cgroup_id; });
    const agent::Status* const was = old == before.end() ? nullptr : &*old;
    all.push_back({&status, was, was == nullptr ? 0 : denials(status) - denials(*was)});
    active += is_active(status) ? 1 : 0;
  }
  // What needs a person first.
  std::ranges::stable_sort(all, [](const Line& a, const Line& b) {
    if (is_active(*a.status) != is_active(*b.status)) return is_active(*b.status);
    return a.more != b.more ? a.more > b.more : a.status->sandbox < b.status->sandbox;
  });
  std::vector<std::string> text = {
      fmt::format("sbpf top  {}  sandboxes {}  active {}  not active {}", time, now.size(), active,
                  now.size() - active),
      "", row({"SANDBOX", "ISOLATION", "HOOKS", "POLICY", "GEN", "PROCS", "DENIED", "DENIED/S", "LOST", "AT"})};
  for (const Line& line : all) {
    const agent::Status& s = *line.status;
    text.push_back(row({printable(s.sandbox), isolation_word(s), hook_count(s), printable(s.policy_name),
                        std::to_string(s.generation), std::to_string(s.processes), std::to_string(denials(s)),
                        rate(line.more, seconds), std::to_string(s.lost_full + s.lost_rate),
                        s.frozen ? "frozen" : busiest_hook(s, line.before)}));
  }
  if (text.size() > lines && lines > 0) {
    const std::size_t hidden = text.size() - lines + 1;
    text.resize(lines - 1);
    text.push_back(fmt::format("… and {} more", hidden));
  }
  std::string screen;
  for (const std::string& line : text) screen += line.substr(0, columns) + "\n";
  return screen;
}

}  // namespace sbpf::cli
