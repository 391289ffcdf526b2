#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Who offers SMC-R by the TCP option, and what becomes of an offer that cannot be kept: `nornic smc enable`, `disable`
# and `status`; programs of a user without privileges in a cgroup that was enabled; connections that cannot be lent
# although the peer waits for CLC. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# alone: it makes cgroups of the machine and counts the BPF programs of all
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
need_no_sanitizer offers

# --- the command line ---
run "$nornic" smc enable
expect enable_what "$rc $err" eval '[ $rc = 2 ] && one_sentence "$err" "say which cgroup"'
run "$nornic" smc disable
expect disable_what "$rc $err" eval '[ $rc = 2 ] && one_sentence "$err" "say which cgroup"'
for command in enable disable status; do
    run "$nornic" smc $command --help
    expect help_$command "$rc $err" eval '[ $rc = 0 ] && [[ $out == *"nornic smc $command"* ]]'
done

need_namespaces enabled declined
veth_make 1500 || { notok namespaces "cannot make them"; exit 1; }
run "$nornic" smc enable /nn-none
expect enable_no_cgroup "$rc $err" eval '[ $rc = 2 ] && one_sentence "$err" "/nn-none"'
run "$nornic" smc enable ""
expect enable_no_name "$rc $err" eval '[ $rc = 2 ] && one_sentence "$err" "a cgroup has a name"'

# --- a cgroup of our own; its hierarchy may be mounted nowhere ---
tree=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ -z "$tree" ]; then
    tree=$tmp/tree
    mkdir "$tree" && mount -t cgroup2 none "$tree" || { notok cgroup "cannot mount cgroup v2"; exit 1; }
fi
group=nn-$$ place=$tree/nn-$$
mkdir "$place" || { notok cgroup "cannot make $place"; exit 1; }
leave() { # before lib.sh removes the rest
    local pid i
    for ((i = 0; i < 50; i++)); do
        for pid in $(cat "$place/cgroup.procs" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
        rmdir "$place" 2>/dev/null && break
        sleep 0.1
    done
    [ "$tree" != "$tmp/tree" ] || umount "$tree"
}
trap 'leave; e2e_cleanup' EXIT
chmod 755 "$tmp"
mkdir "$tmp/a" "$tmp/b"
chown nobody "$tmp/a" "$tmp/b"
# what a user without privileges may read and run
cp "$build/nornic" "$tmp/nornic" && cp -r "$build/lib" "$tmp/lib" && chmod -R a+rX "$tmp/nornic" "$tmp/lib"

# inside COMMAND...: in the cgroup
inside() {
    echo "$BASHPID" >"$place/cgroup.procs" && exec "$@"
}
# as user $user ("${as_nobody[@]}", or nothing for root) at end $end
user=("${as_nobody[@]}")
enabled_programs() { "$nornic" smc status --json | grep -c "\"/$group\""; }

run "${user[@]}" "$tmp/nornic" smc enable "/$group"
expect enable_needs_root "$rc $err" eval '[ $rc = 2 ] && one_sentence "$err" "needs BPF: root"'
expect and_did_nothing "it is enabled" [ "$(enabled_programs)" = 0 ]
run "$nornic" smc disable "/$group"
expect disable_what_is_not "$rc $err" eval '[ $rc = 1 ] && one_sentence "$err" "not enabled"'
run "$nornic" smc enable "$place"
expect enable_by_directory "$rc $out $err" eval '[ $rc = 0 ] && [ -z "$out$err" ]'
expect and_status_knows_it "$(enabled_programs)" [ "$(enabled_programs)" = 1 ]
run "$nornic" smc enable "/$group"
expect enable_again "$rc $out $err" eval '[ $rc = 0 ] && one_sentence "$err" "already"'
run "$nornic" smc status
expect status_names_it "$rc $out $err" eval '[[ $out == *"enabled for the cgroup /$group"* ]]'
(inside "${user[@]}" "$tmp/nornic" smc status) >"$tmp/out" 2>"$tmp/err"
expect status_inside "$(cat "$tmp/out" "$tmp/err")" grep -q "is enabled for this process" "$tmp/out"
run "${user[@]}" "$tmp/nornic" smc status
expect status_outside "$rc $out" eval '[ $rc = 1 ] && [[ $out == *"not enabled for this process"* ]]'

# --- programs ---
# server: accepts COUNT connections, answers each with what comes; client: COUNT connections one after the other, all
# kept open, each with BYTES there and back; says how long the slowest took
cat >"$tmp/talk.py" <<'END'
import hashlib, os, socket, sys, threading, time
role, host, port, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
late = sys.argv[6:] == ['late']   # an option that is TCP's alone, after listen()
waits = sys.argv[6] if len(sys.argv) > 6 and not late else None   # for a file, before accept()
socket.setdefaulttimeout(20)
def take(s, n):
    got = b''
    while len(got) < n:
        more = s.recv(min(n - len(got), 65536))
        if not more:
            raise EOFError('%d of %d bytes' % (len(got), n))
        got += more
    return got
def echo(s):
    s.settimeout(20)
    try:
        while True:
            n = int(take(s, 8))
            s.sendall(take(s, n))
    except (EOFError, ConnectionError):
        s.close()
if role == 'server':
    l = socket.create_server((host, port), backlog=64)
    if late:
        l.setsockopt(socket.SOL_SOCKET, 60, 1)
    print('up', flush=True)
    for _ in range(600):
        if not waits or os.path.exists(waits):
            break
        time.sleep(0.05)
    threads = []
    for i in range(count):
        try:
            s, _ = l.accept()
        except ConnectionAbortedError:
            continue
        threads.append(threading.Thread(target=echo, args=(s,)))
        threads[-1].start()
    for t in threads:
        t.join()
    sys.exit()
conns, slowest = [], 0
for i in range(count):
    began = time.monotonic()
    s = socket.create_connection((host, port))
    data = os.urandom(size)
    s.sendall(b'%8d' % size + data)
    assert hashlib.sha256(take(s, size)).digest() == hashlib.sha256(data).digest(), 'connection %d: wrong bytes' % i
    slowest = max(slowest, time.monotonic() - began)
    conns.append(s)
print('all %d, slowest %.3f s' % (count, slowest))
END
# service END DEVICE [COMMAND-BEFORE...]: of $user in the cgroup; $service
service() {
    local end=$1 device=$2 in=("${in_a[@]}")
    shift 2
    [ "$end" = a ] || in=("${in_b[@]}")
    (inside "${in[@]}" "${user[@]}" "$@" "$tmp/nornic" smc service --foreground -d "udp:$device" \
        --socket "$tmp/$end/s" --trace "$tmp/$end/trace" 2>"$tmp/$end/said") &
    service=$!
    e2e_pids+=("$service")
    until_true 20 [ -S "$tmp/$end/s" ]
}
# ends PID...
ends() {
    kill -TERM "$@" 2>/dev/null
    local pid
    for pid in "$@"; do until_true 10 eval "! kill -0 $pid 2>/dev/null"; done
}
# serve ARGS...: the server for COUNT connections in A, which is up
serve() {
    start inside "${in_a[@]}" "${user[@]}" "${under_a[@]}" python3 "$tmp/talk.py" server 10.77.0.1 5000 "$@"
    until_true 10 grep -q up "$tmp/server.out"
}
# talk COUNT BYTES SERVER-WORD...: $rc, $out, $err of the client; $server_...; $tcp: so many went on as TCP
under_a=(env NORNIC_TRACE=1 "$tmp/nornic" run --smc --service "$tmp/a/s" --)
under_b=(env NORNIC_TRACE=1 "$tmp/nornic" run --smc --service "$tmp/b/s" --)
talk() {
    serve "$@"
    (inside timeout 60 "${in_b[@]}" "${user[@]}" "${under_b[@]}" python3 "$tmp/talk.py" client 10.77.0.1 5000 "$1" \
        "$2") >"$tmp/out" 2>"$tmp/err"
    rc=$? out=$(cat "$tmp/out") err=$(cat "$tmp/err")
    finish
    tcp=$(grep -cE "goes on as TCP|stays TCP" "$tmp/err")
    words="client $rc $out $(tail -3 <<<"$err"); server $server_rc $server_out $(tail -3 <<<"$server_err"); \
$tcp by TCP; $(cat "$tmp"/[ab]/said)"
}
# all came back, and none waited for a timer of the handshake (2 s at the least)
swift() {
    [ "$rc" = 0 ] && [ "$server_rc" = 0 ] && [[ $out =~ slowest\ ([0-9]+)\. ]] && [ "${BASH_REMATCH[1]}" -lt 2 ]
}

service a nna && service_a=$service && service b nnb && service_b=$service
expect services_without_privileges "$(cat "$tmp"/[ab]/said)" \
    eval '[ -S "$tmp/a/s" ] && [ -S "$tmp/b/s" ] && ! grep -q BPF "$tmp"/[ab]/said'
talk 5 300000
expect enabled_programs_go_by_smcr "$words" eval 'swift && [ $tcp = 0 ] && grep -q "Confirm" "$tmp/b/trace"'

# --- the peer waits, and the connection cannot be lent ---
talk 3 1000 late
expect an_option_after_listen_declines "$words" eval 'swift && [ $tcp = 3 ] && grep -q "Decline" "$tmp/b/trace"'
established() { [ -n "$(ip netns exec "$ns_a" ss -Htn state established "sport = :5000")" ]; }
has_died() { ! grep -q "^State:[[:space:]][^ZX]" "/proc/$1/status" 2>/dev/null; } # what it had open is closed
(until_true 20 established && kill -KILL "$service_a" && until_true 20 has_died "$service_a" && touch "$tmp/a/go") \
    2>/dev/null &
talk 1 1000 "$tmp/a/go"
expect a_service_that_died_before_accept_is_no_wait "$words" eval 'swift && [ $tcp = 1 ]'
rm -f "$tmp/a/s"
service a nna prlimit --nofile=96:96 && service_a=$service
talk 60 1000
expect a_full_service_of_the_server_declines "$words" eval 'swift && [ $tcp -gt 10 ] && [ $tcp -lt 60 ]'
ends "$service_a" "$service_b"
service a nna && service_a=$service && service b nnb prlimit --nofile=96:96 && service_b=$service
talk 60 1000
expect a_full_service_of_the_client_declines "$words" eval 'swift && [ $tcp -gt 10 ] && [ $tcp -lt 60 ]'

# a program that has waited by a service that is no more goes on by the next
cat >"$tmp/again.py" <<'END'
import os, socket, sys, time
def talk():
    s = socket.create_connection(('10.77.0.1', 5000), 20)
    s.sendall(b'%8d' % 5 + b'hello')
    assert s.recv(100) == b'hello'
    return s
s = talk()
os.kill(int(sys.argv[1]), 9)
try:
    s.recv(1)
except ConnectionResetError:
    pass
open(sys.argv[2], 'w').close()
for i in range(200):
    if os.path.exists(sys.argv[3]):
        break
    time.sleep(0.1)
time.sleep(1.1)   # the library asks for it once a second
began, spent = time.monotonic(), time.process_time()
talk()
print('again in %.2f s, %.2f s of a processor' % (time.monotonic() - began, time.process_time() - spent))
END
ends "$service_b"
service b nnb && service_b=$service
(until_true 20 [ -e "$tmp/b/killed" ] && rm -f "$tmp/b/s" && service b nnb && touch "$tmp/b/again"; sleep 20) &
e2e_pids+=("$!")
serve 2 5
(inside timeout 60 "${in_b[@]}" "${user[@]}" "${under_b[@]}" python3 "$tmp/again.py" "$service_b" "$tmp/b/killed" \
    "$tmp/b/again") >"$tmp/out" 2>"$tmp/err"
finish
expect by_the_next_service_at_once "$(tail -n 3 "$tmp/out" "$tmp/err") $server_out $server_err" \
    grep -qE "again in [01]\.[0-9]+ s, 0\.[0-3][0-9] s of" "$tmp/out"
service_b=$(ip netns pids "$ns_b" | while read -r pid; do
    grep -qa "smc.service" "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"; done | head -1)

# a program that has one descriptor left, whose number the lent connection then has
ends "$service_b"
service b nnb && service_b=$service
under_b+=(prlimit --nofile=12:12)
talk 4 1000
expect the_last_descriptor_is_enough "$words" eval 'swift && [ $tcp = 0 ]'
unset "under_b[-1]" "under_b[-1]"

# --- both ends on one host: no option, and nobody waits ---
(inside timeout 60 "${in_a[@]}" "${user[@]}" "${under_a[@]}" python3 -c '
import socket
l = socket.create_server(("10.77.0.1", 5001))
c = socket.create_connection(("10.77.0.1", 5001))
c.sendall(b"before accept")
s, _ = l.accept()
print(s.recv(100))') >"$tmp/out" 2>"$tmp/err"
expect on_one_host_connect_is_before_accept "$(cat "$tmp/out" "$tmp/err")" grep -q "before accept" "$tmp/out"
ip -n "$ns_a" addr add 10.77.0.3/24 dev nna
serve 1 1000
(inside timeout 60 "${in_a[@]}" "${user[@]}" "${under_a[@]}" python3 -c '
import socket
c = socket.create_connection(("10.77.0.1", 5000), source_address=("10.77.0.3", 0))
c.sendall(b"%8d" % 5 + b"hello")
print(c.recv(100))') >"$tmp/out" 2>"$tmp/err"
finish
expect two_addresses_of_one_host_decline "$(cat "$tmp/out" "$tmp/err") $server_out $server_err" \
    grep -q "hello" "$tmp/out"

# --- it is taken away ---
run "$nornic" smc disable "/$group"
expect disable "$rc $out $err" eval '[ $rc = 0 ] && [ -z "$out$err" ]'
expect and_nothing_is_left "it is enabled" [ "$(enabled_programs)" = 0 ]
talk 2 1000
expect disabled_programs_go_by_tcp "$words" eval 'swift && [ $tcp = 2 ]'

# a service that holds the request, and does not answer, may still say something on the connection
cat >"$tmp/held.py" <<'END'
import os, signal, socket, sys
l = socket.create_server(('127.0.0.1', 0))
before = socket.create_connection(l.getsockname())   # the library has the service's memory from now on
os.kill(int(sys.argv[1]), signal.SIGSTOP)
try:
    socket.create_connection(l.getsockname())
    print('stays TCP')
except ConnectionResetError:
    print('was reset')
finally:
    os.kill(int(sys.argv[1]), signal.SIGCONT)
END
(inside timeout 60 "${in_b[@]}" "${user[@]}" "${under_b[@]}" python3 "$tmp/held.py" "$service_b") \
    >"$tmp/out" 2>"$tmp/err"
expect a_request_that_is_held_resets "$(tail -n 5 "$tmp/out" "$tmp/err")" grep -q "^was reset" "$tmp/out"
"$nornic" smc enable "/$group"
ends "$service_a" "$service_b"
leave
mkdir "$place"
expect an_enabled_cgroup_goes_with_all "it is enabled" [ "$(enabled_programs)" = 0 ]
exit $status
