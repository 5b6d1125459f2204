# SPDX-License-Identifier: Apache-2.0
# bash completion for sbpf

_sbpf_sandboxes() { sbpf list 2>/dev/null; }
_sbpf_policies() { sbpf policy list 2>/dev/null | awk '{print $1}'; }

# What is beneath the root that was given, and any file: the word may be SRC or DST.
_sbpf_sources() {
  local i root=
  for ((i = 2; i < COMP_CWORD; i++)); do [[ ${COMP_WORDS[i]} == --root ]] && root=${COMP_WORDS[i + 1]}; done
  root=${root/#\~/$HOME}
  [[ -n $root ]] && (cd -- "$root" 2>/dev/null && compgen -f -- "$1")
  compgen -f -- "$1"
}

_sbpf() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options= i
  COMPREPLY=()

  if [[ $command == run || $command == exec || $command == learn || $command == env ]]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      if [[ ${COMP_WORDS[i]} == -- ]]; then # from here on it is the program's command line
        if ((i + 1 == COMP_CWORD)); then
          mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        else
          compopt -o default
        fi
        return
      fi
    done
  fi

  case $prev in
    --policy | -p)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -W "$(_sbpf_policies)" -f -- "$cur")
      return
      ;;
    --cgroup | -c)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "${cur:-/sys/fs/cgroup/}")
      return
      ;;
    --require) mapfile -t COMPREPLY < <(compgen -W "active" -- "$cur") && return ;;
    --protocol) mapfile -t COMPREPLY < <(compgen -W "tcp udp" -- "$cur") && return ;;
    --root | --workspace)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      return
      ;;
    --user | -u)
      mapfile -t COMPREPLY < <(compgen -u -- "$cur")
      return
      ;;
    --output | -o)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
      ;;
    --name | --timeout | --most-runs | --env | --status-fd | --max-bytes | --max-files) return ;;
  esac

  if ((COMP_CWORD == 1)); then
    options="run exec learn env attach reattach swap allow detach kill status verify watch top list events preflight explain stage origin policy break-glass
      hand-over upgrade unload completion --help --version"
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    return
  fi

  case $command in
    run) options="--policy --name --timeout --user --env --read --write --connect --workspace --status-fd --socket --events --quiet -- --help" ;;
    exec) options="--policy --user --env --socket --quiet -- --help $(_sbpf_sandboxes)" ;;
    learn) options="--policy --output --most-runs --user --env --workspace --socket -- --help" ;;
    allow) options="--all --output --yes --help $(_sbpf_sandboxes)" ;;
    env) options="--policy --env -- --help" ;;
    attach) options="--cgroup --policy --name --evict --keep-open-sockets --keep --json --help" ;;
    reattach) options="--if-assigned --json --help $(_sbpf_sandboxes)" ;;
    origin) options="--json --help" ;;
    swap) options="--policy --evict --keep-open-files --json --help $(_sbpf_sandboxes)" ;;
    detach) options="--all --json --help $(_sbpf_sandboxes)" ;;
    kill) options="--json --help $(_sbpf_sandboxes)" ;;
    status) options="--require --show-policy --short --json --help $(_sbpf_sandboxes)" ;;
    verify) options="--json --help $(_sbpf_sandboxes)" ;;
    events) options="--follow --flows --json --ocsf --help $(_sbpf_sandboxes)" ;;
    top) options="--interval --once --help" ;;
    list) options="--json --help" ;;
    preflight) options="--json --fix --yes --help" ;;
    explain)
      case $prev in
        open | create | delete | rename | exec) # a path
          compopt -o filenames
          mapfile -t COMPREPLY < <(compgen -f -- "$cur")
          return
          ;;
      esac
      options="--policy --protocol --json --help connect bind send open create delete rename exec"
      ;;
    stage)
      if [[ $cur != -* ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(_sbpf_sources "$cur")
        return
      fi
      options="--root --replace --one-file-system --max-bytes --max-files --json --help"
      ;;
    completion) options="bash zsh fish --help" ;;
    unload) options="--help" ;;
    hand-over)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
      ;;
    watch) options="--json --help" ;;
    break-glass) options="--reason --for --close --help" ;;
    policy)
      if ((COMP_CWORD == 2)); then
        options="check show schema seccomp list --help"
      else
        compopt -o filenames
        [[ ${COMP_WORDS[2]} == show ]] && options=$(_sbpf_policies)
        [[ ${COMP_WORDS[2]} == seccomp ]] && options="default strict"
        mapfile -t COMPREPLY < <(compgen -W "$options" -f -- "$cur")
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
}

complete -F _sbpf sbpf
