# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# The guests of scripts/test: a queue of jobs, each one command on one kernel in a guest of its own, longest first. Sourced by
# scripts/test, whose options and helpers these functions use.

# Seconds after which a job hangs that may take SECONDS of processor time: others run beside it, on a machine that may be slower.
limit_of() { echo $((300 + 4 * $1)); }

# turn: a number that is another one with each commit; always the same where the tree is no repository of git.
turn() { git rev-list --count HEAD 2>/dev/null || echo 0; }

# plan: the jobs, filtered by what was asked for.
plan() {
  local asked=() kernel
  if ((full)); then asked+=(--full); fi
  for kernel in "${kernels[@]}"; do asked+=(--kernel "$kernel"); done
  scripts/results plan tests/vm/plan "$(turn)" --only "$only" "${asked[@]}"
}

# last_words VM_LOG: what the kernel or scripts/vm said of a guest's end, in a line.
last_words() {
  local words
  words=$(grep -aoE '(BUG|Oops|RIP|Kernel panic|Out of memory|general protection|stack segment|error): .*' "$1" |
    awk '!seen[$0]++ && ++n <= 4' | tr '\n\t' '; ') || true
  echo "${words:-it said nothing}"
}

# emulation_failed VM_LOG OPTIONS: whether it is emulation that brought the guest down. With two processors one of them may meet a
# breakpoint that the kernel had removed before, as QEMU runs what it had translated: "Oops: int3". Kernels from 6.16 on, which count
# by processor who is at a breakpoint, meet it most. Any other end of a guest is what a test is there to see.
emulation_failed() { [[ $2 == *--smp* ]] && grep -qa 'Oops: int3:' "$1"; }

# job NUMBER KERNEL OPTIONS SECONDS COMMAND: one guest. Jobs run side by side, so what each finds stays in files of its own,
# $work/job.NUMBER.*, until all are done.
job() {
  local number=$1 kernel=$2 options=$3 budget=$4 command=$5 file=$work/job.$1 label where status attempt took
  local -a words=()
  local cpu_times=$file.cpu
  label=${command//\/opt\/sbpf\/tests\//}
  where="guest $kernel $label"
  # The plan's options are words as a shell reads them: --append "a b" is two. Errors come in whole lines, or a program in the
  # background that writes one in pieces would split a result that comes between them.
  eval "words=($options)"
  words+=(--timeout "$(limit_of "$budget")" -- bash -c "{ $command"$'\n} 2> >(exec grep -a --line-buffered "")')
  for attempt in 1 2; do
    status=0
    timed "$where" scripts/vm "$kernel" "${words[@]}" >"$file.log" 2>"$file.vm" || status=$?
    if ((status != 99 || attempt == 2)) || ! emulation_failed "$file.vm" "$options"; then break; fi
    step "WARNING: $where: emulation brought the guest down (Oops: int3); trying once more"
  done
  scripts/results tally "$file.log" "$where" "$label" "$status" "$(last_words "$file.vm")" >"$file.tally"
  mv "$file.tally" "$file.results"
  took=$(awk -F '\t' '{ all += $2 } END { print all }' "$file.cpu")
  printf '%s\t%s\t%s\n' "$where" "$took" "$budget" >"$file.took"
  step "$where: $(awk -F '\t' '{ n[$1]++ } END { printf "%d passed, %d failed, %d skipped", n["ok"], n["not ok"], n["skip"] }' "$file.results") ($took s)"
  if grep -q '^not ok' "$file.results"; then
    step "$where: failed; alone: scripts/vm $kernel $options -- $command"
    sed 's/^/  | /' "$file.log"
    if ((status == 99)); then sed 's/^/  | /' "$file.vm"; fi
  fi
  # A retried boot is not hidden by its success.
  grep WARNING "$file.vm" || true
}

# make_states: the saved guests that the plan restores. Each is a test of its own: the kernel boots, and all programs load.
make_states() {
  local kernel options number=0
  local -a words=()
  while IFS='|' read -r kernel options <&3; do
    number=$((number + 1))
    results=$work/state.$number.results record 'not ok' "guest $kernel state" "${options// /_}" "no result"
    (
      eval "words=($options)"
      file=$work/state.$number cpu_times=$work/state.$number.cpu results=$work/state.$number.results
      status=0
      timed "guest $kernel $options" scripts/vm "$kernel" "${words[@]}" -- true >"$file.log" 2>&1 3<&- || status=$?
      : >"$results"
      if ((status == 0)); then
        record ok "guest $kernel state" "restored/${options// /_}"
      else
        record 'not ok' "guest $kernel state" "restored/${options// /_}" "see above"
        sed 's/^/  | /' "$file.log"
      fi
      step "guest $kernel $options: saved and restored ($(cut -f2 "$file.cpu") s)"
    ) &
    wait_for_room
  done 3< <(awk -F '|' -v OFS='|' '$2 ~ /--state/ && !seen[$1, $2]++ { print $1, $2 }' "$work/plan" | sort -t '|' -k2,2)
  wait
}

# Hundredths of a second that the processors had nothing to do since the machine began.
idle_time() { awk '/^cpu / { print $5 }' /proc/stat; }

# wait_for_room: until another guest may start. As many as there are processors keep them busy, and one more makes each slower
# than it makes all faster; but some wait most of the time, and then there is room for another. If memory lasts, of which each
# takes up to 4 GiB.
wait_for_room() {
  local running before
  while running=$(jobs -rp | wc -l); ((running >= processors)); do
    before=$(idle_time)
    sleep 1
    if ((running < at_once && $(idle_time) - before >= 50)); then return; fi
  done
}

# guest_images: the kernels of the plan, and the userspace. One that cannot be had makes its jobs fail, each by name; the others
# still run.
guest_images() {
  local kernel
  while read -r kernel <&3; do quiet "kernel $kernel" scripts/kernels "$kernel" || true; done 3< <(cut -d '|' -f1 "$work/plan" | sort -uV)
  quiet rootfs scripts/rootfs || true
  local name
  for name in trixie workloads; do
    if grep -q "userspace $name" "$work/plan"; then quiet "rootfs $name" scripts/rootfs "$name" || true; fi
  done
}

# check_kernels: each that was asked for stands in some line of the plan, or nothing would run and nothing fail.
check_kernels() {
  local kernel known
  known=" $(scripts/results kernels tests/vm/plan | xargs) "
  for kernel in "${kernels[@]}"; do
    [[ $known == *" $kernel "* ]] || die "tests/vm/plan has no kernel $kernel"
  done
}

# fetch_images: in the background, as it waits for the network and the disk more than for a processor.
fetch_images() {
  check_kernels
  plan | sort -t '|' -k3,3nr >"$work/plan"
  if [[ -s $work/plan ]]; then timed "kernels and userspace" guest_images & fi
}

guest_tests() {
  local number=0 kernel options seconds command room
  [[ -s $work/plan ]] || return 0
  build_preset release guest_programs || return 0
  if grep -q 'build/sbpf\.deb:' "$work/plan"; then prepare package scripts/package || return 0; fi
  if grep -q 'build/soak' "$work/plan"; then prepare "programs with sanitizers" scripts/soak --programs || return 0; fi
  step "guests: kernels and userspace"
  wait
  processors=$(nproc)
  at_once=$((processors + 4))
  room=$(awk '/^MemAvailable:/ { print int($2 / 4194304) }' /proc/meminfo)
  if ((room < at_once)); then at_once=$((room > 0 ? room : 1)); fi
  if ((at_once < processors)); then processors=$at_once; fi
  make_states
  step "guests: $(wc -l <"$work/plan") jobs, up to $at_once at once"
  if ((full)) && [[ -z $only ]]; then mutate_job & fi
  while IFS='|' read -r kernel options seconds command <&3; do
    number=$((number + 1))
    # Until it has another result, as when its shell is killed.
    results=$work/job.$number.results record 'not ok' "guest $kernel" "${command// /_}" "no result"
    job "$number" "$kernel" "$options" "$seconds" "$command" 3<&- &
    wait_for_room
  done 3<"$work/plan"
  wait
  # Without a line that restores a state there is no file of that name.
  find "$work" \( -name 'state.*.results' -o -name 'job.*.results' \) -exec cat {} + >>"$results"
  find "$work" \( -name 'state.*.cpu' -o -name 'job.*.cpu' \) -exec cat {} + >>"$cpu_times"
}

# mutate_job: faults put in on purpose, one of the jobs: of those that unit tests kill and those for guests, in turn.
mutate_job() {
  local file=$work/job.mutate kinds=(--guest --host) kind
  kind=${kinds[$(turn) % 2]}
  results=$file.results record 'not ok' check scripts/mutate "no result"
  results=$file.new cpu_times=$file.cpu check scripts/mutate scripts/mutate --sample 20 "$kind" --jobs 1
  step "scripts/mutate: $(results=$file.new summary check)"
  mv "$file.new" "$file.results"
}

# prepare WHAT COMMAND...: what some lines of the plan take along.
prepare() {
  ((build)) || return 0
  step "$1"
  if timed "$1" quiet "$1" "${@:2}"; then return 0; fi
  record 'not ok' build "$1" "cannot be made"
  return 1
}

# where_time_went: processor time by part, the longest jobs, and those beyond the seconds that tests/vm/plan gives them.
where_time_went() {
  local took
  # Of jobs whose shells were killed there is no file of that name.
  mapfile -t took < <(find "$work" -name 'job.*.took')
  scripts/results times "$cpu_times" "${took[@]}" | while IFS= read -r line; do
    if [[ $line == ' '* ]]; then printf '%s\n' "$line"; else step "$line"; fi
  done
}
