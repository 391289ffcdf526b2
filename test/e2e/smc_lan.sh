#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A first contact between hosts of which one has an RNIC in a network that the other lacks: the client refuses the
# second link at once (RFC 7609 3.5.1.6). Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# machine: SMC-R keeps sockets in /run/nornic
. "$(dirname "$0")/lib.sh"

need_namespaces SMCR_FC_14_first_contact_without_a_common_second_lan
veth_make 1500 && ip -n "$ns_b" link add nnc type veth peer name nnd && ip -n "$ns_b" addr add 10.78.0.2/24 dev nnc &&
    ip -n "$ns_b" link set nnc up && ip -n "$ns_b" link set nnd up || exit 1
ip -n "$ns_a" link add nne type veth peer name nnf && ip -n "$ns_a" addr add 10.79.0.1/24 dev nne &&
    ip -n "$ns_a" link set nne up && ip -n "$ns_a" link set nnf up || exit 1
head -c 100000 /dev/urandom >"$tmp/file"

# contact NAME LISTENER CONNECTOR: with the devices of both ends; SMC-R is negotiated within a second
contact() {
    local name=$1 listener connector began
    read -ra listener <<<"$2"
    read -ra connector <<<"$3"
    start "${in_b[@]}" "$nornic" smc listen "${listener[@]}" -o "$tmp/copy" 5000
    listening "$ns_b" 5000
    began=${EPOCHREALTIME/[.,]/}
    timeout 60 "${in_a[@]}" "$nornic" smc connect "${connector[@]}" --require-smc 10.77.0.2 5000 <"$tmp/file" 2>&1 |
        while read -r line; do echo "$(((${EPOCHREALTIME/[.,]/} - began) / 1000)) $line"; done >"$tmp/client"
    finish
    local took_ms
    took_ms=$(sed -n 's/^\([0-9]*\) .*bytes travel by SMC-R.*/\1/p' "$tmp/client")
    if cmp -s "$tmp/file" "$tmp/copy" && [ "${took_ms:-9999}" -lt 1000 ]; then ok "$name"
    else notok "$name" "$(cat "$tmp/client"); server $server_rc: $server_out $server_err"; fi
}
contact SMCR_FC_14_the_server_has_a_network_more "-d packet:nnb -d packet:nnc" "-d packet:nna"
contact SMCR_FC_14_the_client_has_a_network_more "-d packet:nnb" "-d packet:nna -d packet:nne"
exit $status
