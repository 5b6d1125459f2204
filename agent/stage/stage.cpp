// SPDX-License-Identifier: Apache-2.0
#include "agent/stage/stage.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "agent/host/openat2.h"
#include "agent/stage/stage_copy.h"

namespace sbpf::agent {
namespace {

constexpr mode_t kModeKept = 0777;
constexpr int kTries = 100;

// What can be refused by looking at it. Whether symbolic links lead out is the kernel's to say.
Result<void> check_source(const std::string& source) {
  constexpr std::string_view kHint = "SRC is a path relative to the root, of something beneath it";
  if (source.empty()) return fail("path_escape", "SRC is empty", fmt::format("{}; \".\" is all of it", kHint));
  if (source.find('\0') != std::string::npos) return fail("path_escape", "SRC has a NUL in it", std::string(kHint));
  if (source.starts_with('/'))
    return fail("path_escape", fmt::format("SRC is absolute: {}", source), std::string(kHint));
  std::size_t depth = 0;
  for (std::size_t at = 0; at < source.size();) {
    const auto end = std::min(source.find('/', at), source.size());
    const std::string_view part = std::string_view(source).substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..")
      depth++;
    else if (depth-- == 0)
      return fail("path_escape", fmt::format("{} leads out of the root", source), std::string(kHint));
  }
  return {};
}

struct Source {
  Fd fd;  // O_PATH
  struct stat info {};
};

Result<Source> open_source(const StageOptions& options) {
  if (auto good = check_source(options.source); !good) return tl::unexpected<Error>(good.error());
  if (auto available = check_openat2(); !available) return tl::unexpected<Error>(available.error());
  const Fd root(::open(options.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) {
    const int error = errno;
    return fail("no_such_root", SystemError{error, "--root names an existing directory"}, "cannot open the root {}",
                options.root);
  }
  // Without RESOLVE_NO_XDEV first: both of its refusals are the same errno.
  auto opened = open_beneath(root.get(), options.source, O_PATH, 0, options.source);
  if (opened && options.one_file_system)
    opened = open_beneath(root.get(), options.source, O_PATH, RESOLVE_NO_XDEV, options.source);
  if (!opened) return tl::unexpected<Error>(opened.error());
  Source source;
  source.fd = std::move(*opened);
  if (::fstat(source.fd.get(), &source.info) != 0)
    return fail("source_unreadable", SystemError{errno}, "cannot read {}", options.source);
  if (!S_ISREG(source.info.st_mode) && !S_ISDIR(source.info.st_mode))
    return fail("not_regular", fmt::format("{} is neither a file nor a directory", options.source),
                "pipes, sockets and devices are never staged");
  return source;
}

// Where the copy is made, and under which name it appears. What still has a temporary name at the end is removed.
class Target {
 public:
  explicit Target(const StageOptions& options) : options_(options) {}
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() {
    if (!temporary_.empty()) (void)remove_tree(parent_.get(), temporary_);
  }

  // Opens the destination's directory, and refuses early what publish() would refuse.
  Result<void> open();
  // An empty file or directory that nobody else can name, or guess the name of.
  Result<Fd> make_file();
  Result<Fd> make_directory();
  // Gives the copy, complete and synced, its name. Where the rest of what it replaced is, if not all could be removed.
  Result<std::string> publish(int copy);

 private:
  Result<void> rename_in();
  Result<void> take_name(int copy);
  Result<void> sync_parent();
  tl::unexpected<Error> exists() const {
    return fail("destination_exists", fmt::format("{} exists", options_.destination),
                "choose another name, or --replace it in one step", EEXIST);
  }
  tl::unexpected<Error> cannot(const std::string& what) const {
    const int error = errno;
    return fail("write_failed", SystemError{error}, "cannot {} {}", what, options_.destination);
  }
  static std::string random_name();
  bool is_directory(const std::string& name) const {
    struct stat info {};
    return ::fstatat(parent_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
  }

  const StageOptions& options_;
  Fd parent_;
  std::string name_;
  std::string temporary_;  // empty: none
  bool exchanged_ = false;
};

std::string Target::random_name() {
  std::uint64_t number = 0;
  // Short: the destination's own name may already be as long as names can be.
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(::getpid());
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), ".sbpf-stage-%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

Result<void> Target::open() {
  std::string path = options_.destination;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const auto slash = path.rfind('/');
  name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (name_.empty() || name_ == "." || name_ == ".." || path.find('\0') != std::string::npos)
    return fail("usage", fmt::format("DST has no name of its own: '{}'", options_.destination),
                "it is the path of the copy itself, not of the directory to copy into");
  parent_ = Fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent_) {
    const int error = errno;
    return fail("no_such_directory",
                SystemError{error, error == ENOENT ? fmt::format("make it first: mkdir -p {}", directory) : ""},
                "cannot open {}, where the copy goes", directory);
  }
  struct stat info {};
  if (!options_.replace && ::fstatat(parent_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return exists();
  return {};
}

Result<Fd> Target::make_file() {
  Fd file(::openat(parent_.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (file) return file;
  // Not every file system has nameless files.
  for (int attempt = 0; attempt < kTries; attempt++) {
    const std::string name = random_name();
    file = Fd(::openat(parent_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file) temporary_ = name;
    if (file) return file;
    if (errno != EEXIST) break;
  }
  return cannot("create a file beside");
}

Result<Fd> Target::make_directory() {
  for (int attempt = 0; attempt < kTries; attempt++) {
    const std::string name = random_name();
    if (::mkdirat(parent_.get(), name.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      break;
    }
    temporary_ = name;
    Fd made(::openat(parent_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (made) return made;
    break;
  }
  return cannot("create a directory beside");
}

// From the temporary name to the real one.
Result<void> Target::rename_in() {
  const int dir = parent_.get();
  for (int attempt = 0; attempt < kTries; attempt++) {
    if (::renameat2(dir, temporary_.c_str(), dir, name_.c_str(), RENAME_NOREPLACE) == 0) {
      temporary_.clear();
      return {};
    }
    if (errno != EEXIST) return cannot("give the copy the name");
    if (!options_.replace) return exists();
    if (is_directory(name_) && !is_directory(temporary_))
      return fail("destination_exists", fmt::format("{} is a directory, and the copy is a file", options_.destination),
                  "remove it first, or choose another name: a whole tree is not removed for one file", EISDIR);
    if (::renameat2(dir, temporary_.c_str(), dir, name_.c_str(), RENAME_EXCHANGE) == 0) {
      exchanged_ = true;  // the temporary name is the old one's now
      return {};
    }
    if (errno != ENOENT) return cannot("replace");  // else it went away in between
  }
  errno = EBUSY;
  return cannot("replace");
}

Result<void> Target::take_name(int copy) {
  if (!temporary_.empty()) return rename_in();
  // linkat() with a descriptor only takes a privilege; by way of /proc it does not.
  const std::string self = "/proc/self/fd/" + std::to_string(copy);
  std::string name = options_.replace ? random_name() : name_;
  if (::linkat(AT_FDCWD, self.c_str(), parent_.get(), name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    if (errno == EEXIST && !options_.replace) return exists();
    return cannot("give the copy the name");
  }
  if (!options_.replace) return {};
  temporary_ = std::move(name);
  return rename_in();
}

Result<void> Target::sync_parent() {
  // EINVAL: a file system whose directories need no syncing.
  if (::fsync(parent_.get()) == 0 || errno == EINVAL) return {};
  const auto failure = cannot("sync the directory of");
  const int dir = parent_.get();
  // Back to how it was; then the copy has the temporary name, and is removed with it.
  if (exchanged_) {
    if (::renameat2(dir, temporary_.c_str(), dir, name_.c_str(), RENAME_EXCHANGE) != 0) temporary_.clear();
  } else {
    (void)remove_tree(dir, name_);
  }
  return failure;
}

Result<std::string> Target::publish(int copy) {
  if (auto named = take_name(copy); !named) return tl::unexpected<Error>(named.error());
  if (auto synced = sync_parent(); !synced) return tl::unexpected<Error>(synced.error());
  if (!exchanged_) return std::string();
  const std::string old = std::exchange(temporary_, "");
  if (remove_tree(parent_.get(), old) == 0) return std::string();
  return options_.destination.substr(0, options_.destination.find_last_not_of('/') + 1 - name_.size()) + old;
}

}  // namespace

Result<Staged> stage(const StageOptions& options) {
  auto source = open_source(options);
  if (!source) return tl::unexpected<Error>(source.error());
  Target target(options);
  if (auto opened = target.open(); !opened) return tl::unexpected<Error>(opened.error());

  const bool directory = S_ISDIR(source->info.st_mode);
  auto copy = directory ? target.make_directory() : target.make_file();
  if (!copy) return tl::unexpected<Error>(copy.error());
  const auto copier = std::make_unique<internal::Copier>(options);  // with its buffer too large for a stack
  auto copied = directory ? copier->copy_tree(source->fd.get(), copy->get())
                          : copier->copy_file(source->fd.get(), copy->get(), source->info);
  if (!copied) return tl::unexpected<Error>(copied.error());
  if (directory && ::fchmod(copy->get(), source->info.st_mode & kModeKept) != 0)
    return fail("write_failed", SystemError{errno}, "cannot set the mode of the copy");
  // A tree is synced by its file system at once: to sync each small file takes a hundred times as long.
  if ((directory ? ::syncfs(copy->get()) : ::fsync(copy->get())) != 0)
    return fail("write_failed", SystemError{errno}, "cannot sync the copy");
  auto left_over = target.publish(copy->get());
  if (!left_over) return tl::unexpected<Error>(left_over.error());
  Staged staged = copier->counts();
  staged.left_over = std::move(*left_over);
  return staged;
}

}  // namespace sbpf::agent
