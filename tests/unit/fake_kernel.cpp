// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/fake_kernel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "agent/host/paths.h"
#include "agent/kernel/inner_maps.h"
#include "tests/unit/fake_kernel_parts.h"

namespace sbpf::agent {
namespace {

FakeKernel* current = nullptr;

constexpr std::uint32_t kFirstProgram = 1000;  // of hook 0
constexpr std::uint32_t kFirstQuery = 2000;    // of those that no hook runs
constexpr std::uint32_t kFirstOther = 3000;    // of others' programs
constexpr std::uint32_t kTarget = 5000;        // as the first program, of the kernel's function

const std::string kRoot{kPinRoot};

// As sbpf_meta has it.
void copy_digest(const std::string& hex, std::uint8_t (&digest)[32]) {
  for (std::size_t i = 0; i < sizeof digest; i++)
    digest[i] = static_cast<std::uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
}

}  // namespace

FakeKernel* FakeKernel::answering() { return current; }

FakeKernel::FakeKernel() {
  if (current != nullptr) throw std::logic_error("another fake kernel answers");
  current = this;
  set_hooks_present([](const Hook&) { return true; });
  KernelObjects objects;
  const auto opened = [this](const FakeObject& object) { return Fd(static_cast<int>(open(object))); };
  objects.sandboxes =
      opened(make_map(BPF_MAP_TYPE_HASH, sizeof(std::uint64_t), sizeof(sbpf_sandbox), SBPF_MAX_SANDBOXES));
  for (Fd* outer : {&objects.policies, &objects.rings, &objects.host_names})
    *outer =
        opened(make_map(BPF_MAP_TYPE_HASH_OF_MAPS, sizeof(std::uint64_t), sizeof(std::uint32_t), SBPF_MAX_SANDBOXES));
  objects.told = opened(make_map(BPF_MAP_TYPE_HASH, sizeof(std::uint64_t), sizeof(sbpf_told), SBPF_MAX_SANDBOXES));
  objects.compared = opened(make_map(BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(std::uint32_t), sizeof(std::uint32_t), 2));
  objects.cgroup_refs =
      opened(make_map(BPF_MAP_TYPE_CGROUP_STORAGE, sizeof(std::uint64_t), sizeof(sbpf_cgroup_ref), SBPF_MAX_SANDBOXES));
  objects.origins = opened(make_map(BPF_MAP_TYPE_SK_STORAGE, sizeof(int), sizeof(sbpf_origin), 1));
  FakeObject& globals = make_map(BPF_MAP_TYPE_ARRAY, sizeof(std::uint32_t), sizeof(KernelGlobals), 1);
  if (::ftruncate(globals.memory.get(), ::sysconf(_SC_PAGESIZE)) != 0) throw std::runtime_error("no memory");
  objects.globals = opened(globals);
  for (const auto& [name, map] : kMaps) pins_[kRoot + "/maps/" + name] = find((objects.*map).get());
  load_programs(objects);
  kernel_.emplace(std::move(Kernel::of(std::move(objects)).value()));
}

void FakeKernel::load_programs(KernelObjects& objects) {
  for (std::uint32_t i = 0; i < kQueries.size(); i++) {
    FakeObject& program = make('p');
    program.id = kFirstQuery + i;
    objects.queries[i] = Fd(static_cast<int>(open(program)));
    pins_[kRoot + "/programs/" + kQueries[i]] = &program;
  }
  FakeObject& recorded = make_map(BPF_MAP_TYPE_ARRAY, sizeof(std::uint32_t), sizeof(sbpf_meta), SBPF_HOOK_COUNT);
  for (const Hook& hook : all_hooks()) {
    FakeObject& program = make('p');
    program.id = kFirstProgram + hook.id;
    sbpf_meta& meta = objects.recorded[hook.id];
    meta.prog_id = program.id;
    copy_digest(layout_digest(), meta.layout_sha256);
    objects.programs[hook.id] = Fd(static_cast<int>(open(program)));
    pins_[kRoot + "/programs/" + hook.name] = &program;
    if (!hook.per_sandbox()) {
      FakeObject& link = make_link(hook, 1);
      meta.link_id = link.id;
      meta.target = hook.kind == HookKind::lsm ? kTarget + hook.id : hook.kind == HookKind::root ? 1 : 0;
      objects.links[hook.id] = Fd(static_cast<int>(open(link)));
      pins_[kRoot + "/links/" + hook.name] = &link;
    }
    const std::uint32_t key = hook.id;
    recorded.entries[bytes(&key, sizeof key)] = bytes(&meta, sizeof meta);
  }
  objects.meta = Fd(static_cast<int>(open(recorded)));
  pins_[kRoot + "/programs/meta"] = &recorded;
}

FakeKernel::~FakeKernel() { current = nullptr; }

FakeObject& FakeKernel::make(char kind) {
  FakeObject& object = *objects_.emplace_back(std::make_unique<FakeObject>());
  object.kind = kind;
  object.id = static_cast<std::uint32_t>(objects_.size());
  object.memory = Fd(::memfd_create("fake", MFD_CLOEXEC));
  if (!object.memory) throw std::runtime_error("no memory");
  return object;
}

FakeObject& FakeKernel::make_map(bpf_map_type type, std::uint32_t key_size, std::uint32_t value_size,
                                 std::uint32_t max_entries) {
  FakeObject& map = make('m');
  map.type = type;
  map.key_size = key_size;
  map.value_size = value_size;
  map.max_entries = max_entries;
  return map;
}

FakeObject& FakeKernel::make_link(const Hook& hook, std::uint64_t cgroup_id) {
  FakeObject& link = make('l');
  link.link.id = link.id;
  link.link.prog_id = kFirstProgram + hook.id;
  switch (hook.kind) {
    case HookKind::lsm:
      link.link.type = BPF_LINK_TYPE_TRACING;
      link.link.tracing.attach_type = BPF_LSM_MAC;
      link.link.tracing.target_btf_id = kTarget + hook.id;
      break;
    case HookKind::trace:
      link.link.type = BPF_LINK_TYPE_RAW_TRACEPOINT;
      break;
    case HookKind::cgroup:
    case HookKind::dns:
    case HookKind::flows:
    case HookKind::root:
      link.link.type = BPF_LINK_TYPE_CGROUP;
      link.link.cgroup.cgroup_id = cgroup_id;
      link.link.cgroup.attach_type = static_cast<std::uint32_t>(cgroup_attach_type(hook));
      break;
  }
  return link;
}

FakeObject* FakeKernel::find(int fd) {
  struct stat wanted {
  }, one{};
  if (::fstat(fd, &wanted) != 0) return nullptr;
  for (const auto& object : objects_)
    if (::fstat(object->memory.get(), &one) == 0 && one.st_ino == wanted.st_ino && one.st_dev == wanted.st_dev)
      return object.get();
  return nullptr;
}

FakeObject* FakeKernel::by_id(char kind, std::uint32_t id) {
  for (const auto& object : objects_)
    if (object->kind == kind && object->id == id) return object.get();
  return nullptr;
}

FakeObject& FakeKernel::map(int fd) {
  FakeObject* found = find(fd);
  if (found == nullptr || found->kind != 'm') throw std::logic_error("no map");
  return *found;
}

long FakeKernel::open(const FakeObject& object) { return ::fcntl(object.memory.get(), F_DUPFD_CLOEXEC, 3); }

sbpf_sandbox FakeKernel::add_sandbox(std::uint64_t cgroup_id, const std::string& name, std::uint32_t flags) {
  sbpf_sandbox record{};
  record.cgroup_id = cgroup_id;
  record.level = 2;
  record.flags = flags;
  record.created_ns = cgroup_id + 1;
  std::memcpy(record.name, name.data(), std::min(name.size(), sizeof record.name - 1));
  sbpf_cgroup_ref ref{};
  ref.cgroup_id = cgroup_id;
  map(kernel_->sandboxes()).entries[bytes(&cgroup_id, sizeof cgroup_id)] = bytes(&record, sizeof record);
  map(kernel_->cgroup_refs()).entries[bytes(&cgroup_id, sizeof cgroup_id)] = bytes(&ref, sizeof ref);
  for (const Hook& hook : hooks_of(flags))
    if (hook.per_sandbox()) pins_[link_pin(name, hook)] = &make_link(hook, cgroup_id);
  if ((flags & SBPF_SANDBOX_ATTACHED) != 0) kernel_->globals().gate.other_levels |= 1u << record.level;
  return record;
}

// As Documentation/bpf/ringbuf.rst has it: a page of the reader's position, one of the writer's, and the records, each
// behind its length. The second half of the memory goes on where the first ends; here it is memory of its own, which
// does as well.
void FakeKernel::tell(std::uint64_t cgroup_id, const void* event, std::size_t size) {
  FakeObject* ring = map_by_id(inner_map_id(kernel_->rings(), cgroup_id));
  if (ring == nullptr) throw std::logic_error("no ring");
  const off_t page = ::sysconf(_SC_PAGESIZE);
  std::uint64_t written = 0;
  if (::pread(ring->memory.get(), &written, sizeof written, page) != sizeof written) throw std::runtime_error("ring");
  Bytes record(8 + (size + 7) / 8 * 8);
  const auto length = static_cast<std::uint32_t>(size);
  std::memcpy(record.data(), &length, sizeof length);
  std::memcpy(record.data() + 8, event, size);
  const off_t at = 2 * page + static_cast<off_t>(written & (ring->max_entries - 1));
  written += record.size();
  if (::pwrite(ring->memory.get(), record.data(), record.size(), at) != std::ssize(record) ||
      ::pwrite(ring->memory.get(), &written, sizeof written, page) != sizeof written)
    throw std::runtime_error("ring");
}

FakeObject* FakeKernel::link(const sbpf_sandbox& sandbox, const Hook& hook) {
  const auto found = pins_.find(link_pin(sandbox.name, hook));
  return found == pins_.end() ? nullptr : found->second;
}

// ---- bpf(2) ---------------------------------------------------------------------------------------------------------

long FakeKernel::info(const FakeObject& object, const bpf_attr& attr) const {
  const auto give = [&](const auto& info) {
    std::memcpy(writable(attr.info.info), &info, std::min<std::size_t>(attr.info.info_len, sizeof info));
    return 0L;
  };
  if (object.kind == 'l') return give(object.link);
  if (object.kind == 'p') {
    bpf_prog_info asked{};
    std::memcpy(&asked, pointer(attr.info.info), std::min<std::size_t>(attr.info.info_len, sizeof asked));
    bpf_prog_info program{};
    program.id = object.id;
    // Each uses the records and the policies.
    const std::uint32_t used[] = {objects_[0]->id, objects_[1]->id};
    program.nr_map_ids = 2;
    program.map_ids = asked.map_ids;
    if (asked.map_ids != 0 && asked.nr_map_ids >= 2) std::memcpy(writable(asked.map_ids), used, sizeof used);
    return give(program);
  }
  bpf_map_info map{};
  map.id = object.id;
  map.type = object.type;
  map.key_size = object.key_size;
  map.value_size = object.value_size;
  map.max_entries = object.max_entries;
  return give(map);
}

long FakeKernel::of_pins(int command, const bpf_attr& attr) {
  const std::string path = static_cast<const char*>(pointer(attr.pathname));
  if (command == BPF_OBJ_GET) return pins_.contains(path) ? open(*pins_.at(path)) : fails(ENOENT);
  FakeObject* object = find(static_cast<int>(attr.bpf_fd));
  if (object == nullptr) return fails(EBADF);
  return pins_.try_emplace(path, object).second ? 0 : fails(EEXIST);
}

// To a cgroup, as those of the host are there from the beginning; or an iterator.
long FakeKernel::create_link(const bpf_attr& attr) {
  const FakeObject* program = find(static_cast<int>(attr.link_create.prog_fd));
  if (program == nullptr || program->kind != 'p') return fails(EBADF);
  if (program->id >= kFirstQuery) {
    FakeObject& link = make('l');
    link.link.id = link.id;
    link.link.type = BPF_LINK_TYPE_ITER;
    link.link.prog_id = program->id;
    return open(link);
  }
  struct stat cgroup {};
  if (::fstat(static_cast<int>(attr.link_create.target_fd), &cgroup) != 0) return fails(EBADF);
  return open(make_link(all_hooks()[program->id - kFirstProgram], cgroup.st_ino));
}

// The links of cgroups; what else is asked for is not there.
long FakeKernel::create_iterator(const bpf_attr& attr) {
  const FakeObject* link = find(static_cast<int>(attr.iter_create.link_fd));
  if (link == nullptr || link->kind != 'l') return fails(EBADF);
  const int file = ::memfd_create("iterator", MFD_CLOEXEC);
  if (link->link.prog_id != kFirstQuery + static_cast<std::uint32_t>(Query::cgroup_links)) return file;
  for (const auto& [path, object] : pins_) {
    if (object->kind != 'l' || object->link.type != BPF_LINK_TYPE_CGROUP) continue;
    const sbpf_cgroup_link one{object->link.cgroup.cgroup_id, object->id, object->link.prog_id};
    if (::write(file, &one, sizeof one) != sizeof one) throw std::runtime_error("no memory");
  }
  (void)::lseek(file, 0, SEEK_SET);
  return file;
}

void FakeKernel::run_after(const Hook& hook) {
  FakeObject& program = make('p');
  program.id = kFirstOther + program.id;
  later_[static_cast<std::uint32_t>(cgroup_attach_type(hook))].push_back(program.id);
}

// What is in force at a cgroup, in its order: sbpf's own, and then those of the cgroups above.
long FakeKernel::query(bpf_attr& attr) {
  struct stat cgroup {};
  if (::fstat(static_cast<int>(attr.query.target_fd), &cgroup) != 0) return fails(EBADF);
  std::vector<std::uint32_t> ids;
  for (const auto& [path, object] : pins_)
    if (object->kind == 'l' && object->link.type == BPF_LINK_TYPE_CGROUP &&
        object->link.cgroup.cgroup_id == cgroup.st_ino && object->link.cgroup.attach_type == attr.query.attach_type)
      ids.push_back(object->link.prog_id);
  const auto& later = later_[attr.query.attach_type];
  ids.insert(ids.end(), later.begin(), later.end());
  if (attr.query.prog_ids != 0)
    std::copy_n(ids.begin(), std::min<std::size_t>(ids.size(), attr.query.prog_cnt),
                static_cast<std::uint32_t*>(writable(attr.query.prog_ids)));
  attr.query.prog_cnt = static_cast<std::uint32_t>(ids.size());
  return 0;
}

// Of all programs only the one that puts events into the rings of sandboxes.
long FakeKernel::update_link(const bpf_attr& attr) {
  FakeObject* link = find(static_cast<int>(attr.link_update.link_fd));
  const FakeObject* program = find(static_cast<int>(attr.link_update.new_prog_fd));
  if (link == nullptr || program == nullptr) return fails(EBADF);
  link->link.prog_id = program->id;
  return 0;
}

long FakeKernel::run(const bpf_attr& attr) {
  sbpf_announcement told{};
  if (attr.test.ctx_size_in != sizeof told) return fails(EINVAL);
  std::memcpy(&told, pointer(attr.test.ctx_in), sizeof told);
  announced_.push_back(told);
  return 0;
}

long FakeKernel::bpf(int command, bpf_attr& attr) {
  if (command == BPF_PROG_LOAD || command == BPF_BTF_LOAD) return fails(EINVAL);  // what libbpf tries out
  const int call = calls_++;
  if (call == failing_.first) return fails(failing_.second);
  if (const int error = fail_if_ ? fail_if_(command, attr) : 0; error != 0) return fails(error);
  const auto open_by_id = [&](char kind) {
    const FakeObject* found = by_id(kind, attr.map_id);
    return found != nullptr ? open(*found) : fails(ENOENT);
  };
  switch (command) {
    case BPF_MAP_CREATE:
      return create_map(attr);
    case BPF_MAP_LOOKUP_ELEM:
    case BPF_MAP_UPDATE_ELEM:
    case BPF_MAP_DELETE_ELEM:
    case BPF_MAP_GET_NEXT_KEY:
    case BPF_MAP_LOOKUP_BATCH:
    case BPF_MAP_UPDATE_BATCH:
    case BPF_MAP_FREEZE:
      return of_map(command, attr);
    case BPF_OBJ_GET:
    case BPF_OBJ_PIN:
      return of_pins(command, attr);
    case BPF_OBJ_GET_INFO_BY_FD: {
      const FakeObject* object = find(static_cast<int>(attr.info.bpf_fd));
      return object != nullptr ? info(*object, attr) : fails(EBADF);
    }
    case BPF_LINK_CREATE:
      return create_link(attr);
    case BPF_LINK_UPDATE:
      return update_link(attr);
    case BPF_ITER_CREATE:
      return create_iterator(attr);
    case BPF_PROG_QUERY:
      return query(attr);
    case BPF_PROG_TEST_RUN:
      return run(attr);
    case BPF_MAP_GET_FD_BY_ID:
      return open_by_id('m');
    case BPF_PROG_GET_FD_BY_ID:
      return open_by_id('p');
    case BPF_LINK_GET_FD_BY_ID:
      return open_by_id('l');
    default:
      return fails(EINVAL);
  }
}

}  // namespace sbpf::agent
