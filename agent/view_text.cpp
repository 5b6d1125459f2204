// SPDX-License-Identifier: Apache-2.0
#include "agent/view_text.h"

#include <nlohmann/json.hpp>

namespace sbpf::agent {
namespace {

using nlohmann::json;

// Names are bytes, not text.
json pack_path(const policy::FsPath& path) {
  json all = json::array();
  for (const policy::FsComponent& one : path) {
    json inode;
    if (one.inode) inode = {one.inode->ino, one.inode->dev, one.inode->generation, one.inode->directory};
    all.push_back({json::binary({one.name.begin(), one.name.end()}), std::move(inode)});
  }
  return all;
}

policy::FsPath unpack_path(const json& all) {
  policy::FsPath path;
  for (const json& one : all) {
    const auto& name = one.at(0).get_binary();
    policy::FsComponent component{std::string(name.begin(), name.end()), std::nullopt};
    if (const json& inode = one.at(1); !inode.is_null()) component.inode = policy::FsInode{inode.at(0), inode.at(1), inode.at(2), inode.at(3)};
    path.push_back(std::move(component));
  }
  return path;
}

json pack(const policy::FsView& view) {
  json paths = json::array(), mounts = json::array();
  for (const auto& [rule, found] : view.paths) {
    json each = json::array();
    for (const policy::FsPath& path : found) each.push_back(pack_path(path));
    paths.push_back({json::binary({rule.begin(), rule.end()}), std::move(each)});
  }
  for (const policy::FsPath& path : view.mounts) mounts.push_back(pack_path(path));
  return {{"paths", std::move(paths)}, {"mounts", std::move(mounts)}};
}

policy::FsView unpack(const json& all) {
  policy::FsView view;
  for (const json& rule : all.at("paths")) {
    const auto& name = rule.at(0).get_binary();
    auto& found = view.paths[std::string(name.begin(), name.end())];
    for (const json& path : rule.at(1)) found.push_back(unpack_path(path));
  }
  for (const json& path : all.at("mounts")) view.mounts.push_back(unpack_path(path));
  return view;
}

}  // namespace

std::string packed(const Result<policy::FsView>& view) {
  json all;
  if (view) {
    all = pack(*view);
  } else {
    const Error& error = view.error();
    const auto bytes = [](const std::string& text) { return json::binary({text.begin(), text.end()}); };
    all = {{"error", {bytes(error.code), bytes(error.message), bytes(error.hint), error.sys_errno, bytes(error.domain), error.retryable}}};
  }
  const auto text = json::to_cbor(all);
  return {text.begin(), text.end()};
}

Result<policy::FsView> unpacked(const std::string& text) {
  try {
    const json all = json::from_cbor(text);
    if (!all.contains("error")) return unpack(all);
    const json& error = all.at("error");
    const auto word = [&](std::size_t i) { return std::string(error.at(i).get_binary().begin(), error.at(i).get_binary().end()); };
    return tl::unexpected<Error>(Error{word(0), word(1), word(2), error.at(3), word(4), error.at(5)});
  } catch (const json::exception&) {
    return fail("fs_view", "the answer about the policy's paths is none");
  }
}

}  // namespace sbpf::agent
