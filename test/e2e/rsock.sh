#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rsockets: rdma-core's programs for them, and iperf3 under its librspreload, as Debian has them, over build/lib: as an
# ordinary user, between two namespaces. What crossed the wire is judged by nornic verify --strict.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
lib=$(realpath "${BUILD:-build}/lib")
preload=$(dirname "$(ldconfig -p | awk '$1 == "librdmacm.so.1" { print $NF; exit }')")/rsocket/librspreload.so

need_no_sanitizer rsock
need_programs rsock rstream riostream rcopy udpong iperf3 "$preload"
need_namespaces rsock
veth_make 4200 || { notok veth "cannot make a veth pair"; exit 1; }
chmod 711 "$tmp"
mkdir -m 777 "$tmp/captures" "$tmp/files"

# on a | b PROGRAM...: in that namespace, as nobody, over the port of its address
on() {
    local -n place=in_$1
    local addr=10.77.0.1
    [ "$1" = a ] || addr=10.77.0.2
    shift
    command=("${place[@]}" "${as_nobody[@]}" env "LD_LIBRARY_PATH=$lib" "NORNIC_PORT=udp:$addr" NORNIC_TRACE=1 "$@")
}

# at_service: waits, 10 seconds at most, until a process of b listens to a service of the CM or to rstream's TCP port,
# or has ended
at_service() {
    for ((i = 0; i < 100; i++)); do
        ip netns exec "$ns_b" "${as_nobody[@]}" "$nornic" stat 2>/dev/null | grep -q 'listens to [1-9]' && return
        [ -n "$(ip netns exec "$ns_b" ss -Hltn 'sport = :7471')" ] && return # iWARP is TCP
        kill -0 "$server" 2>/dev/null || return
        sleep 0.1
    done
}

# end_server: kills one that would serve on
end_server() {
    kill -KILL "$server"
    finish
} 2>/dev/null

# judge NAME N: what crossed the client's port is as the standard has it, and has N messages at least
judge() {
    if ! "$nornic" verify --strict --json "$tmp/captures/$1"* >"$tmp/verdict" 2>&1; then
        notok "capture_$1" "$(tail -3 "$tmp/verdict")"
    elif [ "$(tshark -r "$tmp/captures/$1" -Y 'infiniband.bth.opcode in {9, 11}' 2>/dev/null | wc -l)" -lt "$2" ]; then
        notok "capture_$1" "fewer than $2 messages of rsockets, by tshark"
    else
        ok "capture_$1"
    fi
}

# between NAME SERVER... -- CLIENT...: over rsockets, both to end well
between() {
    local name=$1 theirs=()
    shift
    while [ "$1" != -- ]; do theirs+=("$1") && shift; done
    shift
    on b "${theirs[@]}"
    start "${command[@]}"
    at_service
    on a env NORNIC_CAPTURE="$tmp/captures/$name" "$@"
    run "${command[@]}"
    finish
    if [ $rc = 0 ] && [ "$server_rc" = 0 ]; then ok "$name"
    else notok "$name" "client $rc: $(tail -3 "$tmp/err") server $server_rc: ${server_err: -300}"; fi
}

for how in blocking nonblocking async verify; do
    between rstream_$how rstream -T "$how" -S 5000 -C 200 -- rstream -s 10.77.0.2 -T "$how" -S 5000 -C 200
    between riostream_$how riostream -T "$how" -S 5000 -C 200 -- riostream -s 10.77.0.2 -T "$how" -S 5000 -C 200
done
judge rstream_verify 400
judge riostream_verify 2
# every size, also some that are larger than the buffers
between rstream_all rstream -T verify -S all -I 5 -- rstream -s 10.77.0.2 -T verify -S all -I 5
# an address that is resolved by rdma_getaddrinfo()
between rstream_resolve rstream -T resolve -S 64 -C 10 -- rstream -s 10.77.0.2 -T resolve -S 64 -C 10
between rstream_v6 env NORNIC_PORT=udp:fd77::2 rstream -b fd77::2 -f ipv6 -S 64 -C 10 -- \
    env NORNIC_PORT=udp:fd77::1 rstream -s fd77::2 -f ipv6 -S 64 -C 10

# over iWARP, whose messages are SENDs
for how in nonblocking async verify; do
    between iwarp_rstream_$how env NORNIC_PORT=iwarp:10.77.0.2 rstream -T "$how" -S 5000 -C 200 -- \
        env -u NORNIC_CAPTURE NORNIC_PORT=iwarp:10.77.0.1 rstream -s 10.77.0.2 -T "$how" -S 5000 -C 200
done
between iwarp_rstream_all env NORNIC_PORT=iwarp:10.77.0.2 rstream -T verify -S all -I 5 -- \
    env -u NORNIC_CAPTURE NORNIC_PORT=iwarp:10.77.0.1 rstream -s 10.77.0.2 -T verify -S all -I 5
between iwarp_riostream env NORNIC_PORT=iwarp:10.77.0.2 riostream -T verify -S 5000 -C 200 -- \
    env -u NORNIC_CAPTURE NORNIC_PORT=iwarp:10.77.0.1 riostream -s 10.77.0.2 -T verify -S 5000 -C 200

# A server that ends at once, while what it sent last is still in its TCP, and hears something more then: a TCP that is
# closed without a look would reset the connection, and the client lose the rest.
on b env NORNIC_PORT=iwarp:10.77.0.2 rstream -S 60000 -C 1
start "${command[@]}"
at_service
run ip netns exec "$ns_a" python3 -B test/e2e/rsock_late.py 10.77.0.2
finish
if [ $rc = 0 ] && [ "$server_rc" = 0 ]; then ok iwarp_last_words
else notok iwarp_last_words "the client ends with $rc: $out; the server with $server_rc: ${server_err: -300}"; fi

# a file there: the server serves on, so it is ended
head -c 3000000 /dev/urandom >"$tmp/files/in"
chmod 644 "$tmp/files/in"
on b rcopy
start "${command[@]}"
at_service
on a rcopy "$tmp/files/in" "10.77.0.2:$tmp/files/out"
run "${command[@]}"
end_server
if [ $rc = 0 ] && cmp -s "$tmp/files/in" "$tmp/files/out"; then ok rcopy; else notok rcopy "$rc: $err $server_err"; fi

# datagrams: the first over UDP, the others from queue pair to queue pair. The server serves on.
for how in blocking nonblocking async echo; do
    on b udpong -b 10.77.0.2 -T $how
    start "${command[@]}"
    for ((i = 0; i < 100; i++)); do
        [ -n "$(ip netns exec "$ns_b" ss -Hlun 'sport = :7174')" ] && break
        sleep 0.1
    done
    on a env NORNIC_CAPTURE="$tmp/captures/udpong_$how" udpong -s 10.77.0.2 -T $how -S 512 -C 300
    run "${command[@]}"
    end_server
    sent=$(tshark -r "$tmp/captures/udpong_$how" -Y 'infiniband.bth.opcode == 100' 2>/dev/null | wc -l)
    if [ $rc = 0 ] && [ "$sent" -ge 250 ]; then ok udpong_$how
    else notok udpong_$how "$rc: $sent datagrams by tshark, $err $server_err"; fi
done

# nobody is there: no connection is made, with a word for it
on a rstream -s 10.77.0.2 -S 64 -C 1
run "${command[@]}"
if [ $rc != 0 ] && [[ $err == *" is not connected: "*"(RDMA_CM_EVENT_UNREACHABLE)"* ]]; then ok refused
else notok refused "$rc: ${err: -300}"; fi

# A server that is killed is an end for its client, soon: also for one that waits for room just then, with nothing on
# its way that would not be acknowledged, since it asked to be kept alive.
on b rstream -T blocking -S 1000 -C 100000000
start "${command[@]}"
at_service
on a timeout 45 rstream -s 10.77.0.2 -T blocking -S 1000 -C 100000000 -k 1
"${command[@]}" >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
for ((i = 0; i < 100; i++)); do
    ip netns exec "$ns_a" "${as_nobody[@]}" "$nornic" stat 2>/dev/null | grep -qE 'tx_frames [0-9]{3}' && break
    sleep 0.1
done
end_server
wait "$client"
rc=$?
if [ $rc != 0 ] && [ $rc != 124 ]; then ok killed_peer
else notok killed_peer "the client ends with $rc: $(cat "$tmp/err")"; fi

# programs of sockets, which know nothing of RDMA
on b env LD_PRELOAD="$preload" iperf3 -4 -s -1 -B 10.77.0.2
start "${command[@]}"
at_service
on a env LD_PRELOAD="$preload" NORNIC_CAPTURE="$tmp/captures/iperf3" iperf3 -4 -c 10.77.0.2 -n 4M
run "${command[@]}"
finish
if [ $rc = 0 ] && [ "$server_rc" = 0 ]; then ok preload_iperf3
else notok preload_iperf3 "$rc: $out $err, $server_rc: $server_out $server_err"; fi
judge iperf3 60
exit $status
