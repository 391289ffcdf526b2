#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Processes on packet ports of one interface: numbers that none of the others has, and one is killed beside the others.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
install -d -m 700 "$tmp/run"
export NORNIC_RUNTIME_DIR=$tmp/run

need_namespaces share_packet
veth_make 4200 || { notok share_packet "cannot make a veth pair"; exit 1; }

# first_qpns: of the processes in namespace A that say what they have counted, ascending, different ones
first_qpns() {
    "${in_a[@]}" "$nornic" stat --json | python3 -c '
import json, sys
ports = [p for p in json.load(sys.stdin)["ports"] if p["counters"] is not None and not p["addresses"]]
print(*sorted({p["first_qpn"] for p in ports}))'
}
# serve PORT: a server; $server is its process
serve() {
    start "${in_a[@]}" "$nornic" rping -s -P -p "$1" --port packet:nna
    for ((i = 0; i < 100; i++)); do
        grep -q listening "$tmp/server.out" && return 0
        sleep 0.1
    done
    return 1
}

serve 7201
first=$server
serve 7202
second=$server
read -ra numbers <<<"$(first_qpns)"
if [ ${#numbers[@]} = 2 ] && ((numbers[1] - numbers[0] >= 65536)); then ok each_has_numbers_of_its_own
else notok each_has_numbers_of_its_own "${numbers[*]}: $("${in_a[@]}" "$nornic" stat)"; fi
run "${in_a[@]}" "$nornic" ports
if [[ $out == *"packet:nna shared with 2 packet ports of running processes"* ]]; then ok ports_says_who_is_there
else notok ports_says_who_is_there "exit status $rc: $out $err"; fi

# A connection to the second lasts while the first serves others, and is killed.
start "${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 -p 7202 -C 0 -S 1000 --port packet:nnb
lasting=$server
run "${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 -p 7201 -C 50 -S 20000 --port packet:nnb
if [ $rc = 0 ]; then ok both_serve; else notok both_serve "exit status $rc: $out $err"; fi
kill -KILL "$first"
wait "$first" 2>/dev/null
run "${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 -p 7201 -C 1 --port packet:nnb
if [ $rc = 1 ] && [[ $err == *"nothing listens"* ]]; then ok what_nobody_serves_is_refused
else notok what_nobody_serves_is_refused "exit status $rc: $out $err"; fi
read -ra left <<<"$(first_qpns)"
if [ ${#left[@]} = 1 ]; then ok a_killed_process_gives_its_numbers_back
else notok a_killed_process_gives_its_numbers_back "${left[*]}"; fi
serve 7201
third=$server
run "${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 -p 7201 -C 50 -S 20000 --port packet:nnb
if [ $rc = 0 ]; then ok another_takes_its_place; else notok another_takes_its_place "exit status $rc: $out $err"; fi
kill -INT "$third"
finish
kill -INT "$lasting"
server=$lasting
finish
if [ "$server_rc" = 0 ]; then ok a_connection_lasts
else notok a_connection_lasts "$server_rc: $server_out $server_err"; fi
kill -INT "$second"
server=$second
finish
is_empty() { [ -z "$(ls "$tmp/run")" ]; } # the keeper of the connections ends after their programs
if until_true 5 is_empty; then ok leaves_nothing; else notok leaves_nothing "$(ls "$tmp/run")"; fi
exit $status
