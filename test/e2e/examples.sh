#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every example runs, and shows what docs/api.md says of it. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
examples=$(realpath "${BUILD:-build}/examples")
install -m 755 "$examples"/* "$tmp" 2>/dev/null # where a user without privileges can read them

# shows NAME PATTERN COMMAND...: exit status 0 and the pattern in the output
shows() {
    local name=$1 pattern=$2
    shift 2
    run "$@"
    if [ $rc = 0 ] && [[ $out == *"$pattern"* ]]; then ok "$name"
    else notok "$name" "exit status $rc: $out $err"; fi
}

# --- in one process, as nobody ---
shows hello_write "b has: RDMA without an adapter" "${as_nobody[@]}" "$tmp/hello_write"
shows rc_cm 'client: the server says "it is"' "${as_nobody[@]}" "$tmp/rc_cm"
shows datagram "a has 64 bytes: a queue pair of nornic" "${as_nobody[@]}" "$tmp/datagram"
shows virtual_time "SUCCESS after 425 ms of virtual time: 112 frames sent, 22 lost, 78 sent again" \
    "${as_nobody[@]}" "$tmp/virtual_time"

# --- no example is left out ---
for source in examples/*.c; do
    name=$(basename "$source" .c)
    if grep -q "/$name\"" "$0"; then ok "listed_$name"; else notok "listed_$name" "this script does not run it"; fi
done

# --- what a wrong call says ---
run "$examples/rc_cm" frobnicate
if [ $rc = 1 ] && one_sentence "$err" "rc_cm server PORT"; then ok rc_cm_usage
else notok rc_cm_usage "exit status $rc: $out $err"; fi
run "$examples/datagram" client packet:nn-none
if [ $rc = 1 ] && one_sentence "$err" "datagram server PORT"; then ok datagram_usage
else notok datagram_usage "exit status $rc: $out $err"; fi
run "$examples/smc_echo" nowhere
if [ $rc = 1 ] && one_sentence "$err" "smc_echo server|client"; then ok smc_echo_usage
else notok smc_echo_usage "exit status $rc: $out $err"; fi
run "$examples/rc_cm" server packet:nn-none
if [ $rc = 1 ] && one_sentence "$err" "nn-none"; then ok rc_cm_missing_interface
else notok rc_cm_missing_interface "exit status $rc: $out $err"; fi

# --- between two namespaces ---
need_namespaces veth
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }

# serve COMMAND...: starts a server, and waits until it says that it listens; 10 seconds at most
serve() {
    local i
    : >"$tmp/server.out"
    start "$@"
    for ((i = 0; i < 100; i++)); do
        grep -q listening "$tmp/server.out" && return 0
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}
for port in packet xdp iwarp; do
    for host in 10.77.0.1 fd77::1; do
        name=rc_cm_${port}_$host
        serve "${in_a[@]}" "$examples/rc_cm" server $port:nna
        run "${in_b[@]}" "$examples/rc_cm" client $port:nnb $host
        finish
        if [ $rc = 0 ] && [ $server_rc = 0 ] && [[ $out == *'"it is"'* ]] && [[ $server_out == *"so it is"* ]]
        then ok "$name"; else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
    done
done
for port in packet xdp; do
    for host in 10.77.0.1 fd77::1; do
        name=datagram_${port}_$host
        serve "${in_a[@]}" "$examples/datagram" server $port:nna
        qpn=$(sed -n 's/^listening: QPN //p' "$tmp/server.out")
        run "${in_b[@]}" "$examples/datagram" client $port:nnb $host "$qpn"
        finish
        if [ $rc = 0 ] && [ $server_rc = 0 ] && [[ $out == *"a queue pair of nornic"* ]] &&
            [[ $server_out == *"who is there?"* ]]
        then ok "$name"; else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
    done
done
for port in packet xdp; do
    serve "${in_a[@]}" "$examples/smc_echo" server $port:nna 10.77.0.1
    run "${in_b[@]}" "$examples/smc_echo" client $port:nnb 10.77.0.1
    finish
    if [ $rc = 0 ] && [ $server_rc = 0 ] && [[ $out == *"over SMC-R"*"as it was"* ]] &&
        [[ $server_out == *"over SMC-R"* ]]; then
        ok smc_echo_$port
    else
        notok smc_echo_$port "client $rc: $out $err; server $server_rc: $server_out $server_err"
    fi
done
exit $status
