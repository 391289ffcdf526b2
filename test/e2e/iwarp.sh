#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# iWARP over the kernel's TCP: without privileges on loopback, and between namespaces with tcpdump beside it, whose
# capture nornic, tshark and a reader of their own judge. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# machine: it listens at 127.0.0.1 of the machine
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
install -m 755 "$nornic" "$tmp/nornic" # where a user without privileges can read it

ready() { # waits until the server listens, or has ended
    for ((i = 0; i < 100; i++)); do
        grep -q listening "$tmp/server.out" && return
        kill -0 "$server" 2>/dev/null || return
        sleep 0.1
    done
}
judge() { # NAME MESSAGES: each side received and verified so many messages
    local good="j['received_messages'] == $2 and j['verified_messages'] == $2"
    if [ $rc = 0 ] && [ $server_rc = 0 ] && is "$good" "$tmp/out" && is "$good" "$tmp/server.out"; then ok "$1"
    else notok "$1" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
}
# pair NAME MESSAGES SERVER... -- CLIENT...: with "${side_a[@]}" and "${side_b[@]}" before them
pair() {
    local name=$1 count=$2 serve=()
    shift 2
    while [ "$1" != -- ]; do
        serve+=("$1")
        shift
    done
    shift
    start "${side_a[@]}" "$tmp/nornic" "${serve[@]}" --json
    ready
    run "${side_b[@]}" "$tmp/nornic" "$@" --json
    finish
    judge "$name" "$count"
}
refuse() { # NAME STATUS PATTERN ARGS...
    local name=$1 wanted=$2 pattern=$3
    shift 3
    run "${as_nobody[@]}" "$tmp/nornic" "$@"
    if [ $rc = "$wanted" ] && one_sentence "$err" "$pattern"; then ok "$name"
    else notok "$name" "exit status $rc: $out $err"; fi
}

# --- two processes of nobody over loopback ---
side_a=("${as_nobody[@]}") side_b=("${as_nobody[@]}")
four=iwarp:127.0.0.1 six=iwarp:::1
pair lo_rping 20 rping -s -p 18701 --port $four -- rping -c -a 127.0.0.1 -C 20 -S 65535 -p 18701 --port $four
pair lo_rping_asleep 20 rping -s -e -p 18701 --port $four -- \
    rping -c -e -a 127.0.0.1 -C 20 -S 65535 -p 18701 --port $four
pair lo_rping_other_source 5 rping -s -p 18701 --port $four -- \
    rping -c -a 127.0.0.1 -C 5 -p 18701 --port iwarp:127.0.0.2
pair lo_rping_ipv6 20 rping -s -p 18701 --port $six -- rping -c -a ::1 -C 20 -p 18701 --port $six
pair lo_interface 20 rping -s -p 18701 --port iwarp:lo -- rping -c -a 127.0.0.1 -C 20 -p 18701 --port iwarp:lo
pair lo_many 500 cmatose -c 50 -S 20000 -p 18701 --port $four -- \
    cmatose -c 50 -S 20000 -s 127.0.0.1 -p 18701 --port $four
pair lo_large 4 cmatose -C 4 -S 16M -p 18701 --port $four -- \
    cmatose -C 4 -S 16M -s 127.0.0.1 -p 18701 --port $four
pair lo_rdma 1 rdma-server -p 18701 --port $four -- rdma-client -s 127.0.0.1 -p 18701 --port $four
refuse no_datagrams 2 "no datagrams" udaddy --port $four
refuse no_capture 2 "tcpdump" cmatose --port $four --capture "$tmp/no.pcapng"
refuse no_weather 2 "ports of frames" cmatose --port $four --loss 1%
refuse nobody_listens 1 "nothing listens on service port 18702" rping -c -a 127.0.0.1 -p 18702 --port $four
refuse foreign_address 2 "192.0.2.77 is no address" cmatose --port iwarp:192.0.2.77
refuse foreign_source 2 "192.0.2.7" rping -c -a 127.0.0.1 -I 192.0.2.7 --port $four
refuse other_family 2 "no address of the device" rping -c -a ::1 --port $four

run "${as_nobody[@]}" "$tmp/nornic" ports --json
if [ $rc = 0 ] && is "[p['usable'] for p in j['ports'] if p['port'] == 'iwarp:127.0.0.1'] == [True]" "$tmp/out"; then
    ok ports_lists_it
else notok ports_lists_it "exit status $rc: $out $err"; fi

# --- perf and pingpong: every kind of traffic, each byte and each word compared ---
# measured NAME CONDITION... : both ended well, and the client's report says so
measured() {
    local name=$1
    if [ $rc = 0 ] && [ $server_rc = 0 ] && is "$2" "$tmp/out"; then ok "$name"
    else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
}
# perf NAME HOST SERVER_PORT CLIENT_PORT COMPARED ARGS...: with -v, $ops operations behind 100 others
ops=200
perf() {
    local name=$1 host=$2 a=$3 b=$4 compared=$5
    shift 5
    start "${side_a[@]}" "$tmp/nornic" perf -p 18704 --port "$a"
    serves 18704
    run "${side_b[@]}" "$tmp/nornic" perf -p 18704 --port "$b" -v -n $ops --json "$@" "$host"
    finish
    measured "$name" "j['ops'] == $ops and j['compared_messages'] == $compared and j['mode'] == 'tcp'"
}
serves() { # PORT: somebody listens there
    for ((i = 0; i < 100; i++)); do
        [ -n "$("${side_a[@]}" ss -Hltn "sport = :$1")" ] && return
        kill -0 "$server" 2>/dev/null || return
        sleep 0.1
    done
}
# bounce NAME HOST SERVER_PORT CLIENT_PORT ARGS...: both sides have ARGS
bounce() {
    local name=$1 host=$2 a=$3 b=$4
    shift 4
    start "${side_a[@]}" "$tmp/nornic" pingpong -p 18704 --port "$a" "$@" --json
    serves 18704
    run "${side_b[@]}" "$tmp/nornic" pingpong -p 18704 --port "$b" "$@" --json "$host"
    finish
    measured "$name" "j['verified_messages'] == j['iters'] and 'pmtu' not in j"
}
for op in "send 300" "write 16" "write-imm 16" "read 300" "fetch-add 301" "cmp-swap 301" \
    "masked-fetch-add 301" "masked-cmp-swap 301"; do
    perf "lo_perf_${op% *}" 127.0.0.1 $four $four "${op#* }" --op "${op% *}"
    perf "lo_perf_${op% *}_asleep" ::1 $six $six "${op#* }" --op "${op% *}" -e
done
perf lo_perf_many 127.0.0.1 $four $four 160 --op write -q 10 -s 20001
perf lo_perf_latency 127.0.0.1 $four $four 301 --op fetch-add --latency
perf lo_perf_one_byte 127.0.0.1 $four $four 300 --op send -s 1
# far more messages than there are receives, where one too many ends the stream
ops=5000
perf lo_perf_credits_send 127.0.0.1 $four $four 5100 --op send -s 1 -q 3 -e
perf lo_perf_credits_write ::1 $six $six 192 --op write-imm -s 9000 -q 12
ops=200
bounce lo_pingpong 127.0.0.1 $four $four
bounce lo_pingpong_srq ::1 $six $six --transport srq -q 8 -e
bounce lo_pingpong_large 127.0.0.1 iwarp:lo iwarp:lo -s 3M -n 20
bounce lo_pingpong_bare 127.0.0.1 $four $four --no-crc --mpa-rev 1
refuse no_uc 2 "reliable connections only" pingpong --transport uc --port $four
refuse no_ud 2 "reliable connections only" pingpong --transport ud --port $four 127.0.0.1
# differ NAME SERVER... -- CLIENT...: a side of RoCE and one of iWARP say at once what is wrong
differ() {
    local name=$1 serve=()
    shift
    while [ "$1" != -- ]; do
        serve+=("$1")
        shift
    done
    shift
    start "${as_nobody[@]}" "$tmp/nornic" "${serve[@]}" -p 18704
    serves 18704
    run "${as_nobody[@]}" "$tmp/nornic" "$@" -p 18704 127.0.0.1
    finish
    if [ $rc != 0 ] && [ $server_rc != 0 ] && [[ $err$server_err == *"speaks iWARP and the other RoCE"* ]]; then
        ok "$name"
    else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
}
differ pingpong_meets_roce pingpong --port $four -- pingpong --port udp:127.0.0.1
differ perf_meets_roce perf --port udp:127.0.0.1 -- perf --port $four

# --- programs of rdma-core and perftest over build/lib, bound to an address of the device ---
lib=$(realpath "${BUILD:-build}/lib")
stock=("${as_nobody[@]}" env "LD_LIBRARY_PATH=$lib" NORNIC_PORT=$four)
stock() { # NAME PORT SERVER... -- CLIENT...: both end well
    local name=$1 port=$2 serve=()
    shift 2
    while [ "$1" != -- ]; do
        serve+=("$1")
        shift
    done
    shift
    if ! command -v "$1" >/dev/null; then
        skip "$name" "$1 is not installed"
        return
    fi
    start "${stock[@]}" "${serve[@]}"
    serves "$port"
    run "${stock[@]}" "$@"
    finish
    if [ $rc = 0 ] && [ $server_rc = 0 ]; then ok "$name"
    else notok "$name" "client $rc: ${err: -200}; server $server_rc: ${server_err: -200}"; fi
}
if [[ ${BUILD:-} == *san-* ]]; then
    skip stock_programs "a sanitizer has to be in the program itself, and these are Debian's"
else
    run "${stock[@]}" ibv_devinfo
    if [ $rc = 0 ] && [[ $out == *"transport:"*"iWARP (1)"* ]]; then ok stock_devinfo
    else notok stock_devinfo "exit status $rc: $out $err"; fi
    stock stock_rping 18705 rping -s -a 127.0.0.1 -p 18705 -C 20 -V -- rping -c -a 127.0.0.1 -p 18705 -C 20 -V
    stock stock_ucmatose 18705 ucmatose -b 127.0.0.1 -p 18705 -c 3 -- ucmatose -s 127.0.0.1 -p 18705 -c 3
    for program in ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_read_lat ib_send_lat; do
        stock stock_$program 18705 $program -R -s 4096 -n 500 -p 18705 -- \
            $program -R -s 4096 -n 500 -p 18705 127.0.0.1
    done
    stock stock_rstream 18705 rstream -b 127.0.0.1 -p 18705 -S 4096 -C 100 -- \
        rstream -s 127.0.0.1 -p 18705 -S 4096 -C 100
    # rdma_connect() to who takes the connection and never says a word: the program hears of it
    start python3 -c '
import socket, sys
listening = socket.create_server(("127.0.0.1", 18706))
taken, _ = listening.accept()
while taken.recv(4096): pass'
    serves 18706
    SECONDS=0
    run "${stock[@]}" rping -c -a 127.0.0.1 -p 18706 -C 1
    finish
    if [ $rc != 0 ] && [ $SECONDS -ge 9 ] && [ $SECONDS -le 25 ] && [[ $out$err == *UNREACHABLE* ]]; then
        ok stock_connect_has_a_limit
    else notok stock_connect_has_a_limit "client $rc after $SECONDS s: $out $err"; fi
fi

# --- one side is killed in the middle: the other hears of it at once ---
busy() { # FILE: rounds are under way
    for ((i = 0; i < 200; i++)); do
        grep -q 'ping data' "$1" && return
        sleep 0.1
    done
}
start "${as_nobody[@]}" "$tmp/nornic" rping -s -v -p 18703 --port $four
ready
"${as_nobody[@]}" "$tmp/nornic" rping -c -a 127.0.0.1 -p 18703 --port $four >"$tmp/client.out" 2>&1 &
client=$!
e2e_pids+=("$client")
busy "$tmp/server.out"
kill -KILL "$client"
wait "$client" 2>/dev/null
SECONDS=0
finish
if [ $server_rc -le 1 ] && [ $SECONDS -le 5 ]; then ok a_client_is_killed
else notok a_client_is_killed "server $server_rc after $SECONDS s: $server_err"; fi
start "${as_nobody[@]}" "$tmp/nornic" rping -s -p 18703 --port $four
ready
(timeout 30 "${as_nobody[@]}" "$tmp/nornic" rping -c -v -a 127.0.0.1 -p 18703 --port $four \
    >"$tmp/client.out" 2>"$tmp/client.err"; echo $? >"$tmp/client.rc") &
waiter=$!
busy "$tmp/client.out"
kill -KILL "$server"
wait "$server" 2>/dev/null
SECONDS=0
wait $waiter
if [ "$(cat "$tmp/client.rc")" = 1 ] && [ $SECONDS -le 5 ] &&
    one_sentence "$(cat "$tmp/client.err")" "disconnected"; then ok a_server_is_killed
else notok a_server_is_killed "client $(cat "$tmp/client.rc") after $SECONDS s: $(cat "$tmp/client.err")"; fi

need_namespaces veth
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }

# --- a link-local address, and one that comes later ---
local_of() { # the link-local address of nna, which the kernel tries first
    for ((i = 0; i < 50; i++)); do
        ip -n "$ns_a" -6 -o addr show dev nna scope link -tentative | grep -q fe80 && break
        sleep 0.1
    done
    ip -n "$ns_a" -6 -o addr show dev nna scope link | sed -nE 's|.* (fe80[^/]*)/.*|\1|p'
}
side_a=("${in_a[@]}" "${as_nobody[@]}") side_b=("${in_b[@]}" "${as_nobody[@]}")
local=$(local_of)
pair link_local 5 rping -s --port "iwarp:$local%nna" -- rping -c -a "$local" -C 5 --port iwarp:nnb
start "${in_a[@]}" "${as_nobody[@]}" "$tmp/nornic" rping -s -p 18701 --port iwarp:nna --json
ready
ip -n "$ns_a" addr add 10.77.0.77/24 dev nna
for ((i = 0; i < 50; i++)); do # the kernel tells the server at its own time
    run "${in_b[@]}" "${as_nobody[@]}" "$tmp/nornic" rping -c -a 10.77.0.77 -C 5 -p 18701 --port iwarp:nnb --json
    [[ $err == *"nothing listens"* ]] || break
    sleep 0.1
done
finish
judge later_address 5
ip -n "$ns_a" addr del 10.77.0.77/24 dev nna

# --- between namespaces: every FPDU is judged ---
side_a=("${in_a[@]}" "${as_nobody[@]}") side_b=("${in_b[@]}" "${as_nobody[@]}")
record() { tcpdump_begin "$ns_a" nna --immediate-mode tcp; } # the server's end, from now on
recorded() { # it has what there was, and ends
    sleep 0.2 # the last acknowledgements; nothing is judged by them
    kill -INT "$tcpdump"
    wait "$tcpdump" 2>/dev/null
}
# seen NAME [--no-tshark]: the capture is whole, and right. tshark finds no FPDU behind a long one with markers, and
# lists one that several large segments hold at another place than where it ends.
seen() {
    local name=$1 verified
    run "$nornic" verify "$tmp/wire.pcap"
    verified="$rc: $out $err"
    run python3 test/e2e/explain_iwarp.py "${@:2}" "$nornic" "$tmp/wire.pcap"
    if [ $rc = 0 ] && [[ $verified == 0:* ]]; then ok "$name"
    else notok "$name" "verify $verified; reader $rc: ${out:0:500} ${err:0:500}"; fi
}
for address in 10.77.0.1 fd77::1; do
    a=iwarp:$address b=iwarp:${address%1}2 name=veth_${address//[.:]/_}
    for options in "" "--mpa-rev 1" "--markers" "--no-crc" "--rtr write" "--rtr read" "--rtr none"; do
        this=$name${options//[ -]/_}
        record
        # shellcheck disable=SC2086
        pair "$this" 10 rping -s --port $a $options -- rping -c -a $address -C 10 -S 5000 --port $b $options
        recorded
        if [ "$options" = --markers ]; then seen "${this}_capture" --no-tshark; else seen "${this}_capture"; fi
    done
    record
    pair "${name}_many" 60 cmatose -c 6 -S 30000 --port $a -- cmatose -c 6 -S 30000 -s $address --port $b
    recorded
    seen "${name}_many_capture" --no-tshark
done

# --- perf and pingpong between machines ---
for address in 10.77.0.1 fd77::1; do
    name=veth_perf_${address//[.:]/_}
    record
    perf "$name" $address iwarp:nna iwarp:${address%1}2 300 --op read -s 9000
    recorded
    seen "${name}_capture" --no-tshark
    perf "${name}_write" $address iwarp:$address iwarp:nnb 64 --op write-imm -s 9000 -q 4
    bounce "${name}_pingpong" $address iwarp:nna iwarp:nnb --transport srq -q 4
done

# --- FPDUs are as long as a segment may be, and follow the path (IWARP-FPDU-05) ---
longest() {
    tshark -r "$tmp/wire.pcap" -T fields -e iwarp_mpa.ulpdulength 2>/dev/null | tr ',' '\n' | sort -n | tail -1
}
for mtu in 1280 9000; do
    veth_mtu $mtu
    record
    pair "mtu_$mtu" 5 rping -s --port iwarp:nna -- rping -c -a 10.77.0.1 -C 5 -S 60000 --port iwarp:nnb
    recorded
    seen "mtu_${mtu}_capture" --no-tshark
    max=$(longest)
    # what IPv4, TCP with its time stamps, and MPA take of it; at most three octets are left over
    if [ "$max" -le $((mtu - 58)) ] && [ "$max" -ge $((mtu - 62)) ]; then ok "mtu_${mtu}_is_used"
    else notok "mtu_${mtu}_is_used" "the longest ULPDU has $max bytes"; fi
done

# --- the path gets narrower while the client answers READs of 60000 bytes: what is made a second later fits it. A slow
# line, so that it takes some seconds ---
for dev in "$ns_a nna" "$ns_b nnb"; do
    # shellcheck disable=SC2086
    tc -n ${dev% *} qdisc add dev ${dev#* } root tbf rate 20mbit burst 64kb latency 100ms
done
record
(
    sleep 1
    ip -n "$ns_b" route replace 10.77.0.0/24 dev nnb proto kernel scope link src 10.77.0.2 mtu 1500
    date +%s.%N >"$tmp/narrow"
) &
narrower=$!
pair path_gets_narrower 100 rping -s --port iwarp:nna -- rping -c -a 10.77.0.1 -C 100 -S 60000 --port iwarp:nnb
wait $narrower
recorded
longest_of_client() { # FROM TO: seconds from the change on
    tshark -r "$tmp/wire.pcap" -Y 'ip.src == 10.77.0.2' -T fields -e frame.time_epoch -e iwarp_mpa.ulpdulength \
        2>/dev/null | awk -v change="$(cat "$tmp/narrow")" -v from="$1" -v to="$2" '
        $1 > change + from && $1 < change + to {
            count = split($2, lengths, ",")
            for (i = 1; i <= count; i++) if (lengths[i] > max) max = lengths[i]
        }
        END { print max + 0 }'
}
before=$(longest_of_client -10 0) after=$(longest_of_client 1.5 60)
if [ "$before" -gt 8900 ] && [ "$after" -gt 1400 ] && [ "$after" -le 1442 ]; then ok narrower_path_is_followed
else notok narrower_path_is_followed "the longest ULPDU had $before bytes, then $after"; fi
exit $status
