#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The front of the command: what is the same for all of them.
# alone: it opens a port at lo of the machine, where no udp port may be, and asks its name server
. "$(dirname "$0")/lib.sh"

# says NAME STATUS PATTERN WORD...: that exit status and one sentence on standard error
says() {
    local name=$1 wanted=$2 pattern=$3
    run "$nornic" "${@:4}"
    if [ $rc = "$wanted" ] && one_sentence "$err" "$pattern"; then ok "$name"
    else notok "$name" "exit status $rc: $out $err"; fi
}
says unknown_command 2 "no command 'frob'" frob
says unknown_command_to_help 2 "no command 'frob'" help frob
says no_command_of_smc 2 "say what: listen, connect, service, enable, disable, status, stat or ladder" smc
says unknown_command_of_smc 2 "there is no \`nornic smc frob\`" smc frob
run "$nornic"
if [ $rc = 2 ] && [ -z "$out" ] && [[ $err == "Usage: nornic COMMAND"* ]]; then ok no_command
else notok no_command "exit status $rc: $out $err"; fi

# help is heard wherever it stands, and before what is wrong
mapfile -t commands < <("$nornic" help | sed -nE 's/^  ([a-z-]+) .*/\1/p')
for command in "${commands[@]}" "smc listen" "smc connect" "smc service" "smc stat" "smc ladder"; do
    run "$nornic" help $command
    text=$out
    # shellcheck disable=SC2086 # a command in two words
    run "$nornic" $command --frob word --help
    [ "$command" != smc ] || run "$nornic" smc --help
    if [ $rc = 0 ] && [ -z "$err" ] && [ "$out" = "$text" ] && [[ $out == "Usage: nornic $command"* ]] &&
        [ -z "$(grep -E '.{121}' "$tmp/out")" ]; then ok "help_of_${command// /_}"
    else notok "help_of_${command// /_}" "exit status $rc: $err $(head -3 "$tmp/out")"; fi
done

# what cannot be written is an error that says why
for words in "help" "help perf" "perf --port memory -n 10 -w 0" "header bth" "verify pcaps/rc_rnr.pcap" \
    "explain pcaps/rc_rnr.pcap" "pingpong --port memory -n 10" "smc stat --help" "--version" \
    "replay pcaps/rc_write_1024.pcap --as 10.77.0.1"; do
    # shellcheck disable=SC2086
    timeout 60 "$nornic" $words >/dev/full 2>"$tmp/err"
    rc=$? err=$(cat "$tmp/err") name="full_disk_under_${words//[^a-z]/_}"
    if [ $rc = 2 ] && one_sentence "$err" "No space left"; then ok "$name"
    else notok "$name" "exit status $rc: $err"; fi
    # shellcheck disable=SC2086
    timeout 60 "$nornic" $words >&- 2>"$tmp/err"
    rc=$? err=$(cat "$tmp/err") name="closed_output_under_${words//[^a-z]/_}"
    if [ $rc = 2 ] && one_sentence "$err" "Bad file descriptor"; then ok "$name"
    else notok "$name" "exit status $rc: $err"; fi
done
timeout 60 "$nornic" pingpong --port memory -n 10 <&- 2>&- >"$tmp/out"
if [ $? = 0 ] && grep -q round "$tmp/out"; then ok input_and_errors_closed
else notok input_and_errors_closed "$(cat "$tmp/out")"; fi

# what a user can do about it
says nobody_listens 2 "start the server there first" pingpong --port packet:lo 127.0.0.1
says no_such_host 2 "check how it is written, or give the address" perf --port packet:lo nowhere.invalid
says no_such_host_of_smc 2 "or give the address" smc connect nowhere.invalid 1
says buffer_too_large 2 "to 524288 bytes, such as 4096 or 64K" smc connect --rcvbuf 1M h 1
says act_2_has_no_capture 2 "--act 2 leaves that out" demo --act 2 -o x.pcapng
exit $status
