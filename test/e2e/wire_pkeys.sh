#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# P_Keys of a device (options pkey and pkey0) in the packets of programs: libibverbs by pkey_index, librdmacm, rsockets,
# commands, the native API and SMC-R. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# machine: SMC-R keeps sockets in /run/nornic
# covers: ROCE-HDR-5, ROCE-RX-17, ROCE-VB-6, ROCE-LIM-4
. "$(dirname "$0")/lib.sh"
build=${BUILD:-build}

why=$(why_no_namespaces)
if [ -n "$why" ]; then
    skip wire_pkeys "$why"
    exit $status
fi
veth_make 1500 || exit 1

# pkeys_of FILE: the P_Keys of its packets, each once
pkeys_of() { tshark -r "$1" -Y infiniband -T fields -e infiniband.bth.p_key 2>/dev/null | sort -n | uniq | xargs; }
# connected PORT_A INDEX_A PORT_B INDEX_B: the two ends of wire.c, with that pkey_index
connected() {
    wire_start a b "$1" --capture "$tmp/a.pcapng"
    wire_start b a "$3"
    order a "connect 10.77.0.1 10.77.0.2 $2 12"
    order b "connect 10.77.0.2 10.77.0.1 $4 12"
    answer a && answer b
}
# member CASE OPTION_A INDEX_A OPTION_B INDEX_B ANSWER PKEYS BAD: what becomes of a Write from a to b, the P_Keys on the
# wire (decimal), and whether b has counted some
member() {
    local case=$1 bad
    connected "udp:nna$2" "$3" "udp:nnb$4" "$5"
    ask a "write 1"
    local write=$answer
    ask b pkeys
    bad=${answer##*bad }
    wire_end
    local found
    found=$(pkeys_of "$tmp/a.pcapng")
    if [ "$write" = "write $6" ] && [ "$found" = "$7" ] && [ $((bad > 0)) = "$8" ]; then ok "$case"
    else notok "$case" "$write; on the wire: $found; b has $answer"; fi
}
none="transport retry counter exceeded"
connected udp:nna,pkey=0x8001,pkey=2 1 udp:nnb,pkey0=0x8001,pkey=2 0
wire_expect ROCE_VB_6_table_begins_with_the_default_key a pkeys "pkeys ffff 8001 0002, bad 0"
wire_expect pkey0_is_the_first_and_the_default_key_the_last b pkeys "pkeys 8001 0002 ffff, bad 0"
wire_end
member pkey_index_chooses ,pkey=0x8001 1 ,pkey=0x8001 1 success 32769 0
member each_end_has_its_index ,pkey=0x8001 1 ,pkey=7,pkey=0x8001 2 success 32769 0
member default_key_beside_others ,pkey=0x8001 0 ,pkey=0x8001 0 success 65535 0
member ROCE_RX_17_another_p_key_is_dropped_and_counted ,pkey=0x8001 1 ,pkey=0x8001 0 "$none" 32769 1
member ROCE_HDR_5_a_limited_and_a_full_member ,pkey=0x0001 1 ,pkey=0x8001 1 success "1 32769" 0
member ROCE_HDR_5_two_limited_members ,pkey=0x0001 1 ,pkey=0x0001 1 "$none" 1 1
member pkey0_of_a_program_that_chooses_none ,pkey0=0x8001 0 ,pkey0=0x8001 0 success 32769 0

# bears NAME WAIT SERVER... :: CLIENT...: all packets between the two have the P_Key 0x8001 of the option pkey0. WAIT:
# the TCP port that the server listens on, `cm` for a service of the connection manager
bears() {
    local name=$1 wait=$2 found server_command=()
    shift 2
    while [ "$1" != :: ]; do server_command+=("$1") && shift; done
    shift
    tcpdump_begin "$ns_b" nnb --immediate-mode udp port 4791
    start "${in_b[@]}" "${server_command[@]}"
    if [ "$wait" = cm ]; then serving "$ns_b"; else listening "$ns_b" "$wait"; fi
    run "${in_a[@]}" "$@"
    finish
    some_are_there() { [ -n "$(pkeys_of "$tmp/wire.pcap")" ]; }
    until_true 10 some_are_there
    kill -INT "$tcpdump"
    wait "$tcpdump"
    found=$(pkeys_of "$tmp/wire.pcap")
    if [ "$rc" = 0 ] && [ "$found" = 32769 ]; then ok "$name"
    else notok "$name" "on the wire: $found; $rc: $out $err; server $server_rc: $server_err"; fi
}
udp_a=udp:nna,pkey0=0x8001 udp_b=udp:nnb,pkey0=0x8001
bears pingpong 18515 "$nornic" pingpong --port $udp_b :: "$nornic" pingpong --port $udp_a -n 5 10.77.0.2
bears perf 18516 "$nornic" perf --port $udp_b :: "$nornic" perf --port $udp_a --op write -n 20 10.77.0.2
bears rping cm "$nornic" rping -s --port $udp_b :: "$nornic" rping -c -a 10.77.0.2 -C 5 --port $udp_a
bears api cm "$build/examples/rc_cm" server $udp_b :: "$build/examples/rc_cm" client $udp_a 10.77.0.2
echo hello >"$tmp/file"
bears smc_r 5000 "$nornic" smc listen -d packet:nnb,pkey0=0x8001 -o /dev/null 5000 :: \
    "$nornic" smc connect -d packet:nna,pkey0=0x8001 --require-smc 10.77.0.2 5000 <"$tmp/file"
why=$(why_no_program rstream)
if [ -n "$why" ]; then
    skip rsockets "$why"
else
    bears rsockets cm "$nornic" run --port $udp_b -- rstream -T verify -S 5000 -C 20 :: \
        "$nornic" run --port $udp_a -- rstream -s 10.77.0.2 -T verify -S 5000 -C 20
fi

# --- the files that programs look at ---
run "${in_a[@]}" "$nornic" run --port udp:nna,pkey0=0x8001,pkey=2 -- \
    sh -c 'cat /sys/class/infiniband/nornic0/ports/1/pkeys/*'
if [ "$(xargs <<<"$out")" = "0x8001 0x0002 0xffff" ]; then ok files; else notok files "$rc: $out $err"; fi
exit $status
