// SPDX-License-Identifier: Apache-2.0
// sbpfd: `sbpf` as a service. It holds nothing of the kernel's: docs/SERVICE.md says why.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <vector>

#include "agent/host/paths.h"
#include "base/memory.h"
#include "service/log.h"
#include "service/service.h"

namespace sbpf::service {
namespace {

constexpr int kExitOwn = 125;

int tell(const Error& error) {
  std::cerr << "sbpfd: error: " << error.message << "\n";
  if (!error.hint.empty()) std::cerr << "  hint: " << error.hint << "\n";
  return error.code.exit_code();
}

// The executable that an upgrade kept because the programs in the kernel are its own (docs/GUARD.md): as long as they
// are there, the new one could neither watch nor change a sandbox.
std::vector<std::filesystem::path> kept_agents() {
  std::vector<std::filesystem::path> kept;
  std::error_code error;
  if (!std::filesystem::exists(agent::kPinRoot, error)) return kept;
  for (const auto& entry : std::filesystem::directory_iterator(agent::kKeptAgents, error)) kept.push_back(entry.path());
  return kept;
}

// As configured; or one that was kept, or beside this executable, or where the package has it.
Result<std::string> find_sbpf(const Config& config) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::filesystem::path> places{config.sbpf};
  if (config.sbpf.empty()) {
    places = kept_agents();
    places.push_back(own.parent_path() / "sbpf");
    places.push_back(own.parent_path().parent_path() / "bin/sbpf");
  }
  for (const auto& path : places)
    if (!error && ::access(path.c_str(), X_OK) == 0) return path.string();
  return fail("no_sbpf", fmt::format("there is no executable {}", places.back().string()),
              "install sbpf beside sbpfd, or set `sbpf` in sbpfd.yaml");
}

// What still waits in it works on the service, and ends before the service does.
class Context : public asio::io_context {
 public:
  using asio::execution_context::shutdown;
  using asio::io_context::io_context;
};

int run_main(int argc, char** argv) {
  CLI::App app("The sandboxes of this host, watched and served.", "sbpfd");
  std::string file = kConfigFile;
  bool check = false;
  app.set_version_flag("--version", "sbpfd " SBPF_VERSION);
  CLI::Option* named =
      app.add_option("-c,--config", file, fmt::format("Configuration (default: {}, if it is there)", kConfigFile))
          ->type_name("FILE");
  app.add_flag("--check-config", check, "Find everything that is wrong with it, and end; exit code 2 if anything is");
  app.footer(
      "Example:\n  sbpfd --check-config --config ./sbpfd.yaml\n\ndocs/SERVICE.md describes the API and the "
      "configuration.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success) == 0 && std::cout.flush() ? 0 : kExitOwn;
  } catch (const CLI::ParseError& problem) {
    return tell({"invalid_config", problem.what(), "`sbpfd --help`", 0, "", false});
  }
  const bool optional = named->count() == 0;
  auto config = load_config(file, optional);
  if (!config) return tell(config.error());
  if (check) {
    std::cout << file << ": ok\n";
    return std::cout.flush() ? 0 : kExitOwn;
  }
  auto sbpf = find_sbpf(*config);
  if (!sbpf) return tell(sbpf.error());
  keep_memory_small();
  ::umask(022);
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGIO, SIG_IGN);  // of leases: directory.cpp
  log::open(config->log_level);
  Context context(1);
  Service service(context, std::move(*config), file, optional, *sbpf);
  if (auto opened = service.open(); !opened) return tell(opened.error());
  service.run();
  context.shutdown();
  return 0;
}

}  // namespace
}  // namespace sbpf::service

int main(int argc, char** argv) {
  try {
    return sbpf::service::run_main(argc, argv);
  } catch (const std::exception& exception) {
    std::cerr << "sbpfd: error: " << exception.what() << "\n";
    return sbpf::service::kExitOwn;
  }
}
