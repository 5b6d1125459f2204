// SPDX-License-Identifier: Apache-2.0
#include "service/service.h"

#include <grp.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <fmt/core.h>
#include <array>
#include <boost/asio.hpp>
#include <csignal>
#include <filesystem>

#include "base/file.h"
#include "service/log.h"
#include "service/sbpf.h"

namespace sbpf::service {
namespace {

std::string count_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->dump() : "?";
}

constexpr std::chrono::seconds kProofLimit(120), kProofPause(5);  // it may have to load the programs

std::string state_file(const Config& config) {
  return (std::filesystem::path(config.socket).parent_path() / "service.json").string();
}

std::string mounted_cgroups() { return cgroup_root(read_file("/proc/self/mountinfo")); }

}  // namespace

Result<gid_t> group_id(const std::string& name) {
  std::array<char, 65536> space;
  group found{};
  group* result = nullptr;
  if (::getgrnam_r(name.c_str(), &found, space.data(), space.size(), &result) == 0 && result) return found.gr_gid;
  return fail("no_group", fmt::format("there is no group {}", name),
              fmt::format("`groupadd -r {}`, or name another one with `group` in sbpfd.yaml", name));
}

Service::Service(asio::io_context& context, Config config, std::string config_file, bool optional, std::string sbpf)
    : core_{context, config, sbpf, 0, mounted_cgroups(), World(*this), {}, Assignments(state_file(config)),
            nullptr, nullptr},
      api_(core_),
      server_(core_, api_),
      watch_(context, core_.world, std::move(sbpf),
             [this](const std::string& why) {
               core_.metrics.watch_restarted();
               log::error(fmt::format("the watch is started again: {}", why), {{"REASON", why}});
               (void)::sd_notify(0, "STATUS=The watch is being started again.");
             }),
      signals_(context, SIGTERM, SIGINT, SIGHUP),
      config_file_(std::move(config_file)),
      optional_(optional) {}

Result<void> Service::open() {
  if (core_.cgroup_root.empty())
    return fail("no_cgroup2", "cgroup v2 is not mounted", "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
  auto group = group_id(core_.config.group);
  if (!group) return tl::unexpected<Error>(group.error());
  core_.group = *group;
  if (auto opened = server_.open(); !opened) return opened;
  if (auto loaded = core_.assignments.load(); !loaded) log::error("state", loaded.error());
  watch_.set_limit(core_.config.limits.watch);
  return open_policies();
}

Result<void> Service::open_policies() {
  core_.policies = std::make_unique<Policies>(core_.context, core_.sbpf, core_.config.policies);
  core_.directory = std::make_unique<Directory>(core_.context, core_.config.policies, [this] { policies_changed(); });
  return core_.directory->open();
}

void Service::policies_changed() { asio::co_spawn(core_.context, api_.follow_policies(), asio::detached); }

void Service::run() {
  handle_signals();
  asio::co_spawn(core_.context, watch_.run(), [this](std::exception_ptr) { core_.context.stop(); });
  asio::co_spawn(core_.context, prove(), asio::detached);
  asio::co_spawn(core_.context, api_.runs().end_lost(), asio::detached);
  asio::co_spawn(core_.context, server_.run(), asio::detached);
  asio::co_spawn(core_.context, core_.directory->run(), asio::detached);
  core_.context.run();
}

void Service::handle_signals() {
  signals_.async_wait([this](boost::system::error_code error, int number) {
    if (error) return;
    if (number != SIGHUP) return stop();
    reload();
    handle_signals();
  });
}

void Service::stop() {
  (void)::sd_notify(0, "STOPPING=1\nSTATUS=Stopping; sandboxes stay as they are.");
  log::info("stopping; sandboxes stay as they are");
  server_.close();
  core_.directory->close();
  watch_.stop();  // the end of which ends run()
}

void Service::reload() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  (void)::sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
                     static_cast<long long>(now.tv_sec) * 1000000 + now.tv_nsec / 1000);
  auto config = load_config(config_file_, optional_);
  auto group = config ? group_id(config->group) : Result<gid_t>(core_.group);
  if (!config || !group) {
    log::error("the configuration is refused, and what was in force stays", config ? group.error() : config.error());
  } else {
    if (config->socket != core_.config.socket || config->sbpf != core_.config.sbpf)
      log::warning("`socket` and `sbpf` take effect when sbpfd is started again");
    config->socket = core_.config.socket;
    config->sbpf = core_.config.sbpf;
    core_.config = *config;
    core_.group = *group;
    log::set_level(config->log_level);
    watch_.set_limit(config->limits.watch);
    if (auto set = server_.set_group(); !set) log::error("socket", set.error());
    log::info("the configuration was read again");
  }
  if (ready_) (void)::sd_notify(0, "READY=1");
}

asio::awaitable<void> Service::prove() {
  asio::steady_timer timer(core_.context);
  std::string told;
  for (;;) {
    Command command;
    command.arguments = {core_.sbpf, "preflight", "--json"};
    Result<Json> answer = co_await ask(core_.context, std::move(command), kProofLimit);
    const std::optional<Error> why = answer ? failed_check(*answer) : answer.error();
    proven_ = !why;
    if (proven_) co_return;
    if (std::exchange(told, why->message) != why->message)
      log::error("not ready: no canary of a sandbox of its own passed", *why);
    (void)::sd_notifyf(0, "STATUS=Not ready: %s", why->message.c_str());
    timer.expires_after(kProofPause);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void Service::pass(const Json& pass) {
  core_.metrics.pass(pass);
  if (!proven_) return;
  const auto now = Clock::now();
  if (ready_ && now - told_ < std::chrono::seconds(1)) return;
  told_ = now;
  // Only a pass pets the watchdog: a service that verifies nothing is not alive.
  const std::string status =
      fmt::format("{} sandboxes: {} active, {} degraded, {} inactive", count_in(pass, "sandboxes"),
                  count_in(pass, "active"), count_in(pass, "degraded"), count_in(pass, "inactive"));
  (void)::sd_notifyf(0, "%sWATCHDOG=1\nSTATUS=%s", ready_ ? "" : "READY=1\n", status.c_str());
  if (!std::exchange(ready_, true)) become_ready(status);
}

void Service::become_ready(const std::string& status) {
  log::info(fmt::format("ready: {}", status));
  // Policies may have changed, and sandboxes gone, while no service ran.
  const auto assigned = core_.assignments.all();
  for (const auto& [name, one] : assigned)
    if (!core_.world.sandboxes().contains(name)) api_.forget(name);
  policies_changed();
}

void Service::sandbox(const Json& now, const Json& before) {
  core_.metrics.sandbox(now, before);
  const std::string name = text_in(now, "name"), isolation = text_in(now, "isolation"),
                    was = text_in(before, "isolation");
  if (isolation == was) return;
  const log::Fields fields = {{"SANDBOX", name},
                              {"ISOLATION", isolation},
                              {"POLICY", text_in(now, "policy_name")},
                              {"CGROUP", text_in(now, "cgroup")}};
  const std::string message = fmt::format("sandbox {} is {}{}", name, isolation, was.empty() ? "" : ", was " + was);
  isolation == "active" ? log::info(message, fields) : log::error(message, fields);
}

void Service::gone(const std::string& name, const Json& last) {
  core_.metrics.gone(name);
  // It is told of late: one that was attached since bears the name.
  const auto assigned = core_.assignments.all().find(name);
  if (assigned != core_.assignments.all().end() &&
      assigned->second.instance == last.value("instance", std::uint64_t{0}))
    api_.forget(name);
  log::info(fmt::format("sandbox {} is gone", name), {{"SANDBOX", name}});
}

void Service::loss(const Json& loss) {
  core_.metrics.loss(loss);
  log::error(fmt::format("sandbox {} lost a part of its isolation", text_in(loss, "sandbox")),
             {{"SANDBOX", text_in(loss, "sandbox")}, {"ON_LOSS", text_in(loss, "on_loss")}, {"LOSS", dump(loss)}});
}

void Service::restored(const Json& restored) {
  core_.metrics.restored();
  log::warning(fmt::format("sandbox {} has its hooks again", text_in(restored, "sandbox")),
               {{"SANDBOX", text_in(restored, "sandbox")}, {"RESTORED", dump(restored)}});
}

void Service::trouble(const Json& error) {
  log::error("watch", Error{ErrorCode::relayed(text_in(error, "code")), text_in(error, "message"),
                            text_in(error, "hint"), 0, "", false});
}

}  // namespace sbpf::service
