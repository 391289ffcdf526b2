#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""udp_explained.py [--part] PORT.json WIRE.json: whether `nornic explain --json` says the same of a udp port's capture
and of tcpdump's beside it: of each packet, in each direction in the same order, what it is, its headers and its ICRC,
which must be good; and of each end its messages, their bytes, and what was sent again. Not compared: when, the link
layer, the checksum of UDP (see udp_captures.py), and so the order of two packets that crossed. --part: WIRE may have
more, and of the ends nothing is compared."""
import collections
import json
import sys

TOTALS = ("addr", "qpn", "messages", "bytes", "requests", "again", "operations")


def told(path):
    """What is said of the packets of each source, and of the ends of the flows."""
    packets, ends = collections.defaultdict(list), []
    with open(path) as lines:
        for line in map(json.loads, lines):
            if "numbers" in line:
                ends += [tuple(end[key] for key in TOTALS) for end in line["numbers"]["ends"]]
            if "n" in line:
                layers = line["layers"]
                layers.pop("eth", None)
                layers["udp"].pop("checksum")
                ip = layers.get("ip") or layers["ip6"]
                packets[ip["src"]].append((line["kind"], line["verdict"], line["payload"], line["icrc"], layers))
    return packets, sorted(ends)


def main():
    is_part = "--part" in sys.argv
    (ours, our_ends), (theirs, their_ends) = (told(path) for path in sys.argv[-2:])
    if len(ours) != 2:
        sys.exit(f"packets of {len(ours)} addresses, not of two")
    for addr, packets in ours.items():
        rest = iter(theirs[addr])
        strange = next((packet for packet in packets if packet not in rest), None)
        if strange or not is_part and len(packets) != len(theirs[addr]):
            sys.exit(f"from {addr}: {len(packets)} and {len(theirs[addr])} packets; the first that is not told of in "
                     f"both: {strange}")
        bad = [packet for packet in packets if not packet[3]["ok"]]
        if bad:
            sys.exit(f"from {addr}: {len(bad)} bad ICRCs: {bad[0]}")
    if not is_part and (our_ends != their_ends or not our_ends):
        sys.exit(f"the ends are {our_ends} and {their_ends}")


main()
