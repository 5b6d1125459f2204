// SPDX-License-Identifier: Apache-2.0
// What Prometheus is told. deploy/prometheus and deploy/grafana use these names.
#pragma once

#include <memory>
#include <string>

#include "service/world.h"

namespace prometheus {
class Registry;
}

namespace sbpf::service {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void pass(const Json& pass);
  // Counts what was added since `before` (null: all of it).
  void sandbox(const Json& now, const Json& before);
  void gone(const std::string& name);
  void loss(const Json& loss);
  void restored();
  void policy_error();
  void watch_restarted();
  void request(unsigned status);

  // The text format, with the age as it is now; +Inf without a pass so far.
  std::string text(std::optional<Clock::duration> age) const;

 private:
  struct Families;
  std::unique_ptr<prometheus::Registry> registry_;
  std::unique_ptr<Families> families_;
};

}  // namespace sbpf::service
