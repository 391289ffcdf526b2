#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Path migration (option apm) of a program over libibverbs, test/verbs/programs/wire.c, between two pairs of interfaces,
# with a capture of each. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"

why=$(why_no_namespaces)
if [ -n "$why" ]; then
    skip wire_paths "$why"
    exit $status
fi
veth_make 1500 && veth_paths || exit 1
wire_start a b udp:lo,apm,pkey=0x8001
wire_start b a udp:lo,apm,pkey=0x8001
ask a "caps"; echo $answer
ask a "pkeys"; echo $answer
order a "connect 10.80.0.1 10.80.0.2 0"
order b "connect 10.80.0.2 10.80.0.1 0"
answer a; echo $answer; answer b; echo $answer
ask a "write 3"; echo $answer
ask a "path"; echo $answer
ask a "load 10.81.0.1 10.81.0.2 1"; echo $answer
ask b "load 10.81.0.2 10.81.0.1 1"; echo $answer
ask a "path"; echo $answer
ask a "write 3"; echo $answer
ask a "path"; echo $answer
ask b "path"; echo $answer
tcpdump_begin $ns_b any -n udp port 4791
ask a "write 1"; echo $answer
ip -n $ns_a link set nna down
ask a "write 3"; echo $answer
ask a "path"; echo $answer
ask b "path"; echo $answer
ask a "event"; echo $answer
ask b "event"; echo $answer
ask b "write 3"; echo $answer
sleep 1; kill -INT $tcpdump; wait $tcpdump
tshark -r $tmp/wire.pcap -T fields -e frame.time_relative -e ip.src -e ip.dst -e infiniband.bth.opcode -e infiniband.bth.m -e infiniband.bth.p_key
wire_end
