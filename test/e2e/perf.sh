#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic perf` as a user meets it. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
install -m 755 "$nornic" "$tmp/nornic" # where a user without privileges can read it
ops='send write write-imm read fetch-add cmp-swap'

# is EXPRESSION FILE: the file is one line with an object `j` of which the expression is true
is() {
    python3 -m json.tool "$2" >/dev/null && [ "$(wc -l <"$2")" = 1 ] &&
        python3 -c 'import json, sys; j = json.load(open(sys.argv[2])); sys.exit(not eval(sys.argv[1]))' "$@"
}
# memory NAME EXPRESSION ARGS...: both sides in one process, as nobody
memory() {
    local name=$1 expression=$2
    shift 2
    run "${as_nobody[@]}" "$tmp/nornic" perf --port memory --json "$@"
    if [ $rc = 0 ] && is "$expression" "$tmp/out"; then ok "$name"; else notok "$name" "exit status $rc: $out $err"; fi
}
for op in $ops; do
    memory memory_$op "j['op'] == '$op' and j['ops'] == 300 and j['verified'] and j['compared_messages'] > 0" \
        --op $op -n 300 -v
done
memory all_reads_are_compared "j['compared_messages'] == 350" --op read -n 250 -w 100 -v -s 100
memory all_sends_are_compared "j['compared_messages'] == 350" --op send -n 250 -w 100 -v -s 100
memory several_queue_pairs "j['ops'] == 500 and j['qps'] == 20" --op send -n 500 -q 20 -d 3 -v -s 5000
memory fewer_operations_than_depth "j['ops'] == 5" --op write -n 5 -d 64 -q 4 -w 0 -v
memory window_of_one_packet "j['ops'] == 50 and j['retransmitted_pkts'] == 0" --op send -n 50 -s 9000 -W 1 -v
memory for_a_time "0.19 < j['seconds'] < 20 and j['ops'] > 0" --op write -T 200ms
memory latency "j['depth'] == 1 and all(j['latency_us'][k] > 0 for k in ('min', 'median', 'p99', 'p99_9'))" \
    --op read -s 8 -L -n 200
memory latency_is_ordered "list(j['latency_us'].values()) == sorted(j['latency_us'].values())" \
    --op write -s 8 -L -n 200
# Parts of READs that are asked for again break no rule that a capture shows.
run "$nornic" perf --port memory --json --op read -n 100 -v --loss 2% -s 256K --seed 3 --capture "$tmp/parts.pcapng"
if [ "$rc" = 0 ] && is "j['ops'] == 100 and j['retransmitted_pkts'] > 20" "$tmp/out"; then ok read_parts
else notok read_parts "exit status $rc: $out $err"; fi
run "$nornic" verify --strict "$tmp/parts.pcapng"
if [ "$rc" = 0 ] && grep -q '^  0 violations' <<<"$out"; then ok read_parts_break_no_rule
else notok read_parts_break_no_rule "exit status $rc: $(tail -1 <<<"$out")"; fi
memory loss "j['ops'] == 300 and j['retransmitted_pkts'] > 0" --op write-imm -n 300 -v --loss 1% -s 8000
memory bad_line "j['ops'] == 200" --op read -n 200 -v --duplicate 2% --reorder 2% --corrupt 1% -s 8000
memory ipv6_and_events "j['ops'] == 200" --op send -n 200 -v -6 -e -m 256 -s 3000
for op in $ops; do memory pmtu_256_$op "j['pmtu'] == 256" --op $op -n 50 -m 256 -v; done

refused_command=(perf)
refuse unknown_op "--op dance" --port memory --op dance
refuse atomic_size "--size 16" --port memory --op fetch-add -s 16
refuse too_much_memory "MiB" --port memory -s 1G -d 64
refuse iters_and_time "exclude" --port memory -n 5 -T 1s
refuse latency_and_depth "--latency" --port memory -L -d 4
refuse unknown_letter_among_others "unknown option -x" --port memory --json -xj
refuse unknown_letter_after_a_value "unknown option -x" --port memory --size=4K -xj
refuse value_of_a_flag "--json takes no value" --port memory --json=3
refuse letter_without_value "-s needs a value" --port memory --json -s
refuse window_of_none "--window 0" --port memory -W 0
refuse missing_interface "nn-none" --port xdp:nn-none 10.0.0.1
run bash -c 'ulimit -f 64; exec "$@"' - "$nornic" perf --port memory -n 500 --capture "$tmp/cut.pcapng"
if [ $rc = 2 ] && one_sentence "$err" "cut.pcapng ends too early"; then ok capture_cut_short
else notok capture_cut_short "exit status $rc: $out $err"; fi
run timeout --foreground --preserve-status -s INT 1 "$nornic" perf --port memory -T 60s
if [ $rc = 130 ] && one_sentence "$err" "stopped after"; then ok interrupted
else notok interrupted "exit status $rc: $out $err"; fi
run "$nornic" help perf
if [ $rc = 0 ] && [[ $out == *Example* ]]; then ok help; else notok help "exit status $rc: $err"; fi

need_namespaces veth
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }

run "${in_a[@]}" "$nornic" perf 192.0.2.7
if [ $rc = 2 ] && one_sentence "$err" "say which port to use: --port"; then ok no_port
else notok no_port "exit status $rc: $out $err"; fi

usable=()
for port in packet xdp; do
    run "${in_a[@]}" "$nornic" perf --port $port:nna -p 1 nowhere.invalid
    if one_sentence "$err" "nowhere.invalid"; then usable+=($port); else skip veth_$port "$err"; fi
done
for port in "${usable[@]}"; do
    for op in $ops; do
        start "${in_a[@]}" "$nornic" perf --port $port:nna
        listening "$ns_a" 18516
        host=10.77.0.1
        [ $op != read ] || host=fd77::1
        run "${in_b[@]}" "$nornic" perf --port $port:nnb --op $op -n 100 -v --json $host
        finish
        if [ $rc = 0 ] && [ $server_rc = 0 ] && is "j['ops'] == 100 and j['compared_messages'] > 0" "$tmp/out"
        then ok ${port}_$op; else notok ${port}_$op "client $rc: $out $err; server $server_rc: $server_err"; fi
    done
done
port=${usable[-1]:-packet}

# a peer that is killed in mid-transfer
for victim in client server; do
    start "${in_a[@]}" "$nornic" perf --port "$port:nna" -t 2s
    listening "$ns_a" 18516
    "${in_b[@]}" "$nornic" perf --port "$port:nnb" -T 60s -t 2s 10.77.0.1 >"$tmp/out" 2>"$tmp/err" &
    client=$!
    e2e_pids+=("$client")
    flowing "$ns_a" nna
    if [ $victim = client ]; then
        kill -KILL "$client"
        finish
        if [ $server_rc = 1 ] && one_sentence "$server_err" "closed"; then ok client_is_killed
        else notok client_is_killed "exit status $server_rc: $server_err"; fi
    else
        kill -KILL "$server"
        wait "$client"
        rc=$? err=$(cat "$tmp/err")
        if [ $rc = 1 ] && one_sentence "$err" "no longer answers"; then ok server_is_killed
        else notok server_is_killed "exit status $rc: $err"; fi
    fi
done

# the client's address goes away: no word of it reaches the server, which only listens
start "${in_a[@]}" "$nornic" perf --port "$port:nna"
listening "$ns_a" 18516
"${in_b[@]}" "$nornic" perf --port "$port:nnb" -T 60s 10.77.0.1 >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
flowing "$ns_a" nna
SECONDS=0
ip -n "$ns_b" addr del 10.77.0.2/24 dev nnb
finish
if [ $server_rc = 1 ] && [ $SECONDS -le 14 ] && one_sentence "$server_err" ""; then ok client_without_address
else notok client_without_address "server $server_rc after $SECONDS s: $server_err"; fi
wait "$client"
ip -n "$ns_b" addr add 10.77.0.2/24 dev nnb

# an MTU that is lowered in mid-transfer ends it, and both ends say what happened
start "${in_a[@]}" "$nornic" perf --port "$port:nna" -t 2s
listening "$ns_a" 18516
"${in_b[@]}" "$nornic" perf --port "$port:nnb" -T 60s -t 2s -s 64K 10.77.0.1 >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
flowing "$ns_a" nna
veth_mtu 600
wait "$client"
rc=$? err=$(cat "$tmp/err")
finish
if [ $rc = 1 ] && [[ $err == *"the MTU of nnb was lowered from 1500 to 600"* ]] && [ $server_rc = 1 ] &&
    [[ $server_err == *"the MTU of nna was lowered from 1500 to 600"* ]]; then ok mtu_is_lowered
else notok mtu_is_lowered "client $rc: $err; server $server_rc: $server_err"; fi
veth_mtu 1500

# an MTU in which no packet fits
veth_mtu 300
run "${in_b[@]}" "$nornic" perf --port "$port:nnb" 10.77.0.1
small=$rc$err
run "${in_b[@]}" "$nornic" pingpong --port "$port:nnb" 10.77.0.1
if [[ $small$rc == 2*"at least 352"*2 ]] && one_sentence "$err" "at least 352"; then ok too_small_an_mtu
else notok too_small_an_mtu "$small; $rc $err"; fi
veth_mtu 1500

# what is no client of ours
huge='{"nornic_perf": 1, "op": "read", "size": 4294967295, "depth": 4096, "qps": 1024, "pmtu": 256, "verify": 0,'
huge+=' "gid": "10.77.0.2", "qp_list": []}'
for case in 'version|{"nornic_perf": 99}|version 99' 'garbage|GET / HTTP/1.0|does not speak' \
    'nothing_asked|{"nornic_perf": 1}|operation' \
    'null|{"nornic_perf": 1, "op": null, "error": null}|operation' \
    'no_gid|{"nornic_perf": 1, "op": "read", "size": 8, "depth": 1, "qps": 1, "pmtu": 256, "verify": 0}|GID' \
    "huge|$huge|1024 queue pairs"; do
    IFS='|' read -r name line says <<<"$case"
    start "${in_a[@]}" "$nornic" perf --port "$port:nna"
    listening "$ns_a" 18516
    "${in_b[@]}" timeout 20 python3 - "$line" >"$tmp/out" <<'PYTHON'
import socket, sys
s = socket.create_connection(('10.77.0.1', 18516), 10)
s.sendall(sys.argv[1].encode() + b'\n')
print(s.makefile().readline())
PYTHON
    finish
    if [ $server_rc = 2 ] && one_sentence "$server_err" "$says" && grep -q '"error"' "$tmp/out"
    then ok stranger_$name; else notok stranger_$name "exit status $server_rc: $server_err; $(cat "$tmp/out")"; fi
done
exit $status
