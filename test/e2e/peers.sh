#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic rping`, `udaddy`, `cmatose`, `rdma-client` and `rdma-server` against themselves.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"

for command in rping udaddy cmatose rdma-client rdma-server; do
    run "$nornic" help $command
    if [ $rc = 0 ] && [[ $out == *Example* ]]; then ok help_$command; else notok help_$command "$rc: $err"; fi
done
refuse rping_no_side "say -s" rping --port packet:nn-none
refuse rping_both_sides "say -s" rping -s -c --port packet:nn-none
refuse rping_no_address "-a ADDRESS" rping -c --port packet:nn-none
refuse rping_too_small "22" rping -c -a 10.77.0.1 -S 22 --port packet:nn-none
refuse rping_too_large "65536" rping -c -a 10.77.0.1 -S 65536 --port packet:nn-none
refuse udaddy_too_large "4097" udaddy -S 4097 --port packet:nn-none
refuse no_memory_port "memory" cmatose --port memory
refuse no_such_name "nowhere.invalid" cmatose -s nowhere.invalid --port packet:nn-none
refuse no_interface "nn-none" cmatose -s 10.77.0.1 --port packet:nn-none
refuse stray_word "10.77.0.1" udaddy 10.77.0.1 --port packet:nn-none
refuse client_needs_server "-s ADDRESS" rdma-client --port packet:nn-none

need_namespaces veth
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }

for command in udaddy cmatose rdma-client rdma-server; do
    run "${in_a[@]}" "$nornic" $command -s 192.0.2.7
    if [ $rc = 2 ] && one_sentence "$err" "say which port to use: --port"; then ok no_port_$command
    else notok no_port_$command "exit status $rc: $out $err"; fi
done

ready() { # waits until the server listens, or has ended
    for ((i = 0; i < 100; i++)); do
        grep -q listening "$tmp/server.out" && return
        kill -0 "$server" 2>/dev/null || return
        sleep 0.1
    done
}
busy() { # waits until a server with -v is in the middle of its rounds
    for ((i = 0; i < 200; i++)); do
        grep -q 'server ping data' "$tmp/server.out" && return
        kill -0 "$server" 2>/dev/null || return
        sleep 0.1
    done
}
# both NAME MESSAGES PORT SERVER... -- CLIENT...: each side received and verified so many messages
both() {
    local name=$1 count=$2 port=$3 serve=()
    shift 3
    while [ "$1" != -- ]; do
        serve+=("$1")
        shift
    done
    shift
    start "${in_a[@]}" "$nornic" "${serve[@]}" --port "$port:nna" --json
    ready
    run "${in_b[@]}" "$nornic" "$@" --port "$port:nnb" --json
    finish
    local good="j['received_messages'] == $count and j['verified_messages'] == $count"
    if [ $rc = 0 ] && [ $server_rc = 0 ] && is "$good" "$tmp/out" && is "$good" "$tmp/server.out"; then ok "$name"
    else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
}
usable=()
for port in packet xdp; do
    run "${in_a[@]}" "$nornic" cmatose --port $port:nna -b 192.0.2.99
    if one_sentence "$err" "listen"; then usable+=($port)
    else skip veth_$port "$err"; fi
done
for port in "${usable[@]}"; do
    for address in 10.77.0.1 fd77::1; do
        name=${port}_${address//[.:]/_}
        both ${name}_rping 5 $port rping -s -- rping -c -a $address -C 5 -S 65535
        both ${name}_udaddy 30 $port udaddy -c 3 -S 1024 -- udaddy -s $address -c 3 -S 1024
        both ${name}_cmatose 100 $port cmatose -c 10 -S 5000 -- cmatose -s $address -c 10 -S 5000
        both ${name}_rdma 1 $port rdma-server -s $address -- rdma-client -s $address
    done
    both ${port}_events_rping 5 $port rping -s -e -- rping -c -a 10.77.0.1 -C 5 -e
    both ${port}_events_udaddy 20 $port udaddy -c 2 -e -- udaddy -s 10.77.0.1 -c 2 -e
    both ${port}_events_cmatose 40 $port cmatose -c 4 -e -- cmatose -s 10.77.0.1 -c 4 -e
    both ${port}_bad_line 40 $port cmatose -c 4 -S 3000 --loss 5% --reorder 5% -t 30s -- \
        cmatose -s 10.77.0.1 -c 4 -S 3000 -t 30s
    both ${port}_connect_only 0 $port cmatose -c 4 -C 0 -- cmatose -s 10.77.0.1 -c 4 -C 0
    both ${port}_addresses 5 $port rping -s -a 10.77.0.1 -p 4711 -- rping -c -a 10.77.0.1 -I 10.77.0.2 -p 4711 -C 5
    both ${port}_gid_index 10 $port cmatose -g 2 -- cmatose -s fd77::1 -g 2
done

port=${usable[-1]}
nobody() { # NAME STATUS PATTERN ARGS...: a client alone
    local name=$1 wanted=$2 pattern=$3
    shift 3
    run "${in_b[@]}" "$nornic" "$@" --port "$port:nnb"
    if [ $rc = "$wanted" ] && one_sentence "$err" "$pattern"; then ok "$name"
    else notok "$name" "exit status $rc: $out $err"; fi
}
nobody no_neighbour 2 "10.77.0.99" rping -c -a 10.77.0.99 -t 5s
nobody no_route 2 "192.0.2.1" rping -c -a 192.0.2.1
nobody foreign_source 2 "10.77.0.7" rping -c -a 10.77.0.1 -I 10.77.0.7
nobody no_rdma_there 1 "-t waits longer" rping -c -a 10.77.0.1 -t 500ms
# a request is sent again and again: that is no sign of life
SECONDS=0
nobody no_rdma_there_for_longer_than_a_request_waits 1 "for 3 s" cmatose -s 10.77.0.1 -t 3s
if [ $SECONDS -le 6 ]; then ok the_timeout_holds_while_connecting
else notok the_timeout_holds_while_connecting "it took $SECONDS s"; fi

start "${in_a[@]}" "$nornic" cmatose --port "$port:nna"
ready
nobody no_service 1 "4712" cmatose -s 10.77.0.1 -p 4712
nobody no_datagram_service 1 "4712" udaddy -s 10.77.0.1 -p 4712
kill -INT "$server"
finish
if [ $server_rc = 130 ] && one_sentence "$server_err" "stopped" && ! ip -n "$ns_a" -d link show nna | grep -q prog/xdp
then ok stop_by_signal
else notok stop_by_signal "exit status $server_rc: $server_err"; fi

# two sides that disagree
start "${in_a[@]}" "$nornic" cmatose --port "$port:nna" -S 100 -t 3s
ready
run "${in_b[@]}" "$nornic" cmatose -s 10.77.0.1 --port "$port:nnb" -S 50 -t 3s
finish
if [ $rc = 1 ] && [ $server_rc = 1 ] && one_sentence "$server_err" "cmatose"; then ok sizes_disagree
else notok sizes_disagree "client $rc: $err; server $server_rc: $server_err"; fi

# one server, several clients one after another, one of which is killed
start "${in_a[@]}" "$nornic" rping -s -P --port "$port:nna" -v -t 1s
ready
"${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 -S 50 --port "$port:nnb" >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
busy
kill -KILL "$client"
for ((i = 0; i < 100; i++)); do
    [ -s "$tmp/server.err" ] && break
    sleep 0.1
done
run "${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 -C 3 -S 64 -v --port "$port:nnb"
first=$rc$err text=$out
run "${in_b[@]}" "$nornic" rping -c -a fd77::1 -C 3 -S 64 --port "$port:nnb"
kill -INT "$server"
finish
if [ "$first$rc$err" = 00 ] && [ "$(grep -cE "^server ping data: .{63}$" "$tmp/server.out")" = 6 ] &&
    [[ $text == *"ping data: rdma-ping-2: CDEF"* ]]; then ok persistent_server
else notok persistent_server "clients $first $rc: $err $text; server $server_rc: $server_err"; fi

# the client is killed in mid-transfer; the server is stopped in mid-transfer
start "${in_a[@]}" "$nornic" rping -s --port "$port:nna" -v -t 2s
ready
"${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 --port "$port:nnb" >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
busy
kill -KILL "$client"
finish
# what it had of the round that was its last cannot be known when only the end of that was not acknowledged: the report
# says so, and it is no failure
left="the peer left before it acknowledged the last message"
last=$(tail -n 1 "$tmp/server.out")
# a DREQ of the keeper between two rounds is an end in order
if [ $server_rc = 1 ] && one_sentence "$server_err" "rping" || [ "$server_rc$server_err$last" = "0$left" ] ||
    [[ "$server_rc$server_err$last" == "0"*" 0 packets retransmitted" ]]
then ok client_is_killed
else notok client_is_killed "server $server_rc: $last $server_err"; fi
start "${in_a[@]}" "$nornic" rping -s --port "$port:nna" -v
ready
"${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 --port "$port:nnb" >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
busy
kill -INT "$server"
finish
wait "$client"
rc=$? err=$(cat "$tmp/err")
# the client hears of it at once: no timeout has to pass
if [ $server_rc = 130 ] && one_sentence "$server_err" "stopped" && [ $rc = 1 ] && one_sentence "$err" "disconnected"
then ok server_is_stopped
else notok server_is_stopped "client $rc: $err; server $server_rc: $server_out $server_err"; fi

# RoCEv1: the connection manager's GIDs are of that type too, so that nothing leaves as UDP
start "${in_a[@]}" "$nornic" rping -s --roce-v1 --port "$port:nna"
ready
run "${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 -C 3 --roce-v1 --port "$port:nnb" --capture "$tmp/v1.pcapng"
finish
udp=$(tshark -r "$tmp/v1.pcapng" -Y udp 2>/dev/null | wc -l)
v1=$(tshark -r "$tmp/v1.pcapng" -Y 'eth.type==0x8915' 2>/dev/null | wc -l)
if [ "$rc$server_rc$udp" = 000 ] && [ "$v1" -gt 10 ]; then ok roce_v1
else notok roce_v1 "client $rc: $err; server $server_rc: $server_err; $udp UDP packets, $v1 of RoCEv1"; fi

# Ctrl-C is how an endless rping ends: well, and the server hears of it
start "${in_a[@]}" "$nornic" rping -s -P --port "$port:nna"
ready
"${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 --port "$port:nnb" >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
flowing "$ns_a" nna
kill -INT "$client"
wait "$client"
rc=$? err=$(cat "$tmp/err")
kill -INT "$server"
finish
if [ "$rc$err$server_rc$server_err" = 00 ] && grep -q " 0 packets retransmitted" "$tmp/out" "$tmp/server.out"; then
    ok endless_client_is_stopped
else notok endless_client_is_stopped "client $rc: $err; server $server_rc: $server_err"; fi

# the interface goes away
start "${in_a[@]}" "$nornic" rping -s --port "$port:nna"
ready
"${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 --port "$port:nnb" >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
flowing "$ns_a" nna
ip -n "$ns_b" link del nnb
finish
wait "$client"
rc=$? err=$(cat "$tmp/err")
if [ $server_rc = 2 ] && one_sentence "$server_err" "gone" && [ $rc = 2 ] && one_sentence "$err" "gone"
then ok interface_goes
else notok interface_goes "client $rc: $err; server $server_rc: $server_err"; fi
exit $status
