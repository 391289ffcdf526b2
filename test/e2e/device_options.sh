#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Options of a device (docs/devices.md) and their effect on the wire, for a command, a program over libibverbs and
# SMC-R. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# machine: SMC-R keeps sockets in /run/nornic
. "$(dirname "$0")/lib.sh"

# fields CAPTURE FILTER: DSCP, ECN and TTL of the packets, each combination once
fields() { tshark -r "$1" -Y "$2" -T fields -e ip.dsfield.dscp -e ip.dsfield.ecn -e ip.ttl 2>/dev/null | sort -u; }
# shows NAME CAPTURE FILTER WANTED
shows() {
    local found
    found=$(fields "$2" "$3")
    if [ "$found" = "$(printf "$4")" ]; then ok "$1"
    else notok "$1" "on the wire: $found; client $rc: $out $err; server: $(cat "$tmp/server.err")"; fi
}

run "$nornic" pingpong --port udp:127.0.0.1,dscp=64
if [ $rc = 2 ] && one_sentence "$err" "dscp has the value '64': legal is 0 to 63"; then ok names_the_legal_values
else notok names_the_legal_values "$rc: $err"; fi
need_namespaces on_the_wire
veth_make 1500 || exit 1

# --- a command ---
start "${in_b[@]}" "$nornic" pingpong --port packet:nnb,cc
listening "$ns_b" 18515
run "${in_a[@]}" "$nornic" pingpong --port packet:nna,cc,dscp=26,hops=9 --capture "$tmp/command.pcapng" -n 10 10.77.0.2
finish
shows command_dscp_ecn_and_hops "$tmp/command.pcapng" "ip.src==10.77.0.1 && infiniband.bth.opcode<17" '26\t2\t9'

# --- a program over libibverbs ---
if [[ ${BUILD:-} == *san-* ]]; then
    skip verbs_dscp_ecn_and_hops "a sanitizer has to be in the program itself, and this is Debian's"
elif ! command -v ibv_rc_pingpong >/dev/null; then
    skip verbs_dscp_ecn_and_hops "there is no ibv_rc_pingpong"
else
    start "${in_b[@]}" "$nornic" run --port udp:nnb,cc -- ibv_rc_pingpong -g 0 -n 10
    listening "$ns_b" 18515
    run "${in_a[@]}" "$nornic" run --port udp:nna,cc,dscp=26,hops=9 --capture "$tmp/verbs.pcapng" -- \
        ibv_rc_pingpong -g 0 -n 10 10.77.0.2
    finish
    found=$(tshark -r "$tmp/verbs.pcapng" -Y "infiniband.bth.opcode<17" -T fields -e ipv6.tclass.dscp \
        -e ip.dsfield.dscp -e ipv6.hlim -e ip.ttl 2>/dev/null | tr -d '\t' | sort -u | tr '\n' ' ')
    if [ $rc = 0 ] && [[ " $found" == *" 269 "* ]]; then ok verbs_dscp_and_hops
    else notok verbs_dscp_and_hops "on the wire: $found; $rc: $out $err"; fi
fi

# --- SMC-R ---
start "${in_b[@]}" "$nornic" smc listen -d packet:nnb -o /dev/null 5000
listening "$ns_b" 5000
echo hello >"$tmp/file"
run "${in_a[@]}" "$nornic" smc connect -d packet:nna,cc,dscp=26,hops=9 --require-smc --capture "$tmp/smc.pcapng" \
    10.77.0.2 5000 <"$tmp/file"
finish
shows smc_dscp_ecn_and_hops "$tmp/smc.pcapng" "ip.src==10.77.0.1 && infiniband.bth.opcode<17" '26\t2\t9'

# --- iWARP: both ends have options of their own ---
# iwarp NAME FAMILY TO DSCP HOPS WANTED: the packets to each end, SYN and SYN-ACK included
iwarp() {
    "${in_b[@]}" tcpdump -i nnb -U --immediate-mode -w "$tmp/iwarp.pcap" tcp port 18701 2>"$tmp/tcpdump.err" &
    local dump=$! found
    e2e_pids+=("$dump")
    until_true 10 grep -q listening "$tmp/tcpdump.err"
    start "${in_b[@]}" "$nornic" rping -s -p 18701 --port iwarp:nnb,dscp=10
    listening "$ns_b" 18701
    run "${in_a[@]}" "$nornic" rping -c -a "$3" -C 5 -p 18701 --port iwarp:nna,dscp=26,hops=9
    finish
    kill -INT "$dump"
    wait "$dump"
    found=$(tshark -r "$tmp/iwarp.pcap" -T fields -e "$2.dst" -e "$4" -e "$5" 2>/dev/null | sort -u | xargs)
    if [ $rc = 0 ] && [ "$server_rc" = 0 ] && [ "$found" = "$6" ]; then ok "$1"
    else notok "$1" "on the wire: $found; $rc: $out $err; server $server_rc: $server_err"; fi
}
iwarp iwarp_dscp_and_hops ip 10.77.0.2 ip.dsfield.dscp ip.ttl "10.77.0.1 10 64 10.77.0.2 26 9"
iwarp iwarp6_dscp_and_hops ipv6 fd77::2 ipv6.tclass.dscp ipv6.hlim "fd77::1 10 64 fd77::2 26 9"
run "$nornic" rping -c -a 127.0.0.1 --port iwarp:127.0.0.1,cc
if [ $rc = 2 ] && one_sentence "$err" "there are dscp=0..63 and hops=1..255"; then ok iwarp_names_those_that_fit
else notok iwarp_names_those_that_fit "$rc: $err"; fi
exit $status
