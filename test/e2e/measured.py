#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""measured.py FILE COMMAND...: runs the command, with its exit status, and writes "KIB SECONDS" into the file: the most
memory that it held, and the CPU time that it took, which nothing else that the machine does changes."""
import resource, subprocess, sys

status = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], 'w') as out:
    out.write('%d %.2f\n' % (used.ru_maxrss, used.ru_utime + used.ru_stime))
sys.exit(status)
