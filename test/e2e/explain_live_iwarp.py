#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One end of the iWARP connection of a capture, over a TCP socket of the kernel.

    explain_live_iwarp.py CAPTURE serve|call ADDR PORT

Sends the bytes that this end sent in the capture, each once what came before it there has come here. There is no RDMA
in it: what goes over the wire is what real peers said.
"""
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import captures
from iwarp_reader import segment_of


def talk(path):
    """[(whether it is of the end that called, bytes)] in the order of the capture, each byte once."""
    caller, reach, pieces = None, {}, []
    for _, _, frame in captures.records(path):
        segment = segment_of(frame)
        if not segment:
            continue
        caller = caller or segment.ends
        if segment.ends not in (caller, caller[::-1]) or not segment.data:
            continue
        fresh = segment.data
        if segment.ends in reach:
            behind = (segment.seq + len(segment.data) - reach[segment.ends] + 2**31) % 2**32 - 2**31
            fresh = segment.data[-behind:] if behind > 0 else b''
            assert behind <= len(segment.data), 'the capture has a hole'
        if fresh:
            reach[segment.ends] = (segment.seq + len(segment.data)) % 2**32
            pieces.append((segment.ends == caller, fresh))
    return pieces


def main():
    path, role, address, port = sys.argv[1:]
    if role == 'serve':
        with socket.create_server((address, int(port))) as server:
            server.settimeout(20)
            end, _ = server.accept()
    else:
        end = socket.create_connection((address, int(port)), timeout=20)
    end.settimeout(20)
    for is_callers, data in talk(path):
        if is_callers == (role == 'call'):
            end.sendall(data)
            continue
        while data:
            came = end.recv(len(data))
            assert came and data.startswith(came), 'other bytes came than were sent'
            data = data[len(came):]


main()
