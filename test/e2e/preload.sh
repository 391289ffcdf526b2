#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic run --smc` and the library that it loads before the C library: what a socket does, step by step, beside one of
# the kernel (test/preload/probe.py), and programs of others (test/preload/programs).
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
library=$build/lib/libnornic-sockets.so
double=$build/test/preload/sockets-over-tcp.so

need_no_sanitizer preload

# --- the command line ---
refused() { # NAME PATTERN ARGS...
    local name=$1 pattern=$2
    shift 2
    run "$nornic" run "$@" -- echo ran
    if [ $rc = 2 ] && [ -z "$out" ] && [[ $err == *"$pattern"* ]]; then ok "$name"
    else notok "$name" "exit status $rc: $out $err"; fi
}
refused service_without_smc "--service is for programs with TCP sockets: say --smc" --service "$tmp/x"
refused ueid_without_smc "--ueid is for programs" --ueid NORNIC
refused smc_with_loss "loses no frames on purpose" --smc --loss 1%
refused smc_no_interface "nn-none" --smc --port udp:nn-none --service "$tmp/x"
refused smc_bad_peers "--peers nowhere" --smc --port udp:lo --service "$tmp/x" --peers 192.0.2.1,nowhere
refused smc_bad_ueid "--ueid lower" --smc --port udp:lo --service "$tmp/x" --ueid lower
refused smc_no_directory "$tmp/none/x" --smc --port udp:lo --service "$tmp/none/x"

# --- what is exported is what the map says, and nothing else is needed than the C library ---
wanted=$(sed -n '/^global:/,/^local:/{/:$/d;p}' preload/sockets.map | tr -d ' ' | tr ';' '\n' | sed '/^$/d' | sort)
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort)
if [ "$wanted" = "$exported" ]; then ok exports; else notok exports "$(diff <(echo "$wanted") <(echo "$exported"))"; fi
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|ld-linux.*|libgcc_s|libpthread)\.so')
if [ -z "$needed" ]; then ok needs_libc_alone; else notok needs_libc_alone "$needed"; fi

need_namespaces probe
ns_make lo || { notok namespaces "cannot make one"; exit 1; }
in_lo=(ip netns exec "nn-$$-lo")

# probe PORT FILE COMMAND...: the steps over loopback, both ends under COMMAND, to FILE
probe() {
    local port=$1 file=$2 peer i
    shift 2
    timeout 280 "${in_lo[@]}" "$@" python3 test/preload/probe.py peer "$port" >"$file.peer" 2>&1 &
    peer=$!
    for ((i = 0; i < 200; i++)); do grep -q ready "$file.peer" && break; sleep 0.1; done
    timeout 260 "${in_lo[@]}" "$@" python3 test/preload/probe.py 127.0.0.1 "$port" >"$file" 2>"$file.err"
    kill "$peer"
}
steps=$(grep -c '^@step' test/preload/probe.py)
# same NAME FILE [ALLOWED...]: the lines are those of the kernel's TCP, but for the steps that are allowed to differ,
# which must differ
same() {
    local name=$1 file=$2 differ
    shift 2
    differ=$(diff "$tmp/tcp" "$file" | sed -n 's/^[<>] \([a-z_0-9]*\):.*/\1/p' | sort -u | paste -sd' ')
    if [ "$(wc -l <"$file")" = "$steps" ] && [ "$differ" = "$*" ]; then ok "$name"
    else notok "$name" "differs in: $differ; expected: $*; $(diff "$tmp/tcp" "$file" | head -20)"; fi
}

# --- beside the kernel, with the kernel in the place of the service: all that differs is the library's ---
probe 7000 "$tmp/tcp" env &
probe 7001 "$tmp/lent" env LD_PRELOAD="$double" NORNIC_SMC=double:lent &
probe 7002 "$tmp/late" env LD_PRELOAD="$double" NORNIC_SMC=double:late &
probe 7003 "$tmp/fallback" env LD_PRELOAD="$double" NORNIC_SMC=double:fallback &
wait
if [ "$(wc -l <"$tmp/tcp")" = "$steps" ]; then ok "probe_of_tcp"; else notok probe_of_tcp "$(tail -3 "$tmp/tcp")"; fi
# the double waits by ppoll(), which no signal handler restarts
same double_lent "$tmp/lent" signal_restarts
same double_late "$tmp/late" signal_restarts
same double_fallback "$tmp/fallback"

# --- without a service ---
run "${in_lo[@]}" env LD_PRELOAD="$library" NORNIC_SMC="$tmp/nobody" NORNIC_TRACE=1 python3 -c '
import socket
with socket.create_server(("127.0.0.1", 0)) as l, socket.create_connection(l.getsockname()) as c:
    s, _ = l.accept()
    c.sendall(b"plain")
    print(s.recv(10))'
if [ $rc = 0 ] && [[ $out == *plain* ]] && one_sentence "$err" "no service for SMC-R at $tmp/nobody"; then ok no_service
else notok no_service "exit status $rc: $out $err"; fi
BUILD=$build NORNIC=$nornic PROGRAMS_CAPTURE=no test/preload/programs none socat nginx redis threads
[ $? = 0 ] || status=1

# --- by SMC-R, the service started on demand ---
veth_make 9000 || { notok namespaces "cannot make them"; exit 1; }
under_a=("$nornic" run --smc --service "$tmp/a.smc" --port udp:nna --capture "$tmp/a.pcapng" --)
under_b=("$nornic" run --smc --service "$tmp/b.smc" --port udp:nnb --)
# its process, as `nornic smc stat` knows it
service_of() {
    "$nornic" smc stat --json | python3 -c 'import json, sys
print(*(p["pid"] for p in json.load(sys.stdin)["processes"] if "--socket " + sys.argv[1] in p["command"]))' "$1"
}
start timeout 280 "${in_a[@]}" "${under_a[@]}" python3 test/preload/probe.py peer 7900
listening "$ns_a" 7900 || notok smc_peer "$(cat "$tmp/server.err")"
timeout 260 "${in_b[@]}" "${under_b[@]}" python3 test/preload/probe.py 10.77.0.1 7900 >"$tmp/smc" 2>"$tmp/smc.err"
service_a=$(service_of "$tmp/a.smc") service_b=$(service_of "$tmp/b.smc")
e2e_pids+=($service_a $service_b)
same smc_probe "$tmp/smc" $(sed -n 's/^| `\([a-z_]*\)` |.*/\1/p' docs/smc.md | sort)
kill "$server"
finish
moved=$("$nornic" smc stat --json --pid "$service_b" | python3 -c 'import json, sys
c = json.load(sys.stdin)["processes"][0]["counters"]
print(c["conns_smc"] > 100 and c["conns_fallback"] == 0 and c["tx_bytes"] > 1000000)')
if [ "$moved" = True ]; then ok smc_by_rdma; else notok smc_by_rdma "$("$nornic" smc stat --pid "$service_b")"; fi

# with TCP_NODELAY each send is an RDMA write of its own: two a round
cat >"$tmp/nodelay.py" <<'END'
import socket, sys
if sys.argv[1] == "serve":
    with socket.create_server(("10.77.0.1", 7901)) as l:
        c, _ = l.accept()
        while len(c.recv(2, socket.MSG_WAITALL)) == 2:
            c.sendall(b"!")
else:
    with socket.create_connection(("10.77.0.1", 7901)) as c:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(100):
            c.send(b"a")
            c.send(b"b")
            assert c.recv(1) == b"!"
END
writes_of_b() {
    "$nornic" smc stat --json --pid "$service_b" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["processes"][0]["counters"].get("tx_writes", 0))'
}
before=$(writes_of_b)
start "${in_a[@]}" "${under_a[@]}" python3 "$tmp/nodelay.py" serve
listening "$ns_a" 7901 || notok smc_peer "$(cat "$tmp/server.err")"
run timeout 60 "${in_b[@]}" "${under_b[@]}" python3 "$tmp/nodelay.py" ask
finish
writes=$(($(writes_of_b) - before))
if [ $rc = 0 ] && [ $writes -ge 200 ]; then ok smc_nodelay_gathers_nothing
else notok smc_nodelay_gathers_nothing "exit status $rc, $writes writes for 200 sends: $out $err"; fi

# who is in the cgroup and will not be lent offers nothing, so the peer waits for nothing
cat >"$tmp/plain.py" <<'END'
import socket, sys
s = socket.socket()
if sys.argv[1] == "option":
    s.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
s.connect(("10.77.0.1", 7902))
s.sendall(b"plain TCP, and no CLC message")
print(s.recv(100))
END
start "${in_a[@]}" "${under_a[@]}" python3 test/preload/echo.py threads 7902
listening "$ns_a" 7902
for who in "option env" "library_missing env -u LD_PRELOAD"; do
    read -r name words <<<"$who"
    run "${in_b[@]}" "${under_b[@]}" $words python3 "$tmp/plain.py" "$name"
    if [ $rc = 0 ] && [[ $out == *"no CLC message"* ]]; then ok "stays_tcp_$name"
    else notok "stays_tcp_$name" "$rc: $out $err"; fi
done
kill "$server"
finish

start "${in_a[@]}" "${under_a[@]}" python3 test/preload/echo.py threads 7901
listening "$ns_a" 7901
# SO_RCVLOWAT of more than a read asks for, than is left of one with MSG_WAITALL, and than there is room for: the read
# ends when it has what it asked for (the kernel's TCP sleeps on)
cat >"$tmp/lowat.py" <<'END'
import socket, threading, time
def connection(lowat):
    s = socket.create_connection(("10.77.0.1", 7901))
    s.settimeout(None)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, lowat)
    return s
def read(lowat, n, flags, now, later):
    s = connection(lowat)
    s.sendall(b"n" * now)
    threading.Timer(0.3, s.sendall, (b"l" * later,)).start()
    return len(s.recv(n, flags))
print(read(100, 10, 0, 5, 50), read(100, 150, socket.MSG_WAITALL, 120, 30))
s, whole = connection(1 << 28), 2 << 20
threading.Thread(target=s.sendall, args=(b"x" * whole,)).start()
got = len(s.recv(1 << 28))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
while got < whole:
    got += len(s.recv(1 << 20))
print(got == whole, time.process_time() < 5)
END
run "${in_b[@]}" "${under_b[@]}" python3 "$tmp/lowat.py"
if [ "$out" = "10 150"$'\n'"True True" ]; then ok lowat; else notok lowat "$rc: $out $err"; fi

# what TCP_CORK gathers goes when it is taken off, and not by the service's timer of 5 ms; the shortest of many
cat >"$tmp/uncork.py" <<'END'
import socket, time
with socket.create_connection(("10.77.0.1", 7901)) as s:
    def once():
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        begun = time.monotonic()
        s.send(b"x")
        time.sleep(0.001)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        assert s.recv(1) == b"x"
        return time.monotonic() - begun
    print(min(once() for i in range(50)))
END
run "${in_b[@]}" "${under_b[@]}" python3 "$tmp/uncork.py"
if [[ $out == 0.00[1-3]* ]]; then ok uncork; else notok uncork "$rc: $out $err"; fi

# a peer that declines: a connection whose TCP socket cannot be had, since the service is stopped, is reset
cat >"$tmp/declines.py" <<'END'
import socket, time
with socket.create_server(("0.0.0.0", 7905)) as listener:
    s = listener.accept()[0]
    proposal = s.recv(8, socket.MSG_WAITALL)
    s.recv(int.from_bytes(proposal[5:7], "big") - 8, socket.MSG_WAITALL)
    time.sleep(0.3)
    s.sendall(proposal[:4] + b"\x04\x00\x1c\x10" + bytes(16) + proposal[:4])
    s.recv(10)
END
cat >"$tmp/declined.py" <<'END'
import errno, os, select, signal, socket, sys, time
s, e = socket.create_connection(("10.77.0.1", 7905)), select.epoll()
e.register(s, select.EPOLLIN)
time.sleep(1)  # the peer has declined; nothing of that can be seen from here
os.kill(int(sys.argv[1]), signal.SIGSTOP)
try:
    try:
        print(s.recv(1))
    except OSError as err:
        print(errno.errorcode[err.errno])
    print([bool(events & select.EPOLLHUP) for _, events in e.poll(5)])
finally:
    os.kill(int(sys.argv[1]), signal.SIGCONT)
END
under_d=("$nornic" run --smc --service "$tmp/d.smc" --port udp:nnb --peers 10.77.0.1 --)
run "${in_b[@]}" "${under_d[@]}" true
service_d=$(service_of "$tmp/d.smc")
e2e_pids+=($service_d)
"${in_a[@]}" python3 "$tmp/declines.py" &
declines=$!
e2e_pids+=($declines)
for ((i = 0; i < 100; i++)); do [ -n "$("${in_a[@]}" ss -Hltn "sport = :7905")" ] && break; sleep 0.1; done
run "${in_b[@]}" "${under_d[@]}" python3 "$tmp/declined.py" "$service_d"
if [ "$out" = "ECONNRESET"$'\n'"[True]" ]; then ok tcp_cannot_be_had; else notok tcp_cannot_be_had "$rc: $out $err"; fi
kill "$service_d"

loans() {
    "$nornic" smc stat --json --pid "$service_b" | python3 -c 'import json, sys
print(len(json.load(sys.stdin)["processes"][0]["conns"]))'
}
none_lent() { [ "$(loans)" = 0 ]; }
# a service that is stopped for longer than it is waited for, and goes on: who slept meanwhile hears of what comes, and
# what was begun meanwhile is ended
cat >"$tmp/stopped.py" <<'END'
import os, select, signal, socket, sys, threading, time
def connection():
    s = socket.create_connection(("10.77.0.1", 7901))
    s.sendall(b"x")
    assert s.recv(1) == b"x"
    return s
def polled(s):
    p = select.poll()
    p.register(s, select.POLLIN)
    return bool(p.poll(20000))
def epolled(s):
    e = select.epoll()
    e.register(s, select.EPOLLIN | select.EPOLLET)
    return bool(e.poll(20))
ways = [polled, epolled, lambda s: bool(select.select([s], [], [], 20)[0]), lambda s: bool(s.recv(1))]
sockets, out = [connection() for _ in ways], {}
threads = [threading.Thread(target=lambda i=i: out.__setitem__(i, ways[i](sockets[i]))) for i in range(len(ways))]
for t in threads:
    t.start()
time.sleep(1)  # what the peer sends to one that is stopped, it gives up in the end
service = int(sys.argv[1])
os.kill(service, signal.SIGSTOP)
try:
    try:
        begun = socket.create_connection(("10.77.0.1", 7901))
    except OSError as e:
        begun = None
    if begun:
        begun.close()
    before = time.monotonic()
    with socket.create_connection(("10.77.0.1", 7901)) as plain:  # the service has a rest
        plain.sendall(b"z")
        rests = plain.recv(1) == b"z" and time.monotonic() - before < 1
finally:
    os.kill(service, signal.SIGCONT)
time.sleep(0.3)
for s in sockets:
    s.sendall(b"y")
for t in threads:
    t.join(25)
print([out.get(i) for i in range(len(ways))], rests)
END
until_true 10 none_lent
run "${in_b[@]}" "${under_b[@]}" python3 "$tmp/stopped.py" "$service_b"
if [ "$out" = "[True, True, True, True] True" ]; then ok service_stopped
else notok service_stopped "$rc: $out $err"; fi
if until_true 10 none_lent; then ok late_answer_given_back; else notok late_answer_given_back "$(loans)"; fi

# the service dies: who waits hears of it, by every way of waiting
cat >"$tmp/waits.py" <<'END'
import errno, os, select, signal, socket, sys, threading
def connection():
    s = socket.create_connection(("10.77.0.1", 7901))
    s.sendall(b"x")
    assert s.recv(1) == b"x"
    return s
def receive(s):
    try:
        return s.recv(1)
    except OSError as e:
        return errno.errorcode[e.errno]
def polled(s):
    p = select.poll()
    p.register(s, select.POLLIN)
    return bool(p.poll(20000)) and receive(s)
def epolled(s):
    e = select.epoll()
    e.register(s, select.EPOLLIN | select.EPOLLET)
    while not (r := receive(s) if e.poll(20) else "timeout"):
        pass
    return r
ways = [receive, polled, epolled, lambda s: bool(select.select([s], [], [], 20)[0]) and receive(s)]
out = {}
threads = [threading.Thread(target=lambda i=i, s=connection(): out.__setitem__(i, ways[i](s)))
           for i in range(len(ways))]
for t in threads:
    t.start()
threading.Event().wait(0.3)
os.kill(int(sys.argv[1]), signal.SIGKILL)
for t in threads:
    t.join(25)
print([out.get(i) for i in range(len(ways))])
END
run "${in_b[@]}" "${under_b[@]}" python3 "$tmp/waits.py" "$service_b"
if [ "$out" = "['ECONNRESET', 'ECONNRESET', 'ECONNRESET', 'ECONNRESET']" ]; then ok service_killed
else notok service_killed "$rc: $out $err"; fi
run "${in_b[@]}" "${under_b[@]}" python3 test/preload/echo.py client 10.77.0.1 7901 5
if [ $rc = 0 ]; then ok service_again; else notok service_again "$rc: $out $err"; fi
service_b=$(service_of "$tmp/b.smc")
# one that is dying holds its path, and answers no more: the next is waited for
cat >"$tmp/dying.py" <<'END'
import fcntl, os, socket, sys, time
lock = open(sys.argv[1] + ".lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
    s.bind(sys.argv[1])
print("dying", flush=True)
time.sleep(1)
END
python3 "$tmp/dying.py" "$tmp/c.smc" >"$tmp/dying" &
for ((i = 0; i < 100; i++)); do grep -q dying "$tmp/dying" && break; sleep 0.1; done
run "${in_b[@]}" "$nornic" run --smc --service "$tmp/c.smc" --port udp:nnb -- echo ran
if [ $rc = 0 ] && [ "$out" = ran ]; then ok service_waited_for; else notok service_waited_for "$rc: $out $err"; fi
e2e_pids+=($(service_of "$tmp/c.smc"))
# one that is started keeps nothing of who starts it: no lock, no directory, nor the library of a program under another
# one, and finds its own files all the same
mkdir "$tmp/from"
exec 9>"$tmp/lock"
flock 9
(cd "$tmp/from" && run "${in_b[@]}" "$(realpath "$nornic")" run --smc --service "$tmp/b.smc" --port udp:nnb -- \
    "$(realpath "$nornic")" run --smc --service d.smc --port udp:nnb --capture d.pcapng -- echo ran
    echo "$rc: $out $err" >"$tmp/started")
exec 9>&-
service_d=$(service_of d.smc)
e2e_pids+=($service_d)
if [[ $(<"$tmp/started") != "0: ran"* ]] || [ ! -S "$tmp/from/d.smc" ] ||
    [ ! -e "$tmp/from/d.pcapng" ]; then
    notok service_started "$(<"$tmp/started"), process ${service_d:-none}: $(ls "$tmp/from")"
elif ! flock -n "$tmp/lock" true; then notok service_started "it keeps a lock: $(ls -l "/proc/$service_d/fd")"
elif [ "$(readlink "/proc/$service_d/cwd")" != / ]; then notok service_started "$(readlink "/proc/$service_d/cwd")"
elif grep -q libnornic-sockets "/proc/$service_d/maps"; then notok service_started "it has the library"
else ok service_started; fi
kill "$service_d"
for ((i = 0; i < 100; i++)); do [ -e "$tmp/from/d.smc" ] || break; sleep 0.1; done
if [ ! -e "$tmp/from/d.smc" ]; then ok service_removes_its_socket
else notok service_removes_its_socket "it is there"; fi
# one that is stopped when its service dies holds up no other that waits
cat >"$tmp/reads.py" <<'END'
import errno, socket, time
s = socket.create_connection(("10.77.0.1", 7901))
s.sendall(b"x")
s.recv(1)
print("reads", flush=True)
try:
    s.recv(1)
except OSError as e:
    print(errno.errorcode[e.errno], flush=True)
END
readers=()
for i in 1 2 3; do
    "${in_b[@]}" "${under_b[@]}" python3 "$tmp/reads.py" >"$tmp/reads$i" &
    readers+=($!)
    until_true 10 grep -q reads "$tmp/reads$i"
done
sleep 0.2
e2e_pids+=("${readers[@]}")
kill -STOP "${readers[0]}" "${readers[1]}"
kill -KILL "$service_b"
if until_true 5 grep -q ECONNRESET "$tmp/reads3"; then ok service_killed_beside_one_that_is_stopped
else notok service_killed_beside_one_that_is_stopped "$(cat "$tmp"/reads*)"; fi
kill -CONT "${readers[@]}" 2>/dev/null
wait "${readers[@]}"
run "${in_b[@]}" "${under_b[@]}" true
service_b=$(service_of "$tmp/b.smc")
# one that is passed on before the program has looked whether it is connected
cat >"$tmp/passed.py" <<'END'
import socket, time
here, there = socket.socketpair()
s = socket.socket()
s.setblocking(False)
try:
    s.connect(("10.77.0.1", 7901))
except BlockingIOError:
    time.sleep(0.3)
socket.send_fds(here, [b"x"], [s.fileno()])
s.close()
t = socket.socket(fileno=socket.recv_fds(there, 1, 1)[1][0])
t.setblocking(True)
t.sendall(b"x")
print(t.recv(1))
END
run timeout 30 "${in_b[@]}" "${under_b[@]}" python3 "$tmp/passed.py"
if [ "$out" = "b'x'" ]; then ok passed_on_before_a_look; else notok passed_on_before_a_look "$rc: $out $err"; fi
# and where the program knows the next service before it looks again: what the first had lent is reset all the same,
# and what the next lends is watched
cat >"$tmp/next.py" <<'END'
import os, select, signal, socket, subprocess, sys, time
def connection():
    s = socket.create_connection(("10.77.0.1", 7901))
    s.sendall(b"x")
    assert s.recv(1) == b"x"
    return s
s, e = connection(), select.epoll()
e.register(s, select.EPOLLIN)
assert e.poll(0) == []
os.kill(int(sys.argv[1]), signal.SIGKILL)
time.sleep(1.2)  # as long as it waits before it asks again
env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "NORNIC_SMC")}
subprocess.run(sys.argv[2:] + ["true"], env=env, check=True)
t = connection()
e.register(t, select.EPOLLIN)
print([fd == s.fileno() and bool(events & select.EPOLLHUP) for fd, events in e.poll(20)])
e.unregister(s)
before = time.process_time()
print(e.poll(2), time.process_time() - before < 0.5)
END
run timeout 60 "${in_b[@]}" "${under_b[@]}" python3 "$tmp/next.py" "$service_b" "${under_b[@]}"
if [ "$out" = "[True]"$'\n'"[] True" ]; then ok service_replaced; else notok service_replaced "$rc: $out $err"; fi
service_b=$(service_of "$tmp/b.smc")
e2e_pids+=($service_b)
kill "$server"
finish
kill -TERM "$service_a"
for ((i = 0; i < 100; i++)); do kill -0 "$service_a" 2>/dev/null || break; sleep 0.1; done
run "$nornic" verify "$tmp/a.pcapng"
if [ $rc = 0 ]; then ok smc_capture; else notok smc_capture "$(echo "$out$err" | tail -3)"; fi

BUILD=$build NORNIC=$nornic PROGRAMS_CAPTURE=no SELFTEST_ROWS="poll sendfile peek_again server_stops" \
    test/preload/programs smc nginx nginx_nobody redis sftp mptcp_connect
[ $? = 0 ] || status=1
for mode in server client; do
    BUILD=$build NORNIC=$nornic PROGRAMS_CAPTURE=no test/preload/programs $mode socat
    [ $? = 0 ] || status=1
done
exit $status
