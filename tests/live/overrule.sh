#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs of others that overrule ours, with no link of ours touched: those that run after ours for a cgroup, and those that
# answer in the place of the kernel functions that call our hooks. `sbpf status` names them, and who watches answers.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
overrule=$tests/overrule
isolation() { sbpf status box --json 2>/dev/null | jq -r .isolation; }
why() { sbpf status box --json 2>/dev/null | jq -r '[.degraded[] | .what + ": " + .reason] | join("; ")'; }
box=$cgroots/sbpf/box
frozen() { grep -q 'frozen 1' "$box/cgroup.events"; }
thaw() { echo 0 >"$box/cgroup.freeze"; within 10 grep -q 'frozen 0' "$box/cgroup.events"; }
last() { jq -c 'select(.loss.sandbox == "box") | .loss' "$out" | tail -1; }
losses() { grep -c '"loss":{"sandbox":"box"' "$out"; }
more() { (($(losses) > $1)); }
sound() { [[ $(isolation) == active ]]; }
# foreign COMMAND…: in the background; its program's number is $program
foreign() {
  : >"$tmp/foreign"
  "$overrule" "$@" >"$tmp/foreign" & other=$!
  servers+=($other)
  within 20 test -s "$tmp/foreign"
  read -r error program <"$tmp/foreign"
}
# answered NAME ISOLATION WHAT TEXT
answered() {
  is "$1/status" "$2" "$(isolation)"
  has "$1/status/why" "$4" "$(why)"
  within 10 frozen; is "$1/frozen" 0 $?
  within 10 more "$before"; is "$1/watch" 0 $?
  has "$1/watch/why" "$4" "$(last | jq -r '.hooks[0] + ": " + .reasons[0]')"
}

serve tcp 127.0.0.1 7001
policy guarded >/dev/null <<'P'
version: 1
name: guarded
on_loss: freeze
P
mkfifo "$tmp/ask" "$tmp/answer"
exec 8<>"$tmp/ask" 9<>"$tmp/answer"
sbpf run -q --name box --policy "$tmp/guarded.yaml" -- sh -c "while read -r port; do $probe connect tcp 127.0.0.1 \$port; done" <"$tmp/ask" >"$tmp/answer" 2>"$tmp/box.err" &
supervisor=$!
servers+=($supervisor)
within 120 sound; is start/run 0 $?
asked() { echo "$1" >&8; read -r -t 20 -u 9 got; echo "$got"; }
is start/denied 1 "$(asked 7001)"
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
within 60 grep -q '"sandbox":{"name":"box".*"isolation":"active"' "$out"; is start/watched 0 $?
sleep 2
is start/nothing-lost 0 "$(losses)"

# ---- a program that runs after ours: at the root, at sbpf's own cgroup, at the sandbox's, by a link ----
before=0
foreign link "$cgroots" connect4; is root/control 0 "$error"
answered root degraded later "program overruler (id $program"
has root/status/owner "loaded by uid 0" "$(why)"
within 10 grep -q "ISOLATION LOST: later.*id $program" "$tmp/box.err"; is root/run/why 0 $?
thaw
is root/lifts 0 "$(asked 7001)" # that it was needed
# While that stands another one is answered all the same, by both.
first=$other before=$(losses)
foreign link "$cgroots" sendmsg4; is root/second/control 0 "$error"
within 10 frozen; is root/second/frozen 0 $?
within 10 grep -q "ISOLATION LOST: later.*id $program" "$tmp/box.err"; is root/second/run 0 $?
within 10 more "$before"; is root/second/watch 0 $?
has root/second/watch/why "id $program" "$(last)"
thaw
kill $other $first; wait $other $first 2>/dev/null
within 20 sound; is root/over 0 $?
for place in "$cgroots/sbpf connect4" "$cgroots "{connect6,sendmsg4,sendmsg6,bind4,bind6,sock_create,setsockopt}; do
  thaw
  sleep 1.5
  before=$(losses)
  foreign link $place; is "later/${place##* }/control" 0 "$error"
  answered "later/${place##* }" degraded later "id $program"
  kill $other; wait $other 2>/dev/null
  within 20 sound; is "later/${place##* }/over" 0 $?
done

# ---- one that was there before and overrules ours: nothing starts ----
foreign link "$cgroots" connect4
sbpf run -q --name late --policy "$tmp/guarded.yaml" -- true 2>"$tmp/late.err"; is before/overruler/refused 125 $?
has before/overruler/named "id $program" "$(cat "$tmp/late.err")"
kill $other; wait $other 2>/dev/null

# ---- one for options that was in a cgroup below before `attach` ----
of_before() { sbpf status before --json 2>/dev/null | jq -r "$1"; }
mkdir -p "$cgroots/before/child/deeper"
for below in child child/deeper; do
  name=before/${below////-}
  foreign link "$cgroots/before/$below" setsockopt; is "$name/control" 0 "$error"
  sbpf attach --cgroup "$cgroots/before" --name before --policy "$tmp/guarded.yaml" 2>/dev/null
  is "$name/status" degraded "$(of_before .isolation)"
  has "$name/why" "id $program" "$(of_before '.degraded[] | .what + ": " + .reason')"
  kill $other; wait $other 2>/dev/null
  within 20 eval '[[ $(of_before .isolation) == active ]]'; is "$name/over" 0 $?
  sbpf detach before 2>/dev/null
done
rmdir "$cgroots/before/child/deeper" "$cgroots/before/child" "$cgroots/before"

# ---- at a sandbox's cgroup, and in it, nobody attaches one that would run after ours ----
thaw
mkdir "$box/child" "$cgroots/plain"
for way in link later; do
  for place in "$box "{connect4,connect6,sendmsg4,sendmsg6,setsockopt} "$box/child "{bind4,bind6,sock_create}; do
    name=at/$way/${place##*/}
    foreign "$way" $place; is "${name// /-}" 1 "$error" # EPERM
    kill $other 2>/dev/null; wait $other 2>/dev/null
    foreign "$way" "$cgroots/plain" "${place##* }"; is "${name// /-}/control" 0 "$error"
    kill $other 2>/dev/null; wait $other 2>/dev/null
  done
done
is at/active active "$(isolation)"
rmdir "$box/child" "$cgroots/plain"

# ---- nobody loads or attaches a program that answers in the place of ours ----
foreign modify security_bpf 1; is answer/modify 1 "$error"
is answer/modify/not-even-loaded 0 "$program"
foreign modify security_path_mkdir 0; is answer/modify-harmless 1 "$error"
foreign modify security_inode_listxattr 0; is answer/modify/control "0 loaded" "$error $( ((program > 0)) && echo loaded)"
kill $other; wait $other 2>/dev/null
foreign lsm bpf 0; is answer/lsm 1 "$error"
is answer/lsm/not-even-loaded 0 "$program"
foreign lsm userns_create 0; is answer/lsm-userns 1 "$error"
foreign lsm file_open 0; is answer/lsm/control 0 "$error" # other security modules on BPF go on
kill $other; wait $other 2>/dev/null
mkdir "$cgroots/plain"
for hook in bpf userns_create; do
  foreign lsm-cgroup $hook "$cgroots/plain"; is "answer/lsm-cgroup/$hook" 1 "$error"
  is "answer/lsm-cgroup/$hook/not-even-loaded" 0 "$program"
done
foreign lsm-cgroup file_open "$cgroots/plain"; is answer/lsm-cgroup/control 0 "$error"
kill $other; wait $other 2>/dev/null
rmdir "$cgroots/plain"
# Whatever function calls a hook of ours, by the name that it has in the kernel.
caller_of() {
  case $1 in
    userns_create) echo security_create_user_ns ;;
    bprm_check_security) echo security_bprm_check ;;
    *) echo "security_$1" ;;
  esac
}
callers=()
for hook in $(sbpf status box --json | jq -r '.effective[].hooks[] | select(.kind == "lsm") | .name'); do callers+=("$(caller_of "$hook")"); done
is callers/number 0 "$(((${#callers[@]} < 50)) && echo "${#callers[@]}" || echo 0)"
is callers/refused "" "$("$overrule" callers "${callers[@]}" | grep -v ' 1$')" # EPERM
is callers/control "security_inode_listxattr 0" "$("$overrule" callers security_inode_listxattr)"
is answer/lsm/active active "$(isolation)"
# ---- one that the policy trusts is neither told nor a loss, whoever loads it and when; another one is ----
thaw
foreign link "$cgroots/sbpf" connect4 # its tag says what it does
tag=$(why | grep -o 'tag [0-9a-f]*' | head -1 | cut -d' ' -f2)
kill $other; wait $other 2>/dev/null
is trusted/tag 16 "${#tag}"
thaw
within 20 sound
sed "s/^on_loss.*/&\nnetwork: {trusted_programs: [\"$tag\"]}/" "$tmp/guarded.yaml" >"$tmp/trusting.yaml"
sbpf swap box --policy "$tmp/trusting.yaml" >/dev/null; is trusted/swap 0 $?
thaw
sleep 1.5
before=$(losses)
foreign link "$cgroots/sbpf" connect4; is trusted/came 0 "$error"
sleep 2
is trusted/active "active $before" "$(isolation) $(losses)"
is trusted/lifts 0 "$(asked 7001)"
is trusted/runs-on 1 "$(frozen; echo $?)"
kill $other; wait $other 2>/dev/null
foreign link "$cgroots/sbpf" connect4; is trusted/came-again 0 "$error"
sleep 2
is trusted/active-again "active $before" "$(isolation) $(losses)"
first=$other
foreign bystander-link "$cgroots" connect4; is trusted/other/control 0 "$error"
answered trusted/other degraded later "id $program"
hasnt trusted/other/alone "tag $tag" "$(why)"
bystander=$(why | grep -o 'tag [0-9a-f]*' | head -1 | cut -d' ' -f2)
kill $other $first; wait $other $first 2>/dev/null
thaw
within 20 sound
# One that overrules nothing, or the canaries would tell.
sed "s/\[\"$tag\"\]/[\"$bystander\"]/" "$tmp/trusting.yaml" >"$tmp/bystander.yaml"
sbpf swap box --policy "$tmp/bystander.yaml" >/dev/null; is trusted/few/swap 0 $?
thaw
sleep 1.5
foreign bystander-link "$cgroots/sbpf" connect4; is trusted/few/control 0 "$error"
first=$other first_program=$program
sleep 2
# Whether it is trusted cannot be told, for want of descriptors.
told_lost() { echo "$(losses) $(grep -c 'ISOLATION LOST' "$tmp/box.err")"; }
before=$(told_lost)
for who in watch supervisor; do
  limit=$(prlimit --pid "${!who}" --nofile -o SOFT,HARD --noheadings | xargs | tr ' ' :)
  prlimit --pid "${!who}" --nofile="8:${limit#*:}"
  seen=$(passes_in "$out")
  foreign bystander-link "$cgroots" connect4; is "trusted/few/$who/comes" 0 "$error" # of the same tag
  sleep 4
  # At each 20th pass the watch reads what is the sandbox's own.
  if [[ $who == watch ]]; then within 60 eval '(($(passes_in "$out") > seen + 21))'; is "trusted/few/$who/looked" 0 $?; fi
  is "trusted/few/$who" "$before 1" "$(told_lost) $(frozen; echo $?)"
  kill $other; wait $other 2>/dev/null
  prlimit --pid "${!who}" --nofile="$limit"
  sleep 2
  is "trusted/few/$who/again" "$before 1" "$(told_lost) $(frozen; echo $?)"
done
# Nor is it a loss that the policy trusts it no more: status says so.
sbpf swap box --policy "$tmp/guarded.yaml" >/dev/null; is trusted/swap-back 3 $? # degraded
sleep 2
is trusted/withdrawn "degraded $before 1" "$(isolation) $(told_lost) $(frozen; echo $?)"
has trusted/withdrawn/why "id $first_program" "$(why)"
kill $first; wait $first 2>/dev/null
within 20 sound

# ---- one that was there before and overrules nothing is told, and programs start ----
kill $watch
sbpf kill box 2>/dev/null
is before/bystander/control 0 "$("$overrule" bystander "$cgroots" connect4 | cut -d' ' -f1)"
sbpf run -q --name late --policy "$tmp/guarded.yaml" -- true 2>"$tmp/late.err"; is before/bystander/starts 0 $?
started box -q --policy "$tmp/guarded.yaml" -- sleep infinity </dev/null >/dev/null 2>&1
is before/bystander/status degraded "$(isolation)"
has before/bystander/named "program bystander" "$(why)"
sleep 1.5
is before/bystander/no-loss 1 "$(frozen; echo $?)"

# ---- what a break-glass window lets through; the sandbox is degraded from then on, which is not what is looked at here ----
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
within 60 grep -q '"sandbox":{"name":"box"' "$out"; is glass/watched 0 $?
overruled() { [[ $(why) == *overruled:* ]]; }
open_glass() { sbpf break-glass --reason overrule --for 1m 2>/dev/null; }
close_glass() { sbpf break-glass --close 2>/dev/null; }
open_glass
mkdir "$box/child"
foreign link "$box/child" connect4; is glass/at 0 "$error"
kill $other; wait $other 2>/dev/null
rmdir "$box/child"
# One that was loaded in the window is attached after it.
for how in loaded loaded-link; do
  "$overrule" $how security_bpf "$tmp/prompt" >"$tmp/$how" & servers+=($!)
  within 20 grep -q loaded "$tmp/$how"; is answer/$how/control loaded "$(cat "$tmp/$how")"
done
close_glass
: >"$tmp/prompt"
for how in loaded loaded-link; do
  within 20 eval '(($(wc -l <"$tmp/$how") > 1))'
  is answer/$how 1 "$(tail -1 "$tmp/$how" | cut -d' ' -f1)"
done

# A program that answers in the place of a function that calls our hook is a loss.
for function in security_bpf security_task_setnice security_path_mkdir; do
  thaw
  sleep 1.5
  before=$(losses)
  open_glass
  foreign modify $function 1; is "modify/$function/control" 0 "$error"
  close_glass
  within 10 more "$before"; is "modify/$function/watch" 0 $?
  within 10 frozen; is "modify/$function/frozen" 0 $?
  is "modify/$function/status" inactive "$(isolation)"
  has "modify/$function/status/why" "program modifier (id $program" "$(why)"
  has "modify/$function/status/function" "in the place of $function" "$(why)"
  kill $other; wait $other 2>/dev/null
  within 20 eval '! overruled'; is "modify/$function/over" 0 $?
done
# One of another function is not our business.
thaw
sleep 1.5
before=$(losses)
foreign modify security_inode_listxattr 0; is other/control 0 "$error"
sleep 1.5
is other/no-loss "1 $before" "$(overruled; echo $?) $(losses)"
kill $other $watch

wait $watch 2>/dev/null
clean
is left-behind "" "$(left_behind)"
finish
