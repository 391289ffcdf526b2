#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""udp_captures.py [--part | --trains] PORT.pcapng WIRE.pcap: whether the capture that a udp port wrote has the
packets that tcpdump saw beside it, byte for byte from the IP header on, in each direction in the same order.
--part: WIRE may have more. --trains: some are of a train, of IPv4. Not compared: the checksum of UDP, which a
kernel may leave to the hardware, and which does not come up through a socket. Needs tshark."""
import subprocess
import sys
from collections import Counter

SOURCE = ("ip.src", "ipv6.src")
FIELDS = SOURCE + ("ip.dst", "ipv6.dst", "ip.id", "ip.flags", "ip.frag_offset", "ip.ttl", "ip.dsfield", "ip.checksum",
                   "ip.len", "ipv6.tclass", "ipv6.flow", "ipv6.plen", "ipv6.hlim", "udp.srcport", "udp.dstport",
                   "udp.length", "udp.payload")


def packets(path):
    """The fields of each packet, those of the IP version that it has not empty."""
    names = [option for field in FIELDS for option in ("-e", field)]
    out = subprocess.run(["tshark", "-r", path, "-Y", "udp.port == 4791", "-T", "fields", *names,
                          "--disable-protocol", "infiniband"], check=True, capture_output=True, text=True).stdout
    return [tuple(line.split("\t")) for line in out.splitlines()]


def source(packet):
    return packet[0] or packet[1]


def main():
    is_part, has_trains = "--part" in sys.argv, "--trains" in sys.argv
    port, wire = (packets(path) for path in sys.argv[-2:])
    if not port:
        sys.exit("the port's capture is empty")
    for addr in sorted({source(packet) for packet in port + wire}):
        ours, theirs = ([p for p in packets_of if source(p) == addr] for packets_of in (port, wire))
        rest = iter(theirs)
        if ours == theirs or is_part and all(packet in rest for packet in ours):
            continue
        lost, added = Counter(theirs) - Counter(ours), Counter(ours) - Counter(theirs)
        one = next((p for p in list(added) + list(lost)), None)
        sys.exit(f"from {addr}: {len(ours)} in the port's capture, {len(theirs)} on the wire, "
                 f"{sum(added.values())} only in the first, {sum(lost.values())} only in the second: "
                 f"{[field[:80] for field in one] if one else 'another order'}")
    ids = {int(packet[FIELDS.index("ip.id")], 0) for packet in port if packet[0]}
    if has_trains and len(ids) < 2:
        sys.exit(f"no train was seen: identifications {sorted(ids)}")
    print(f"{len(port)} packets, identifications {sorted(ids)}")


main()
