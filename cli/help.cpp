// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <sstream>
#include <utility>

namespace sbpf::cli {
namespace {

constexpr std::size_t kColumns = 80, kNameColumns = 28;

// Of UTF-8 the bytes that begin a character.
std::size_t width(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return n;
}

void add_word(std::string& line, const std::string& word, std::size_t columns, std::string& text) {
  if (!line.empty() && width(line) + 1 + width(word) > columns) {
    text += line + "\n";
    line.clear();
  }
  line += (line.empty() ? "" : " ") + word;
}

}  // namespace

bool takes_program(std::string_view command) {
  return command == "run" || command == "exec" || command == "learn" || command == "env";
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::istringstream lines{std::string(text)};
  std::string out, paragraph;
  for (std::string line; std::getline(lines, line);) {
    const bool kept = line.empty() || line.front() == ' ' || line.back() == ':';
    if (kept && !paragraph.empty()) out += std::exchange(paragraph, "") + "\n";
    if (kept) {
      out += line + "\n";
      continue;
    }
    std::istringstream words(line);
    for (std::string word; words >> word;) add_word(paragraph, word, columns, out);
  }
  out += paragraph;
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

HelpFormatter::HelpFormatter() {
  column_width(kNameColumns);
  label("SUBCOMMAND", "COMMAND");
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = CLI::Formatter::make_usage(app, name);
  if (takes_program(app->get_name())) usage.insert(usage.find_last_not_of('\n') + 1, " -- COMMAND [ARG...]");
  return usage;
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrapped(CLI::Formatter::make_description(app), kColumns) + "\n";
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return wrapped(option->get_description(), kColumns - kNameColumns);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  std::ostringstream out;
  CLI::detail::format_help(out, command->get_display_name(true),
                           wrapped(command->get_description(), kColumns - kNameColumns), kNameColumns);
  return out.str();
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const std::string footer = wrapped(CLI::Formatter::make_footer(app), kColumns);
  return footer.empty() ? "" : footer + "\n";
}

}  // namespace sbpf::cli
