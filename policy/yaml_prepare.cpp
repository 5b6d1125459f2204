// SPDX-License-Identifier: Apache-2.0
// yaml_prepare OUTPUT FILE...: run by the build; writes the trees of the profiles as C arrays, for yaml_ready.cpp.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "policy/yaml_ready.h"

using namespace sbpf::policy::internal;

namespace {

void add(const YamlNode& node, std::ostream& nodes, std::string& scalars) {
  const bool scalar = node.kind == YamlNode::Kind::scalar;
  nodes << "    {YamlNode::Kind{" << static_cast<int>(node.kind) << "}, " << (node.plain ? "true" : "false") << ", "
        << node.line << ", " << node.column << ", " << (scalar ? node.text.size() : node.items.size()) << "},\n";
  if (scalar) scalars += node.text;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (node.kind == YamlNode::Kind::map) add(node.keys[i], nodes, scalars);
    add(node.items[i], nodes, scalars);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::ofstream out(argv[1]);
  std::string trees = "constexpr ReadyTree kReadyTrees[] = {\n";
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto tree = load_yaml(text, argv[i]);
    if (!tree) {
      std::fprintf(stderr, "yaml_prepare: %s: %s\n", argv[i], tree.error().message.c_str());
      return 1;
    }
    const std::string nodes = "kNodes" + std::to_string(i);
    std::string scalars;
    out << "constexpr ReadyNode " << nodes << "[] = {\n";
    add(*tree, out, scalars);
    out << "};\n";
    trees += "    {\"" + std::filesystem::path(argv[i]).stem().string() + "\", " + nodes + ", R\"sbpf(" + scalars +
             ")sbpf\"},\n";
  }
  out << trees << "};\n";
  out.flush();
  return out ? 0 : 1;
}
