// SPDX-License-Identifier: Apache-2.0
// Events in the classes of OCSF 1.5 (Open Cybersecurity Schema Framework), with its profiles host and security_control.
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/core.h>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/format.h"

namespace sbpf::cli {
namespace {

struct Class {
  int uid;
  const char* name;
};
constexpr Class kFile{1001, "File System Activity"}, kKernel{1003, "Kernel Activity"},
    kProcess{1007, "Process Activity"}, kFinding{2004, "Detection Finding"}, kNetwork{4001, "Network Activity"},
    kDns{4003, "DNS Activity"};

struct Activity {
  Class type;
  int id;
  const char* name;
};

bool is_name(const sbpf_event& raw) {
  return raw.reason >= SBPF_REASON_NAME_ANSWERED && raw.reason <= SBPF_REASON_NAME_FAILED;
}

Activity network_activity(const sbpf_event& raw) {
  switch (raw.reason) {
    case SBPF_REASON_NAME_ANSWERED:
      return {kDns, 2, "Response"};
    case SBPF_REASON_FLOW:
    case SBPF_REASON_FLOW_ACCEPTED:
      return {kNetwork, 1, "Open"};
    case SBPF_REASON_FLOW_ENDED:
      return {kNetwork, 2, "Close"};
    default:
      if (is_name(raw)) return {kDns, 1, "Query"};
      return {kNetwork, 5, "Refuse"};
  }
}

Activity file_activity(const agent::Event& event) {
  if (event.raw.reason == SBPF_REASON_FS_MOUNT) return {kFile, 12, "Mount"};
  return event.wanted.find("write") != std::string::npos ? Activity{kFile, 3, "Update"} : Activity{kFile, 2, "Read"};
}

Activity activity_of(const agent::Event& event) {
  const sbpf_event& raw = event.raw;
  if (raw.reason == SBPF_REASON_BREAK_GLASS || raw.reason == SBPF_REASON_MOVED_OUT ||
      raw.reason == SBPF_REASON_NO_POLICY)
    return {kFinding, 1, "Create"};
  if (raw.reason >= SBPF_REASON_EXEC_RULE && raw.reason <= SBPF_REASON_EXEC_PINNED) return {kProcess, 1, "Launch"};
  switch (raw.domain) {
    case SBPF_DOMAIN_NETWORK:
      return network_activity(raw);
    case SBPF_DOMAIN_FILESYSTEM:
      return file_activity(event);
    default:
      break;
  }
  switch (raw.hook) {
    case SBPF_HOOK_task_kill:
      return {kProcess, 2, "Terminate"};
    case SBPF_HOOK_ptrace_access_check:
    case SBPF_HOOK_ptrace_traceme:
      return {kProcess, 3, "Open"};
    default:
      return {kKernel, 4, "Invoke"};
  }
}

void add_outcome(Json& json, const sbpf_event& raw) {
  struct Outcome {
    int action, disposition, severity, status;
    const char *action_name, *disposition_name, *severity_name, *status_name;
  };
  const Outcome allowed{1, 1, 1, 1, "Allowed", "Allowed", "Informational", "Success"};
  const Outcome denied{2, 2, 2, 2, "Denied", "Blocked", "Low", "Failure"};
  const Outcome audit{3, 15, 2, 1, "Observed", "Detected", "Low", "Success"};
  const Outcome& o = raw.verdict == SBPF_DENY ? denied : raw.verdict == SBPF_AUDIT ? audit : allowed;
  json.update({{"action_id", o.action},
               {"action", o.action_name},
               {"disposition_id", o.disposition},
               {"disposition", o.disposition_name},
               {"severity_id", o.severity},
               {"severity", o.severity_name},
               {"status_id", o.status},
               {"status", o.status_name}});
  if (raw.verdict == SBPF_DENY && raw.sys_errno != 0) {
    json["status_code"] = std::to_string(raw.sys_errno);
    json["status_detail"] = ::strerrorname_np(static_cast<int>(raw.sys_errno));
  }
}

// What it is about, in the words of its class; `ours` is the event as `--json` has it.
void add_object(Json& json, const Activity& activity, const Json& ours, const Json& process) {
  const auto text = [&](const char* key) { return ours.value(key, std::string()); };
  switch (activity.type.uid) {
    case kNetwork.uid:
      json["connection_info"] = {{"direction_id", ours.value("reason", "") == "flow_accepted" ? 1 : 2},
                                 {"protocol_name", text("protocol")}};
      json["dst_endpoint"] = Json::object();
      if (ours.contains("address")) json["dst_endpoint"] = {{"ip", text("address")}, {"port", ours.value("port", 0)}};
      if (ours.contains("name")) json["dst_endpoint"]["hostname"] = text("name");
      if (ours.contains("sent")) json["traffic"] = {{"bytes_out", ours["sent"]}, {"bytes_in", ours["received"]}};
      break;
    case kDns.uid:
      json["query"] = {{"hostname", text("name")}, {"type", std::to_string(ours.value("type", 0))}};
      if (ours.contains("address")) json["answers"] = Json::array({{{"rdata", text("address")}}});
      break;
    case kFile.uid:
      json["file"] = {{"path", text("path")},
                      {"name", text("path").substr(text("path").rfind('/') + 1)},
                      {"type_id", 0},
                      {"type", "Unknown"}};
      break;
    case kProcess.uid:
      json["process"] = ours.contains("target_pid") ? Json{{"pid", ours["target_pid"]}} : process;
      if (ours.contains("path"))
        json["process"]["file"] = {{"path", text("path")},
                                   {"name", text("path").substr(text("path").rfind('/') + 1)},
                                   {"type_id", 1},
                                   {"type", "Regular File"}};
      break;
    case kFinding.uid:
      json["finding_info"] = {{"title", text("text")},
                              {"uid", fmt::format("{} {}", text("sandbox"), number_in(ours, "boot_ns"))}};
      break;
    default:
      json["kernel"] = {{"name", text("hook")}, {"type_id", 2}, {"type", "System Call"}};
  }
}

std::string host_name() {
  char name[256] = {};
  (void)::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

Json event_ocsf(const agent::Event& event, std::int64_t boot_epoch_ns, const std::string& version) {
  const Json ours = event_json(event, boot_epoch_ns);
  const Activity activity = activity_of(event);
  const Json process = {{"pid", ours["pid"]},
                        {"name", ours["comm"]},
                        {"user", {{"uid", std::to_string(event.raw.uid)}}},
                        {"container", {{"name", event.sandbox}}}};
  Json json = {
      {"class_uid", activity.type.uid},
      {"class_name", activity.type.name},
      {"category_uid", activity.type.uid / 1000},
      {"activity_id", activity.id},
      {"activity_name", activity.name},
      {"type_uid", activity.type.uid * 100 + activity.id},
      {"type_name", fmt::format("{}: {}", activity.type.name, activity.name)},
      {"time", (boot_epoch_ns + static_cast<std::int64_t>(event.raw.ts_ns)) / 1'000'000},
      {"message", event.text},
      {"metadata",
       {{"version", "1.5.0"},
        {"profiles", {"host", "security_control"}},
        {"product", {{"name", "sbpf"}, {"vendor_name", "sbpf"}, {"version", version}}}}},
      {"device", {{"hostname", host_name()}, {"type_id", 0}, {"type", "Unknown"}}},
      {"actor", {{"process", process}}},
      {"unmapped", ours},
  };
  add_outcome(json, event.raw);
  add_object(json, activity, ours, process);
  return json;
}

}  // namespace sbpf::cli
