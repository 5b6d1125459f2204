// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/open_files.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "agent/host/bpf_info.h"
#include "agent/host/fdinfo.h"
#include "agent/sandbox/open_sockets.h"
#include "agent/sandbox/sandbox.h"
#include "policy/filesystem.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

// The policies that the iterators compare, in their map for as long as this lives.
class Compared {
 public:
  explicit Compared(const Kernel& kernel) : map_(kernel.compared()) {}
  ~Compared() {
    for (const std::uint32_t place : {SBPF_COMPARED_BEFORE, SBPF_COMPARED_AFTER}) bpf_map_delete_elem(map_, &place);
  }
  Compared(const Compared&) = delete;
  Compared& operator=(const Compared&) = delete;

  // Without an image: what a killed agent left there goes. Errors: those of make_policy_map(); "open_files".
  Result<void> put(std::uint32_t place, const policy::Image* image) const {
    if (!image) {
      bpf_map_delete_elem(map_, &place);
      return {};
    }
    const auto policy = make_policy_map(*image);
    if (!policy) return tl::unexpected<Error>(policy.error());
    const int fd = policy->get();
    if (bpf_map_update_elem(map_, &place, &fd, BPF_ANY) == 0) return {};
    return fail("open_files", SystemError{errno}, "cannot ask the kernel what the policy says of files that are open");
  }

 private:
  int map_;
};

std::string who(std::uint32_t task) { return fmt::format("pid {}: ", task); }

// As the process has it in its mount namespace; a name alone does not tell which file it is.
std::string name_of(const sbpf_open_file& file) {
  std::ostringstream link;
  link << "/proc/" << file.task;
  if (file.end == 0)
    link << "/fd/" << file.at;
  else
    link << "/map_files/" << std::hex << file.at << '-' << file.end;
  std::error_code ec;
  std::string name = fs::read_symlink(link.str(), ec).string();
  constexpr std::string_view kDeleted = " (deleted)";
  if (name.ends_with(kDeleted)) name.resize(name.size() - kDeleted.size());
  return ec ? "a file" : name;
}

std::string text_of(const sbpf_open_file& file) {
  const char* use = " for reading";
  if ((file.forbidden & SBPF_FS_WRITE) != 0) use = " for writing";
  if ((file.forbidden & SBPF_FS_EXEC) != 0) use = " to be executed";
  return who(file.task) + name_of(file) + (file.end == 0 ? " open" : " mapped") + use +
         ((file.flags & SBPF_OPEN_FILE_LOST) != 0 ? ", whose name is gone while it has another" : "");
}

// What an io_uring of the task's keeps, which no iterator passes. Without another policy before, descriptors are for
// find_open_sockets().
void add_registered(pid_t task, bool with_descriptors, std::set<std::string>& held) {
  const std::string proc = "/proc/" + std::to_string(task) + "/", whose = who(static_cast<std::uint32_t>(task));
  for (const std::string& number : names_in(proc + "fd")) {
    std::error_code ec;
    if (fs::read_symlink(proc + "fd/" + number, ec) != "anon_inode:[io_uring]") continue;
    const std::string fdinfo = read_fdinfo(proc + "fdinfo/" + number).value_or("");
    // A kernel may leave the lines out while somebody uses the ring.
    if (with_descriptors && fdinfo_number(fdinfo, "UserFiles:") != 0)
      held.insert(fmt::format("{}descriptors that are registered with an io_uring", whose));
    if (fdinfo_number(fdinfo, "UserBufs:") != 0)
      held.insert(fmt::format("{}memory that is registered with an io_uring", whose));
  }
}

// What the kernel side says of a process's files.
Result<std::vector<sbpf_open_file>> held_by(const Kernel& kernel, pid_t pid) {
  std::vector<sbpf_open_file> all;
  for (const Query what : {Query::open_files, Query::mapped_files}) {
    bpf_iter_link_info process{};
    process.task.pid = static_cast<std::uint32_t>(pid);
    auto files = read_records<sbpf_open_file>(kernel.query(what), &process, "open_files", "the files of a process");
    if (!files && files.error().sys_errno == ESRCH) continue;  // it has ended
    if (!files) return tl::unexpected<Error>(files.error());
    all.insert(all.end(), files->begin(), files->end());
  }
  return all;
}

}  // namespace

Result<OpenFiles> forbidden_files(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& after,
                                  const policy::Image* before) {
  OpenFiles all;
  if ((after.header().flags & SBPF_POLICY_PATHS) == 0) return all;
  auto pids = cgroup.processes();
  if (!pids) return tl::unexpected<Error>(pids.error());
  Compared compared(kernel);
  if (auto put = compared.put(SBPF_COMPARED_BEFORE, before); !put) return tl::unexpected<Error>(put.error());
  if (auto put = compared.put(SBPF_COMPARED_AFTER, &after); !put) return tl::unexpected<Error>(put.error());
  const bool changes = !before || policy::image_sha256(before->entries) != policy::image_sha256(after.entries);
  for (const pid_t pid : *pids) {
    auto files = held_by(kernel, pid);
    if (!files) return tl::unexpected<Error>(files.error());
    std::set<std::string> texts;
    for (const sbpf_open_file& file : *files) texts.insert(text_of(file));
    if (changes)
      for (const pid_t task : tasks_with_descriptors(pid)) add_registered(task, before != nullptr, texts);
    if (!texts.empty()) all.holders.insert(pid);
    all.files.insert(all.files.end(), texts.begin(), texts.end());
  }
  return all;
}

Result<std::set<std::uint64_t>> renamed_files(const Kernel& kernel, const Cgroup& cgroup,
                                              const policy::Policy& policy) {
  std::set<std::uint64_t> numbers;
  if (!policy::has_paths(policy)) return numbers;
  auto pids = cgroup.processes();
  if (!pids) return tl::unexpected<Error>(pids.error());
  // Without a policy all are told.
  Compared compared(kernel);
  for (const std::uint32_t place : {SBPF_COMPARED_BEFORE, SBPF_COMPARED_AFTER}) (void)compared.put(place, nullptr);
  for (const pid_t pid : *pids) {
    auto files = held_by(kernel, pid);
    if (!files) return tl::unexpected<Error>(files.error());
    for (const sbpf_open_file& file : *files)
      if ((file.flags & SBPF_OPEN_FILE_LOST) != 0) numbers.insert(file.ino);
  }
  return numbers;
}

}  // namespace sbpf::agent
