// SPDX-License-Identifier: Apache-2.0
// The service's log: to the journal with fields of their own, or to stderr.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/config.h"

namespace sbpf::service::log {

// Names as the journal wants them (A-Z, 0-9, _); the journal gets them as SBPF_NAME.
using Fields = std::vector<std::pair<std::string, std::string>>;

// To be called once, before anything else here. The journal is used where stderr is connected to it.
void open(LogLevel level);
void set_level(LogLevel level);

void debug(std::string_view message, const Fields& fields = {});
void info(std::string_view message, const Fields& fields = {});
void warning(std::string_view message, const Fields& fields = {});
void error(std::string_view message, const Fields& fields = {});
// The same with the error's code and hint as fields; `what` says what was being done.
void error(std::string_view what, const Error& error, Fields fields = {});

}  // namespace sbpf::service::log
