#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Queues and sockets of a sandbox's own work under the shipped profiles, and lead to nothing outside.
. "$(dirname "$0")/lib.sh"
keep_loaded
ENOENT=2 EACCES=13
mkdir -p /workspace
chmod 1777 /workspace
cp "$here/ipc.py" /workspace/ipc.py
queue() { python3 -IS /workspace/ipc.py "$@" 2>&1; }
is control/make "make 0" "$(queue make /outside)"
is control/find "find 0" "$(queue find /outside)"
bare=$(policy bare <<<$'version: 1\nname: bare\nfilesystem: {default: read, write: [/tmp]}')
is control/without-a-rule "talk $EACCES" "$(sbpf run -q --policy "$bare" -- python3 -IS /workspace/ipc.py talk /own 2>/dev/null)"
# In a cgroup that has the host's queues: by the rule for their place, as any other file.
ruled=$(policy ruled <<<$'version: 1\nname: ruled\nfilesystem: {default: read, write: [/tmp, /dev/mqueue]}')
attached() {
  local cgroup=$cgroots/ipc
  mkdir -p "$cgroup"
  sbpf attach --name attached --policy "$1" --cgroup "$cgroup" >/dev/null 2>&1 || echo "not attached"
  (echo $BASHPID >"$cgroup/cgroup.procs" && queue find /outside)
  sbpf detach attached >/dev/null 2>&1
  rmdir "$cgroup"
}
is attached/without-a-rule "find $EACCES" "$(attached "$bare")"
is attached/with-a-rule "find 0" "$(attached "$ruled")"

for user in 0:0 1000:1000; do
  for profile in untrusted code-interpreter benchmark-task python-dev; do
    case=${user%:*}/$profile
    box() { (cd /workspace && sbpf run -q --user "$user" --policy "$profile" -- "$@" 2>"$tmp/err"); }
    is "$case/queue" "talk 0" "$(box python3 -IS /workspace/ipc.py talk /own)"
    is "$case/queue-outside" "find $ENOENT" "$(box python3 -IS /workspace/ipc.py find /outside)"
    # A server and a client, a socket in /tmp, and what the server reads in order to start.
    has "$case/message-bus" 'string "org.freedesktop.DBus"' "$(box timeout 60 dbus-run-session -- \
      dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames)"
  done
done
# Left behind by one sandbox, it is in no other and not outside.
box python3 -IS /workspace/ipc.py make /left >/dev/null
is left/outside "find $ENOENT" "$(queue find /left)"
is left/next-sandbox "find $ENOENT" "$(box python3 -IS /workspace/ipc.py find /left)"
rm -f /dev/mqueue/outside
finish
