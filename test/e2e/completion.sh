#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The completions of shells: bash's is asked what it would offer; what zsh and fish read has to be their language.
. "$(dirname "$0")/lib.sh"

# offers WORD...: what bash offers for the last of these words, in a line
offers() {
    bash -c '
        source docs/completion/nornic.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _nornic
        echo "${COMPREPLY[*]}"' bash nornic "$@" 2>&1
}
# offered NAME WANTED WORD...: that and nothing else; with * at its end that among others
offered() {
    local name=$1 wanted=$2 got
    got=$(offers "${@:3}")
    # shellcheck disable=SC2053 # a pattern
    if [[ $got == $wanted ]]; then ok "$name"; else notok "$name" "'$got' instead of '$wanted'"; fi
}
offered commands "demo help pingpong *" ""
offered a_commands_beginning "pingpong perf ports" p
offered help_takes_commands "rping rdma-client rdma-server replay run" help r
offered commands_of_smc "listen connect service enable disable status stat ladder" smc ""
offered options "--size" perf --si
offered every_command_has_help "--help" header --he
offered options_of_a_command_in_a_command "--watch" smc stat --w
offered what_is_hidden_is_not_offered "" demo --boa
offered a_choice "fetch-add" perf --op f
offered a_choice_behind_an_equal_sign "fetch-add" perf --op = f
offered colours "auto always never" explain --color ""
offered ports "udp: xdp: packet: memory" pingpong --port ""
offered interfaces_of_a_port "lo" pingpong --port xdp : lo
offered interfaces "lo" sniff -i lo
offered files "pcaps/rc_rnr.pcap" verify pcaps/rc_rn
offered files_of_an_option "README.md" smc connect -i READ
offered nothing_for_a_number "" perf --size ""

for shell in bash zsh fish; do
    run "$nornic" help --completion $shell
    if [ $rc = 0 ] && [ -z "$err" ] && [ "$(wc -l <"$tmp/out")" -gt 100 ]; then ok printed_for_$shell
    else notok printed_for_$shell "exit status $rc: $err"; fi
    if ! command -v $shell >/dev/null; then skip language_of_$shell "there is no $shell here"
    elif why=$($shell -n "$tmp/out" 2>&1); then ok language_of_$shell
    else notok language_of_$shell "$why"; fi
done
run "$nornic" help --completion tcsh
if [ $rc = 2 ] && one_sentence "$err" "bash, zsh or fish"; then ok another_shell
else notok another_shell "exit status $rc: $err"; fi
exit $status
