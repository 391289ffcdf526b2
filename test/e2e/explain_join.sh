#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic explain A B --join` as a user meets it: refusals; and traffic between two namespaces, through a third one that
# loses and copies packets and says which, with tcpdump on either side of it. Lines: "ok NAME", "not ok NAME: why",
# "skip NAME: why".
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

refused_command=(explain)
refuse one_capture "two capture files" --join pcaps/rc_rnr.pcap
refuse three_captures "two capture files" --join pcaps/rc_rnr.pcap pcaps/uc.pcap pcaps/rc_nak.pcap
refuse standard_input "standard input" --join - pcaps/rc_rnr.pcap
refuse a_pipe "is no file" --join <(cat pcaps/rc_rnr.pcap) pcaps/rc_rnr.pcap
refuse no_such_file "/nonexistent" --join pcaps/rc_rnr.pcap /nonexistent
refuse other_addresses "their addresses differ" --join pcaps/rc_long.pcap pcaps/ud_6.pcap
refuse another_time "no packet is the same" --join pcaps/rc_long.pcap pcaps/uc.pcap
run "$nornic" explain --join pcaps/rc_rnr.pcap pcaps/rc_rnr.pcap
if [ $rc = 0 ] && grep -q '^A to B: 21 packets, 21 came, 0 lost$' <<<"$out" &&
    [ "$(grep -c ' 0\.0 us ' <<<"$out")" -ge 37 ]; then ok the_same_twice
else notok the_same_twice "exit status $rc: $(head -8 <<<"$out") $err"; fi
# of a capture that ends within a record what comes before is joined; of what left behind that nothing can be told
head -c 1000 pcaps/rc_rnr.pcap >"$tmp/cut.pcap"
run "$nornic" explain --join pcaps/rc_rnr.pcap "$tmp/cut.pcap"
if [ $rc = 2 ] && one_sentence "$err" "cut.pcap is cut off or broken at record 7" &&
    grep -q '^A to B: 21 packets, 3 came, 0 lost, 18 while the other capture was off' <<<"$out"
then ok a_capture_that_is_cut_off
else notok a_capture_that_is_cut_off "exit status $rc: $(head -8 <<<"$out") $err"; fi
# what a capture holds twice, as its machine saw it on two interfaces or as it was appended to itself, is laid once
python3 - "$tmp" <<'EOF'
import sys
sys.path.insert(0, 'test/e2e')
from captures import records, write
once = records('pcaps/rc_rnr.pcap')
write(sys.argv[1] + '/mirrored.pcap', [(ns + later, wire, frame) for ns, wire, frame in once for later in (0, 2000)])
write(sys.argv[1] + '/appended.pcap', once + once)
EOF
for how in mirrored appended; do
    run "$nornic" explain --join pcaps/rc_rnr.pcap "$tmp/$how.pcap"
    if [ $rc = 0 ] && grep -q '^A to B: 21 packets, 21 came, 0 lost$' <<<"$out" &&
        grep -q "$how.pcap, 37 packets, 37 once more, which are left out" <<<"$out"; then ok "${how}_capture"
    else notok "${how}_capture" "exit status $rc: $(head -8 <<<"$out") $err"; fi
done
# Ctrl-C ends the first reading of a long capture, of which a terminal sees the progress
for how in --join -v; do
    run timeout 120 python3 test/e2e/explain_interrupt.py "$nornic" "$how" "$tmp"
    if [ $rc = 0 ]; then ok "interrupt_$how"; else notok "interrupt_$how" "$out $err"; fi
done
run "$nornic" explain --join --html "$tmp/page.html" pcaps/rc_rnr.pcap pcaps/rc_rnr.pcap
if [ $rc = 0 ] && grep -q 'at B after' "$tmp/page.html"; then ok page; else notok page "exit status $rc: $err"; fi

need_namespaces lossy_way lossy_tcp
command -v tcpdump >/dev/null || skip_rest "tcpdump is not installed" lossy_way lossy_tcp

# nna in $ns_a - left in the middle - right - nnb in $ns_b
ns_make a && ns_make b && ns_make m || { notok namespaces "cannot be made"; exit 1; }
ns_a="nn-$$-a" ns_b="nn-$$-b" ns_m="nn-$$-m"
ip link add nna netns "$ns_a" mtu 4200 type veth peer name left netns "$ns_m" mtu 4200
ip link add nnb netns "$ns_b" mtu 4200 type veth peer name right netns "$ns_m" mtu 4200
for i in left right; do ip -n "$ns_m" link set "$i" up; done
ip -n "$ns_a" addr add 10.77.0.1/24 dev nna && ip -n "$ns_a" link set nna up
ip -n "$ns_b" addr add 10.77.0.2/24 dev nnb && ip -n "$ns_b" link set nnb up
ip netns exec "$ns_a" ethtool -K nna tx off >/dev/null
ip netns exec "$ns_b" ethtool -K nnb tx off >/dev/null
in_m=(ip netns exec "$ns_m")

# ready FILE PATTERN: waits, 10 seconds at most
ready() {
    for ((i = 0; i < 100; i++)); do
        grep -q "$2" "$1" 2>/dev/null && return 0
        sleep 0.1
    done
    return 1
}
# lossy_way NAME WHAT SERVER_PORT CLIENT_PORT: traffic of WHAT between the two, and what the forwarder did to it
lossy_way() {
    local name=$1 what=$2 tcpdumps=() side forwarder captured
    : >"$tmp/left.err" >"$tmp/right.err" >"$tmp/forward.out" # not those of the way before
    for side in left right; do
        "${in_m[@]}" tcpdump -i $side -U --immediate-mode -s 5000 -B 65536 --time-stamp-precision=nano \
            -w "$tmp/$side.pcap" 2>"$tmp/$side.err" &
        e2e_pids+=("$!")
        tcpdumps+=("$!")
        ready "$tmp/$side.err" 'listening on' || { notok "$name" "tcpdump: $(cat "$tmp/$side.err")"; return; }
    done
    "${in_m[@]}" python3 test/e2e/explain_join.py forward "$what" left right "$tmp/truth.json" \
        >"$tmp/forward.out" 2>&1 &
    forwarder=$!
    e2e_pids+=("$forwarder")
    ready "$tmp/forward.out" READY || { notok "$name" "forwarder: $(cat "$tmp/forward.out")"; return; }

    start ip netns exec "$ns_a" "$nornic" pingpong --port "$3" -s 20000 -n 60
    listening "$ns_a" 18515
    run ip netns exec "$ns_b" "$nornic" pingpong --port "$4" -s 20000 -n 60 10.77.0.1
    finish
    [ $rc = 0 ] && [ $server_rc = 0 ] || notok "$name" "client $rc: $err; server $server_rc: $server_err"
    sleep 0.5 # what is under way is forwarded
    kill -TERM "$forwarder"
    wait "$forwarder"
    run python3 test/e2e/explain_join.py await "$what" "$tmp/truth.json" "$tmp/left.pcap" "$tmp/right.pcap"
    captured=$rc$out
    kill -INT "${tcpdumps[@]}"
    wait "${tcpdumps[@]}"
    run "$nornic" explain --join --json "$tmp/left.pcap" "$tmp/right.pcap"
    cp "$tmp/out" "$tmp/joined.json"
    if [ $rc != 0 ]; then notok "$name" "exit status $rc: $err"
    elif [ "$captured" != 0 ]; then notok "$name" "tcpdump: $captured; $(cat "$tmp"/{left,right}.err)"
    elif run python3 test/e2e/explain_join.py check "$tmp/truth.json" "$tmp/joined.json"; then
        if [ $rc = 0 ]; then ok "$name"; else notok "$name" "$out $err"; fi
    fi
}
lossy_way lossy_way roce packet:nna packet:nnb
lossy_way lossy_tcp iwarp iwarp:10.77.0.1 iwarp:10.77.0.2
exit $status
