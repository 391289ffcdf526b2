#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The option `entropy` (docs/devices.md): UDP source ports and IPv6 flow labels of queue pairs, as tcpdump sees them on
# the other end of the wire. The server's device has no option, so its packets come from port 4791.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
need_namespaces entropy
veth_make 1500 || { notok namespaces "cannot make them"; exit 1; }

# one line a direction: its queue pairs, its source ports, its flow labels, whether each queue pair has one of both
cat >"$tmp/flows.py" <<'END'
import sys
flows = {}
for line in sys.stdin:
    src, dst_port, src_port, label, qpn = (line.rstrip("\n").split("\t") + [""] * 4)[:5]
    if qpn and int(qpn, 16) > 1:
        assert dst_port == "4791", line
        flows.setdefault(src, {}).setdefault(qpn, set()).add((src_port, label))
for src, qps in sorted(flows.items()):
    one = all(len(ways) == 1 for ways in qps.values())
    ports, labels = ({way[i] for ways in qps.values() for way in ways} for i in (0, 1))
    in_range = all(p == "4791" or 0xc000 <= int(p) for p in ports)
    print(src, len(qps), "4791" if ports == {"4791"} else f"{len(ports) > 1} {in_range}",
          len(labels - {"", "0x000000", "0x00000"}) > 1, one)
END
# capture NAME COMMAND...: tcpdump of nnb while the command runs in a
capture() {
    local dump
    "${in_b[@]}" tcpdump -i nnb -U --immediate-mode -B 65536 -w "$tmp/$1.pcap" udp 2>"$tmp/tcpdump.err" &
    dump=$!
    e2e_pids+=("$dump")
    until_true 10 grep -q listening "$tmp/tcpdump.err"
    run "${in_a[@]}" "${@:2}"
    finish
    kill -INT "$dump"
    wait "$dump"
    tshark -r "$tmp/$1.pcap" -T fields -e "$net.src" -e udp.dstport -e udp.srcport -e ipv6.flow \
        -e infiniband.bth.destqp 2>/dev/null | python3 "$tmp/flows.py" >"$tmp/flows" 2>&1
}
# flows NAME WANTED
flows() {
    if [ $rc = 0 ] && [ "$server_rc" = 0 ] && [ "$(cat "$tmp/flows")" = "$2" ]; then ok "$1"
    else notok "$1" "on the wire: $(cat "$tmp/flows"); $rc: $out $err; server $server_rc: $server_err"; fi
}
# perf NAME PORT OPTION...: eight queue pairs
perf() {
    start "${in_b[@]}" "$nornic" perf --port "${2%%:*}:nnb" "${@:3}"
    listening "$ns_b" 18516
    capture "$1" "$nornic" perf --port "$2" --op write -s 4K -n 800 -q 8 -v "${@:3}" "$to"
}

net=ip to=10.77.0.2
perf udp udp:nna
flows one_port_is_the_default "10.77.0.1 8 4791 False True
10.77.0.2 8 4791 False True"
perf udp_entropy udp:nna,entropy
flows udp_has_ports "10.77.0.1 8 True True False True
10.77.0.2 8 4791 False True"
run "$nornic" verify "$tmp/udp_entropy.pcap"
if [ $rc = 0 ]; then ok packets_are_right; else notok packets_are_right "$rc: $out $err"; fi
net=ipv6 to=fd77::2
perf udp6_entropy udp:nna,entropy -6
flows udp_has_ports_and_labels "fd77::1 8 True True True True
fd77::2 8 4791 False True"
perf packet6_entropy packet:nna,entropy -6
flows packet_has_labels "fd77::1 8 True True True True" # packets that its end sends pass tcpdump there by

# another program has one of the ports
"${in_a[@]}" python3 -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.77.0.1", 0xfff5))
print("bound", flush=True)
time.sleep(60)' >"$tmp/bound" &
e2e_pids+=("$!")
until_true 10 grep -q bound "$tmp/bound"
run "${in_a[@]}" "$nornic" pingpong --port udp:10.77.0.1,entropy 10.77.0.2
if [ $rc != 0 ] && one_sentence "$err" "UDP port 65525 of 10.77.0.1 is taken by another program"; then
    ok a_port_that_is_taken
else
    notok a_port_that_is_taken "$rc: $out $err"
fi
exit $status
