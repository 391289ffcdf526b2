#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A server and its clients by SMC-R, while processes are killed and stopped and the wire is cut at random.

    chaos.py worker redis|postgres HOST PORT ID a client: writes, reads back, connects again after an error, until
                                                something is on its standard input
    chaos.py break SECONDS SEED COMMAND-FILE    breaks what the file names, one a line, for so long, and mends it

The worker's values tell whose they are, and which; what was acknowledged is what is read back over the same connection.
It says when it has seen a wrong one, or when an answer took longer than HANG_S, and ends with 3 or 4; else,
at the end, what it has done.
"""
import collections, errno, hashlib, os, random, select, socket, struct, subprocess, sys, time

HANG_S = 40   # a cut of 4 s, two handshakes of 6 s, and what TCP waits between its SYNs; on a busy machine


def value(who, number):
    head = b'%d %d ' % (who, number)
    rest = random.Random(who << 32 | number).randbytes(random.Random(number).choice((10, 3000, 200000)))
    return head + hashlib.sha256(rest).hexdigest().encode() + b' ' + rest


class Redis:
    def __init__(self, host, port):
        self.s = socket.create_connection((host, port), HANG_S)
        self.f = self.s.makefile('rb')

    def ask(self, *words):
        self.s.sendall(b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(w), w) for w in words))
        line = self.f.readline()
        if not line.endswith(b'\r\n'):
            raise EOFError
        if line[:1] != b'$':
            return line
        size = int(line[1:])
        if size < 0:
            return None
        got = self.f.read(size + 2)
        if len(got) < size + 2:
            raise EOFError
        return got[:-2]

    def put(self, who, data):
        answer = self.ask(b'SET', b'key%d' % who, data)
        if answer != b'+OK\r\n':
            raise ValueError('redis says %r' % answer[:100])

    def get(self, who):
        return self.ask(b'GET', b'key%d' % who)

    def close(self):
        self.s.close()


class Postgres:
    """By version 3 of its protocol, simple queries; user test, database postgres, no password."""
    def __init__(self, host, port):
        self.s = socket.create_connection((host, port), HANG_S)
        self.f = self.s.makefile('rb')
        words = b'user\0test\0database\0postgres\0\0'
        self.s.sendall(struct.pack('>II', len(words) + 8, 3 << 16) + words)
        self.answer()
        self.ask(b'create table if not exists kv (k int primary key, v bytea)')

    def take(self, size):
        got = self.f.read(size)
        if len(got) < size:
            raise EOFError
        return got

    def answer(self):
        """The first value of the last row, up to ReadyForQuery."""
        value = None
        while True:
            kind, size = struct.unpack('>cI', self.take(5))
            body = self.take(size - 4)
            if kind == b'Z':
                return value
            if kind == b'D':
                value = body[6:]
            if kind == b'E':
                fields = dict((part[:1], part[1:]) for part in body.split(b'\0') if part)
                if fields[b'V'] in (b'FATAL', b'PANIC'):   # it begins again, or ends
                    raise EOFError
                if fields[b'C'] not in (b'42P07', b'23505'):   # two of them made the table at the same time
                    raise ValueError('postgres says %r' % fields)

    def ask(self, query):
        self.s.sendall(struct.pack('>cI', b'Q', len(query) + 5) + query + b'\0')
        return self.answer()

    def put(self, who, data):
        self.ask(b"insert into kv values (%d, '\\x%s') on conflict (k) do update set v = excluded.v" %
                 (who, data.hex().encode()))

    def get(self, who):
        return bytes.fromhex(self.ask(b'select v from kv where k = %d' % who)[2:].decode())

    def close(self):
        self.s.close()


def wants_end():
    return bool(select.select([sys.stdin], [], [], 0)[0])


def work(kind, host, port, who):
    acknowledged = tried = done = 0
    errors = collections.Counter()
    conn, longest, last = None, (0, ''), ''
    while not wants_end():
        began = time.monotonic()
        try:
            conn = conn or kind(host, int(port))
            tried += 1
            conn.put(who, value(who, tried))
            acknowledged = tried
            got = conn.get(who)
            if got != value(who, acknowledged):   # over one connection, so it is the same server
                return 'wrong bytes: %r' % (got and got[:60]), 3
            done += 1
            if done % 50 == 0:
                conn.close()
                conn = None
        except (EOFError, OSError) as e:
            # an end of the connection by ETIMEDOUT is one: so says who gives up, a handshake or a connection
            if isinstance(e, TimeoutError) and e.errno is None or time.monotonic() - began > HANG_S:
                return 'no answer in %d s, at number %d, %s' % (HANG_S, tried, conn and conn.s), 4
            errors[errno.errorcode.get(getattr(e, 'errno', None), 'EOF')] += 1
            conn, last = None, repr(e)
            time.sleep(0.05)
        except ValueError as e:
            return str(e), 3
        longest = max(longest, (time.monotonic() - began, last))
        last = ''
    words = ', '.join('%d %s' % (n, name) for name, n in errors.most_common())
    return 'worker %d: %d done, lost: %s; longest %.1f s %s' % (who, done, words, *longest), 0


def breaks(seconds, seed, path):
    """Lines: WHAT SECONDS-AT-MOST COMMAND, and then its remedy, which follows after a time up to that; both by the
    shell."""
    rng, end = random.Random(int(seed)), time.monotonic() + float(seconds)
    with open(path) as f:
        pairs = [line.rstrip('\n').split('\t') for line in f]
    counts = {}
    while time.monotonic() < end:
        what, most, damage, remedy = rng.choice(pairs)
        counts[what] = counts.get(what, 0) + 1
        subprocess.run(damage, shell=True, check=False)
        time.sleep(rng.uniform(0.05, float(most)))
        subprocess.run(remedy, shell=True, check=False)
        time.sleep(rng.uniform(0.1, 1.5))
    print('broken: ' + ', '.join('%s %d' % item for item in sorted(counts.items())))


if sys.argv[1] == 'break':
    breaks(*sys.argv[2:])
else:
    words, status = work({'redis': Redis, 'postgres': Postgres}[sys.argv[2]], *sys.argv[3:5], int(sys.argv[5]))
    print(words, flush=True)
    os._exit(status)
