// SPDX-License-Identifier: Apache-2.0
// How --help is laid out: in 80 columns.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace sbpf::cli {

// Commands that take a program after "--", which is cut off before CLI11 sees it.
bool takes_program(std::string_view command);

// The text with its lines broken at blanks, so that none has more than `columns` columns. Lines that follow each other
// are one paragraph; a line that begins with a blank stays as it is.
std::string wrapped(std::string_view text, std::size_t columns);

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace sbpf::cli
