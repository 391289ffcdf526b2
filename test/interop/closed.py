#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Waits until smctalk here has no connection left: the guest has closed all of its own. A process that ends before
leaves those behind, and Linux waits long for one that is gone. `closed.py links`: until it has no link either, since
the guest has ended the link group."""
import json, subprocess, sys, time
from lab import NORNIC

kinds = ['conns'] + sys.argv[1:]
end = time.monotonic() + 20
while time.monotonic() < end:
    out = subprocess.run([NORNIC, 'smc', 'stat', '--json'], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=20, check=False).stdout
    talking = [p for p in json.loads(out or '{"processes":[]}')['processes'] if 'smctalk' in p['command']]
    if not any(p[kind] for p in talking for kind in kinds):
        sys.exit(0)
    time.sleep(0.1)
sys.exit('closed.py: there are %s after 20 s' % ' and '.join(kinds))
