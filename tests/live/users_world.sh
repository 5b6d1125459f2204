# SPDX-License-Identifier: Apache-2.0
# Sourced after lib.sh: sbpfd, and who runs by way of it.
socket=/run/sbpf/api.sock
url=http://sbpf
chmod 755 "$tmp"
readers=$(getent group sbpf | cut -d: -f3)
printf 'limits: {receive_seconds: 3, request_seconds: 240, watch_seconds: 20, runs_per_user: 2}\n' >"$tmp/sbpfd.yaml"
start() {
  sbpfd --config "$tmp/sbpfd.yaml" >>"$tmp/log" 2>&1 &
  daemon=$!
  within 120 curl -sf -o /dev/null --unix-socket $socket $url/healthz
}
# As the package's postinst does.
setcap cap_net_admin,cap_sys_chroot,cap_sys_admin+ep /opt/sbpf/bin/sbpf-enter
as() { setpriv --reuid "$1" --regid "$1" --groups "$2" "${@:3}"; }
user() { as 4242 "$readers" "$@"; }
other() { as 4243 "$readers" "$@"; }
user_sbpf() { user sbpf "$@"; }
exists() { [[ -e $cgroots/sbpf/$1 ]]; }
gone() { ! exists "$1" && ! sbpf list | grep -qx "$1"; }
ended() { ! pgrep -f "$1" >/dev/null; }
