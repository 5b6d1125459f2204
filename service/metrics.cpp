// SPDX-License-Identifier: Apache-2.0
#include "service/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <map>
#include <string_view>

#include "bpf/hooks.h"

namespace sbpf::service {
namespace {

template <typename T>
using Family = prometheus::Family<T>;
using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

double number_in(const Json& object, const char* key) {
  if (!object.is_object()) return 0;
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string word_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "unknown";
}

// "network" for "connect4", as the table of hooks says.
std::string domain_of(std::string_view hook) {
  std::string domain = "unknown";
  const auto look = [&](std::string_view name, std::string_view of) {
    if (name == hook) domain = of;
  };
#define SBPF_LOOK(id, name, kind, of) look(#name, #of);
  SBPF_HOOKS(SBPF_LOOK)
#undef SBPF_LOOK
  for (char& c : domain) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return domain;
}

// A counter in the kernel starts anew when its sandbox does, under the same name.
double added(double now, double before) { return now >= before ? now - before : now; }

}  // namespace

struct Metrics::Families {
  explicit Families(prometheus::Registry& registry)
      : sandboxes(gauge(registry, "sbpf_sandboxes", "Sandboxes by the state of their isolation")),
        canary_age(gauge(registry, "sbpf_canary_age_seconds",
                         "Of the sandbox that waits longest: since a canary was last denied by each hook")),
        age(gauge(registry, "sbpf_last_verified_age_seconds", "Since every sandbox's hooks were last read back")),
        generation(gauge(registry, "sbpf_policy_generation", "Generation of a sandbox's policy")),
        denied(counter(registry, "sbpf_denied_total", "Operations that were denied")),
        losses(counter(registry, "sbpf_losses_total", "Times that a part of a sandbox's isolation was found missing")),
        restored(counter(registry, "sbpf_restored_total", "Times that all of it was put back")),
        lost(counter(registry, "sbpf_events_lost_total", "Events that nobody got to read")),
        policy_errors(counter(registry, "sbpf_policy_errors_total", "Changed policies that were refused")),
        restarts(counter(registry, "sbpf_watch_restarts_total", "Times that the watch had to be started again")),
        requests(counter(registry, "sbpf_api_requests_total", "Requests by status code")),
        passes(prometheus::BuildHistogram()
                   .Name("sbpf_watch_pass_seconds")
                   .Help("Time that one pass over all sandboxes took")
                   .Register(registry)),
        lateness(prometheus::BuildHistogram()
                     .Name("sbpf_watch_late_seconds")
                     .Help("Time by which a pass began after it was due")
                     .Register(registry)) {
    // Said before they happen, so that an alert on an increase sees the first one.
    for (const char* state : {"active", "degraded", "inactive"}) sandboxes.Add({{"state", state}});
    for (const char* what : {"freeze", "kill", "alert"}) losses.Add({{"on_loss", what}});
    for (const char* why : {"ring_full", "rate_limit"}) lost.Add({{"why", why}});
    restored.Add({});
    policy_errors.Add({});
    restarts.Add({});
    age.Add({});
    canary_age.Add({});
  }

  static Family<Gauge>& gauge(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  static Family<Counter>& counter(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }

  Family<Gauge>&sandboxes, &canary_age, &age, &generation;
  Family<Counter>&denied, &losses, &restored, &lost, &policy_errors, &restarts, &requests;
  Family<Histogram>&passes, &lateness;
  Histogram& pass =
      passes.Add({}, Histogram::BucketBoundaries{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5});
  Histogram& late = lateness.Add({}, Histogram::BucketBoundaries{0.01, 0.1, 0.5, 1, 5, 30});
  std::map<std::string, Gauge*> generations;  // to take them away with their sandboxes
};

Metrics::Metrics()
    : registry_(std::make_unique<prometheus::Registry>()), families_(std::make_unique<Families>(*registry_)) {}
Metrics::~Metrics() = default;

void Metrics::pass(const Json& pass) {
  families_->pass.Observe(number_in(pass, "duration_us") / 1e6);
  families_->late.Observe(number_in(pass, "late_us") / 1e6);
  families_->canary_age.Add({}).Set(number_in(pass, "canary_age_s"));
  for (const char* state : {"active", "degraded", "inactive"})
    families_->sandboxes.Add({{"state", state}}).Set(number_in(pass, state));
}

void Metrics::sandbox(const Json& now, const Json& before) {
  const std::string name = word_in(now, "name");
  Gauge*& generation = families_->generations[name];
  if (!generation) generation = &families_->generation.Add({{"sandbox", name}});
  generation->Set(number_in(now, "generation"));
  for (const auto& [key, why] : {std::pair{"lost_full", "ring_full"}, std::pair{"lost_rate", "rate_limit"}})
    families_->lost.Add({{"why", why}}).Increment(added(number_in(now, key), number_in(before, key)));
  const auto denied = now.find("denied");
  if (denied == now.end() || !denied->is_object()) return;
  const Json nothing = Json::object();
  const Json& old = before.is_object() && before.contains("denied") ? before.at("denied") : nothing;
  for (const auto& [hook, count] : denied->items())
    if (count.is_number())
      families_->denied.Add({{"domain", domain_of(hook)}, {"hook", hook}})
          .Increment(added(count.get<double>(), number_in(old, hook.c_str())));
}

void Metrics::gone(const std::string& name) {
  const auto found = families_->generations.find(name);
  if (found == families_->generations.end()) return;
  families_->generation.Remove(found->second);
  families_->generations.erase(found);
}

void Metrics::loss(const Json& loss) { families_->losses.Add({{"on_loss", word_in(loss, "on_loss")}}).Increment(); }
void Metrics::restored() { families_->restored.Add({}).Increment(); }
void Metrics::policy_error() { families_->policy_errors.Add({}).Increment(); }
void Metrics::watch_restarted() { families_->restarts.Add({}).Increment(); }
void Metrics::request(unsigned status) { families_->requests.Add({{"code", std::to_string(status)}}).Increment(); }

std::string Metrics::text(std::optional<Clock::duration> age) const {
  families_->age.Add({}).Set(age ? std::chrono::duration<double>(*age).count()
                                 : std::numeric_limits<double>::infinity());
  return prometheus::TextSerializer().Serialize(registry_->Collect());
}

}  // namespace sbpf::service
