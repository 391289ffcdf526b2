#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Path migration (option apm) of a program over libibverbs, test/verbs/programs/wire.c. Two pairs of interfaces join
# the ends; the capture has both. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# covers: ROCE-HDR-2, ROCE-EV-7, ROCE-QP-33, ROCE-HDR-5
. "$(dirname "$0")/lib.sh"

why=$(why_no_namespaces)
if [ -n "$why" ]; then
    skip wire_paths "$why"
    exit $status
fi
veth_make 1500 && veth_paths || exit 1

# connected PORT: both ends on this port, connected by the first way
connected() {
    wire_start a b "$1"
    wire_start b a "$1"
    order a "connect 10.80.0.1 10.80.0.2 0 12"
    order b "connect 10.80.0.2 10.80.0.1 0 12"
    answer a && answer b
    wire_expect connect a "write 1" "write success"
}
# arm FROM TO PKEY_INDEX: both ends have an alternate path, by the addresses 10.FROM.0.x; packets both ways arm it
arm() {
    ask a "load 10.$1.0.1 10.$1.0.2 $2"
    [ "$answer" = "load ok" ] || notok load_a "$answer"
    ask b "load 10.$1.0.2 10.$1.0.1 $2"
    [ "$answer" = "load ok" ] || notok load_b "$answer"
    ask a "write 1"
}
# capture_begin; capture_end: what both interfaces of the end b carry, until 20 more packets of the connection that
# ask() made; $rows has address of the sender, opcode, MigReq and P_Key of each kind of packet, in order
capture_begin() { tcpdump_begin "$ns_b" any udp port 4791 || exit 1; }
capture_end() {
    all_are_there() { [ "$(tshark -r "$tmp/wire.pcap" -Y "infiniband.bth.opcode==17" 2>/dev/null | wc -l)" -ge "$1" ]; }
    until_true 10 all_are_there "$1"
    kill -INT "$tcpdump"
    wait "$tcpdump"
    rows=$(tshark -r "$tmp/wire.pcap" -T fields -E separator=, -e ip.src -e infiniband.bth.opcode -e infiniband.bth.m \
        -e infiniband.bth.p_key 2>/dev/null | uniq | xargs)
}

# --- a device without the option ---
connected udp:lo
wire_expect no_option_no_flag a caps "caps apm 0*"
wire_expect no_option_no_path a "load 10.81.0.1 10.81.0.2 0" "load EINVAL"
wire_expect no_option_no_state a "set 1" "set EINVAL"
wire_end

# --- with it ---
connected udp:lo,apm,pkey=0x8001
wire_expect flag a caps "caps apm 1 max_pkeys 2"
wire_expect rearm_needs_a_path a "set 1" "set EINVAL"
wire_expect armed_is_not_for_programs a "set 2" "set EINVAL"
wire_expect unknown_p_key a "load 10.81.0.1 10.81.0.2 7" "load EINVAL"
wire_expect a_path_of_an_address_of_others a "load 10.99.0.1 10.81.0.2 0" "load EINVAL"
capture_begin
arm 81 1
wire_expect armed_here a path "path ARMED 10.80.0.2 pkey_index 0 *"
wire_expect armed_there b path "path ARMED 10.80.0.1 pkey_index 0 *"
wire_expect rearmed_by_hand a "set 1" "set ok"
wire_expect rearm_is_told a path "path REARM *"
ask a "write 1"
wire_expect armed_again a path "path ARMED *"

# the first way goes: the program's next Write arrives by the second, and each end hears of it
ip -n "$ns_a" link set nna down
wire_expect ROCE_HDR_2_the_connection_goes_on a "write 3" "write success"
wire_expect ROCE_EV_7_event_of_the_requester a event "event path migrated"
wire_expect ROCE_EV_7_event_of_the_responder b event "event path migrated"
wire_expect migrated_here a path "path MIGRATED 10.81.0.2 pkey_index 1 *"
wire_expect migrated_there b path "path MIGRATED 10.81.0.1 pkey_index 1 *"
wire_expect nothing_is_lost b memory "memory 6"
capture_end 5
[ -z "${KEEP:-}" ] || cp "$tmp/wire.pcap" "$KEEP"
# before: MigReq 0 since both ends have loaded a path; after: MigReq 1, addresses and P_Key of the alternate path
wanted="10.80.0.1,10,0,65535 10.80.0.2,17,0,65535 10.80.0.1,10,0,65535 10.80.0.2,17,0,65535"
wanted+=" 10.81.0.1,10,1,32769 10.81.0.2,17,1,32769 10.81.0.1,10,1,32769 10.81.0.2,17,1,32769"
wanted+=" 10.81.0.1,10,1,32769 10.81.0.2,17,1,32769"
if [ "$rows" = "$wanted" ]; then ok ROCE_HDR_2_migreq_on_the_wire
else notok ROCE_HDR_2_migreq_on_the_wire "$rows"; fi
run "$nornic" verify "$tmp/wire.pcap"
if [ $rc = 0 ] && [[ $out == *"ICRC good 10, bad 0"* ]]; then ok verified; else notok verified "$rc: $out $err"; fi

# back by hand, to the first way
ip -n "$ns_a" link set nna up
ip -n "$ns_a" route replace 10.80.0.2 via 10.77.0.2 src 10.80.0.1
arm 80 0
wire_expect migrates_by_hand a "set 0" "set ok"
wire_expect event_by_hand a event "event path migrated"
wire_expect by_hand_it_goes_on a "write 1" "write success"
wire_expect followed b event "event path migrated"
wire_expect back_there b path "path MIGRATED 10.80.0.1 pkey_index 0 *"

# the address goes: the same
arm 81 1
ip -n "$ns_a" addr del 10.80.0.1/32 dev lo
wire_expect an_address_goes a event "event path migrated"
wire_expect without_the_address a "write 1" "write success"
wire_expect told_there b event "event path migrated"

# an alternate path that is gone when it is needed
ip -n "$ns_a" addr add 10.80.0.1/32 dev lo
ip -n "$ns_a" route replace 10.80.0.2 via 10.77.0.2 src 10.80.0.1
arm 80 0
wire_expect armed_once_more a path "path ARMED *"
ip -n "$ns_a" addr del 10.80.0.1/32 dev lo
ip -n "$ns_a" link set nnc down
wire_expect no_path_is_left a "write 1" "write transport retry counter exceeded"
wire_expect ROCE_EV_7_event_of_a_failure a event "event path migration request error"
wire_end
exit $status
