#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Eight processes on one address, and more that come and are killed: those that live never fail.

    share.py NORNIC NAMESPACE_A NAMESPACE_B SECONDS SEED [PREFIX...]

Beside NORNIC lies the example `datagram`. NAMESPACE_A has 10.77.0.1, NAMESPACE_B 10.77.0.2. PREFIX: what
every command begins with (setpriv ...). NORNIC_RUNTIME_DIR is where the processes meet. Prints "ok" with what
was done, or what went wrong.
"""
import collections, os, random, signal, subprocess, sys, threading, time

NORNIC, NS_A, NS_B, SECONDS, SEED = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5])
PREFIX = sys.argv[6:]
ADDR_A, ADDR_B = '10.77.0.1', '10.77.0.2'
GROUP = '239.77.0.1'
NO_SERVICE = 8  # of enum roce_cm_rej_reason: nothing listens to the service id
done = collections.Counter()
failures = []
stop = threading.Event()


def start(ns, *args):
    addr = ADDR_A if ns == NS_A else ADDR_B
    return subprocess.Popen(['ip', 'netns', 'exec', ns, *PREFIX, NORNIC, *args, '--port', 'udp:' + addr, '-e'],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def datagram(ns, role, *args):
    """A member of the group (server), or who asks it (client)."""
    addr = ADDR_A if ns == NS_A else ADDR_B
    command = [os.path.join(os.path.dirname(NORNIC), 'datagram'), role, 'udp:' + addr, GROUP, *args]
    return subprocess.Popen(['ip', 'netns', 'exec', ns, *PREFIX, *command],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def fail(what):
    failures.append(what)
    stop.set()


def expect(name, process, seconds, status=0):
    """Waits for a process that is to end by itself."""
    try:
        out = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        out = process.communicate()[0] + ' (did not end)'
    if process.returncode != status:
        fail(f'{name}: exit status {process.returncode}: {out.strip()[-300:]}')
    done[name] += 1
    return out


def has_begun(process):
    """A server says that it listens."""
    line = process.stdout.readline()
    if 'listening' not in line:
        fail('a server does not listen: ' + line + process.stdout.read())
    return 'listening' in line


def again(name, make):
    """One short process after the other, each of which is to end well."""
    while not stop.is_set():
        expect(name, make(), 30)


def churn(number, rng):
    """A server that is killed, or whose client is, somewhere in the middle."""
    service = str(7200 + number)
    while not stop.is_set():
        server_ns, client_ns = rng.choice([(NS_A, NS_B), (NS_B, NS_A), (NS_A, NS_A)])
        server = start(server_ns, 'rping', '-s', '-P', '-p', service)
        processes = [server]
        if has_begun(server):
            target = ADDR_A if server_ns == NS_A else ADDR_B
            processes += [start(client_ns, 'rping', '-c', '-a', target, '-p', service, '-C', '0', '-S', '20000')
                          for _ in range(2)]
            processes.append(datagram(server_ns, 'server'))
            time.sleep(rng.uniform(0.05, 0.6))
        rng.shuffle(processes)
        for p in processes:
            p.send_signal(signal.SIGKILL)
            if rng.random() < 0.5:
                time.sleep(rng.uniform(0, 0.02))
        for p in processes:
            p.wait()
            p.stdout.close()
            done['killed'] += 1


def main():
    rng = random.Random(SEED)
    servers = [start(NS_A, 'rping', '-s', '-P', '-p', str(7101 + i)) for i in range(3)]
    for s in servers:
        if not has_begun(s):
            return
    servers.append(start(NS_A, 'perf', '-p', '18601'))
    servers.append(start(NS_A, 'perf', '-p', '18602'))
    members = [datagram(NS_A, 'server') for _ in range(3)]
    for m in members:
        if not has_begun(m):
            return
    time.sleep(0.5)
    lasting = {
        'from elsewhere': start(NS_B, 'rping', '-c', '-a', ADDR_A, '-p', '7101', '-C', '0', '-S', '1000'),
        'at one address': start(NS_A, 'rping', '-c', '-a', ADDR_A, '-p', '7102', '-C', '0', '-S', '1000'),
        'writes': start(NS_B, 'perf', '-p', '18601', '-d', '2', '-v', '--op', 'write', '-T', f'{SECONDS}s', ADDR_A),
        'reads': start(NS_B, 'perf', '-p', '18602', '-d', '2', '-v', '--op', 'read', '-T', f'{SECONDS}s', ADDR_A),
    }
    threads = [
        threading.Thread(target=again, args=('connects', lambda: start(
            NS_B, 'rping', '-c', '-a', ADDR_A, '-p', '7103', '-C', '20', '-S', '5000', '-t', '30s'))),
        threading.Thread(target=again, args=('is refused', lambda: refused())),
        threading.Thread(target=again, args=('asks a group', lambda: datagram(NS_B, 'client', '0xffffff'))),
    ] + [threading.Thread(target=churn, args=(i, random.Random(SEED * 100 + i))) for i in range(3)]
    for t in threads:
        t.start()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and not stop.is_set():
        for name, p in lasting.items():
            if p.poll() is not None and (p.returncode or not name.endswith('s')):
                fail(f'{name}: ended with {p.returncode}: {p.stdout.read().strip()[-300:]}')
        stop.wait(0.1)
    stop.set()
    for t in threads:
        t.join()
    for name, p in lasting.items():
        if name not in ('writes', 'reads'):
            p.send_signal(signal.SIGINT)
        expect(name, p, 40)
    for s in servers[:3]:
        s.send_signal(signal.SIGINT)
    for s in servers:
        expect('servers', s, 40)
    for m in members:
        heard = expect('members of the group', m, 40).count('who is there?')
        done['heard by a member'] += heard
        if heard == 0:
            fail('a member of the group heard nothing')


class refused:
    """A client of a service that nobody listens to: the same as a process that ends well, if it is refused."""

    def __init__(self):
        began = time.monotonic()
        p = start(NS_B, 'rping', '-c', '-a', ADDR_A, '-p', '7999', '-C', '1', '-t', '30s')
        out = p.communicate()[0]
        took = time.monotonic() - began
        self.returncode = 0 if p.returncode == 1 and 'nothing listens' in out and took < 20 else 1
        done['refused late'] += took > 3
        self.out = f'{p.returncode} after {took:.1f} s: {out}'
        stop.wait(0.2)

    def communicate(self, timeout=0):
        return self.out,


try:
    main()
finally:
    stop.set()
left = os.listdir(os.environ['NORNIC_RUNTIME_DIR'])
if left and not failures:
    failures.append('left behind: ' + ' '.join(left))
if failures:
    print('; '.join(failures))
    sys.exit(1)
print('ok: ' + ', '.join(f'{count} {what}' for what, count in sorted(done.items())))
