// SPDX-License-Identifier: Apache-2.0
#include "agent/files/view_codec.h"

#include <nlohmann/json.hpp>

namespace sbpf::agent {
namespace {

using nlohmann::json;

// Names are bytes, not text.
json bytes_of(const std::string& text) { return json::binary({text.begin(), text.end()}); }

std::string text_of(const json& bytes) { return {bytes.get_binary().begin(), bytes.get_binary().end()}; }

json pack_inode(const std::optional<policy::FsInode>& inode) {
  return inode ? json{inode->ino, inode->dev, inode->generation, inode->directory} : json();
}

std::optional<policy::FsInode> unpack_inode(const json& inode) {
  if (inode.is_null()) return std::nullopt;
  return policy::FsInode{inode.at(0), inode.at(1), inode.at(2), inode.at(3)};
}

json pack_path(const policy::FsPath& path) {
  json all = json::array();
  for (const policy::FsComponent& one : path) all.push_back({bytes_of(one.name), pack_inode(one.inode)});
  return all;
}

policy::FsPath unpack_path(const json& all) {
  policy::FsPath path;
  for (const json& one : all) path.push_back({text_of(one.at(0)), unpack_inode(one.at(1))});
  return path;
}

json pack_paths(const std::vector<policy::FsPath>& paths) {
  json all = json::array();
  for (const policy::FsPath& path : paths) all.push_back(pack_path(path));
  return all;
}

std::vector<policy::FsPath> unpack_paths(const json& all) {
  std::vector<policy::FsPath> paths;
  for (const json& path : all) paths.push_back(unpack_path(path));
  return paths;
}

json pack(const policy::FsView& view) {
  json paths = json::array(), links = json::array(), elsewhere = json::array(), private_places = json::array();
  for (const auto& [rule, found] : view.paths) paths.push_back({bytes_of(rule), pack_paths(found)});
  for (const policy::FsLink& link : view.links)
    links.push_back({bytes_of(link.rule), pack_path(link.path), pack_paths(link.aliases), bytes_of(link.target)});
  for (const auto& [path, mounted_at] : view.elsewhere) elsewhere.push_back({pack_path(path), mounted_at});
  for (const auto& [path, hidden] : view.private_places) private_places.push_back({bytes_of(path), pack_inode(hidden)});
  return {{"paths", std::move(paths)},         {"mounts", pack_paths(view.mounts)},
          {"links", std::move(links)},         {"elsewhere", std::move(elsewhere)},
          {"linked", pack_paths(view.linked)}, {"private", std::move(private_places)}};
}

policy::FsView unpack(const json& all) {
  policy::FsView view;
  for (const json& rule : all.at("paths")) view.paths[text_of(rule.at(0))] = unpack_paths(rule.at(1));
  for (const json& link : all.at("links"))
    view.links.push_back({text_of(link.at(0)), unpack_path(link.at(1)), unpack_paths(link.at(2)), text_of(link.at(3))});
  view.mounts = unpack_paths(all.at("mounts"));
  for (const json& place : all.at("elsewhere")) view.elsewhere.push_back({unpack_path(place.at(0)), place.at(1)});
  view.linked = unpack_paths(all.at("linked"));
  for (const json& own : all.at("private")) view.private_places[text_of(own.at(0))] = unpack_inode(own.at(1));
  return view;
}

}  // namespace

std::string packed(const Result<policy::FsView>& view) {
  json all;
  if (view) {
    all = pack(*view);
  } else {
    const Error& error = view.error();
    all = {{"error",
            {bytes_of(error.code.str()), bytes_of(error.message), bytes_of(error.hint), error.sys_errno,
             bytes_of(error.domain), error.retryable}}};
  }
  const auto text = json::to_cbor(all);
  return {text.begin(), text.end()};
}

Result<policy::FsView> unpacked(const std::string& text) {
  try {
    const json all = json::from_cbor(text);
    if (!all.contains("error")) return unpack(all);
    const json& error = all.at("error");
    return tl::unexpected<Error>(Error{ErrorCode::relayed(text_of(error.at(0))), text_of(error.at(1)),
                                       text_of(error.at(2)), error.at(3), text_of(error.at(4)), error.at(5)});
  } catch (const json::exception&) {
    return fail("fs_view", "the answer about the policy's paths is none");
  }
}

}  // namespace sbpf::agent
