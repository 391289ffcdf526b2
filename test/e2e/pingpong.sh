#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic pingpong` as a user meets it. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
install -m 755 "$nornic" "$tmp/nornic" # where a user without privileges can read it


# --- both sides in one process, as nobody ---
for size in 1 2 3 4096 65536 1000003; do
    run "${as_nobody[@]}" "$tmp/nornic" pingpong --port memory -s $size -n 20 --json
    name=memory_$size
    if [ $rc = 0 ] && is "j['verified_messages'] == 20 and j['size'] == $size" "$tmp/out"; then ok $name
    else notok $name "exit status $rc: $out $err"; fi
done
for mode in "-e" "-c" "--ipv6" "-r 1" "-m 256" "-m 4096" "--roce-v1"; do
    name=memory_option_${mode//[- ]/}
    run "${as_nobody[@]}" "$tmp/nornic" pingpong --port memory -n 50 -s 5000 $mode --json
    if [ $rc = 0 ] && is "j['verified_messages'] == 50" "$tmp/out"; then ok $name
    else notok $name "exit status $rc: $out $err"; fi
done
for size in 1 1024 4097 65536; do
    run "${as_nobody[@]}" "$tmp/nornic" pingpong --port memory --transport uc -n 50 -s $size --json
    name=memory_uc_$size
    if [ $rc = 0 ] && is "j['verified_messages'] == 50 and j['transport'] == 'uc'" "$tmp/out"; then ok $name
    else notok $name "exit status $rc: $out $err"; fi
done
for size in 1 1000 4096; do
    run "${as_nobody[@]}" "$tmp/nornic" pingpong --port memory --transport ud -n 50 -s $size --json
    name=memory_ud_$size
    if [ $rc = 0 ] && is "j['verified_messages'] == 50 and j['transport'] == 'ud'" "$tmp/out"; then ok $name
    else notok $name "exit status $rc: $out $err"; fi
done
for pairs in 1 4 64; do
    run "${as_nobody[@]}" "$tmp/nornic" pingpong --port memory --transport srq -q $pairs -n 200 -s 901 --loss 1% --json
    name=memory_srq_$pairs
    # each queue pair has got the answers to its own messages, and no other
    if [ $rc = 0 ] && is "j['verified_messages'] >= 200 and j['mixed_messages'] == 0" "$tmp/out"; then ok $name
    else notok $name "exit status $rc: $out $err"; fi
done
run "${as_nobody[@]}" "$tmp/nornic" pingpong --port memory --transport uc -n 1000 --loss 20% -t 200ms
# both sides are in this process, and each says it
if [ $rc = 1 ] && one_sentence "$(head -1 <<<"$err")" "does not repeat"; then ok memory_uc_stops_at_a_loss
else notok memory_uc_stops_at_a_loss "exit status $rc: $out $err"; fi
run "${as_nobody[@]}" "$tmp/nornic" pingpong --port memory -n 100 -s 20000 --loss 2% --duplicate 1% --reorder 1% --json
if [ $rc = 0 ] && is "j['verified_messages'] == 100 and j['retransmitted_pkts'] > 0" "$tmp/out"; then ok memory_bad_line
else notok memory_bad_line "exit status $rc: $out $err"; fi

run "${as_nobody[@]}" "$tmp/nornic" pingpong --port memory -n 100 -s 20000 --ecn 50% --cc=line-rate=1G --json
obeyed="j['np_ecn_marked'] >= j['np_cnp_sent'] > 0 and j['rp_cnp_handled'] > 0"
if [ $rc = 0 ] && is "j['verified_messages'] == 100 and $obeyed" "$tmp/out"; then ok memory_congestion
else notok memory_congestion "exit status $rc: $out $err"; fi
run "${as_nobody[@]}" "$tmp/nornic" pingpong --port memory -n 100 -s 20000 --ecn 50% --json
# marks alone change nothing
if [ $rc = 0 ] && is "j['verified_messages'] == 100" "$tmp/out"; then ok memory_no_congestion
else notok memory_no_congestion "exit status $rc: $out $err"; fi

# --- what is refused, with a sentence that names it ---
refused_command=(pingpong)
refuse unknown_port "dpdk:eth0" --port dpdk:eth0
refuse missing_interface "nn-none" --port xdp:nn-none
refuse missing_interface_packet "nn-none" --port packet:nn-none
refuse bad_size "--size 0" --port memory -s 0
refuse bad_mtu "--mtu 1000" --port memory -m 1000
refuse bad_iters "--iters many" --port memory -n many
refuse bad_transport "--transport rd" --port memory --transport rd
refuse bad_pairs "--num-qp 257" --port memory --transport srq -q 257
refuse pairs_without_srq "--num-qp 2" --port memory -q 2
refuse ud_takes_no_mtu "--mtu" --port memory --transport ud -m 512
refuse ud_too_large "4097" --port memory --transport ud -s 4097
refuse bad_cc "--cc gain 9999" --port memory --cc=gain=9999
refuse unknown_option "--frobnicate" --port memory --frobnicate
refuse memory_takes_no_host "10.0.0.1" --port memory 10.0.0.1
refuse capture_nowhere "/nonexistent/" --port memory --capture /nonexistent/nn.pcapng
run "$nornic" help pingpong
if [ $rc = 0 ] && [[ $out == *Example* ]]; then ok help; else notok help "exit status $rc: $err"; fi

need_namespaces veth
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }

run "${in_a[@]}" "$nornic" pingpong 192.0.2.7
if [ $rc = 2 ] && one_sentence "$err" "say which port to use: --port"; then ok no_port
else notok no_port "exit status $rc: $out $err"; fi

# pair NAME PORT HOST ARGS...: server in a, client in b, both with ARGS; both verify every message
pair() {
    local name=$1 port=$2 host=$3 iters
    shift 3
    iters=$(grep -oP -- '(?<=-n )\d+' <<<"$*")
    start "${in_a[@]}" "$nornic" pingpong --port "$port:nna" --json "$@"
    listening "$ns_a" 18515
    run "${in_b[@]}" "$nornic" pingpong --port "$port:nnb" --json "$@" "$host"
    finish
    if [ $rc = 0 ] && [ $server_rc = 0 ] && is "j['verified_messages'] == $iters" "$tmp/out" &&
        is "j['verified_messages'] == $iters" "$tmp/server.out"; then ok "$name"
    else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
}
usable=()
for port in packet xdp; do
    run "${in_a[@]}" "$nornic" pingpong --port $port:nna -g 99 -p 1 nowhere.invalid
    if one_sentence "$err" "nowhere.invalid"; then usable+=($port)
    else skip veth_$port "$err"; fi
done
for port in "${usable[@]}"; do
    for size in 1 2 3 4096 65536 1000003; do
        pair ${port}_v4_$size $port 10.77.0.1 -s $size -n 10
    done
    for size in 1 65536 1000003; do
        pair ${port}_v6_$size $port fd77::1 -s $size -n 10
    done
    for pmtu in 256 512; do pair ${port}_pmtu_$pmtu $port 10.77.0.1 -s 10000 -n 20 -m $pmtu; done
    pair ${port}_events $port 10.77.0.1 -s 10000 -n 20 -e
    pair ${port}_uc $port 10.77.0.1 -s 10000 -n 20 --transport uc
    pair ${port}_uc_v6 $port fd77::1 -s 10000 -n 20 --transport uc -m 256
    pair ${port}_ud $port 10.77.0.1 -s 1000 -n 20 --transport ud
    pair ${port}_ud_v6 $port fd77::1 -s 1001 -n 20 --transport ud
    pair ${port}_srq $port 10.77.0.1 -s 10000 -n 64 --transport srq -q 16
    pair ${port}_loss $port 10.77.0.1 -s 20000 -n 50 --loss 1%
    # covers: ROCE-FRM-50, ROCE-FRM-52, CA17-40
    pair ${port}_roce_v1_v4 $port 10.77.0.1 -s 20000 -n 20 --roce-v1
    pair ${port}_roce_v1_v6 $port fd77::1 -s 20000 -n 20 --roce-v1 --loss 1%
done

# one side over each port
start "${in_a[@]}" "$nornic" pingpong --port packet:nna --capture "$tmp/server.pcapng"
listening "$ns_a" 18515
run "${in_b[@]}" "$nornic" pingpong --port xdp:nnb --capture "$tmp/client.pcapng" 10.77.0.1
finish
if [ $rc = 0 ] && [ $server_rc = 0 ]; then ok packet_with_xdp
else notok packet_with_xdp "client $rc: $err; server $server_rc: $server_err"; fi
run "$nornic" verify "$tmp/server.pcapng" "$tmp/client.pcapng"
if [ $rc = 0 ] && [[ $out == *"bad 0"* ]] && [[ $out != *" 0 RoCE"* ]]; then ok captures_are_good
else notok captures_are_good "exit status $rc: $out $err"; fi

port=${usable[-1]}

# the path MTU against the interface's
start "${in_a[@]}" sleep 60
run "${in_b[@]}" "$nornic" pingpong --port "$port:nnb" -m 4096 10.77.0.1
if [ $rc = 2 ] && one_sentence "$err" "4096"; then ok pmtu_too_large
else notok pmtu_too_large "exit status $rc: $err"; fi
kill "$server"
finish
run "${in_b[@]}" "$nornic" pingpong --port "$port:nnb" 10.77.0.1
if [ $rc = 2 ] && one_sentence "$err" "10.77.0.1"; then ok no_server
else notok no_server "exit status $rc: $err"; fi

# without privileges
run "${in_b[@]}" "${as_nobody[@]}" "$tmp/nornic" pingpong --port "$port:nnb" 10.77.0.1
if [ $rc = 2 ] && one_sentence "$err" "root"; then ok no_privileges
else notok no_privileges "exit status $rc: $err"; fi

# two sides that disagree
start "${in_a[@]}" "$nornic" pingpong --port "$port:nna" -s 100 -t 2s
listening "$ns_a" 18515
run "${in_b[@]}" "$nornic" pingpong --port "$port:nnb" -s 5000 -t 2s 10.77.0.1
finish
if [ $rc = 1 ] && [ $server_rc = 1 ] && one_sentence "$server_err" "same"; then ok sizes_disagree
else notok sizes_disagree "client $rc: $err; server $server_rc: $server_err"; fi

start "${in_a[@]}" "$nornic" pingpong --port "$port:nna" --transport srq -q 3 -t 2s
listening "$ns_a" 18515
run "${in_b[@]}" "$nornic" pingpong --port "$port:nnb" --transport srq -q 4 -t 2s 10.77.0.1
finish
if [ $rc = 2 ] && [ $server_rc = 2 ] && one_sentence "$server_err" "same -q"; then ok pairs_disagree
else notok pairs_disagree "client $rc: $err; server $server_rc: $server_err"; fi

# a peer that is killed in mid-transfer
killed() { # NAME: client_is_killed or server_is_killed
    start "${in_a[@]}" "$nornic" pingpong --port "$port:nna" -n 100000000 -t 2s
    listening "$ns_a" 18515
    "${in_b[@]}" "$nornic" pingpong --port "$port:nnb" -n 100000000 -t 2s 10.77.0.1 >"$tmp/out" 2>"$tmp/err" &
    local client=$!
    e2e_pids+=("$client")
    flowing "$ns_a" nna
    if [ "$1" = client_is_killed ]; then
        kill -KILL "$client"
        finish
        rc=$server_rc err=$server_err
    else
        kill -KILL "$server"
        wait "$client"
        rc=$?
        err=$(cat "$tmp/err")
    fi
    if [ $rc = 1 ] && one_sentence "$err" "after"; then ok "$1"
    else notok "$1" "exit status $rc: $err"; fi
}
killed client_is_killed
killed server_is_killed

# a stop leaves nothing behind
start "${in_a[@]}" "$nornic" pingpong --port "$port:nna"
listening "$ns_a" 18515
kill -INT "$server"
finish
if [ $server_rc = 130 ] && one_sentence "$server_err" "stopped" && ! ip -n "$ns_a" -d link show nna | grep -q prog/xdp
then ok stop_by_signal
else notok stop_by_signal "exit status $server_rc: $server_err"; fi

# jumbo frames
veth_mtu 4300
for p in "${usable[@]}"; do
    pair ${p}_pmtu_4096 $p 10.77.0.1 -s 65536 -n 20 -m 4096
done
exit $status
