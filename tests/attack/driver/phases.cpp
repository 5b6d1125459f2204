// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/driver/phases.h"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <random>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process_attack.h"

namespace attack::driver {

namespace {

constexpr milliseconds kLimit = std::chrono::seconds(300);   // emulated machines are slow, the first launch above all
constexpr milliseconds kPatience = std::chrono::seconds(3);  // for harm that is expected
constexpr milliseconds kSettling = milliseconds(20);         // for harm that is not

enum class Phase { control, allowed, denied };

// TCP and UDP on one port of 127.0.0.1, that every policy allows.
struct Decoy {
  Fd tcp, udp;
  std::uint16_t port = 0;
  Decoy() {
    for (int i = 0; i < 50 && !udp; i++) {
      tcp = open_socket(AF_INET, SOCK_STREAM);
      bind_to(tcp, v4("127.0.0.1", 0));
      port = port_of(tcp);
      Fd candidate = open_socket(AF_INET, SOCK_DGRAM);
      const Address at = v4("127.0.0.1", port);
      if (bind(candidate.get(), at.raw(), at.length) == 0) udp = std::move(candidate);
    }
    listen_on(tcp);
  }
};

std::string fresh_token() {
  static std::random_device random;
  char text[32];
  std::snprintf(text, sizeof(text), "sbpf%08x%08x", random(), random());
  return text;
}

std::string field(const std::string& line, const std::string& key) {
  const auto at = line.find(" " + key + "=");
  if (at == std::string::npos) return {};
  const auto begin = at + key.size() + 2;
  return line.substr(begin, key == "step" ? std::string::npos : line.find(' ', begin) - begin);
}

Outcome parse_outcome(const std::string& line) {
  return {.error = std::stoi(field(line, "errno")),
          .pid = static_cast<pid_t>(std::stol(field(line, "pid"))),
          .served = field(line, "served"),
          .step = field(line, "step"),
          .loot = field(line, "loot")};
}

bool attach_refuses(const Spec& spec) {
  return spec.launch == Launch::attach_refused || spec.launch == Launch::attach_inside_refused;
}

// What came of one run.
struct Result {
  std::optional<Outcome> outcome;
  std::optional<int> attach_code;  // of `sbpf attach`, if it was run
  Seen seen = Seen::nothing;
  std::string details;  // of what was seen
  int exit_code = 0;    // of the attacker, or of sbpf around it
  bool hung = false;    // it did not end by itself
  std::string errors;
};

class Run {
 public:
  Run(const Host& host, const Attack& attack, Phase phase)
      : host_(host), attack_(attack), spec_(attack.spec), process_(attack.spec.process), phase_(phase), token_(fresh_token()) {}

  Result operator()() {
    const Decoy decoy;
    const Scene scene{token_, host_.directory, host_.cgroup_root, host_.program, host_.uid, fresh_token(), spec_.files};
    auto victim = make_victim(spec_.victim, scene);
    arguments_ = victim->arguments();
    arguments_.insert({{"token", token_},
                       {"decoy", std::to_string(decoy.port)},
                       {"phase", phase_ == Phase::control   ? "control"
                                 : phase_ == Phase::allowed ? "allowed"
                                                            : "denied"},
                       {"program", host_.program},
                       {"other_cgroup", host_.cgroup_root + "/sbpf-attack-other"},
                       {"suid_program", host_.directory + "/suid"},
                       {"cgroup_root", host_.cgroup_root}});
    if (host_.uid != 0) arguments_["uid"] = std::to_string(host_.uid);
    return carry_out(*victim);
  }

 private:
  bool attaches() const { return spec_.launch == Launch::attach || attach_refuses(spec_) || shown(); }
  bool shown() const { return process_ && process_->hidden_by_run && (host_.profile.empty() || phase_ != Phase::denied); }
  bool sandboxed() const { return phase_ != Phase::control; }

  std::string policy() const {
    if (!host_.profile.empty() && phase_ == Phase::denied) return write_profile_policy(host_, arguments_);
    if (spec_.files) return write_file_policy(host_, *spec_.files, phase_ == Phase::allowed, arguments_);
    const std::string_view allow = spec_.allow;
    const bool never = allow == kNever, audit = phase_ == Phase::allowed && allow == kAudit;
    if (process_)
      return write_process_policy(host_, phase_ == Phase::denied || audit ? spec_.deny : spec_.allow, audit, arguments_);
    const char* fragment = phase_ == Phase::denied || audit ? spec_.deny : never ? kAllowAll : spec_.allow;
    return write_policy(host_, fragment, audit, arguments_);
  }

  Command command(VictimState& victim) const {
    Command command;
    if (sandboxed() && !attaches()) command.argv = run_arguments(host_, policy(), {});
    command.argv.insert(command.argv.end(), {host_.program, "exec", attack_.name});
    for (const auto& [key, value] : arguments_) command.argv.push_back(key + "=" + value);
    command.input = spec_.input;
    if (spec_.input == Stdin::tcp4) command.tcp_input = victim.connection();
    command.inheritance = victim.inheritance();
    return command;
  }

  Result carry_out(VictimState& victim) {
    Result result;
    if (process_) unload_modules(process_->unload);
    std::optional<Cgroup> other, start, child, box;
    if (spec_.machine_wide && !host_.cgroup_root.empty()) other.emplace(host_.cgroup_root + "/sbpf-attack-other");
    std::optional<Attachment> attachment, boxed;
    if (sandboxed() && process_ && process_->boxed) {
      box.emplace(host_.cgroup_root + "/sbpf-attack-boxed");
      box->take(static_cast<pid_t>(std::stol(arguments_.at("bystander"))));
      boxed.emplace(host_, *box, write_process_policy(host_, "env: {}", false, arguments_), true);
      if (boxed->exit_code() != 0) throw Failure{ECHILD, "attach of the bystander: " + boxed->errors()};
    }
    if (!sandboxed() && spec_.victim == Victim::other_cgroup) start.emplace(host_.cgroup_root + "/sbpf-attack-start");
    if (sandboxed() && attaches()) start.emplace(host_.cgroup_root + "/sbpf-attack-attached");
    {
      Command what = command(victim);
      if (start && (!sandboxed() || spec_.launch == Launch::attach_inside_refused)) what.cgroup = start->path();
      Process process(std::move(what));
      if (spec_.input == Stdin::unix_stream) process.hand_over(victim.connection());
      if (spec_.launch == Launch::run_child || attaches() || (spec_.files && spec_.files->meanwhile) ||
          (process_ && process_->hidden_by_run)) {
        const auto line = process.line_with({"ready", "outcome"}, kLimit);
        if (line && line->starts_with("outcome")) result.outcome = parse_outcome(*line);  // stopped before it joined
        const bool confinable = spec_.launch == Launch::run_child || attaches();
        if (line && !result.outcome && sandboxed() && confinable) confine(*line, start, child, attachment, result);
        victim.before_attack();
        process.tell('g');
      }
      if (!result.outcome)
        if (const auto line = process.line_with({"outcome"}, kLimit)) result.outcome = parse_outcome(*line);
      const bool harm_expected =
          result.outcome && result.outcome->error == 0 && phase_ != Phase::denied && !spec_.harmless;
      if (process_ && process_->claims)
        result.seen = result.outcome && result.outcome->error == 0 ? Seen::harm : Seen::nothing;
      else
        result.seen = victim.look(result.outcome.value_or(Outcome{}), harm_expected ? kPatience : kSettling);
      result.details = victim.details();
      result.exit_code = process.finish(kLimit);
      result.hung = process.killed();
      result.errors = process.errors();
    }
    if (attachment && attachment->exit_code() != 0) result.errors += attachment->errors();
    if (box) release_bystander();
    if (start) rmdir((start->path() + "/sbpf-attack-own").c_str());
    return result;
  }

  // The bystander goes back where it came from, if it is still there.
  void release_bystander() const {
    std::ofstream(host_.cgroup_root + "/cgroup.procs") << arguments_.at("bystander") << std::flush;
  }

  // The attacker has prepared itself: into a child cgroup of its sandbox, or into a cgroup that gets a policy.
  void confine(const std::string& ready, std::optional<Cgroup>& start, std::optional<Cgroup>& child,
               std::optional<Attachment>& attachment, Result& result) const {
    const auto pid = static_cast<pid_t>(std::stol(field(ready, "pid")));
    if (spec_.launch == Launch::run_child) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
      std::string line;
      while (std::getline(file, line) && !line.starts_with("0::")) continue;
      child.emplace(host_.cgroup_root + line.substr(3) + "/child");
      child->take(pid);
      return;
    }
    start->take(pid);
    const bool known_gap = spec_.gap_before_6_5 && host_.before_6_5 && phase_ == Phase::denied;
    attachment.emplace(host_, *start, policy(), (spec_.launch == Launch::attach || shown()) && !known_gap);
    result.attach_code = attachment->exit_code();
  }

  const Host& host_;
  const Attack& attack_;
  const Spec& spec_;
  const ProcessSpec* process_;  // nullptr for attacks on the network or on files
  Phase phase_;
  std::string token_;
  Arguments arguments_;
};

const char* text_of(Seen seen) {
  switch (seen) {
    case Seen::nothing:
      return "nothing";
    case Seen::something:
      return "something";
    case Seen::harm:
      return "the harm";
  }
  return "?";
}

std::string describe(const Result& result) {
  std::string text;
  if (result.attach_code) text += "attach exited " + std::to_string(*result.attach_code) + ", ";
  if (result.outcome) {
    const char* name = result.outcome->error ? strerrorname_np(result.outcome->error) : "no error";
    text += std::string(name ? name : "unknown errno") + " at " + result.outcome->step;
  } else {
    text += "no outcome, exit code " + std::to_string(result.exit_code);
  }
  text += "; the victim saw ";
  text += text_of(result.seen);
  if (!result.details.empty()) text += " (" + result.details + ")";
  if (const std::string first = result.errors.substr(0, 300); !first.empty()) {
    text += "; stderr: ";
    for (const char c : first) text += c == '\n' ? '|' : c;
  }
  return text;
}

using Kind = Verdict::Kind;

Verdict not_ended(const Result& result) { return {Kind::not_ok, "had to be killed in the end: " + describe(result)}; }

Verdict expect_success(const Result& result) {
  if (result.hung) return not_ended(result);
  if (!result.outcome || result.outcome->error != 0) return {Kind::not_ok, "should get through: " + describe(result)};
  if (result.seen != Seen::harm) return {Kind::not_ok, "claims to have got through: " + describe(result)};
  if (result.attach_code && *result.attach_code != 0) return {Kind::not_ok, describe(result)};
  return {Kind::ok, {}};
}

Verdict expect_freedom(const Result& result) {
  if (result.hung) return not_ended(result);
  if (!result.outcome || result.outcome->error != 0) return {Kind::not_ok, "should get through: " + describe(result)};
  if (result.seen != Seen::nothing) return {Kind::not_ok, "should do no harm: " + describe(result)};
  if (result.attach_code && *result.attach_code != 0) return {Kind::not_ok, describe(result)};
  return {Kind::ok, {}};
}

// Under a profile more is refused than what the attack is about: any errno at any step will do, success will not.
Verdict expect_refusal(const Result& result, const Spec& spec, const std::string& profile, bool by_sbpf,
                       bool by_attach) {
  if (result.hung) return not_ended(result);
  if (!profile.empty() && result.attach_code == 125) return {Kind::ok, {}};
  if (by_attach) {  // then nothing confines the attacker: what it does is no matter
    if (result.attach_code == 125) return {Kind::ok, {}};
    return {Kind::not_ok, "attach should exit 125: " + describe(result)};
  }
  if (result.seen != Seen::nothing) return {Kind::not_ok, "not refused: " + describe(result)};
  if (by_sbpf) {
    if (!result.outcome && result.exit_code == 125) return {Kind::ok, {}};
    return {Kind::not_ok, "sbpf run should exit 125: " + describe(result)};
  }
  if (result.attach_code && *result.attach_code != 0) return {Kind::not_ok, "attach failed: " + describe(result)};
  if (!profile.empty() && result.outcome && result.outcome->error != 0) return {Kind::ok, {}};
  const bool as_expected = result.outcome && result.outcome->error != 0 &&
                           (result.outcome->error == spec.expected || result.outcome->error == spec.or_expected) &&
                           (*spec.at == '\0' || result.outcome->step == spec.at);
  if (as_expected) return {Kind::ok, {}};
  const char* name = strerrorname_np(spec.expected);
  return {Kind::not_ok, "expected " + std::string(name ? name : "?") + " at " + spec.at + ": " + describe(result)};
}

template <typename F>
Verdict guarded(const F& judge) {
  try {
    return judge();
  } catch (const Failure& failure) {
    return {Kind::not_ok, "set-up: " + failure.step + ": " + std::strerror(failure.error)};
  } catch (const std::exception& error) {
    return {Kind::not_ok, std::string("set-up: ") + error.what()};
  }
}

Verdict refused(const Host& host, const Attack& attack, Phase phase) {
  const Spec& spec = attack.spec;
  const bool gap = spec.gap_before_6_5 && host.before_6_5;
  return expect_refusal(Run(host, attack, phase)(), spec, host.profile, spec.launch == Launch::run_refused,
                        attach_refuses(spec) || gap);
}

}  // namespace

Verdict control(const Host& host, const Attack& attack) {
  return guarded([&]() -> Verdict {
    const Result result = Run(host, attack, Phase::control)();
    if (result.outcome && attack.spec.lacking.has(result.outcome->error))
      return {Kind::skip, "this kernel lacks it: " + describe(result)};
    if (attack.spec.may_need_root && host.uid != 0 && result.outcome && result.outcome->error == EPERM)
      return {Kind::skip, "this kernel leaves it to root: " + describe(result)};
    return attack.spec.harmless ? expect_freedom(result) : expect_success(result);
  });
}

Verdict allowed(const Host& host, const Attack& attack) {
  return guarded([&] {
    if (std::string_view(attack.spec.allow) == kNever) return refused(host, attack, Phase::allowed);
    const Result result = Run(host, attack, Phase::allowed)();
    return attack.spec.harmless ? expect_freedom(result) : expect_success(result);
  });
}

Verdict denied(const Host& host, const Attack& attack) {
  return guarded([&] {
    if (attack.spec.harmless) return expect_freedom(Run(host, attack, Phase::denied)());
    return refused(host, attack, Phase::denied);
  });
}

}  // namespace attack::driver
