// SPDX-License-Identifier: Apache-2.0
// What a run was denied, in few lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/format.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::cli {

// Denials of a run, each kind once. Of several files in one directory that no rule covers the first stands for all,
// with the rule for the directory.
class DenialSummary {
 public:
  // `policy`: the one that denied. It outlives this; without one each file stands for itself.
  explicit DenialSummary(const policy::Policy* policy = nullptr) : policy_(policy) {}

  // One of what programs try and do without is counted only: what runtimes set of a process in /proc, a few files and
  // directories that they look for, whether a device was plugged in, and a UDP socket that is connected where the
  // policy lists TCP alone, or was asked for TCP, as getaddrinfo(3) does.
  void add(const agent::Event& event);
  void add(const Json& event);  // as event_json() has it; what is none is passed over
  std::uint64_t denied() const { return denied_; }
  std::uint64_t would_deny() const { return would_deny_; }
  // "sbpf: denied TEXT" and remedy_lines(), for at most `limit` kinds; and the change that allows all of them, where
  // there are several.
  std::string text(std::size_t limit) const;
  // What may be allowed: denials, and the change that allows them.
  struct Remedy {
    std::string line;                // the first denial, as text() has it
    std::string change;              // "": none does, or only a relaxation
    std::string directory;           // that the change opens for several files in it; "": it is no such change
    std::vector<std::string> paths;  // that were asked for, where they are files
    std::string operation;           // "read", "write", "exec" of files; "" of what is none
  };
  // Are all denials among the remedies?
  bool whole() const;
  std::vector<Remedy> remedies() const;  // of the first kinds; a program makes as many as it likes

 private:
  struct Kind {
    std::string line;
    std::string allow, relaxation;  // as the event's
    std::uint64_t times = 0;
    std::string path, operation;              // as Remedy has them; "" of what is no file
    bool uncovered = false;                   // a file that no rule covers, and a rule for it is all that is missing
    std::optional<policy::NetQuery> connect;  // it is one
    bool named = false;                       // to where a name of the policy led
    bool writes() const { return operation == "write"; }
  };
  // By the right that is missing and the directory, which key_of() has: the kinds.
  using Directories = std::map<std::string, std::vector<std::size_t>>;
  static std::string key_of(const Kind& kind);
  bool is_look_up(const Kind& kind) const;
  Directories directories() const;
  // The change that opens the directory of these kinds, and allows each of them, as the policy says when it has that
  // rule; "": it does not, or the directory is one that may hold more than what was asked for.
  std::string change_of(const std::vector<std::size_t>& kinds) const;
  // Kinds that are told together: the first, and those that the change for its directory allows, too.
  struct Group {
    std::vector<std::size_t> kinds;
    std::string change;
  };
  std::vector<Group> groups(std::size_t limit) const;  // the first so many

  // Bounds what a hostile program can make us remember; past it, kinds are counted only.
  static constexpr std::size_t kMaxKinds = 4096;

  const policy::Policy* policy_;
  std::vector<Kind> kinds_;
  std::map<std::string, std::size_t> index_;
  std::set<std::pair<policy::Address, std::uint16_t>> tcp_;  // what was asked for by TCP
  std::uint64_t denied_ = 0, would_deny_ = 0, beyond_ = 0;
};

}  // namespace sbpf::cli
