// SPDX-License-Identifier: Apache-2.0
#include "agent/stage/stage_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

#include "agent/host/openat2.h"

namespace sbpf::agent::internal {
namespace {

constexpr mode_t kModeKept = 0777;
constexpr off_t kStep = off_t{8} << 20;  // between two looks at `interrupted`

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return "neither a file nor a directory";
  }
}

tl::unexpected<Error> cannot_write(const std::string& shown) {
  const int error = errno;
  return fail("write_failed", SystemError{error}, "cannot write the copy of {}", shown);
}

tl::unexpected<Error> cannot_read(const std::string& shown) {
  const int error = errno;
  return fail("source_unreadable", SystemError{error}, "cannot read {}", shown);
}

tl::unexpected<Error> changed(const std::string& what) {
  auto failure =
      fail("source_changed", fmt::format("{} while it was copied", what), "try again when nobody writes there");
  failure.value().retryable = true;
  return failure;
}

}  // namespace

LinkForm link_form(std::string_view target, std::size_t depth) {
  if (target.starts_with('/')) return LinkForm::leaves;
  std::size_t ups = 0;
  bool named = false;
  LinkForm form = LinkForm::plain;
  while (!target.empty()) {
    const auto end = std::min(target.find('/'), target.size());
    const std::string_view part = target.substr(0, end);
    target.remove_prefix(std::min(end + 1, target.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..")
      named = true;
    else if (named)
      form = LinkForm::winding;
    else if (++ups > depth)
      return LinkForm::leaves;
  }
  return form;
}

Result<void> Copier::go_on() const {
  if (options_.interrupted && options_.interrupted()) return fail("interrupted", "interrupted; nothing was staged");
  return {};
}

Result<void> Copier::count_entry() {
  if (counts_.files + counts_.directories + counts_.links >= options_.max_entries)
    return fail("too_large",
                fmt::format("{} holds more than {} files and directories", options_.source, options_.max_entries),
                "--max-files raises the limit");
  return go_on();
}

Result<void> Copier::copy_file(int from, int to, const struct stat& info) {
  if (auto counted = count_entry(); !counted) return counted;
  counts_.files++;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > options_.max_bytes - counts_.bytes)
    return fail("too_large", fmt::format("{} holds more than {} bytes", options_.source, options_.max_bytes),
                "--max-bytes raises the limit");
  auto source = reopen_for_reading(from, shown());
  if (!source) return tl::unexpected<Error>(source.error());
  // Its size first: what is not written stays a hole. What is appended from now on is not copied.
  if (::ftruncate(to, info.st_size) != 0) return cannot_write(shown());
  for (off_t at = 0; at < info.st_size;) {
    off_t begin = ::lseek(source->get(), at, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // a hole to the end
    if (begin < 0) begin = at;               // no holes there
    off_t end = ::lseek(source->get(), begin, SEEK_HOLE);
    if (end <= begin || end > info.st_size) end = info.st_size;
    if (begin >= end) break;
    if (auto copied = copy_range(source->get(), to, begin, end); !copied) return copied;
    at = end;
  }
  counts_.bytes += size;
  if (::fchmod(to, info.st_mode & kModeKept) != 0) return cannot_write(shown());
  return {};
}

Result<void> Copier::copy_range(int from, int to, off_t begin, off_t end) {
  for (off_t at = begin; at < end;) {
    if (auto told = go_on(); !told) return told;
    auto copied = copy_some(from, to, at, std::min(end, at + kStep));
    if (!copied) return tl::unexpected<Error>(copied.error());
    if (*copied == 0) return changed(fmt::format("{} became shorter", shown()));
    at += *copied;
  }
  return {};
}

// How many bytes were copied; 0 at the end of the source.
Result<off_t> Copier::copy_some(int from, int to, off_t at, off_t end) {
  if (in_kernel_) {
    off_t in = at, out = at;
    const ssize_t done = ::copy_file_range(from, &in, to, &out, static_cast<std::size_t>(end - at), 0);
    if (done > 0) return off_t{done};
    // Some file systems answer 0 or an error of their own where reading works: reading decides.
    if (done < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) return cannot_write(shown());
    in_kernel_ = false;
  }
  const auto wanted = std::min(buffer_.size(), static_cast<std::size_t>(end - at));
  ssize_t got = 0;
  do got = ::pread(from, buffer_.data(), wanted, at);
  while (got < 0 && errno == EINTR && go_on());
  if (got < 0) return cannot_read(shown());
  for (ssize_t done = 0; done < got;) {
    const ssize_t n = ::pwrite(to, buffer_.data() + done, static_cast<std::size_t>(got - done), at + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cannot_write(shown());
    done += n;
  }
  return off_t{got};
}

Result<void> Copier::copy_tree(int from, int to) {
  if (::fstat(to, &top_) != 0) return cannot_write(shown());
  if (auto counted = count_entry(); !counted) return counted;
  counts_.directories++;
  if (auto copied = copy_directory(from, to, 0); !copied) return copied;
  return check_winding_links(to);
}

Result<void> Copier::copy_directory(int from, int to, std::size_t depth) {
  if (depth >= kStageMaxDepth)
    return fail("too_large", fmt::format("{} is more than {} directories deep", shown(), kStageMaxDepth));
  auto listed = open_beneath(from, ".", O_RDONLY | O_DIRECTORY, 0, shown());
  if (!listed) return tl::unexpected<Error>(listed.error());
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(listed->get()), ::closedir);
  if (!entries) return cannot_read(shown());
  (void)listed->release();
  const std::size_t length = inside_.size();
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr && errno != 0) return cannot_read(shown());
    if (entry == nullptr) return {};
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    inside_ += (inside_.empty() ? "" : "/") + name;
    if (auto copied = copy_entry(::dirfd(entries.get()), to, name, depth); !copied) return copied;
    inside_.resize(length);
  }
}

Result<void> Copier::copy_entry(int from_dir, int to_dir, const std::string& name, std::size_t depth) {
  // A descriptor of the thing itself, a symbolic link included: what it is, is asked of the descriptor.
  auto from =
      open_beneath(from_dir, name, O_PATH | O_NOFOLLOW, options_.one_file_system ? RESOLVE_NO_XDEV : 0, shown());
  if (!from && from.error().code == "no_such_source") return changed(fmt::format("{} went away", shown()));
  if (!from) return tl::unexpected<Error>(from.error());
  struct stat info {};
  if (::fstat(from->get(), &info) != 0) return cannot_read(shown());
  switch (info.st_mode & S_IFMT) {
    case S_IFREG:
      return copy_child_file(from->get(), to_dir, name, info);
    case S_IFDIR:
      return copy_child_directory(from->get(), to_dir, name, info, depth);
    case S_IFLNK:
      return copy_link(from->get(), to_dir, name, depth);
    default:
      return fail("not_regular", fmt::format("{} is {}", shown(), kind_of(info.st_mode)),
                  "only files, directories and symbolic links are staged");
  }
}

Result<void> Copier::copy_child_file(int from, int to_dir, const std::string& name, const struct stat& info) {
  const Fd to(::openat(to_dir, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!to) return cannot_write(shown());
  return copy_file(from, to.get(), info);
}

Result<void> Copier::copy_child_directory(int from, int to_dir, const std::string& name, const struct stat& info,
                                          std::size_t depth) {
  if (info.st_dev == top_.st_dev && info.st_ino == top_.st_ino)
    return fail("destination_in_source",
                fmt::format("the destination lies in {}, which is to be copied", options_.source),
                "stage to a directory outside of it");
  if (auto counted = count_entry(); !counted) return counted;
  counts_.directories++;
  if (::mkdirat(to_dir, name.c_str(), 0700) != 0) return cannot_write(shown());
  const Fd to(::openat(to_dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!to) return cannot_write(shown());
  if (auto copied = copy_directory(from, to.get(), depth + 1); !copied) return copied;
  // Last: it may forbid to write into it.
  if (::fchmod(to.get(), info.st_mode & kModeKept) != 0) return cannot_write(shown());
  return {};
}

Result<void> Copier::copy_link(int from, int to_dir, const std::string& name, std::size_t depth) {
  if (auto counted = count_entry(); !counted) return counted;
  counts_.links++;
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlinkat(from, "", target.data(), target.size() - 1);
  if (length < 0) return cannot_read(shown());
  const LinkForm form = link_form({target.data(), static_cast<std::size_t>(length)}, depth);
  if (form == LinkForm::leaves)
    return fail("path_escape", fmt::format("{} is a symbolic link that leads out of {}", shown(), options_.source),
                "a link inside a staged directory must lead to something in that directory, by a relative path");
  if (form == LinkForm::winding) winding_.push_back(inside_);
  if (::symlinkat(target.data(), to_dir, name.c_str()) != 0) return cannot_write(shown());
  return {};
}

// The kernel follows them, in the copy: nobody changes it any more.
Result<void> Copier::check_winding_links(int top) {
  for (const std::string& link : winding_) {
    const std::string path = options_.source + "/" + link;
    if (open_beneath(top, link, O_PATH, 0, path)) continue;
    return fail("path_escape",
                fmt::format("{} is a symbolic link that leads out of {}, or nowhere", path, options_.source),
                "a link with \"..\" after a name must lead to something in the staged directory");
  }
  return {};
}

}  // namespace sbpf::agent::internal
