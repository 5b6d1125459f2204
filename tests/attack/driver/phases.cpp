// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/driver/phases.h"

#include <cstring>
#include <string_view>

#include "tests/attack/driver/run.h"

namespace attack::driver {

namespace {

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
    const auto says = [&](const char* text) { return result.errors.find(text) != std::string::npos; };
    if (result.attach_code != 125) return {Kind::not_ok, "attach should exit 125: " + describe(result)};
    if (!says("the policy forbids what is open already") || !says(spec.told))
      return {Kind::not_ok, "attach should say what is open already: " + describe(result)};
    return {Kind::ok, {}};
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
  if (as_expected && result.errors.find(spec.told) == std::string::npos)
    return {Kind::not_ok, "sbpf should say '" + std::string(spec.told) + "': " + describe(result)};
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
  return expect_refusal(run(host, attack, phase), spec, host.profile, spec.launch == Launch::run_refused,
                        attach_refuses(spec) || gap);
}

}  // namespace

Verdict control(const Host& host, const Attack& attack) {
  return guarded([&]() -> Verdict {
    const Result result = run(host, attack, Phase::control);
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
    const Result result = run(host, attack, Phase::allowed);
    return attack.spec.harmless ? expect_freedom(result) : expect_success(result);
  });
}

Verdict denied(const Host& host, const Attack& attack) {
  return guarded([&] {
    if (attack.spec.harmless) return expect_freedom(run(host, attack, Phase::denied));
    return refused(host, attack, Phase::denied);
  });
}

Verdict nested(const Host& host, const Attack& attack, const Nesting& nesting) {
  return guarded([&]() -> Verdict {
    const Result result = run_nested(host, attack, nesting);
    if (nesting.outer == Phase::allowed && nesting.inner == Phase::allowed) return expect_success(result);
    return expect_refusal(result, attack.spec, {}, false, false);
  });
}

}  // namespace attack::driver
