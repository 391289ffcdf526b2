#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# An interface with four receive queues, and peers whose flows the sender's hash spreads over them. Lines: "ok NAME",
# "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
peers=8

need_namespaces queues
ns_a="nn-$$-a" ns_b="nn-$$-b"
in_a=(ip netns exec "$ns_a") in_b=(ip netns exec "$ns_b")
four=(numrxqueues 4 numtxqueues 4)
if ! { ns_make a && ns_make b && ip link add nna netns "$ns_a" mtu 4200 "${four[@]}" type veth \
    peer name nnb netns "$ns_b" mtu 4200 "${four[@]}" &&
    ip -n "$ns_a" link set nna up && ip -n "$ns_b" link set nnb up; }; then
    notok queues "cannot make a veth pair with four queues"
    exit 1
fi
ip -n "$ns_a" addr add 10.77.0.1/24 dev nna
for ((i = 0; i < peers; i++)); do ip -n "$ns_b" addr add "10.77.0.$((10 + i))/24" dev nnb; done

# queues_used: how many of them the XDP program got packets by
queues_used() { "${in_a[@]}" ethtool -S nna | grep -cE 'rx_queue_[0-9]+_xdp_packets: [0-9]{2}'; }

start "${in_a[@]}" "$nornic" rping -s -P --port xdp:nna
for ((i = 0; i < 100; i++)); do
    grep -q listening "$tmp/server.out" && break
    sleep 0.1
done
run "${in_a[@]}" "$nornic" ports
if [[ $out == *"xdp:nna not now: another running nornic has it"* ]]; then ok ports_says_who_has_it
else notok ports_says_who_has_it "exit status $rc: $out $err"; fi
failed=''
for ((i = 0; i < peers; i++)); do
    run "${in_b[@]}" "$nornic" rping -c -a 10.77.0.1 -C 20 -S 20000 --port "udp:10.77.0.$((10 + i))"
    [ $rc = 0 ] || failed="10.77.0.$((10 + i)): exit status $rc: $out $err"
done
used=$(queues_used)
if [ -z "$failed" ]; then ok every_flow_is_served; else notok every_flow_is_served "$failed"; fi
if [ "$used" -gt 1 ]; then ok the_flows_came_by_several_queues
else notok the_flows_came_by_several_queues "$used of 4 queues had packets"; fi
kill -INT "$server"
finish
run "${in_a[@]}" "$nornic" ports
if [[ $out == *"xdp:nna of all 4 receive queues"* ]]; then ok ports_says_how_many_queues
else notok ports_says_how_many_queues "exit status $rc: $out $err"; fi
run "${in_a[@]}" "$nornic" ports --json
if [[ $out == *'"xdp:nna"'*'"queues":4'* ]]; then ok json_says_how_many_queues
else notok json_says_how_many_queues "exit status $rc: $out $err"; fi
exit $status
