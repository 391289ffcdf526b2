# SPDX-License-Identifier: BSD-2-Clause
"""Sets and gets values in a memcached, over connections in several threads, and compares.

    memcache.py ADDR PORT
"""
import os, socket, sys, threading

WRONG = []


def work(number):
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30) as s, s.makefile('rwb') as f:
        for i in range(50):
            value = os.urandom(1 + i * 2000)
            f.write(b'set k%d.%d 0 0 %d\r\n' % (number, i, len(value)) + value + b'\r\nget k%d.%d\r\n' % (number, i))
            f.flush()
            head = [f.readline(), f.readline()]
            got = f.read(len(value) + 2)
            end = f.readline()
            if head[0] != b'STORED\r\n' or got[:-2] != value or end != b'END\r\n':
                WRONG.append((number, i, head, end))
                return


threads = [threading.Thread(target=work, args=(n,)) for n in range(20)]
for t in threads:
    t.start()
for t in threads:
    t.join()
sys.exit(str(WRONG[:3]) if WRONG else 0)
