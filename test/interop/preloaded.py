#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""nornic's end of an SMC-R case whose program knows nothing of it: `nornic smc service`, and the program by
`nornic run --smc`.

    preloaded.py DEVICES EID CONNS PROGRAM...   DEVICES: ports with blanks between them
    preloaded.py --forks ADDR PORT CONNS        a server of plain TCP: a process a connection sends back what comes

The program's end is the end. Then it says how many of CONNS connections went by SMC-R, as the service counts them
(of iperf3, which has one for control, too). Exits with what the program exits with.
"""
import json, os, signal, socket, subprocess, sys, tempfile, time
from lab import NORNIC, wait_for


def forks(addr, port, conns):
    listener = socket.create_server((addr, int(port)), backlog=64)
    children = []
    for _ in range(int(conns)):
        conn, _ = listener.accept()
        pid = os.fork()
        if pid == 0:
            listener.close()
            while got := conn.recv(65536):
                conn.sendall(got)
            conn.close()
            os._exit(0)
        conn.close()
        children.append(pid)
    return any(os.waitpid(pid, 0)[1] for pid in children)


def counted(service):
    out = subprocess.run([NORNIC, 'smc', 'stat', '--json', '--pid', str(service.pid)], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=20, check=False).stdout
    return json.loads(out)['processes'][0]


def main():
    devices, eid, conns, *program = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix='nornic-preloaded-') as folder:
        where = folder + '/service'
        words = [word for device in devices.split() for word in ('-d', device)] + ['--ueid', eid] * bool(eid)
        service = subprocess.Popen([NORNIC, 'smc', 'service', '--foreground', '--socket', where, *words])
        try:
            wait_for('the service', 20, lambda: os.path.exists(where) or service.poll() is not None)
            status = subprocess.run([NORNIC, 'run', '--smc', '--service', where, '--', *program],
                                    stdin=subprocess.DEVNULL, check=False).returncode
            wait_for('the end of all connections', 10, lambda: not counted(service)['conns'])
            print('%d of %s by SMC-R' % (counted(service)['counters']['conns_smc'], conns), flush=True)
        finally:
            service.send_signal(signal.SIGTERM)
            try:
                service.wait(10)
            except subprocess.TimeoutExpired:
                service.kill()
                service.wait()
    return status


os.environ.pop('NORNIC_PORT', None)
sys.exit(forks(*sys.argv[2:]) if sys.argv[1] == '--forks' else main())
