#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The udp port: without privileges on loopback and on a veth pair, alone and facing the other ports, over IPv4
# and IPv6, with trains whole and cut. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
install -m 755 "$nornic" "$tmp/nornic" # where a user without privileges can read it
install -d -m 777 "$tmp/captures"


# In a namespace of its own where one can be had: at 127.0.0.1 of the machine others may be, whom nobody may join.
why=$(why_no_namespaces)
alone=()
[ -n "$why" ] || { ns_make l && alone=(ip netns exec "nn-$$-l"); }

# waiting PORT: until a TCP server is there
waiting() {
    for ((i = 0; i < 100; i++)); do
        [ -n "$("${alone[@]}" ss -Hltn "sport = :$1")" ] && return 0
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# --- two processes of nobody over loopback ---
loopback() { # NAME SERVER_ADDR CLIENT_ADDR ARGS...
    local name=$1 server_addr=$2 client_addr=$3
    shift 3
    start "${alone[@]}" "${as_nobody[@]}" "$tmp/nornic" pingpong -p 18611 --port "udp:$server_addr" --json "$@"
    waiting 18611
    run "${alone[@]}" "${as_nobody[@]}" "$tmp/nornic" pingpong -p 18611 --port "udp:$client_addr" --json "$@" \
        "$server_addr"
    finish
    if [ $rc = 0 ] && [ $server_rc = 0 ] && is "j['verified_messages'] == 100" "$tmp/out"; then ok "$name"
    else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
}
loopback loopback 127.0.0.1 127.0.0.2 -n 100 -s 300000
loopback loopback_4096 127.0.0.1 127.0.0.2 -n 100 -s 300000 -m 4096
loopback loopback_ud 127.0.0.1 127.0.0.2 -n 100 -s 1000 --transport ud
loopback loopback_bad_line 127.0.0.1 127.0.0.2 -n 100 -s 30000 --loss 1% --reorder 1%

run "${alone[@]}" "${as_nobody[@]}" "$tmp/nornic" ports --json
of="{p['port']: p for p in j['ports']}"
if [ $rc = 0 ] && is "$of['udp:127.0.0.1']['usable'] and 'CAP_NET_RAW' in $of['packet:lo']['why']" "$tmp/out"; then
    ok ports_for_nobody
else notok ports_for_nobody "exit status $rc: $out $err"; fi

# another user's; what processes of one user do there is in share.sh
if [ "$(id -u)" = 0 ]; then
    start "${alone[@]}" "${as_nobody[@]}" "$tmp/nornic" pingpong -p 18611 --port udp:127.0.0.1
    waiting 18611
    run "${alone[@]}" "$nornic" pingpong -p 18612 --port udp:127.0.0.1
    if [ $rc = 2 ] && one_sentence "$err" "taken by nornic (process $server)"; then ok says_who_has_the_port
    else notok says_who_has_the_port "exit status $rc: $err"; fi
    run "${alone[@]}" "$nornic" ports
    if [ $rc = 0 ] && [[ $out == *"udp:127.0.0.1 not now: "*"taken by nornic"* ]]; then ok ports_says_it_too
    else notok ports_says_it_too "exit status $rc: $out"; fi
    kill "$server"
    finish
else
    skip says_who_has_the_port "it needs root"
fi
run "${alone[@]}" "${as_nobody[@]}" "$tmp/nornic" pingpong --port udp:192.0.2.77
if [ $rc = 2 ] && one_sentence "$err" "192.0.2.77 is no address"; then ok names_a_foreign_address
else notok names_a_foreign_address "exit status $rc: $err"; fi
run "${alone[@]}" "$nornic" pingpong --port udp:lo --roce-v1
if [ $rc = 2 ] && one_sentence "$err" "RoCEv1 is not over UDP"; then ok no_roce_v1
else notok no_roce_v1 "exit status $rc: $err"; fi

if [ -n "$why" ]; then
    skip veth "$why"
    exit $status
fi
veth_make 4200 || { notok veth "cannot make a veth pair"; exit 1; }

# pair NAME PORT_A PORT_B HOST ARGS...: server over PORT_A in a, client over PORT_B in b, as nobody over udp
as_user() { [[ $1 == udp:* ]] && user=("${as_nobody[@]}") || user=(env); }
pair() {
    local name=$1 port_a=$2 port_b=$3 host=$4
    shift 4
    as_user "$port_a"
    start "${in_a[@]}" "${user[@]}" "$tmp/nornic" pingpong --port "$port_a" --json -n 50 "$@"
    listening "$ns_a" 18515
    as_user "$port_b"
    run "${in_b[@]}" "${user[@]}" "$tmp/nornic" pingpong --port "$port_b" --json -n 50 "$@" "$host"
    finish
    if [ $rc = 0 ] && [ $server_rc = 0 ] && is "j['verified_messages'] == 50" "$tmp/out"; then ok "$name"
    else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
}
both_families() { # NAME PORT_A PORT_B ARGS...
    local name=$1 port_a=$2 port_b=$3
    shift 3
    pair "${name}_v4" "$port_a" "$port_b" 10.77.0.1 "$@"
    pair "${name}_v6" "$port_a" "$port_b" fd77::1 "$@"
}
both_families udp udp:nna udp:nnb -s 1000003 -m 4096
both_families udp_1024 udp:nna udp:nnb -s 1000003
both_families udp_events udp:nna udp:nnb -s 300000 -e
both_families udp_ud udp:nna udp:nnb -s 1001 --transport ud
pair udp_by_address udp:10.77.0.1 udp:10.77.0.2 10.77.0.1 -s 300000
# the same address on both interfaces of one machine: the interface says which
for side in a b; do
    ns=ns_$side
    ip -n "${!ns}" link add nnx type veth peer name nny
    ip -n "${!ns}" link set nnx up && ip -n "${!ns}" link set nny up
    ip -n "${!ns}" addr add fe80::77$([ $side = a ] && echo 1 || echo 2)/64 dev nnx nodad
    ip -n "${!ns}" addr add fe80::77$([ $side = a ] && echo 1 || echo 2)/64 dev nn$side nodad
done
pair udp_link_local udp:fe80::771%nna udp:fe80::772%nnb fe80::771%nnb -s 300000
for side in a b; do
    ns=ns_$side
    ip -n "${!ns}" link del nnx
done
# two IPv6 addresses of a machine: the demo as two processes without privileges
run "${in_a[@]}" "${as_nobody[@]}" "$tmp/nornic" demo --port udp --ipv6 --count 20 --json -o "$tmp/captures/demo.pcapng"
if [ $rc = 0 ] && is "j['ok'] and j['port'] == 'udp' and len(j['passes']) == 2" "$tmp/out"; then ok demo_v6
else notok demo_v6 "exit status $rc: $out $err"; fi
ns_make c
run ip netns exec "nn-$$-c" "${as_nobody[@]}" "$tmp/nornic" demo --port udp --ipv6
if [ $rc = 2 ] && one_sentence "$err" "two IPv6 addresses are needed"; then ok demo_v6_has_one_address
else notok demo_v6_has_one_address "exit status $rc: $out $err"; fi
pair udp_congestion udp:nna udp:nnb 10.77.0.1 -s 300000 --ecn 20% --cc=line-rate=1G
# --- no port is named ---
default_port() { # NAME PORT_A PORT_B USER...: one line says which it is
    local name=$1 port_a=$2 port_b=$3
    shift 3
    start "${in_a[@]}" "$@" "$tmp/nornic" pingpong --json -n 50
    listening "$ns_a" 18515
    run "${in_b[@]}" "$@" "$tmp/nornic" pingpong --json -n 50 10.77.0.1
    finish
    if [ $rc = 0 ] && [ $server_rc = 0 ] && is "j['verified_messages'] == 50 and j['port'] == '$port_b'" "$tmp/out" &&
        one_sentence "$server_err" "no --port given: taking $port_a" &&
        one_sentence "$err" "no --port given: taking $port_b"; then ok "$name"
    else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
}
default_route() { # add or del
    ip -n "$ns_a" route "$1" default via 10.77.0.2
    ip -n "$ns_b" route "$1" default via 10.77.0.1
}
default_route add
default_port default_port_of_nobody udp:nna udp:10.77.0.2 "${as_nobody[@]}"
run "${in_a[@]}" "$nornic" pingpong --port xdp:nna -g 99 -p 1 nowhere.invalid
if one_sentence "$err" "nowhere.invalid"; then default_port default_port_of_root xdp:nna xdp:nnb env
else skip default_port_of_root "$err"; fi
run "${in_a[@]}" "$nornic" pingpong -p 1 10.77.0.1
if [ $rc = 2 ] && [[ $err == *"taking udp:10.77.0.1, not xdp: the peer is on this machine"* ]]; then
    ok default_port_to_oneself
else notok default_port_to_oneself "exit status $rc: $err"; fi
default_route del
run "${in_a[@]}" "${as_nobody[@]}" "$tmp/nornic" pingpong 192.0.2.7
if [ $rc = 2 ] && one_sentence "$err" "there is no way to 192.0.2.7"; then ok default_port_needs_a_way
else notok default_port_needs_a_way "exit status $rc: $err"; fi

for port in packet xdp; do
    run "${in_a[@]}" "$nornic" pingpong --port $port:nna -g 99 -p 1 nowhere.invalid
    one_sentence "$err" "nowhere.invalid" || { skip "veth_$port" "$err"; continue; }
    # a packet socket beside a train's sender sees it whole, and its ring has no room for that: as a wire would
    whole=$([ $port = packet ] && echo off || echo on)
    ip netns exec "$ns_a" ethtool -K nna tx-udp-segmentation "$whole"
    ip netns exec "$ns_b" ethtool -K nnb tx-udp-segmentation "$whole"
    both_families udp_to_$port $port:nna udp:nnb -s 1000003
    both_families ${port}_to_udp udp:nna $port:nnb -s 1000003
done

# a packet socket beside the sender sees trains whole, which its ring has no room for
ip netns exec "$ns_b" ethtool -K nnb tx-udp-segmentation on
start "${in_a[@]}" "$nornic" pingpong --port packet:nna -n 5 -s 300000 -t 2s
listening "$ns_a" 18515
run "${in_b[@]}" "$nornic" pingpong --port udp:nnb -n 5 -s 300000 10.77.0.1
finish
if [ $rc = 1 ] && [ $server_rc = 1 ] && [[ $server_err == *"in one piece over packet:nna"*"tx-udp-segmentation off"* ]]
then ok packet_port_names_whole_trains
else notok packet_port_names_whole_trains "client $rc: $err; server $server_rc: $server_err"; fi

# --- trains that are cut on their way ---
cut() { # NAME INTERFACE FEATURE...
    local name=$1 interface=$2 ns=$ns_a feature
    shift 2
    [ "$interface" = nna ] || ns=$ns_b
    for feature in "$@"; do ip netns exec "$ns" ethtool -K "$interface" "$feature" off >/dev/null 2>&1; done
    both_families "cut_$name" udp:nna udp:nnb -s 1000003
    for feature in "$@"; do ip netns exec "$ns" ethtool -K "$interface" "$feature" on >/dev/null 2>&1; done
}
cut by_the_sender nnb tx-udp-segmentation
cut by_no_gso nnb gso
cut by_no_gro nna gro
cut with_no_checksums nnb tx tx-udp-segmentation
cut by_both nna tx-udp-segmentation gro gso

# --- what the port writes down is what is on the wire ---
# sent_again: whether tcpdump saw an end send anything again
sent_again() {
    "$nornic" explain --json "$tmp/wire.pcap" | python3 -c 'import json, sys
numbers = [json.loads(line)["numbers"] for line in sys.stdin if "\"numbers\"" in line]
sys.exit(not any(end["again"] for n in numbers for end in n["ends"]))'
}
# seen_transfer HOST CAPTURE PEER_ARGS...: from B to HOST and back, into CAPTURE and beside it through tcpdump to
# wire.pcap. Nothing is lost here; where a busy machine makes an ack timer run out all the same, it is done again: what
# is sent again when the client has ended is in no capture of its port.
seen_transfer() {
    local host=$1 capture=$2 tries
    shift 2
    for ((tries = 0; tries < 5; tries++)); do
        tcpdump_begin "$ns_b" nnb udp port 4791 || return 1
        start "${in_a[@]}" "${as_nobody[@]}" "$tmp/nornic" pingpong --port udp:nna -n 5 -s 200000 "$@"
        listening "$ns_a" 18515
        run "${in_b[@]}" "${as_nobody[@]}" "$tmp/nornic" pingpong --port udp:nnb -n 5 -s 200000 --capture "$capture" \
            "$host"
        finish
        tcpdump_end "$capture"
        sent_again || break
    done
}
if ! command -v tcpdump >/dev/null; then
    skip captures_agree "no tcpdump"
else
    ip netns exec "$ns_a" ethtool -K nna tx-udp-segmentation off gso off >/dev/null 2>&1
    ip netns exec "$ns_b" ethtool -K nnb tx-udp-segmentation off gso off gro off >/dev/null 2>&1
    seen_transfer 10.77.0.1 "$tmp/captures/port.pcapng" ||
        notok captures "tcpdump did not start: $(cat "$tmp/tcpdump.err")"
    run python3 test/e2e/udp_captures.py --trains "$tmp/captures/port.pcapng" "$tmp/wire.pcap"
    if [ $rc = 0 ]; then ok captures_agree; else notok captures_agree "$out $err"; fi
    run "$nornic" verify "$tmp/captures/port.pcapng" "$tmp/wire.pcap"
    if [ $rc = 0 ] && [[ $out == *"bad 0"* ]] && [[ $out != *" 0 RoCE"* ]]; then ok captures_are_good
    else notok captures_are_good "exit status $rc: $(tail -1 "$tmp/out") $err"; fi
    run "$nornic" verify --strict "$tmp/captures/port.pcapng" "$tmp/captures/demo.pcapng" \
        "$tmp/captures/demo-loss.pcapng"
    if [ $rc = 0 ] && [ "$(grep -c ' 0 violations' "$tmp/out")" = 3 ]; then ok captures_break_no_rule
    else notok captures_break_no_rule "exit status $rc: $(grep violations "$tmp/out") $err"; fi
fi

# --- trains that tcpdump sees before they are cut: explain and verify cut them ---
whole_trains() { # NAME HOST
    local name=$1 host=$2 tries
    seen_transfer "$host" "$tmp/captures/whole.pcapng" --capture "$tmp/captures/peer.pcapng" ||
        { notok "$name" "tcpdump did not start: $(cat "$tmp/tcpdump.err")"; return; }
    "$nornic" explain --json "$tmp/captures/whole.pcapng" >"$tmp/port.json"
    "$nornic" explain --json "$tmp/wire.pcap" >"$tmp/wire.json"
    run python3 test/e2e/udp_explained.py "$tmp/port.json" "$tmp/wire.json"
    if [ $rc = 0 ] && grep -q '"train":{"packet":2,' "$tmp/wire.json"; then ok "$name"
    else notok "$name" "$(grep -c '"train"' "$tmp/wire.json") packets of trains; $out $err"; fi
    run "$nornic" verify "$tmp/wire.pcap"
    if [ $rc = 0 ] && [[ $out == *"bad 0, malformed 0"* ]]; then ok "${name}_icrc"
    else notok "${name}_icrc" "exit status $rc: $out $err"; fi
    # the other end's packets, one by one, are those of the trains. What it reads milliseconds late, as where others
    # want its processor, is rightly left open: then it is done again.
    for ((tries = 0; tries < 5; tries++)); do
        all_joined && break
        seen_transfer "$host" "$tmp/captures/whole.pcapng" --capture "$tmp/captures/peer.pcapng"
    done
    if [ "$tries" -lt 5 ]; then ok "${name}_joined"
    else notok "${name}_joined" "exit status $rc: $(head -c 600 "$tmp/sums") $err"; fi
}
# all_joined: each packet of peer.pcapng and wire.pcap left and arrived
all_joined() {
    run "$nornic" explain --join --json "$tmp/captures/peer.pcapng" "$tmp/wire.pcap"
    head -1 "$tmp/out" >"$tmp/sums"
    [ $rc = 0 ] && is 'all(j["join"][w]["packets"] == j["join"][w]["arrived"] > 50 for w in ("a_to_b", "b_to_a"))' \
        "$tmp/sums"
}
if ! command -v tcpdump >/dev/null; then
    skip whole_trains "no tcpdump"
else
    ip netns exec "$ns_a" ethtool -K nna tx-udp-segmentation on gso on gro on >/dev/null 2>&1
    ip netns exec "$ns_b" ethtool -K nnb tx-udp-segmentation on gso on gro on >/dev/null 2>&1
    whole_trains whole_trains_v4 10.77.0.1
    whole_trains whole_trains_v6 fd77::1
fi

# --- the other side ends: its kernel says so, unless the process takes longer to end than the client sends again ---
other_side_ends() {
    start "${in_a[@]}" "$nornic" perf --port udp:nna
    listening "$ns_a" 18516
    "${in_b[@]}" "${as_nobody[@]}" "$tmp/nornic" perf --port udp:nnb --op write --time 20s 10.77.0.1 \
        >"$tmp/out" 2>"$tmp/err" &
    client=$!
    e2e_pids+=("$client")
    flowing "$ns_b" nnb
    kill -KILL "$server"
    finish
    wait "$client"
    rc=$?
    err=$(cat "$tmp/err")
}
for try in 1 2 3; do
    other_side_ends
    [[ $err == *RETRY_EXC_ERR* ]] || break
done
if [ $rc = 1 ] && [[ $err == *"10.77.0.1 says that nothing there takes RoCE"* ]]; then ok the_other_side_ends
else notok the_other_side_ends "exit status $rc: $(cat "$tmp/out") $err"; fi
run timeout 10 "${in_b[@]}" "${as_nobody[@]}" "$tmp/nornic" rping -c -a 10.77.0.1 --port udp:nnb
if [ $rc = 1 ] && [[ $err == *"10.77.0.1 says that nothing there takes RoCE"* ]]; then ok nobody_to_connect_to
else notok nobody_to_connect_to "exit status $rc: $out $err"; fi

# --- the path grows narrow: a router says so in mid-transfer ---
# routed: namespaces $ns_r (10.78.1.2, fd78:1::2) and $ns_z (10.78.2.2, fd78:2::2) on the two sides of the router $ns_m
routed() {
    ns_r="nn-$$-r" ns_z="nn-$$-z" ns_m="nn-$$-m"
    ns_make r && ns_make z && ns_make m || return 1
    (
        set -e
        ip netns exec "$ns_m" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
        side=1
        for ns in "$ns_r" "$ns_z"; do
            ip link add nnr netns "$ns" mtu 4200 type veth peer name nnm$side netns "$ns_m" mtu 4200
            ip -n "$ns" addr add 10.78.$side.2/24 dev nnr
            ip -n "$ns" addr add fd78:$side::2/64 dev nnr nodad
            ip -n "$ns_m" addr add 10.78.$side.1/24 dev nnm$side
            ip -n "$ns_m" addr add fd78:$side::1/64 dev nnm$side nodad
            ip -n "$ns_m" link set nnm$side up
            ip -n "$ns" link set nnr up
            ip -n "$ns" route add default via 10.78.$side.1
            ip -n "$ns" -6 route add default via fd78:$side::1
            side=2
        done
    )
}
# narrower NAME HOST MTU: the router's way to HOST takes packets of MTU bytes from the middle of a transfer on
narrower() {
    ip -n "$ns_m" link set nnm2 mtu 4200
    start ip netns exec "$ns_z" "${as_nobody[@]}" "$tmp/nornic" perf --port udp:nnr
    listening "$ns_z" 18516
    ip netns exec "$ns_r" "${as_nobody[@]}" "$tmp/nornic" perf --port udp:nnr --time 30s -t 5s "$2" \
        >"$tmp/out" 2>"$tmp/err" &
    client=$!
    e2e_pids+=("$client")
    flowing "$ns_r" nnr
    ip -n "$ns_m" link set nnm2 mtu "$3"
    wait "$client"
    rc=$? err=$(cat "$tmp/err")
    finish
    local says="the path to $2 takes packets of $3 bytes at the most: use a smaller path MTU"
    if [ $rc = 1 ] && [[ $err == *"$says"* ]] && [ $server_rc = 1 ]; then ok "$1"
    else notok "$1" "client $rc: $(cat "$tmp/out") $err; server $server_rc: $server_err"; fi
    # what the kernel has learned of the path holds for who starts now: who asks for no path MTU gets one that fits
    start ip netns exec "$ns_z" "${as_nobody[@]}" "$tmp/nornic" perf --port udp:nnr -t 2s
    listening "$ns_z" 18516
    run ip netns exec "$ns_r" "${as_nobody[@]}" "$tmp/nornic" perf --port udp:nnr -n 1000 -t 2s -m 4096 "$2"
    finish
    if [ $rc = 1 ] && [[ $err == *"$says"* ]]; then ok "$1_once_and_for_all"
    else notok "$1_once_and_for_all" "client $rc: $out $err"; fi
    start ip netns exec "$ns_z" "${as_nobody[@]}" "$tmp/nornic" perf --port udp:nnr
    listening "$ns_z" 18516
    run ip netns exec "$ns_r" "${as_nobody[@]}" "$tmp/nornic" perf --port udp:nnr -n 1000 -v --json "$2"
    finish
    if [ $rc = 0 ] && [ $server_rc = 0 ] && is "j['pmtu'] == 1024" "$tmp/out"; then ok "$1_smaller_packets_go"
    else notok "$1_smaller_packets_go" "client $rc: $out $err; server $server_rc: $server_err"; fi
    start ip netns exec "$ns_z" "${as_nobody[@]}" "$tmp/nornic" rping -s --port udp:nnr
    for ((i = 0; i < 100; i++)); do
        grep -q listening "$tmp/server.out" && break
        sleep 0.1
    done
    run ip netns exec "$ns_r" "${as_nobody[@]}" "$tmp/nornic" rping -c -a "$2" -C 5 -S 20000 --port udp:nnr
    finish
    if [ $rc = 0 ]; then ok "$1_connections_are_made_with_what_fits"
    else notok "$1_connections_are_made_with_what_fits" "client $rc: $out $err; server $server_rc: $server_err"; fi
}
if routed; then
    narrower a_router_says_too_long 10.78.2.2 1500
    narrower a_router_says_too_big_ipv6 fd78:2::2 1500
else
    notok a_router_says_too_long "no router can be made"
fi
exit $status
