#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Congestion management of programs at a bottleneck, a switch whose queue marks packets (bottleneck.py). They lead to
# CNPs, which slow the sender; without the bottleneck it is fast again. Programs over libibverbs, rsockets, SMC-R.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# machine: SMC-R keeps sockets in /run/nornic
# covers: ROCE-HDR-12, ROCE-CC-1, ROCE-CC-2, ROCE-CC-3, ROCE-CC-4, ROCE-CC-5, ROCE-CC-6, ROCE-CC-24
. "$(dirname "$0")/lib.sh"

why=$(why_no_namespaces)
if [ -n "$why" ]; then
    skip wire_cnp "$why"
    exit $status
fi
# a and b are joined by a switch in r instead of a cable
veth_make 1500 && ns_make r || exit 1
ns_r="nn-$$-r"
for end in "a 1" "b 2"; do
    read -r name host <<<"$end"
    ns="nn-$$-$name"
    ip -n "$ns" link del "nn$name" 2>/dev/null
    ip link add "nn$name" netns "$ns" type veth peer name "r$name" netns "$ns_r" || exit 1
    ip -n "$ns" addr add "10.77.0.$host/24" dev "nn$name"
    ip -n "$ns" addr add "fd77::$host/64" dev "nn$name" nodad
    ip -n "$ns" link set "nn$name" up
    ip -n "$ns_r" link set "r$name" up
    # frames as they are on a wire: whole checksums, no trains
    ip netns exec "$ns" ethtool -K "nn$name" tx off gso off tso off gro off >/dev/null 2>&1
done
mkfifo "$tmp/rates"
ip netns exec "$ns_r" python3 test/e2e/bottleneck.py ra rb <"$tmp/rates" >"$tmp/switch" &
switch=$!
e2e_pids+=("$switch")
exec {rates}>"$tmp/rates"
until_true 10 grep -q forwarding "$tmp/switch" || { notok switch "it does not start"; exit 1; }
narrow() { echo 8000000 >&"$rates"; }
wide() { echo 0 >&"$rates"; }
now() { date +%s.%N; }

# capture_begin: the wire of the sender. cnps: how many there are by now. judge NAME DSCP MOMENT...: ends the capture
capture_begin() { tcpdump_begin "$ns_a" nna --immediate-mode -s 160 udp port 4791 || exit 1; }
cnps() { tshark -r "$tmp/wire.pcap" -Y "infiniband.bth.opcode==0x81" 2>/dev/null | wc -l; }
some_cnps() { [ "$(cnps)" -ge 80 ]; } # one in 5 ms at most
judge() {
    local name=$1
    shift
    kill -INT "$tcpdump"
    wait "$tcpdump"
    [ -z "${KEEP:-}" ] || cp "$tmp/wire.pcap" "$KEEP"
    verdict=$(python3 test/e2e/wire_cnp.py "$tmp/wire.pcap" "$from" "$to" "$@" 2>&1)
    if [[ $verdict == good:* ]]; then ok "$name"; else notok "$name" "$verdict"; fi
}

# --- a program over libibverbs, with settings in the name of the port ---
slow_steps=cc=line-rate=40M+cnp-interval=5ms+alpha-period=6ms+increase-period=6ms+additive=400K
# verbs NAME FROM TO DSCP SETTING: RDMA Writes before the bottleneck is there, while it is, and when it has gone
verbs() {
    from=$2 to=$3
    wire_start a b "udp:nna,$slow_steps" --stat
    wire_start b a "udp:nnb,$slow_steps$5" --stat
    order a "connect $2 $3 0 16"
    order b "connect $3 $2 0 16"
    answer a && answer b
    capture_begin
    ask a "flood 500"
    local fast wide_at
    fast=$(now)
    narrow
    order a "flood 4000"
    until_true 10 some_cnps
    wide
    wide_at=$(now)
    answer a
    [[ $answer == "flood success"* ]] || notok "${1}_program" "$answer"
    wire_end
    judge "$1" "$4" "$fast" "$wide_at"
    if grep -q "rp_cnp_handled [1-9]" "$tmp/a.err" &&
        grep -q "np_ecn_marked [1-9].*np_cnp_sent [1-9]" "$tmp/b.err"; then
        ok "${1}_counted"
    else notok "${1}_counted" "$(cat "$tmp/a.err" "$tmp/b.err")"; fi
}
verbs verbs 10.77.0.1 10.77.0.2 48 ""
verbs verbs_ipv6_and_dscp fd77::1 fd77::2 46 +dscp=46

# --- others: CNPs come, and what is to be moved is moved ---
from=10.77.0.1 to=10.77.0.2
narrow
why=$(why_no_program rstream)
if [ -n "$why" ]; then
    skip rsockets "$why"
else
    start "${in_b[@]}" "$nornic" run --port udp:nnb,cc --stat -- rstream -T verify -S 100000 -C 5
    serving "$ns_b"
    capture_begin
    run "${in_a[@]}" "$nornic" run --port udp:nna,cc --stat -- rstream -s 10.77.0.2 -T verify -S 100000 -C 5
    finish
    judge rsockets 48
    if [ $rc = 0 ] && [[ $err == *"rp_cnp_handled "[1-9]* && $server_err == *"np_cnp_sent "[1-9]* ]]; then
        ok rsockets_counted
    else notok rsockets_counted "$rc: $out $err; server $server_rc: $server_err"; fi
fi

head -c 1000000 /dev/urandom >"$tmp/file"
start "${in_b[@]}" "$nornic" smc listen -d packet:nnb,cc -o "$tmp/copy" 5000
listening "$ns_b" 5000
capture_begin
run "${in_a[@]}" "$nornic" smc connect -d packet:nna,cc --require-smc 10.77.0.2 5000 <"$tmp/file"
finish
judge smc_r 48
if [ $rc = 0 ] && cmp -s "$tmp/file" "$tmp/copy"; then ok smc_r_data
else notok smc_r_data "$rc: $out $err; server $server_rc: $server_err"; fi

# --- without the option: neither ECT nor CNPs ---
start "${in_b[@]}" "$nornic" smc listen -d packet:nnb -o "$tmp/copy" 5000
listening "$ns_b" 5000
capture_begin
run "${in_a[@]}" "$nornic" smc connect -d packet:nna --require-smc 10.77.0.2 5000 <"$tmp/file"
finish
kill -INT "$tcpdump"
wait "$tcpdump"
found=$(tshark -r "$tmp/wire.pcap" -Y infiniband.bth -T fields -e ip.dsfield.ecn 2>/dev/null | sort -u | xargs)
if [ "$(cnps)" = 0 ] && [ "$found" = 0 ]; then ok ROCE_CC_1_without_the_option
else notok ROCE_CC_1_without_the_option "$(cnps) CNPs; ECN: $found; $rc: $out $err"; fi
exec {rates}>&-
await "$switch"
exit $status
