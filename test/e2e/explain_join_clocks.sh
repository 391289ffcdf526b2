#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic explain A B --join` where the packets that both captures have are few: only those of the CM,
# or only TCP's handshake of SMC-R with its CLC messages. Traffic goes between two namespaces through a third one that
# passes all, with tcpdump on either side of it, by the same clock; then editcap sets the clock of B.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# alone: it wants round trips of microseconds between machines that do not wait for a processor
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cm='udp port 4791 and udp[12:4] & 0xffffff = 1' # the destination QP in the BTH

need_namespaces clocks_of_handshakes
need_programs clocks_of_handshakes tcpdump editcap

# nna in $ns_a - left in the middle - right - nnb in $ns_b
ns_make a && ns_make b && ns_make m || { notok namespaces "cannot be made"; exit 1; }
ns_a="nn-$$-a" ns_b="nn-$$-b" ns_m="nn-$$-m"
ip link add nna netns "$ns_a" type veth peer name left netns "$ns_m"
ip link add nnb netns "$ns_b" type veth peer name right netns "$ns_m"
for i in left right; do ip -n "$ns_m" link set "$i" up; done
ip -n "$ns_a" addr add 10.77.0.1/24 dev nna && ip -n "$ns_a" link set nna up
ip -n "$ns_b" addr add 10.77.0.2/24 dev nnb && ip -n "$ns_b" link set nnb up
ip netns exec "$ns_a" ethtool -K nna tx off >/dev/null
ip netns exec "$ns_b" ethtool -K nnb tx off >/dev/null

# ready FILE PATTERN: waits, 10 seconds at most
ready() {
    for ((i = 0; i < 100; i++)); do
        grep -q "$2" "$1" 2>/dev/null && return 0
        sleep 0.1
    done
    return 1
}
for side in left right; do
    ip netns exec "$ns_m" tcpdump -i $side -U --immediate-mode -s 5000 -B 65536 --time-stamp-precision=nano \
        -w "$tmp/$side.pcap" 'tcp or udp port 4791' 2>"$tmp/$side.err" &
    e2e_pids+=("$!")
    tcpdumps+=("$!")
    ready "$tmp/$side.err" 'listening on' || { notok tcpdump "$(cat "$tmp/$side.err")"; exit 1; }
done
ip netns exec "$ns_m" python3 test/e2e/explain_join.py forward nothing left right "$tmp/truth.json" \
    >"$tmp/forward.out" 2>&1 &
forwarder=$!
e2e_pids+=("$forwarder")
ready "$tmp/forward.out" READY || { notok forwarder "$(cat "$tmp/forward.out")"; exit 1; }

start ip netns exec "$ns_a" "$nornic" rping -s --port packet:nna
ready "$tmp/server.out" listening
run ip netns exec "$ns_b" "$nornic" rping -c -a 10.77.0.1 -C 3 --port packet:nnb
finish
[ $rc = 0 ] && [ $server_rc = 0 ] || notok traffic_of_rping "client $rc: $err; server $server_rc: $server_err"
head -c 3000 /dev/urandom >"$tmp/file"
start ip netns exec "$ns_a" "$nornic" smc listen -d packet:nna -o /dev/null 5000
ready "$tmp/server.err" listening
run ip netns exec "$ns_b" "$nornic" smc connect -d packet:nnb --require-smc 10.77.0.1 5000 <"$tmp/file"
finish
[ $rc = 0 ] && [ $server_rc = 0 ] || notok traffic_of_smc "client $rc: $err; server $server_rc: $server_err"
run python3 test/e2e/explain_join_clocks.py await "$tmp/left.pcap" "$tmp/right.pcap"
[ $rc = 0 ] || { notok captured "$out $err; $(cat "$tmp"/{left,right}.err)"; exit 1; }
kill -TERM "$forwarder"
kill -INT "${tcpdumps[@]}"
wait "$forwarder" "${tcpdumps[@]}"

# judge NAME A.pcap B.pcap SECONDS: B's clock is set so much forward, in a copy
judge() {
    local name=$1 a=$2 b=$tmp/b.pcap
    editcap -F nsecpcap -t "$4" "$3" "$b"
    run "$nornic" explain --join --json "$a" "$b"
    cp "$tmp/out" "$tmp/joined.json"
    [ $rc = 0 ] || { notok "$name" "exit status $rc: $err"; return; }
    run python3 test/e2e/explain_join_clocks.py check "$a" "$b" "$tmp/joined.json" "$4"
    if [ $rc = 0 ]; then ok "$name"; else notok "$name" "$out $err"; fi
    echo "# $out"
}
for side in left right; do
    # -r: frames as they are, times with nanoseconds
    tcpdump -r "$tmp/$side.pcap" --time-stamp-precision=nano -w "$tmp/$side.cm.pcap" "$cm" 2>"$tmp/err" &&
        tcpdump -r "$tmp/$side.pcap" --time-stamp-precision=nano -w "$tmp/$side.tcp.pcap" tcp 2>"$tmp/err" ||
        notok filtered "$(cat "$tmp/err")"
done
for kind in cm tcp; do
    judge ${kind}_alone "$tmp/left.$kind.pcap" "$tmp/right.$kind.pcap" 0
    judge ${kind}_alone_and_another_clock "$tmp/left.$kind.pcap" "$tmp/right.$kind.pcap" 3.25
    judge ${kind}_alone_and_a_clock_of_yesterday "$tmp/left.$kind.pcap" "$tmp/right.$kind.pcap" -86400
    judge ${kind}_alone_from_the_other_end "$tmp/right.$kind.pcap" "$tmp/left.$kind.pcap" 3.25
    judge all_there_and_${kind}_here "$tmp/left.pcap" "$tmp/right.$kind.pcap" 3.25
    judge ${kind}_there_and_all_here "$tmp/left.$kind.pcap" "$tmp/right.pcap" -1.5
done
exit $status
