#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Calls of librdmacm beside the trodden path (test/verbs/programs/cm_edges.c), over RoCE and over iWARP; and scope ids
# of link-local addresses, between two namespaces with two links.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
program=$build/test/verbs/programs/cm_edges

need_namespaces cm_edges
ns_make a && ns_make b || { notok namespace "cannot make one"; exit 1; }
here=(ip netns exec "nn-$$-a" env "LD_LIBRARY_PATH=$build/lib")

run_seconds=90
for kind in udp iwarp; do
    args=(127.0.0.1)
    [ $kind = udp ] || args+=(iwarp)
    run "${here[@]}" NORNIC_PORT=$kind:127.0.0.1 "$program" "${args[@]}"
    sed "s/^\(not ok\|ok\) /&${kind}_/" <<<"$out"
    [ "$rc" = 0 ] || notok "${kind}_program" "exit status $rc: $err"
done

# two links, each with link-local addresses alone; a third interface has no device
for link in 0 1; do
    ip -n "nn-$$-a" link add nna$link type veth peer name nnb$link netns "nn-$$-b" || exit 1
    for side in a b; do
        ip netns exec "nn-$$-$side" sysctl -qw "net.ipv6.conf.nn$side$link.accept_dad=0"
        ip -n "nn-$$-$side" link set nn$side$link up
    done
    ip -n "nn-$$-b" addr add fe80::b$link/64 dev nnb$link nodad
done
ip -n "nn-$$-a" link add nna2 type veth peer name nna3

# scope NAME ADDRESS INTERFACE WANTED: what an id shows after it has resolved the address on that interface
scope() {
    run "${here[@]}" NORNIC_PORT=udp:nna0,udp:nna1 "$program" scope "$2" "$3"
    if [ "$out" = "$4" ]; then ok "$1"
    else notok "$1" "$rc: $out $err"; fi
}
# an id resolves anew after an address without a neighbour
ip -n "nn-$$-a" addr add 10.88.0.1/24 dev nna0 && ip -n "nn-$$-b" addr add 10.88.0.2/24 dev nnb0 || exit 1
run "${here[@]}" NORNIC_PORT=packet:nna0 "$program" again 10.88.0.9 10.88.0.2
echo "$out"
[ "$rc" = 0 ] || notok again_program "exit status $rc: $err"

scope scope_of_the_first fe80::b0 nna0 "nornic0 scope nna0"
scope scope_of_the_second fe80::b1 nna1 "nornic1 scope nna1"
scope scope_of_no_device fe80::b1 nna2 "No such device"
exit $status
