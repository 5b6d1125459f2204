// SPDX-License-Identifier: Apache-2.0
// spdlog's own sink for the journal sends no fields; this one does. Everything is logged from one thread.
#include "service/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/uio.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include <cstdlib>

namespace sbpf::service::log {
namespace {

std::shared_ptr<spdlog::logger> logger;
const Fields* current = nullptr;  // of the message that is being logged

int priority(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return 7;
    case spdlog::level::warn:
      return 4;
    case spdlog::level::err:
      return 3;
    case spdlog::level::critical:
      return 2;
    default:
      return 6;
  }
}

// A program chooses its name and its files' names; none of them forges a second line of the log.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      line += c;
    else if (c == '\n')
      line += " | ";
    else
      line += '?';
  }
  return line;
}

class JournalSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::vector<std::string> texts = {"MESSAGE=" + std::string(message.payload.data(), message.payload.size()),
                                      "PRIORITY=" + std::to_string(priority(message.level)), "SYSLOG_IDENTIFIER=sbpfd"};
    if (current)
      for (const auto& [name, value] : *current) texts.push_back(fmt::format("SBPF_{}={}", name, value));
    std::vector<iovec> parts;
    for (std::string& text : texts) parts.push_back({text.data(), text.size()});
    (void)::sd_journal_sendv(parts.data(), static_cast<int>(parts.size()));
  }
  void flush_() override {}
};

class StderrSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    std::string line(formatted.data(), formatted.size());
    while (line.ends_with('\n')) line.pop_back();
    if (current)
      for (const auto& [name, value] : *current) line += fmt::format(" {}=\"{}\"", name, one_line(value));
    line += '\n';
    (void)std::fwrite(line.data(), 1, line.size(), stderr);
  }
  void flush_() override { (void)std::fflush(stderr); }
};

// $JOURNAL_STREAM names the socket that systemd made; a caller may have sent stderr elsewhere since.
bool stderr_is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat found {};
  if (!stream || ::fstat(STDERR_FILENO, &found) != 0) return false;
  return std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino) == stream;
}

void say(spdlog::level::level_enum level, std::string_view message, const Fields& fields) {
  if (!logger) return;
  current = &fields;
  logger->log(level, "{}", one_line(message));
  current = nullptr;
}

}  // namespace

void open(LogLevel level) {
  spdlog::sink_ptr sink;
  if (stderr_is_journal())
    sink = std::make_shared<JournalSink>();
  else
    sink = std::make_shared<StderrSink>();
  logger = std::make_shared<spdlog::logger>("sbpfd", std::move(sink));
  logger->set_pattern("sbpfd: %l: %v");
  set_level(level);
}

void set_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return logger->set_level(spdlog::level::debug);
    case LogLevel::info:
      return logger->set_level(spdlog::level::info);
    case LogLevel::warning:
      return logger->set_level(spdlog::level::warn);
    case LogLevel::error:
      return logger->set_level(spdlog::level::err);
  }
}

void debug(std::string_view message, const Fields& fields) { say(spdlog::level::debug, message, fields); }
void info(std::string_view message, const Fields& fields) { say(spdlog::level::info, message, fields); }
void warning(std::string_view message, const Fields& fields) { say(spdlog::level::warn, message, fields); }
void error(std::string_view message, const Fields& fields) { say(spdlog::level::err, message, fields); }

void error(std::string_view what, const Error& error, Fields fields) {
  fields.emplace_back("CODE", error.code.str());
  if (!error.hint.empty()) fields.emplace_back("HINT", error.hint);
  log::error(fmt::format("{}: {}", what, error.message), fields);
}

}  // namespace sbpf::service::log
