// SPDX-License-Identifier: Apache-2.0
#include "policy/yaml_tree.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cstdint>
#include <sstream>

#include "base/utf8.h"

namespace sbpf::policy::internal {
namespace {

// Thrown by the handler, caught in load_yaml: the only way to stop yaml-cpp.
struct Refused {
  Diagnostic diagnostic;
};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (seen_document_)
      refuse(mark, "multiple_documents", "a policy is one YAML document, and a second one starts here",
             "remove the \"---\", or put the second policy into a file of its own");
    seen_document_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "", anchor);
    add(make(YamlNode::Kind::null, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_alias(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    YamlNode node = make(YamlNode::Kind::scalar, mark);
    node.text = value;
    node.plain = tag == "?";  // yaml-cpp's tag of a scalar without quotes; "!" is one with quotes
    if (!node.plain) check_closed(mark);
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  [[noreturn]] void refuse(const YAML::Mark& mark, std::string code, std::string message, std::string hint) const {
    throw Refused{Diagnostic{Location{file_, mark.line + 1, mark.column + 1}, std::move(code), "", std::move(message),
                             std::move(hint)}};
  }
  [[noreturn]] void refuse_alias(const YAML::Mark& mark) const {
    refuse(mark, "alias", "YAML anchors (&) and aliases (*) are not supported in a policy",
           "write the value out where it is used; put a name that starts with * or & into quotes; to share rules, "
           "use extends");
  }
  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != 0) refuse_alias(mark);
    if (!tag.empty() && tag != "?" && tag != "!")
      refuse(mark, "tag", "YAML tags (!) are not supported in a policy",
             "remove the tag; put a text that starts with ! into quotes");
  }

  // yaml-cpp takes the end of the file for a closing quote, so that a file that was cut off could pass for a whole one.
  void check_closed(const YAML::Mark& mark) const {
    auto at = static_cast<std::size_t>(mark.pos);
    const char quote = at < text_.size() ? text_[at] : '\0';
    if (quote == '|' || quote == '>') return;  // a block has no end of its own
    if (quote != '"' && quote != '\'')
      refuse(mark, "tag", "YAML tags (!) are not supported in a policy", "remove the tag");
    for (++at; at < text_.size(); ++at) {
      if (text_[at] == '\\' && quote == '"') {
        ++at;
      } else if (text_[at] == quote) {
        if (quote == '"' || text_.substr(at + 1, 1) != "'") return;
        ++at;
      }
    }
    refuse(mark, "syntax", "not valid YAML: this quote is never closed", "close it");
  }

  static YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }
  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check(mark, tag, anchor);
    if (stack_.size() >= kMaxNesting)
      refuse(mark, "too_deep", fmt::format("more than {} levels of nesting", kMaxNesting), "flatten the policy");
    stack_.push_back(make(kind, mark));
  }
  void close() {
    YamlNode node = std::move(stack_.back());
    stack_.pop_back();
    add(std::move(node));
  }
  void add(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& parent = stack_.back();
    if (parent.kind == YamlNode::Kind::sequence) {
      parent.items.push_back(std::move(node));
    } else if (parent.keys.size() == parent.items.size()) {
      parent.keys.push_back(std::move(node));
    } else {
      if (node.kind == YamlNode::Kind::null) {  // its own place is that of whatever comes next
        node.line = parent.keys.back().line;
        node.column = parent.keys.back().column;
      }
      parent.items.push_back(std::move(node));
    }
  }

  std::string_view text_;
  std::string file_;
  bool seen_document_ = false;
  std::vector<YamlNode> stack_;
  YamlNode root_;
};

// Length of the UTF-8 sequence at `p` that encodes a character YAML allows in a text; 0 if there is none. Control
// characters are refused by hand as well as by YAML's rule: yaml-cpp takes U+0004 for the end of the file.
std::size_t text_character(std::string_view p) {
  const auto [length, c] = utf8_at(p, 0);
  if (c == '\t' || c == '\n' || c == '\r') return length;
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffe || c == 0xffff ? 0 : length;
}

std::optional<Diagnostic> check_text(std::string_view text, std::string_view file) {
  const auto refuse = [file](int line, int column, const char* code, std::string message, std::string hint) {
    return Diagnostic{Location{std::string(file), line, column}, code, "", std::move(message), std::move(hint)};
  };
  if (text.size() > kMaxTextBytes)
    return refuse(1, 1, "too_large", "the policy is larger than 1 MiB", "use wider prefixes or port ranges");
  int line = 1, column = 1;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = text_character(text.substr(i));
    if (length == 0)
      return refuse(line, column, "not_text", "the file is not UTF-8 text, or has a control character here",
                    "save it as UTF-8; in a quoted text, write control characters as escapes such as \\n");
    const bool new_line = text[i] == '\n';
    line += new_line ? 1 : 0;
    column = new_line ? 1 : column + static_cast<int>(length);
    i += length;
  }
  return std::nullopt;
}

}  // namespace

tl::expected<YamlNode, Diagnostic> load_yaml(std::string_view text, std::string_view file) {
  if (auto bad = check_text(text, file)) return tl::unexpected(std::move(*bad));
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  const auto at = [file](int line, int column, const char* code, std::string message, std::string hint) {
    return tl::unexpected(
        Diagnostic{Location{std::string(file), line, column}, code, "", std::move(message), std::move(hint)});
  };
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(text, file);
    if (!parser.HandleNextDocument(builder))
      return at(1, 1, "empty", "the policy is empty", "start with \"version: 1\" and \"name: …\"");
    YamlNode root = builder.take();
    parser.HandleNextDocument(builder);  // there must be none: the builder refuses it
    return root;
  } catch (const Refused& refused) {
    return tl::unexpected(refused.diagnostic);
  } catch (const YAML::DeepRecursion& e) {
    return at(e.mark.line + 1, e.mark.column + 1, "too_deep", "the policy is nested too deeply", "flatten the policy");
  } catch (const YAML::Exception& e) {
    // yaml-cpp quotes single bytes of the text, which need not be whole characters.
    std::string message = e.msg;
    for (char& c : message) c = c < 0x20 || c > 0x7e ? '?' : c;
    return at(e.mark.line + 1, e.mark.column + 1, "syntax", fmt::format("not valid YAML: {}", message),
              "check indentation, quotes and brackets near this place");
  } catch (const std::exception& e) {
    return at(1, 1, "syntax", fmt::format("the YAML parser failed: {}", e.what()), "simplify the file");
  }
}

}  // namespace sbpf::policy::internal
