#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""udp_captures.py PORT.pcapng WIRE.pcap: whether the capture that a udp port wrote has the packets that tcpdump saw
beside it, byte for byte from the IP header on, in each direction in the same order. Not compared: the checksum of
UDP, which a kernel may leave to the hardware, and which does not come up through a socket. Needs tshark."""
import subprocess
import sys
from collections import Counter


def packets(path):
    """(source address, IP packet without UDP checksum, TTL, TOS, header checksum and so on as they are)."""
    out = subprocess.run(["tshark", "-r", path, "-Y", "udp.port == 4791", "-T", "fields", "-e", "ip.src", "-e", "ip.id",
                          "-e", "ip.flags", "-e", "ip.ttl", "-e", "ip.dsfield", "-e", "ip.checksum", "-e", "ip.len",
                          "-e", "udp.srcport", "-e", "udp.length", "-e", "udp.payload",
                          "--disable-protocol", "infiniband"],
                         check=True, capture_output=True, text=True).stdout
    return [tuple(line.split("\t")) for line in out.splitlines()]


def main():
    port, wire = (packets(path) for path in sys.argv[1:3])
    if not port:
        sys.exit("the port's capture is empty")
    for source in sorted({packet[0] for packet in port + wire}):
        ours, theirs = ([p for p in packets_of if p[0] == source] for packets_of in (port, wire))
        lost = Counter(theirs) - Counter(ours)
        added = Counter(ours) - Counter(theirs)
        if added or lost or ours != theirs:
            one = next((p for p in list(added) + list(lost)), None)
            sys.exit(f"from {source}: {len(ours)} in the port's capture, {len(theirs)} on the wire, "
                     f"{sum(added.values())} only in the first, {sum(lost.values())} only in the second: "
                     f"{[field[:80] for field in one] if one else 'another order'}")
    ids = {int(packet[1], 0) for packet in port}
    if len(ids) < 2:
        sys.exit(f"no train was seen: identifications {sorted(ids)}")
    print(f"{len(port)} packets, identifications {min(ids)} to {max(ids)}")


main()
