// SPDX-License-Identifier: Apache-2.0
// A kernel for tests: it answers bpf(2) of this process from memory, and fails where a test wants it to. Maps, links
// and programs are there, and pins; no program runs.
#pragma once

#include <linux/bpf.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/kernel/kernel.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {

using Bytes = std::vector<char>;

// A map, a program or a link.
struct FakeObject {
  char kind = 0;  // 'm', 'p', 'l'
  std::uint32_t id = 0;
  Fd memory;  // by its inode a descriptor is known; of a map that is mapped, what it holds
  // Of a map.
  bpf_map_type type = BPF_MAP_TYPE_UNSPEC;
  std::uint32_t key_size = 0, value_size = 0, max_entries = 0;
  bool frozen = false;
  std::map<Bytes, Bytes> entries;  // of a map of maps the numbers of those
  // Of a link.
  bpf_link_info link{};
};

class FakeKernel {
 public:
  // Has sbpf's maps, programs and the links that a host has once, all of them pinned; from here on it answers. One at a
  // time.
  FakeKernel();
  ~FakeKernel();
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  // What sbpf has open of it.
  Kernel& kernel() { return *kernel_; }
  const Kernel& kernel() const { return *kernel_; }

  // The call after `after` others fails with this errno, and those behind it work again.
  void fail_call(int after, int error) { failing_ = {calls_ + after, error}; }
  // Each call for which this says an errno fails with it; 0: works.
  void fail_if(std::function<int(int command, const bpf_attr& attr)> error) { fail_if_ = std::move(error); }
  // Calls since it began.
  int calls() const { return calls_; }
  // Puts an event into a sandbox's ring, as its programs do.
  void tell(std::uint64_t cgroup_id, const void* event, std::size_t size);
  // Has each entry that is written from now on differ from what was given.
  void distort_writes(bool on) { distorts_ = on; }

  // Makes a sandbox as set_up() does: record, storage, and links that are pinned. Its policy is for publish().
  sbpf_sandbox add_sandbox(std::uint64_t cgroup_id, const std::string& name, std::uint32_t flags = 0);
  // The link of a sandbox's hook, to be changed; null: it is not pinned.
  FakeObject* link(const sbpf_sandbox& sandbox, const Hook& hook);
  // That of a hook that the host has once.
  FakeObject& link(const Hook& hook) { return *by_id('l', kernel_->meta(hook.id).link_id); }
  void unpin(const sbpf_sandbox& sandbox, const Hook& hook) { (void)unpin(link_pin(sandbox.name, hook)); }
  // False: there was none.
  bool unpin(const std::string& path) { return pins_.erase(path) == 1; }
  // What is behind a descriptor; null: nothing of the fake's.
  FakeObject* find(int fd);
  // The map behind a descriptor; that of a number; the policy of a sandbox, null if it has none.
  FakeObject& map(int fd);
  FakeObject* map_by_id(std::uint32_t id) { return by_id('m', id); }
  FakeObject* policy_of(std::uint64_t cgroup_id) { return map_by_id(policy_map_id(*kernel_, cgroup_id)); }

  // Has a program of others' run after sbpf's for this hook, at a cgroup above all.
  void run_after(const Hook& hook);
  // What was put into the rings of sandboxes by the agent.
  const std::vector<sbpf_announcement>& announced() const { return announced_; }

  // bpf(2): the result, or -1 and errno.
  long bpf(int command, bpf_attr& attr);
  // The one that answers.
  static FakeKernel* answering();

 private:
  void load_programs(KernelObjects& objects);
  FakeObject& make(char kind);
  FakeObject& make_map(bpf_map_type type, std::uint32_t key_size, std::uint32_t value_size, std::uint32_t max_entries);
  FakeObject& make_link(const Hook& hook, std::uint64_t cgroup_id);
  FakeObject* by_id(char kind, std::uint32_t id);
  static long open(const FakeObject& object);
  long create_map(const bpf_attr& attr);
  long look_up(FakeObject& map, const bpf_attr& attr) const;
  long update(FakeObject& map, const void* key, const void* value, std::uint64_t flags);
  static long remove(FakeObject& map, const bpf_attr& attr);
  static long next_key(const FakeObject& map, const bpf_attr& attr);
  static long look_up_batch(const FakeObject& map, bpf_attr& attr);
  long update_batch(FakeObject& map, bpf_attr& attr);
  long info(const FakeObject& object, const bpf_attr& attr) const;
  long of_map(int command, bpf_attr& attr);
  long of_pins(int command, const bpf_attr& attr);
  long create_link(const bpf_attr& attr);
  long update_link(const bpf_attr& attr);
  long create_iterator(const bpf_attr& attr);
  long query(bpf_attr& attr);
  long run(const bpf_attr& attr);

  std::vector<std::unique_ptr<FakeObject>> objects_;
  std::map<std::string, FakeObject*> pins_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> later_;  // programs of others', by the type of their hook
  std::vector<sbpf_announcement> announced_;
  std::optional<Kernel> kernel_;
  int calls_ = 0;
  std::pair<int, int> failing_{-1, 0};
  std::function<int(int, const bpf_attr&)> fail_if_;
  bool distorts_ = false;
};

}  // namespace sbpf::agent
