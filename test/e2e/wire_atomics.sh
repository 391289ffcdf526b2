#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Masked atomics on the wire (option masked-atomics; of each iWARP device), and what they leave in memory: each answer
# and the last word are compared by nornic perf. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# covers: ROCE-RX-13, IWARP-ATOM-10
. "$(dirname "$0")/lib.sh"

why=$(why_no_namespaces)
if [ -n "$why" ]; then
    skip wire_atomics "$why"
    exit $status
fi
veth_make 1500 || exit 1

# measured PORT_A PORT_B OPERATION: 20 of them, one at a time, with a capture of the wire in $tmp/wire.pcap
measured() {
    tcpdump_begin "$ns_b" nnb --immediate-mode udp port 4791 or tcp
    start "${in_b[@]}" "$nornic" perf --port "$2"
    listening "$ns_b" 18516
    run "${in_a[@]}" "$nornic" perf --port "$1" --op "$3" -L -n 20 -w 0 -v 10.77.0.2
    finish
    answers_are_there() { [ "$(operands | wc -l)" -ge 40 ]; }
    [ $rc != 0 ] || until_true 10 answers_are_there
    kill -INT "$tcpdump"
    wait "$tcpdump"
}
# operands: of each request and each answer on the wire the opcode and the numbers, a line each
operands() {
    "$nornic" explain --json "$tmp/wire.pcap" 2>/dev/null | python3 -c '
import json, sys
for line in sys.stdin:
    layers = json.loads(line).get("layers", {})
    if "masketh" in layers:
        a, m = layers["atomiceth"], layers["masketh"]
        print(hex(layers["bth"]["opcode"]), a["swap_add"], a["compare"], m["swap_add_mask"], m["compare_mask"])
    for name in ("atomicacketh", "rdmap_atomic_rsp"):
        if name in layers:
            print("was", layers[name]["original"])
    if "rdmap_atomic_req" in layers:
        a = layers["rdmap_atomic_req"]
        print("iwarp", a["aopcode"], *(a[k] for k in ("data", "compare", "mask", "compare_mask")))'
}
# is CASE LINE...: the program is content, and these are lines of operands()
is() {
    local name=$1 line lines
    shift
    lines=$(operands)
    for line in "$@"; do
        grep -qxF -- "$line" <<<"$lines" && continue
        notok "$name" "not on the wire: $line, but $(tail -4 <<<"$lines"); $rc: $out $err"
        return
    done
    if [ $rc = 0 ] && [ "$server_rc" = 0 ] && [[ $out == *"21 messages compared"* ]]; then ok "$name"
    else notok "$name" "$rc: $out $err; server $server_rc: $server_err"; fi
}
ones=0x1111111111111111 high=0x8888888888888888 half=0x00000000ffffffff

measured udp:nna,masked-atomics udp:nnb,masked-atomics masked-cmp-swap
is compare_and_swap "0xf3 0xdeadbeef00000014 0xdeadbeef00000013 $half $half" "was 0x0000000000000013"
# the same by tshark: behind the BTH and VA and R_Key the operands, as docs/masked-atomics.md has them
found=$(tshark -r "$tmp/wire.pcap" -Y "infiniband.bth.opcode==0xf3" -T fields -e udp.payload 2>/dev/null | tail -1)
if [ "${found:48:64}" = deadbeef00000014deadbeef0000001300000000ffffffff00000000ffffffff ]; then ok places_of_the_fields
else notok places_of_the_fields "$found"; fi
run "$nornic" verify "$tmp/wire.pcap"
if [ $rc = 0 ] && [[ $out == *"bad 0, malformed 0"* ]]; then ok verified; else notok verified "$rc: $out $err"; fi

# the 16th addition overflows each field of 4 bits: nothing is carried
measured udp:nna,masked-atomics udp:nnb,masked-atomics masked-fetch-add
is fetch_and_add "0xf4 $ones 0x0000000000000000 $high 0x0000000000000000" "was 0xffffffffffffffff" \
    "was 0x0000000000000000" "was 0x3333333333333333"

# a device without the option says so
refused() {
    measured "$2" "$3" masked-fetch-add
    if [ $rc != 0 ] && one_sentence "$err" "the device of the $4 has no masked atomics" && [ -z "$(operands)" ]; then
        ok "$1"
    else notok "$1" "$rc: $out $err"; fi
}
refused not_offered_here udp:nna udp:nnb,masked-atomics client
refused not_offered_there udp:nna,masked-atomics udp:nnb server

# RFC 7306 has them, so an iWARP device needs no option
measured iwarp:nna iwarp:nnb masked-cmp-swap
is iwarp_compare_and_swap "iwarp 2 0xdeadbeef00000014 0xdeadbeef00000013 $half $half" "was 0x0000000000000013"
measured iwarp:nna iwarp:nnb masked-fetch-add
is IWARP_ATOM_10_fetch_and_add "iwarp 0 $ones 0x0000000000000000 $high 0xffffffffffffffff" "was 0x3333333333333333"
run "$nornic" verify "$tmp/wire.pcap"
if [ $rc = 0 ]; then ok iwarp_verified; else notok iwarp_verified "$rc: $out $err"; fi
exit $status
