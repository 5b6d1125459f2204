# SPDX-License-Identifier: Apache-2.0
# fish completion for sbpf

function __sbpf_sandboxes
    sbpf list 2>/dev/null
end

function __sbpf_policies
    sbpf policy list 2>/dev/null | string replace -r '\s+' \t
    __fish_complete_suffix .yaml
end

# Before a command was given; never once the program of `run` has begun.
function __sbpf_needs_command
    set -l words (commandline -opc)
    test (count $words) -eq 1
end

function __sbpf_using
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv; and not contains -- -- $words
end

complete -c sbpf -f
complete -c sbpf -n __sbpf_needs_command -l version -d 'Print the version'
complete -c sbpf -n __sbpf_needs_command -a run -d 'Run a program in a new sandbox'
complete -c sbpf -n __sbpf_needs_command -a exec -d 'Run another program in a live sandbox'
complete -c sbpf -n __sbpf_needs_command -a learn -d 'Find the policy that a command needs'
complete -c sbpf -n __sbpf_needs_command -a env -d 'Run a program with a policy\'s environment only'
complete -c sbpf -n __sbpf_needs_command -a attach -d 'Put a policy on an existing cgroup'
complete -c sbpf -n __sbpf_needs_command -a origin -d 'Print the original destination of a proxied connection'
complete -c sbpf -n __sbpf_needs_command -a swap -d 'Change the policy of a live sandbox'
complete -c sbpf -n __sbpf_needs_command -a allow -d 'Allow a live sandbox what it was denied'
complete -c sbpf -n __sbpf_needs_command -a reattach -d 'Put an assignment in force again'
complete -c sbpf -n __sbpf_needs_command -a detach -d 'Take the policy off a sandbox'
complete -c sbpf -n __sbpf_needs_command -a kill -d 'Kill every process of a sandbox'
complete -c sbpf -n __sbpf_needs_command -a status -d 'Ask the kernel how a sandbox stands'
complete -c sbpf -n __sbpf_needs_command -a verify -d 'Status, and a canary for each hook'
complete -c sbpf -n __sbpf_needs_command -a list -d 'List the sandboxes'
complete -c sbpf -n __sbpf_needs_command -a events -d 'Show what a sandbox was denied'
complete -c sbpf -n __sbpf_needs_command -a top -d 'Watch all sandboxes'
complete -c sbpf -n '__sbpf_using top' -l interval -x -d 'Seconds between looks'
complete -c sbpf -n '__sbpf_using top' -l once -d 'One look'
complete -c sbpf -n __sbpf_needs_command -a preflight -d 'Find out what this host can enforce'
complete -c sbpf -n __sbpf_needs_command -a explain -d 'Say what a policy decides'
complete -c sbpf -n __sbpf_needs_command -a stage -d 'Copy from an untrusted tree only'
complete -c sbpf -n __sbpf_needs_command -a policy -d 'Check, show and list policies'
complete -c sbpf -n __sbpf_needs_command -a watch -d 'Watch every sandbox, repair losses'
complete -c sbpf -n __sbpf_needs_command -a break-glass -d 'Let root take it down by hand'
complete -c sbpf -n __sbpf_needs_command -a hand-over -d 'Let an upgrade manage the sandboxes'
complete -c sbpf -n __sbpf_needs_command -a upgrade -d 'Put the programs of this one in force'
complete -c sbpf -n __sbpf_needs_command -a unload -d 'Remove the programs from the kernel'
complete -c sbpf -n __sbpf_needs_command -a completion -d 'Print a completion script'

complete -c sbpf -n '__sbpf_using run exec learn env attach swap explain' -s p -l policy -x -a '(__sbpf_policies)' -d Policy
complete -c sbpf -n '__sbpf_using run attach' -s n -l name -x -d 'Name of the sandbox'
complete -c sbpf -n '__sbpf_using run' -s t -l timeout -x -d 'Kill it after this time'
complete -c sbpf -n '__sbpf_using run exec learn' -s u -l user -x -a '(__fish_complete_users)' -d 'Run it as this user'
complete -c sbpf -n '__sbpf_using run exec learn env' -s e -l env -x -d 'Give the program NAME=VALUE, or the NAME of a variable of its own'
complete -c sbpf -n '__sbpf_using run' -l read -r -d 'Let it read this path'
complete -c sbpf -n '__sbpf_using run' -l write -r -d 'Let it write beneath this path'
complete -c sbpf -n '__sbpf_using run' -l connect -x -d 'Let it connect to HOST:PORT'
complete -c sbpf -n '__sbpf_using run learn' -l workspace -x -a '(__fish_complete_directories)' -d 'Have it be /workspace inside'
complete -c sbpf -n '__sbpf_using run' -l status-fd -x -d 'Write status as JSON lines'
complete -c sbpf -n '__sbpf_using run exec learn' -l socket -r -d 'Run through the sbpfd at this socket'
complete -c sbpf -n '__sbpf_using run' -l events -d 'Show each denial as it happens'
complete -c sbpf -n '__sbpf_using run exec' -s q -l quiet -d 'Say nothing about denials'
complete -c sbpf -n '__sbpf_using learn' -l most-runs -x -d 'Give up after so many runs'
complete -c sbpf -n '__sbpf_using learn allow' -s o -l output -r -d 'Write the policy to this file'
complete -c sbpf -n '__sbpf_using allow' -l all -d 'All that is listed'
complete -c sbpf -n '__sbpf_using allow' -s y -l yes -d 'Do not ask'
complete -c sbpf -n '__sbpf_using attach' -s c -l cgroup -x -a '(__fish_complete_directories)' -d 'Cgroup directory'
complete -c sbpf -n '__sbpf_using attach swap' -l evict -d 'End what is open and forbidden'
complete -c sbpf -n '__sbpf_using swap' -l keep-open-files -d 'Let it have open files that are forbidden'
complete -c sbpf -n '__sbpf_using attach' -l keep-open-sockets -d 'Accept forbidden open sockets'
complete -c sbpf -n '__sbpf_using attach' -l keep -d 'Keep the cgroup for what starts there next'
complete -c sbpf -n '__sbpf_using detach' -l all -d 'All sandboxes'
complete -c sbpf -n '__sbpf_using status' -l require -x -a active -d 'Exit with 3 unless it is so'
complete -c sbpf -n '__sbpf_using status' -l show-policy -d 'Print the policy in force'
complete -c sbpf -n '__sbpf_using status' -l short -d 'Only the level, and why it is not active'
complete -c sbpf -n '__sbpf_using events' -l flows -d 'Only connections and datagrams'
complete -c sbpf -n '__sbpf_using events' -l ocsf -d 'One OCSF event a line'
complete -c sbpf -n '__sbpf_using preflight' -l fix -d 'Have the boot loader add bpf'
complete -c sbpf -n '__sbpf_using preflight' -l yes -d 'Do not ask'
complete -c sbpf -n '__sbpf_using break-glass' -l reason -x -d Why
complete -c sbpf -n '__sbpf_using break-glass' -l for -x -d 'How long'
complete -c sbpf -n '__sbpf_using break-glass' -l close -d 'Close the window'
complete -c sbpf -n '__sbpf_using events' -s f -l follow -d 'Go on as it happens'
complete -c sbpf -n '__sbpf_using explain' -l protocol -x -a 'tcp udp' -d Protocol
complete -c sbpf -n '__sbpf_using explain' -a 'connect bind send open create delete rename exec'
complete -c sbpf -n '__sbpf_using explain' -F
complete -c sbpf -n '__sbpf_using attach reattach swap detach kill status verify watch list events preflight explain stage origin' -l json -d 'Print JSON'
complete -c sbpf -n '__sbpf_using reattach' -l if-assigned -d 'No error where nothing is assigned'
complete -c sbpf -n '__sbpf_using exec reattach swap allow detach kill status verify events' -a '(__sbpf_sandboxes)' -d Sandbox
complete -c sbpf -n '__sbpf_using stage' -l root -x -a '(__fish_complete_directories)' -d 'Tree that SRC is beneath'
complete -c sbpf -n '__sbpf_using stage' -l replace -d 'Replace DST, in one step'
complete -c sbpf -n '__sbpf_using stage' -l one-file-system -d 'Refuse what is mounted in the tree'
complete -c sbpf -n '__sbpf_using stage' -l max-bytes -x -d 'Refuse more than this'
complete -c sbpf -n '__sbpf_using stage' -l max-files -x -d 'Refuse more entries'
complete -c sbpf -n '__sbpf_using stage' -F
complete -c sbpf -n '__sbpf_using policy' -a 'check show schema seccomp list'
complete -c sbpf -n '__sbpf_using policy' -F
complete -c sbpf -n '__sbpf_using completion' -a 'bash zsh fish'
