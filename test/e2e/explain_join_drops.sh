#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic explain A B --join` of a way on which a router loses packets: the kernel of a namespace forwards between two
# others, nftables drops each 29th packet of either way, and tcpdump listens on either side of it (a packet port goes
# past the tcpdump of its own host). The truth is the order of the packets, and the counters.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
every=29 place=5

need_namespaces dropped_by_a_router
need_programs dropped_by_a_router tcpdump nft editcap

# nna, 10.78.1.1, in $ns_a - left - right - nnb, 10.78.2.1, in $ns_b
ns_make a && ns_make b && ns_make m || { notok namespaces "cannot be made"; exit 1; }
ns_a="nn-$$-a" ns_b="nn-$$-b" ns_m="nn-$$-m"
ends() { # NAMESPACE INTERFACE OF_THE_ROUTER NUMBER
    ip link add "$2" netns "$1" mtu 4200 type veth peer name "$3" netns "$ns_m" mtu 4200
    ip -n "$1" addr add "10.78.$4.1/24" dev "$2"
    ip -n "$1" link set "$2" up
    ip -n "$ns_m" addr add "10.78.$4.254/24" dev "$3"
    ip -n "$ns_m" link set "$3" up
    ip -n "$1" route add 10.78.0.0/16 via "10.78.$4.254"
    ip netns exec "$1" ethtool -K "$2" tx off >/dev/null
}
ends "$ns_a" nna left 1
ends "$ns_b" nnb right 2
ip netns exec "$ns_m" sysctl -qw net.ipv4.ip_forward=1
ip netns exec "$ns_m" nft -f - <<END || { notok nftables "cannot be set up"; exit 1; }
table ip drops {
    counter sent_a { }
    counter sent_b { }
    counter lost_a { }
    counter lost_b { }
    chain forward {
        type filter hook forward priority 0;
        iifname left udp dport 4791 counter name sent_a
        iifname right udp dport 4791 counter name sent_b
        iifname left udp dport 4791 numgen inc mod $every $place counter name lost_a drop
        iifname right udp dport 4791 numgen inc mod $every $place counter name lost_b drop
    }
}
END

# ready FILE PATTERN: waits, 10 seconds at most
ready() {
    for ((i = 0; i < 100; i++)); do
        grep -q "$2" "$1" 2>/dev/null && return 0
        sleep 0.1
    done
    return 1
}
for side in a:left b:right; do
    file=$tmp/${side%:*}
    ip netns exec "$ns_m" tcpdump -i "${side#*:}" -U --immediate-mode -s 5000 -B 65536 --time-stamp-precision=nano \
        -w "$file.pcap" 'udp port 4791' 2>"$file.err" &
    e2e_pids+=("$!")
    tcpdumps+=("$!")
    ready "$file.err" 'listening on' || { notok tcpdump "$(cat "$file.err")"; exit 1; }
done

start ip netns exec "$ns_a" "$nornic" pingpong --port packet:nna -s 20000 -n 60
listening "$ns_a" 18515
run ip netns exec "$ns_b" "$nornic" pingpong --port packet:nnb -s 20000 -n 60 10.78.1.1
finish
[ $rc = 0 ] && [ $server_rc = 0 ] || notok traffic "client $rc: $err; server $server_rc: $server_err"
counted() { ip netns exec "$ns_m" nft list counter ip drops "$1" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }
run python3 test/e2e/explain_join_drops.py await "$tmp/a.pcap" "$tmp/b.pcap" "$(counted sent_a)" "$(counted lost_a)" \
    "$(counted sent_b)" "$(counted lost_b)"
captured=$rc$out
kill -INT "${tcpdumps[@]}"
wait "${tcpdumps[@]}"
[ "$captured" = 0 ] || { notok tcpdump "$captured; $(cat "$tmp"/{a,b}.err)"; exit 1; }

judge() { # NAME B.pcap SECONDS
    run "$nornic" explain --join --json "$tmp/a.pcap" "$2"
    cp "$tmp/out" "$tmp/joined.json"
    [ $rc = 0 ] || { notok "$1" "exit status $rc: $err"; return; }
    run python3 test/e2e/explain_join_drops.py check "$tmp/a.pcap" "$2" "$tmp/joined.json" $every $place \
        "$(counted lost_a)" "$(counted lost_b)" "$3"
    if [ $rc = 0 ]; then ok "$1"; else notok "$1" "$out $err"; fi
}
judge dropped_by_a_router "$tmp/b.pcap" 0
editcap -F nsecpcap -t 2.5 "$tmp/b.pcap" "$tmp/later.pcap"
judge dropped_by_a_router_and_another_clock "$tmp/later.pcap" 2.5
editcap -F nsecpcap -t -86400 "$tmp/b.pcap" "$tmp/yesterday.pcap"
judge dropped_by_a_router_and_a_clock_of_yesterday "$tmp/yesterday.pcap" -86400
exit $status
