// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/secrets.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/file.h"

namespace sbpf::agent {
namespace {

using policy::Secret;

constexpr unsigned long kPlaceFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

std::string subject(const Secret& secret) {
  switch (secret.source) {
    case Secret::Source::file:
      return fmt::format("secret {}, file {}", secret.name, secret.from);
    case Secret::Source::credential:
      return fmt::format("secret {}, credential {}", secret.name, secret.from);
    case Secret::Source::standard_input:
      return fmt::format("secret {}, standard input", secret.name);
  }
  return secret.name;
}

tl::unexpected<Error> bad_source(const Secret& secret, const std::string& what, const std::string& hint,
                                 int error = 0) {
  return fail("secret_source", fmt::format("{}: {}", subject(secret), what), hint, error);
}

// Who else may read the file has the secret already; who may write it chooses what the program gets.
Result<void> check_file(const Secret& secret, const Fd& fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return bad_source(secret, std::strerror(errno), "", errno);
  if (!S_ISREG(info.st_mode)) return bad_source(secret, "is not a regular file", "name the file itself");
  if (info.st_uid != 0 && info.st_uid != ::geteuid())
    return bad_source(secret, fmt::format("belongs to uid {}", info.st_uid), fmt::format("chown root {}", path));
  if ((info.st_mode & 077) != 0)
    return bad_source(secret, "can be read or written by others than its owner", fmt::format("chmod 0400 {}", path));
  return {};
}

Result<Fd> open_file(const Secret& secret, const std::string& path, const std::string& hint) {
  // Never a link, which would let who owns it choose the file; never to wait for a FIFO's other end.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ELOOP) return bad_source(secret, "is a symbolic link", "name the file that it leads to", ELOOP);
  if (!fd) return bad_source(secret, std::strerror(errno), hint, errno);
  if (auto good = check_file(secret, fd, path); !good) return tl::unexpected<Error>(good.error());
  return fd;
}

Result<Fd> open_source(const Secret& secret) {
  switch (secret.source) {
    case Secret::Source::file:
      return open_file(secret, secret.from, "put the secret there, with mode 0400, or correct the policy");
    case Secret::Source::credential: {
      const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
      if (directory == nullptr || *directory == '\0')
        return bad_source(secret, "this process has no $CREDENTIALS_DIRECTORY",
                          fmt::format("start sbpf from a systemd unit with LoadCredential={}:…", secret.from));
      return open_file(secret, std::string(directory) + "/" + secret.from,
                       fmt::format("add LoadCredential={}:… to the unit", secret.from));
    }
    case Secret::Source::standard_input: {
      if (::isatty(STDIN_FILENO) == 1) return bad_source(secret, "is a terminal", "pipe the secret in");
      Fd fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
      Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd || !nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0)
        return bad_source(secret, std::strerror(errno), "", errno);
      return fd;
    }
  }
  return bad_source(secret, "has no source", "");
}

Result<LoadedSecret> read_one(const Secret& secret) {
  auto source = open_source(secret);
  if (!source) return tl::unexpected<Error>(source.error());
  auto memory = LockedMemory::make(kMaxSecretBytes + 1);
  if (!memory) return tl::unexpected<Error>(memory.error());
  std::size_t size = 0;
  while (size < memory->size()) {
    const ssize_t n = ::read(source->get(), memory->data() + size, memory->size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return bad_source(secret, std::strerror(errno), "", errno);
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size == 0) return bad_source(secret, "is empty", "put the secret there");
  if (size > kMaxSecretBytes)
    return bad_source(secret, "is larger than 64 KiB", "hand over a key, and what it opens by a file");
  return LoadedSecret{secret.name, secret.form, std::move(*memory), size};
}

tl::unexpected<Error> cannot_keep(const std::string& what) {
  const int error = errno;
  return fail("secret_place", SystemError{error, "sbpf run needs to mount, and to write in /run"}, "{}", what);
}

std::string_view bytes_of(const LoadedSecret& secret) { return {secret.memory.data(), secret.size}; }

// A ramfs: unlike a tmpfs it is never swapped, on any kernel. It ends with the mount namespace.
Result<Fd> mount_directory() {
  const std::string path(policy::kSecretsDirectory);
  const std::string above = path.substr(0, path.rfind('/'));
  for (const std::string& directory : {above, path})
    if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
      return cannot_keep(fmt::format("cannot make {}", directory));
  if (::mount("ramfs", path.c_str(), "ramfs", kPlaceFlags, "mode=0755") != 0)
    return cannot_keep(fmt::format("cannot mount a ramfs on {}", path));
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!directory) return cannot_keep(fmt::format("cannot open {}", path));
  return directory;
}

Result<void> place_file(const Fd& directory, const LoadedSecret& secret, uid_t uid, gid_t gid) {
  Fd file(::openat(directory.get(), secret.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400));
  if (!file || ::fchmod(file.get(), 0400) != 0 || ::fchown(file.get(), uid, gid) != 0 ||
      !write_all(file.get(), bytes_of(secret)))
    return cannot_keep(fmt::format("cannot write the file of secret {}", secret.name));
  return {};
}

Result<Fd> fill_pipe(const LoadedSecret& secret) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot_keep("cannot make a pipe");
  Fd reader(ends[0]), writer(ends[1]);
  if (::fcntl(writer.get(), F_SETPIPE_SZ, static_cast<int>(kMaxSecretBytes)) < 0 ||
      ::fcntl(writer.get(), F_SETFL, O_NONBLOCK) != 0 || !write_all(writer.get(), bytes_of(secret)))
    return cannot_keep(fmt::format("cannot write secret {} to a pipe", secret.name));
  return reader;
}

}  // namespace

Result<LockedMemory> LockedMemory::make(std::size_t size) {
  LockedMemory memory;
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at != MAP_FAILED) {
    memory.data_ = static_cast<char*>(at);
    memory.size_ = size;
    if (::mlock(at, size) == 0 && ::madvise(at, size, MADV_DONTDUMP) == 0 && ::madvise(at, size, MADV_WIPEONFORK) == 0)
      return memory;
  }
  return fail("secret_memory", SystemError{errno, "raise RLIMIT_MEMLOCK, or run sbpf with CAP_IPC_LOCK"},
              "cannot lock memory for secrets");
}

LockedMemory::LockedMemory(LockedMemory&& other) noexcept { *this = std::move(other); }

LockedMemory& LockedMemory::operator=(LockedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

LockedMemory::~LockedMemory() {
  if (data_ == nullptr) return;
  ::explicit_bzero(data_, size_);
  ::munmap(data_, size_);
}

NotDumpable::NotDumpable() : before_(::prctl(PR_GET_DUMPABLE)) { ::prctl(PR_SET_DUMPABLE, 0); }

NotDumpable::~NotDumpable() {
  if (before_ == 1) ::prctl(PR_SET_DUMPABLE, 1);
}

Result<std::vector<LoadedSecret>> read_secrets(const std::vector<Secret>& secrets) {
  std::vector<LoadedSecret> held;
  for (const Secret& secret : secrets) {
    auto one = read_one(secret);
    if (!one) return tl::unexpected<Error>(one.error());
    held.push_back(std::move(*one));
  }
  return held;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): what it was given is wiped when it returns
Result<HandedSecrets> place_secrets(std::vector<LoadedSecret> held, uid_t uid, gid_t gid) {
  HandedSecrets handed;
  Fd directory;
  for (const LoadedSecret& secret : held) {
    if (secret.form == Secret::Form::fd) {
      auto pipe = fill_pipe(secret);
      if (!pipe) return tl::unexpected<Error>(pipe.error());
      handed.env.push_back(secret.name + "_FD=" + std::to_string(pipe->get()));
      handed.fds.push_back(std::move(*pipe));
      continue;
    }
    if (!directory) {
      auto mounted = mount_directory();
      if (!mounted) return tl::unexpected<Error>(mounted.error());
      directory = std::move(*mounted);
    }
    if (auto placed = place_file(directory, secret, uid, gid); !placed) return tl::unexpected<Error>(placed.error());
    handed.env.push_back(fmt::format("{}_FILE={}/{}", secret.name, policy::kSecretsDirectory, secret.name));
  }
  if (directory && ::mount(nullptr, policy::kSecretsDirectory.data(), nullptr,
                           MS_REMOUNT | MS_BIND | MS_RDONLY | kPlaceFlags, nullptr) != 0)
    return cannot_keep("cannot make the place of the secrets read-only");
  return handed;
}

Result<void> refuse_secrets(const policy::Policy& policy, const std::string& command) {
  if (policy.secrets.empty()) return {};
  return fail(
      "secrets_not_handed",
      fmt::format("process.secrets: `sbpf {}` starts no program, so it hands over no secret", command),
      fmt::format(
          "leave secrets to the policy of `sbpf run`; `filesystem: {{read: [{}]}}` keeps readable what was handed over",
          policy::kSecretsDirectory));
}

}  // namespace sbpf::agent
