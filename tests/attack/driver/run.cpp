// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/driver/run.h"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process_attack.h"

namespace attack::driver {

namespace {

constexpr milliseconds kLimit = std::chrono::seconds(300);   // emulated machines are slow, the first launch above all
constexpr milliseconds kPatience = std::chrono::seconds(3);  // for harm that is expected
constexpr milliseconds kSettling = milliseconds(20);         // for harm that is not

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
          .loot = field(line, "loot"),
          .began = field(line, "namespace")};
}

class Run {
 public:
  Run(const Host& host, const Attack& attack, Phase phase, std::optional<Nesting> nesting = {})
      : host_(host),
        attack_(attack),
        spec_(attack.spec),
        process_(attack.spec.process),
        phase_(phase),
        nesting_(nesting),
        token_(fresh_token()) {}

  Result operator()() {
    const Decoy decoy;
    const Scene scene{token_, host_.directory, host_.cgroup_root, host_.program, host_.uid, fresh_token(), &spec_};
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
    if (in_run()) arguments_["wait"] = "1";
    return carry_out(*victim);
  }

 private:
  bool in_run() const { return nesting_ && nesting_->kind == Nesting::Kind::in_run; }
  // Attached with --keep-open-sockets.
  bool keeps_sockets() const { return spec_.launch == Launch::attach || spec_.launch == Launch::attach_inside; }
  // By the driver, when the attacker is ready.
  bool attaches() const { return !nesting_ && (keeps_sockets() || attach_refuses(spec_) || shown()); }
  bool runs() const { return sandboxed() && (nesting_ ? in_run() : !attaches()); }
  bool calls_join() const {
    return spec_.launch == Launch::run_child || keeps_sockets() || attach_refuses(spec_) || in_run() ||
           (spec_.files && spec_.files->meanwhile) || (process_ && process_->hidden_by_run);
  }
  bool shown() const {
    return process_ && process_->hidden_by_run && (host_.profile.empty() || phase_ != Phase::denied);
  }
  bool sandboxed() const { return phase_ != Phase::control; }

  std::string policy(Phase phase) const {
    if (!host_.profile.empty() && phase == Phase::denied) return write_profile_policy(host_, arguments_);
    if (spec_.files) return write_file_policy(host_, *spec_.files, phase == Phase::allowed, arguments_);
    const std::string_view allow = spec_.allow;
    const bool never = allow == kNever, audit = phase == Phase::allowed && allow == kAudit;
    if (process_)
      return write_process_policy(host_, phase == Phase::denied || audit ? spec_.deny : spec_.allow, audit, arguments_);
    const char* fragment = phase == Phase::denied || audit ? spec_.deny : never ? kAllowAll : spec_.allow;
    return write_policy(host_, fragment, audit, arguments_);
  }

  Command command(VictimState& victim) const {
    Command command;
    if (runs()) command.argv = run_arguments(host_, policy(nesting_ ? nesting_->outer : phase_), {});
    command.argv.insert(command.argv.end(), {host_.program, "exec", attack_.name});
    for (const auto& [key, value] : arguments_) command.argv.push_back(key + "=" + value);
    command.input = spec_.input;
    if (spec_.input == Stdin::tcp4 || spec_.input == Stdin::file) command.given_input = victim.connection();
    command.inheritance = victim.inheritance();
    return command;
  }

  Result carry_out(VictimState& victim) {
    Result result;
    if (process_) unload_modules(process_->unload);
    std::optional<Cgroup> other, box;
    if (spec_.machine_wide && !host_.cgroup_root.empty()) other.emplace(host_.cgroup_root + "/sbpf-attack-other");
    std::optional<Attachment> boxed;
    Confinement in;
    if (sandboxed() && process_ && process_->boxed) {
      box.emplace(host_.cgroup_root + "/sbpf-attack-boxed");
      box->take(static_cast<pid_t>(std::stol(arguments_.at("bystander"))));
      boxed.emplace(host_, *box, write_process_policy(host_, "env: {}", false, arguments_), true);
      if (boxed->exit_code() != 0) throw Failure{ECHILD, "attach of the bystander: " + boxed->errors()};
    }
    if (!sandboxed() && spec_.victim == Victim::other_cgroup)
      in.start.emplace(host_.cgroup_root + "/sbpf-attack-start");
    if (sandboxed() && attaches()) in.start.emplace(host_.cgroup_root + "/sbpf-attack-attached");
    if (nesting_ && !in_run()) make_nest(in);
    {
      Command what = command(victim);
      const bool inside = spec_.launch == Launch::attach_inside_refused || spec_.launch == Launch::attach_inside;
      if (in.start && (!sandboxed() || inside)) what.cgroup = in.start->path();
      if (in.inner_cgroup && !calls_join()) what.cgroup = in.inner_cgroup->path();
      Process process(std::move(what));
      if (spec_.input == Stdin::unix_stream) process.hand_over(victim.connection());
      if (calls_join()) let_join(process, victim, in, result);
      if (!result.outcome)
        if (const auto line = process.line_with({"outcome"}, kLimit)) result.outcome = parse_outcome(*line);
      const bool harm_expected =
          result.outcome && result.outcome->error == 0 && phase_ != Phase::denied && !spec_.harmless;
      if (spec_.claims)
        result.seen = result.outcome && result.outcome->error == 0 ? Seen::harm : Seen::nothing;
      else
        result.seen = victim.look(result.outcome.value_or(Outcome{}), harm_expected ? kPatience : kSettling);
      result.details = victim.details();
      if (in_run()) in.inner.reset();  // its cgroup goes with that of `run`
      result.exit_code = process.finish(kLimit);
      result.hung = process.killed();
      result.errors = process.errors();
    }
    if (in.attachment && in.attachment->exit_code() != 0) result.errors += in.attachment->errors();
    if (box) release_bystander();
    if (in.start) rmdir((in.start->path() + "/sbpf-attack-own").c_str());
    return result;
  }

  struct Confinement {
    std::optional<Cgroup> start, child, outer_cgroup, inner_cgroup;
    std::optional<Attachment> attachment, outer, inner;
  };

  void let_join(Process& process, VictimState& victim, Confinement& in, Result& result) const {
    const auto line = process.line_with({"ready", "outcome"}, kLimit);
    if (line && line->starts_with("outcome")) result.outcome = parse_outcome(*line);  // stopped before it joined
    if (line && !result.outcome && sandboxed()) {
      const auto pid = static_cast<pid_t>(std::stol(field(*line, "pid")));
      if (nesting_)
        confine_nested(pid, in);
      else if (spec_.launch == Launch::run_child || attaches())
        confine(pid, in, result);
    }
    victim.before_attack();
    process.tell('g');
  }

  void attach(std::optional<Attachment>& attachment, const Cgroup& cgroup, Phase phase) const {
    attachment.emplace(host_, cgroup, policy(phase), true);
    if (attachment->exit_code() != 0) throw Failure{ECHILD, "attach of " + cgroup.path() + ": " + attachment->errors()};
  }

  void make_nest(Confinement& in) const {
    in.outer_cgroup.emplace(host_.cgroup_root + "/sbpf-attack-outer");
    in.inner_cgroup.emplace(in.outer_cgroup->path() + "/inner");
    attach(in.outer, *in.outer_cgroup, nesting_->outer);
    attach(in.inner, *in.inner_cgroup, nesting_->inner);
  }

  void confine_nested(pid_t pid, Confinement& in) const {
    if (in_run()) in.inner_cgroup.emplace(cgroup_of(pid) + "/inner");
    in.inner_cgroup->take(pid);
    if (in_run()) attach(in.inner, *in.inner_cgroup, nesting_->inner);
  }

  std::string cgroup_of(pid_t pid) const {
    std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
    std::string line;
    while (std::getline(file, line) && !line.starts_with("0::")) continue;
    return host_.cgroup_root + line.substr(3);
  }

  // The bystander goes back where it came from, if it is still there.
  void release_bystander() const {
    std::ofstream(host_.cgroup_root + "/cgroup.procs") << arguments_.at("bystander") << std::flush;
  }

  // The attacker has prepared itself: into a child cgroup of its sandbox, or into a cgroup that gets a policy.
  void confine(pid_t pid, Confinement& in, Result& result) const {
    if (spec_.launch == Launch::run_child) {
      in.child.emplace(cgroup_of(pid) + "/child");
      in.child->take(pid);
      return;
    }
    in.start->take(pid);
    const bool known_gap = spec_.gap_before_6_5 && host_.before_6_5 && phase_ == Phase::denied;
    in.attachment.emplace(host_, *in.start, policy(phase_), (keeps_sockets() || shown()) && !known_gap);
    result.attach_code = in.attachment->exit_code();
  }

  const Host& host_;
  const Attack& attack_;
  const Spec& spec_;
  const ProcessSpec* process_;  // nullptr for attacks on the network or on files
  Phase phase_;                 // of a nest: denied if either policy denies
  std::optional<Nesting> nesting_;
  std::string token_;
  Arguments arguments_;
};

}  // namespace

bool attach_refuses(const Spec& spec) {
  return spec.launch == Launch::attach_refused || spec.launch == Launch::attach_inside_refused;
}

Result run(const Host& host, const Attack& attack, Phase phase) { return Run(host, attack, phase)(); }

Result run_nested(const Host& host, const Attack& attack, const Nesting& nesting) {
  const bool denied = nesting.outer == Phase::denied || nesting.inner == Phase::denied;
  return Run(host, attack, denied ? Phase::denied : Phase::allowed, nesting)();
}

}  // namespace attack::driver
