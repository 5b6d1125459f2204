// SPDX-License-Identifier: Apache-2.0
#include "agent/verify/canary.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "agent/sandbox/sandbox.h"
#include "agent/verify/canary_ops.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/signals.h"

namespace sbpf::agent {
namespace {

using canary::kUnreachable;
using canary::Scene;

// What the canary reports over its pipe.
struct RawReport {
  std::array<CanaryVerdict, SBPF_HOOK_COUNT> hooks;
  std::array<int, SBPF_HOOK_COUNT> error;
  int allowed_errno;
  int policy_errno;
  bool complete;
};

// That a flow is not recorded lets nothing through: such a hook is read back, and not tried.
std::vector<Hook> proven_of(std::uint32_t flags) {
  return hooks_of(flags & ~static_cast<std::uint32_t>(SBPF_SANDBOX_FLOWS));
}

[[noreturn]] void canary_main(KernelGlobals& globals, int pipe, const Scene& scene, std::uint32_t flags) {
  RawReport report{};
  globals.canary.hook = SBPF_HOOK_COUNT;  // none: these two get the policy's own verdict
  report.allowed_errno = canary::try_allowed();
  report.policy_errno = canary::try_policy_probe();
  for (const Hook& hook : proven_of(flags)) {
    globals.canary.hook = hook.id;
    globals.canary.hit = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const int error = canary::try_hook(hook.id, scene);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    report.error[hook.id] = error;
    report.hooks[hook.id] = canary_verdict(hook, error, globals.canary.hit);
  }
  report.complete = true;
  (void)!::write(pipe, &report, sizeof report);
  ::_exit(0);
}

constexpr const char* kTurnFile = "/run/sbpf-canaries.lock";
constexpr const char* kSetting = "/proc/sys/kernel/ostype";  // any that is there
constexpr std::uint64_t kPatience = 10'000'000'000;
constexpr std::uint64_t kGivesWay = 1'000'000'000;  // before it does, it has had time enough where nothing is wrong

// While it lives nobody inside can signal, trace or change a child of this process that starts now. Only one at a time.
class OutOfReach {
 public:
  explicit OutOfReach(sbpf_canary& canary) : canary_(canary) {
    __atomic_store_n(&canary_.tgid, 0u, __ATOMIC_SEQ_CST);
    canary_.born_from = boottime_ns();
    canary_.born_until = canary_.born_from + kPatience;
    __atomic_store_n(&canary_.runner, static_cast<std::uint32_t>(::getpid()), __ATOMIC_SEQ_CST);
  }
  ~OutOfReach() {
    __atomic_store_n(&canary_.tgid, 0u, __ATOMIC_SEQ_CST);
    __atomic_store_n(&canary_.runner, 0u, __ATOMIC_SEQ_CST);
  }
  OutOfReach(const OutOfReach&) = delete;
  OutOfReach& operator=(const OutOfReach&) = delete;

 private:
  sbpf_canary& canary_;
};

// One canary at a time, of whichever sandbox: a lock of its own, so that nobody who waits for one holds the host's. It
// is the process's alone, and not the canary's, which has the descriptor, too, and may outlive who runs it. Errors:
// "canary".
Result<Fd> take_turn(sbpf_canary& canary) {
  Fd turn(::open(kTurnFile, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!turn) return fail("canary", SystemError{errno}, "cannot open {}", kTurnFile);
  const std::uint64_t begin = boottime_ns();
  struct flock whole {};
  whole.l_type = F_WRLCK;
  while (::fcntl(turn.get(), F_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR)
      return fail("canary", SystemError{errno}, "cannot lock {}", kTurnFile);
    if (boottime_ns() - begin > 2 * kPatience) return fail("canary", "other canaries took all the time", "", EAGAIN);
    __atomic_store_n(&canary.wanted, 1u, __ATOMIC_RELAXED);
    ::poll(nullptr, 0, 10);
  }
  __atomic_store_n(&canary.wanted, 0u, __ATOMIC_RELAXED);
  return turn;
}

bool in_host_pid_namespace() {
  struct stat info {};
  return ::stat("/proc/self/ns/pid", &info) == 0 && info.st_ino == 0xEFFFFFFC;  // PROC_PID_INIT_INO
}

// Does this policy let the canary's probe pass?
bool lets_probe_pass(const policy::Image& image) {
  const policy::NetQuery query{SBPF_RULE_CONNECT, SBPF_PROTO_UDP, *policy::parse_address("192.0.2.1"),
                               canary::kPolicyProbePort};
  return (image.header().flags & SBPF_POLICY_AUDIT) != 0 || policy::allows(image, query);
}

// The probe passes only if the policies of all sandboxes above this one let it, too. One whose policy cannot be read
// denies.
bool passes_above(const Kernel& kernel, const Cgroup& cgroup) {
  std::filesystem::path path = cgroup.path();
  for (std::uint32_t level = cgroup.level(); level > 1; level--) {
    path = path.parent_path();
    const auto above = Cgroup::open(path);
    if (!above || !find_record(kernel, above->id())) continue;
    const auto image = read_policy(kernel, above->id());
    if (!image || !lets_probe_pass(*image)) return false;
  }
  return true;
}

// Not what the hook is asked about: memory, descriptors, processes, ports or room that the host, or the sandbox's own
// use of it, left none of; ENOENT: its scratch files are gone.
bool is_shortage(int error) {
  constexpr std::array kShortages = {EAGAIN, ENOMEM,  ENFILE, EMFILE, ETOOMANYREFS, ENOSPC,
                                     EDQUOT, ENOBUFS, ENOENT, EIO,    EINTR};
  return std::ranges::find(kShortages, error) != kShortages.end();
}

// "unlink (allowed)", after what is in the list already.
void list(std::string& all, const Hook& hook, int error) {
  all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", hook.name, error == 0 ? "allowed" : std::strerror(error));
}

// Where all that is wrong is that something could not be tried: what that was. Nothing: the report says how it stands.
std::string not_tried(const RawReport& raw, std::uint32_t flags) {
  if (is_shortage(raw.allowed_errno))
    return fmt::format("what every policy allows ({})", std::strerror(raw.allowed_errno));
  std::string all;
  for (const Hook& hook : proven_of(flags)) {
    const CanaryVerdict verdict = raw.hooks[hook.id];
    if (verdict == CanaryVerdict::not_denied) return "";
    if (verdict == CanaryVerdict::not_run) list(all, hook, raw.error[hook.id]);
  }
  return all.empty() && is_shortage(raw.policy_errno)
             ? std::string("an endpoint (") + std::strerror(raw.policy_errno) + ")"
             : all;
}

CanaryReport judge(const RawReport& raw, bool passes, std::uint32_t flags) {
  CanaryReport report;
  report.hooks = raw.hooks;
  report.flags = flags;
  report.allowed_ok = raw.allowed_errno == 0;
  report.policy_ok = (raw.policy_errno != EPERM) == passes;
  for (const Hook& hook : proven_of(flags)) {
    // Beside hooks that let it through, what it did is why another had nothing to refuse.
    if (report.hooks[hook.id] != CanaryVerdict::not_denied && report.hooks[hook.id] != CanaryVerdict::not_run) continue;
    list(report.detail, hook, raw.error[hook.id]);
  }
  if (!report.detail.empty()) report.detail = "the canary was not denied by " + report.detail;
  if (!report.allowed_ok)
    report.detail = std::string("the canary was denied what every policy allows: ") + std::strerror(raw.allowed_errno);
  else if (!report.policy_ok && report.detail.empty())
    report.detail =
        std::string("an endpoint did not get the published policy's verdict: ") + std::strerror(raw.policy_errno);
  return report;
}

Error no_answer(const std::string& end, int number) {
  return fail("canary", fmt::format("the canary gave no answer{}", end),
              "the sandbox's cgroup may be frozen or at a limit", number)
      .value();
}

// Waits for what the canary reports. Errors: ETIME: it neither computes nor waits for a processor, and says nothing;
// EAGAIN: it waited for a processor, or gave way to others; EIO: it ended without.
Result<RawReport> wait_for_report(const KernelGlobals& globals, int pipe, pid_t pid) {
  const std::uint64_t begin = boottime_ns();
  RawReport raw{};
  pollfd waiting{pipe, POLLIN, 0};
  while (::poll(&waiting, 1, 50) != 1) {
    const std::uint64_t took = boottime_ns() - begin;
    const bool gives_way = took > kGivesWay && __atomic_load_n(&globals.canary.wanted, __ATOMIC_RELAXED) != 0;
    if (!gives_way && took <= kPatience) continue;
    const char state = state_of(pid);
    // D: it waits for a disk, as what the sandbox runs may have to.
    const bool hangs = gives_way ? state == 'T' || state == 't' : state != 'R' && state != 'D';
    return tl::unexpected<Error>(
        no_answer(fmt::format(" {} (state {})",
                              took <= kPatience ? "so far, and others wait for their turn" : "within 10 s", state),
                  hangs ? ETIME : EAGAIN));
  }
  if (::read(pipe, &raw, sizeof raw) != sizeof raw || !raw.complete) return tl::unexpected<Error>(no_answer("", EIO));
  return raw;
}

// Errors, beside others: EBUSY where nobody may be started, ECANCELED where it was killed; those of wait_for_report().
Result<CanaryReport> run_in(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image,
                            std::uint32_t flags) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("canary", "cannot make a pipe", "", errno);
  Fd reader(ends[0]), writer(ends[1]);
  Scene scene;
  scene.setting = Fd(::open(kSetting, O_RDONLY | O_CLOEXEC));
  if (!scene.setting)
    return fail("canary", SystemError{errno, "run sbpf where the host's /proc/sys can be read"}, "cannot open {}",
                kSetting);
  scene.threads = Fd(::open((cgroup.path() + "/cgroup.threads").c_str(), O_WRONLY | O_CLOEXEC));
  if (scene.path.empty() || !scene.file) return fail("canary", "cannot make a scratch directory in /run", "", errno);
  KernelGlobals& globals = kernel.globals();
  Fd pidfd;
  // Nothing of a terminal or a process group stops the canary, nor a signal that was sent to who runs it.
  const SignalsBlocked quiet;
  const OutOfReach guarded(globals.canary);
  const pid_t runner = ::getpid();
  auto pid = clone_into(cgroup, pidfd);
  if (!pid) return fail(std::move(pid.error()), "cannot run the canary");
  if (*pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != runner) ::_exit(1);
    globals.canary.born_until = boottime_ns();
    __atomic_store_n(&globals.canary.tgid, static_cast<std::uint32_t>(::getpid()), __ATOMIC_SEQ_CST);
    canary_main(globals, writer.get(), scene, flags);
  }
  writer.reset();
  auto raw = wait_for_report(globals, reader.get(), *pid);
  ::kill(*pid, SIGKILL);  // one that was stopped after its report would be waited for
  int status = 0;
  ::waitpid(*pid, &status, 0);
  if (raw)
    if (const std::string untried = not_tried(*raw, flags); !untried.empty())
      return fail("canary", fmt::format("the canary could not try {}", untried),
                  "the host, or the sandbox, is short of memory, descriptors, processes, ports or room in /run",
                  EAGAIN);
  if (raw) return judge(*raw, lets_probe_pass(image) && passes_above(kernel, cgroup), flags);
  if (raw.error().sys_errno == ETIME && (cgroup.is_freezing() || cgroup.at_limit())) raw.error().sys_errno = EAGAIN;
  if (raw.error().sys_errno != EIO) return tl::unexpected<Error>(raw.error());
  if (!WIFSIGNALED(status))
    return tl::unexpected<Error>(no_answer(fmt::format(": it ended with exit code {}", WEXITSTATUS(status)), EIO));
  return tl::unexpected<Error>(no_answer(fmt::format(": it was ended by signal {}", WTERMSIG(status)), ECANCELED));
}

}  // namespace

CanaryVerdict canary_verdict(const Hook& hook, int error, std::uint32_t hit) {
  if (error == kUnreachable) return CanaryVerdict::unreachable;
  // A tracepoint refuses nothing: that it saw the canary is its proof. The hooks that correct addresses refuse nothing
  // either: the corrected address is theirs.
  const bool refuses = hook.kind != HookKind::trace && hook.kind != HookKind::dns;
  if (refuses && hit == 0 && is_shortage(error)) return CanaryVerdict::not_run;
  const bool answered = refuses ? error == EPERM || error == EACCES : error == 0;
  return answered && hit == hook.id + 1u ? CanaryVerdict::denied : CanaryVerdict::not_denied;
}

bool CanaryReport::ok() const {
  for (const Hook& hook : proven_of(flags))
    if (hooks[hook.id] != CanaryVerdict::denied && hooks[hook.id] != CanaryVerdict::unreachable) return false;
  return allowed_ok && policy_ok;
}

const char* to_string(CanaryVerdict verdict) {
  switch (verdict) {
    case CanaryVerdict::not_run:
      return "not run";
    case CanaryVerdict::denied:
      return "denied";
    case CanaryVerdict::not_denied:
      return "not denied";
    case CanaryVerdict::unreachable:
      return "unreachable";
  }
  return "unknown";
}

Result<CanaryReport> run_canary(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image,
                                std::uint32_t flags) {
  if (!in_host_pid_namespace())
    return fail("pid_namespace", "sbpf runs in a pid namespace of its own, so its canary cannot be told apart",
                "run sbpf in the host's pid namespace (containers: --pid=host)");
  if (cgroup.is_freezing())
    return fail("canary", "the sandbox is frozen: a canary in it could not run", "thaw it first");
  const auto turn = take_turn(kernel.globals().canary);
  if (!turn) return tl::unexpected<Error>(turn.error());
  auto report = run_in(kernel, cgroup, image, flags);
  // A cgroup that hands controllers down takes no processes itself. And in one that was ever killed by its cgroup.kill,
  // some kernels (6.12) kill whatever clone3 starts in it. A child of it is judged the same.
  if (report || (report.error().sys_errno != EBUSY && report.error().sys_errno != ECANCELED)) return report;
  const std::string path = cgroup.path() + "/sbpf-canary";
  (void)remove_cgroup(path);  // of one that was killed
  auto child = Cgroup::create(path);
  if (!child) return fail(std::move(child.error()), "cannot run the canary");
  report = run_in(kernel, *child, image, flags);
  (void)remove_cgroup(path);
  return report;
}

}  // namespace sbpf::agent
