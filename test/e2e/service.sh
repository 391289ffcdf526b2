#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic smc service` and programs that borrow its connections (test/service_peer): two services in two namespaces,
# over UDP sockets. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=${BUILD:-build}
peer=$(realpath "$build/test/service_peer/peer")

# --- the command line ---
refused_command=(smc service)
refuse bad_device "eth0" -d eth0
refuse missing_interface "nn-none" -d udp:nn-none --socket "$tmp/none"
refuse bad_peers "--peers nowhere" --peers nowhere
refuse too_long_a_prefix "33" --peers 192.0.2.0/33
refuse no_directory "$tmp/none/there" -d udp:lo --socket "$tmp/none/there"
refuse bad_ueid "--ueid lower" --ueid lower
run "$nornic" smc service --help
if [ $rc = 0 ] && [[ $out == *"Try"* ]]; then ok help; else notok help "exit status $rc: $err"; fi

need_namespaces bulk rendezvous survives
veth_make 9000 || { notok namespaces "cannot make them"; exit 1; }

# services ARGS...: one at each end; $service_a and $service_b. The peers are known by the TCP option.
services() {
    rm -f "$tmp"/[ab].sock
    "${in_a[@]}" "$nornic" smc service --foreground -d udp:nna --socket "$tmp/a.sock" "$@" 2>"$tmp/service_a" &
    service_a=$!
    "${in_b[@]}" "$nornic" smc service --foreground -d udp:nnb --socket "$tmp/b.sock" "$@" 2>"$tmp/service_b" &
    service_b=$!
    e2e_pids+=("$service_a" "$service_b")
    until_true 20 [ -S "$tmp/a.sock" ] && until_true 20 [ -S "$tmp/b.sock" ]
}
# ended PID SECONDS: whether it ends by itself; $ended_rc
ended() {
    until_true "$2" eval "! kill -0 $1 2>/dev/null"
    local late=$?
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    ended_rc=$?
    return $late
}
end_services() {
    kill -TERM "$service_a" "$service_b" 2>/dev/null
    ended "$service_a" 10 && ended "$service_b" 10
}
# pair COUNT SERVER-ACTION -- CLIENT-ACTION: both ends of COUNT connections; $rc, $out of the client, $server_out
host=10.77.0.1
pair() {
    local count=$1 theirs=()
    shift
    while [ "$1" != -- ]; do theirs+=("$1"); shift; done
    shift
    start "${in_a[@]}" "$peer" "$tmp/a.sock" server 5000 "$count" "${theirs[@]}"
    listening "$ns_a" 5000
    run "${in_b[@]}" "$peer" "$tmp/b.sock" client $host 5000 "$count" "$@"
    finish
    words="client $rc $out $err; server $server_rc $server_out $server_err; $(cat "$tmp"/service_[ab])"
}
both() { [ "$rc" = 0 ] && [ "$server_rc" = 0 ] && [[ $out == *"$1"* ]] && [[ $server_out == *"$1"* ]]; }

export PEER_ENTER=1
if ! services; then
    notok services "$(cat "$tmp"/service_[ab])"
    exit 1
fi
ok services

# --- bytes ---
pair 1 bulk 3000000 5000000 -- bulk 5000000 3000000
expect bulk_both_ways "$words" both "smcr in"
pair 1 answer -- echo 200 1
expect echo_of_a_byte "$words" both "smcr in"
pair 1 answer -- echo 20 100000
expect echo_of_many_bytes "$words" both "smcr in"

host=fd77::1
pair 1 bulk 300000 500000 -- bulk 500000 300000
expect bulk_over_ipv6 "$words" both "smcr in"
host=10.77.0.1

# --- what programs do ---
pair 1 forked 3000000 5000000 -- forked 5000000 3000000
expect forked_processes_share_it "$words" both "smcr in"
pair 1 exec 3000000 5000000 -- exec 5000000 3000000
expect it_outlives_an_exec "$words" both "smcr in"
pair 5 bulk 0 0 -- leave
expect who_leaves_at_once_ends_in_order "$words" both "smcr in"
pair 1 bulk 0 5000000 -- die 5000000 2>/dev/null # bash tells of it
expect what_a_killed_program_sent_is_delivered "$words" \
    eval '[ $rc = 137 ] && [ "$server_rc" = 0 ] && [[ $server_out == *"smcr in"* ]]'
pair 1 bulk 5000000 5000000 -- die 1000 2>/dev/null
was_reset() { [[ $1 == *"failed: "*"onnection reset"* ]] || [[ $1 == *"failed: "*"roken pipe"* ]]; }
expect killed_with_unread_data_it_is_reset "$words" \
    eval '[ $rc = 137 ] && was_reset "$server_out"'
pair 300 answer-many -- many 10 1000
expect three_hundred_at_once "$words" both "smcr many 300"

# --- what is written where it should not be costs that connection alone ---
for what in head consumed; do
    pair 1 answer -- scribble $what
    expect nonsense_in_${what}_resets_it "$words" eval '[ $rc = 0 ] && [[ $out == *"smcr in"* ]]'
done
pair 1 answer -- scribble watch
expect nonsense_in_watch_is_passed_over "$words" both "smcr in"
# another user's pair, with the name that a connection of the service's would have
cat >"$tmp/named.py" <<'END'
import array, os, socket, sys
here, there = socket.socketpair()
if os.fork() == 0:
    os.setuid(65534)
    inner, outer = socket.socketpair()
    inner.bind(('\0nornic-smc/%s/0/1/0123456789abcdef' % sys.argv[3]).encode())
    there.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [outer.fileno()]))])
    there.recv(1)
    os._exit(0)
fds = array.array('i')
fds.frombytes(here.recvmsg(1, socket.CMSG_SPACE(4))[1][0][2])
os.set_inheritable(fds[0], True)
os.execl(sys.argv[1], 'peer', sys.argv[2], 'attached', str(fds[0]), 'bulk', '0', '0')
END
run "${in_a[@]}" python3 "$tmp/named.py" "$peer" "$tmp/a.sock" "$service_a"
expect another_user_s_pair_is_no_connection "$rc $out $err" \
    [ "$out" = "failed: borrow_attach: Socket operation on non-socket" ]
version=$(awk '$2 == "SERVICE_VERSION" { print $3 }' service/memory/shared.h)
cat >"$tmp/garbage.py" <<'END'
import array, os, socket, struct, sys, time
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(5)
    s.connect(sys.argv[1])
    return s
def ask(s, what, magic=0x4e6f534d, version=int(sys.argv[3]), number=0, fds=()):
    s.sendmsg([struct.pack('12I', what, 1000 + what, magic, version, number, 0, 0, 0, 0, 0, 0, 0)],
              [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else [])
    about, number, result = struct.unpack('IIi', s.recv(100)[:12])
    assert (about, number) == (what, 1000 + what), (about, number)  # an answer says to what
    return result
for garbage in (b'x', bytes(1000), b'\xff' * 44):  # no requests: it hangs up
    s = connect()
    s.send(garbage)
    assert s.recv(100) == b'', garbage
s = connect()
assert ask(s, 2) < 0  # before a hello
assert ask(s, 1, version=99) < 0
assert ask(s, 1) == 0
for what in (2, 3, 4, 6, 77):  # without a descriptor, of nothing, unknown
    assert ask(s, what, number=0xffffffff) < 0, what
null = os.open('/dev/null', os.O_RDWR)
assert ask(s, 2, fds=[null]) == 1  # no TCP socket
assert ask(s, 5) == 0  # it needs none, and one that comes with it is closed
def count():
    return len(os.listdir('/proc/%s/fd' % sys.argv[2]))
before = count()
for what in (77, 2, 3):  # more descriptors than one
    ask(s, what, fds=[null] * 10)
    for _ in range(500):  # a thread closes what might make the service wait
        if count() <= before:
            break
        time.sleep(0.01)
    assert count() <= before, (what, before, count())
END
run python3 "$tmp/garbage.py" "$tmp/a.sock" "$service_a" "$version"
expect requests_that_are_none_are_refused "$out $err" [ $rc = 0 ]
pair 1 answer -- echo 3 100
expect and_the_service_goes_on "$words" both "smcr in"

# --- a service without descriptors refuses, does not spin, and goes on; its end is seen in the memory ---
cat >"$tmp/full.py" <<'END'
import array, mmap, os, signal, socket, struct, sys, time
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(5)
    s.connect(sys.argv[1])
    return s
def hello(s):  # with its descriptors, or None
    try:
        s.send(struct.pack('12I', 1, 0, 0x4e6f534d, int(sys.argv[3]), 0, 0, 0, 0, 0, 0, 0, 0))
        data, ancillary, _, _ = s.recvmsg(100, 100)
    except (BrokenPipeError, ConnectionResetError):
        return None
    fds = array.array('i')
    for _, _, bytes_ in ancillary:
        fds.frombytes(bytes_)
    return list(fds) if data else None
def ticks():
    stat = open('/proc/%s/stat' % sys.argv[2]).read().rsplit(')', 1)[1].split()
    return int(stat[11]) + int(stat[12])
first = connect()
memory = mmap.mmap(hello(first)[0], 4096)
many, refused = [], 0
for i in range(80):  # each is answered in 5 s, one way or the other
    many.append(connect())
    fds = hello(many[-1])
    refused += fds is None
    for fd in fds or []:
        os.close(fd)
assert refused > 20, refused
before = ticks()
time.sleep(2)
assert ticks() - before < 20, ticks() - before  # of 200
assert hello(first)  # who was there is served
for s in many:
    s.close()
for i in range(50):  # it hears of the ends one by one
    late = connect()
    if hello(late):
        break
    time.sleep(0.1)
else:
    sys.exit('nobody is served any more')
def is_alive():  # as programs see it: who holds the lock at 64
    return struct.unpack('I', memory[64:68])[0] & 0x7fffffff not in (0, 0x40000000)
assert is_alive()
os.kill(int(sys.argv[2]), signal.SIGTERM)
late.settimeout(20)
while late.recv(100):
    pass
for i in range(200):
    if not is_alive():
        break
    time.sleep(0.1)
else:
    sys.exit('programs take it for alive')
END
"${in_a[@]}" prlimit --nofile=64:64 "$nornic" smc service --foreground -d udp:nna --socket "$tmp/full.sock" \
    2>"$tmp/full" &
full=$!
e2e_pids+=("$full")
until_true 20 [ -S "$tmp/full.sock" ]
run python3 "$tmp/full.py" "$tmp/full.sock" "$full" "$version"
expect without_descriptors_it_refuses "$out $err $(cat "$tmp/full")" [ $rc = 0 ]
ended "$full" 10

# stopped for longer than it takes to give up a link: the service goes on
start "${in_a[@]}" "$peer" "$tmp/a.sock" server 5000 1 bulk 0 1000000000
listening "$ns_a" 5000
"${in_b[@]}" "$peer" "$tmp/b.sock" client 10.77.0.1 5000 1 bulk 1000000000 0 >"$tmp/client" 2>&1 &
client=$!
e2e_pids+=("$client")
moving() { # a connection of the service a has brought something
    "$nornic" smc stat --json --pid "$service_a" 2>/dev/null |
        python3 -c 'import json, sys
conns = [c for p in json.load(sys.stdin)["processes"] for c in p["conns"]]
sys.exit(not any(c["rx_bytes"] > 1000000 for c in conns))' 2>/dev/null
}
until_true 10 moving
kill -STOP "$server"
run "$nornic" smc stat --pid "$service_a"
expect stat_says_who_has_it "$out $err" eval '[[ $out == *"lent to peer (process $server)"* ]]'
sleep 6
kill -CONT "$server"
wait "$client"
rc=$? out=$(cat "$tmp/client")
finish
words="client $rc $out; server $server_rc $server_out"
expect a_stopped_program_is_waited_for "$words" both "smcr in"

# --- plain TCP ---
export -n PEER_ENTER
start "${in_a[@]}" "$peer" "$tmp/a.sock" server 5000 1 bulk 300000 500000
listening "$ns_a" 5000
run env PEER_ENTER=1 "${in_b[@]}" "$peer" "$tmp/b.sock" client 10.77.0.1 5000 1 bulk 500000 300000
finish
words="client $rc $out; server $server_rc $server_out"
expect a_peer_that_does_not_offer_gets_tcp "$words" both "tcp in"
expect and_it_is_said_why "$words" both "the peer did not offer SMC-R"
export PEER_ENTER=1

# --- the service dies ---
start "${in_a[@]}" "$peer" "$tmp/a.sock" server 5000 1 bulk 0 1000000000000
listening "$ns_a" 5000
"${in_b[@]}" "$peer" "$tmp/b.sock" client 10.77.0.1 5000 1 bulk 1000000000000 0 >"$tmp/client" 2>&1 &
client=$!
e2e_pids+=("$client")
until_true 10 moving
kill -KILL "$service_a"
wait "$service_a" 2>/dev/null
ended "$client" 20
late=$?
finish
words="client $ended_rc $(cat "$tmp/client"); server $server_rc $server_out"
expect a_killed_service_resets_both_ends "$words" \
    eval '[ $late = 0 ] && [ $server_rc = 1 ] && [[ $server_out == *"onnection reset"* ]] &&
        grep -Eq "onnection reset|roken pipe" "$tmp/client"'
kill -TERM "$service_b"
ended "$service_b" 10
expect a_service_ends_by_a_signal "$(cat "$tmp/service_b")" [ "$ended_rc" = 0 ]
expect and_removes_its_socket "it is there still" [ ! -e "$tmp/b.sock" ]

# --- it starts again; configured peers need no TCP option ---
if services --peers 10.77.0.0/24; then ok the_next_start_is_clean
else notok the_next_start_is_clean "$(cat "$tmp"/service_[ab])"; fi
run "${in_a[@]}" "$nornic" smc service -d udp:nna --socket "$tmp/a.sock"
if [ $rc = 1 ] && one_sentence "$err" "runs already"; then ok one_service_a_path
else notok one_service_a_path "exit status $rc: $out $err"; fi
run "${in_a[@]}" "$nornic" smc service -d udp:nna --socket "$tmp/a.sock" --on-demand
expect on_demand_one_that_runs_will_do "exit status $rc: $out $err" [ $rc = 0 ]
unset PEER_ENTER
# anybody may take names of the abstract namespace: those that the next connections would have, if they could be guessed
"${in_a[@]}" python3 -c '
import socket, sys, time
names = [socket.socket(socket.AF_UNIX) for i in range(20)]
for i, s in enumerate(names):
    s.bind("\0nornic-smc/%s/%d/1" % (sys.argv[1], i))
open(sys.argv[2], "w").close()
time.sleep(60)' "$service_a" "$tmp/squatted" &
squatter=$!
e2e_pids+=("$squatter")
until_true 10 [ -e "$tmp/squatted" ]
pair 1 bulk 300000 500000 -- bulk 500000 300000
expect names_that_others_took_do_no_harm "$words" both "smcr in"
kill "$squatter"
for i in 1 2 3 4; do # at once: one serves, the others find it
    "${in_a[@]}" "$nornic" smc service -d udp:nna --socket "$tmp/c.sock" --on-demand --idle 1s 2>>"$tmp/race" &
    starts[i]=$!
    e2e_pids+=("$!")
done
rcs=
for i in 1 2 3 4; do
    wait "${starts[i]}"
    rcs+="$? "
done
expect started_at_once_they_are_one "$rcs$(cat "$tmp/race")" [ "$rcs" = "0 0 0 0 " ]
expect it_ends_when_nobody_uses_it "it is there still" until_true 20 [ ! -e "$tmp/c.sock" ]
pair 1 bulk 300000 500000 -- bulk 500000 300000
expect configured_peers_need_no_option "$words" both "smcr in"
expect services_end "$(cat "$tmp"/service_[ab])" end_services

# --- what is on the wire: TCP and CLC as tshark reads them, RoCE judged packet by packet ---
export PEER_ENTER=1
if ! command -v tshark >/dev/null || ! command -v tcpdump >/dev/null; then
    for name in verified dissected; do skip "$name" "tshark or tcpdump is not installed"; done
    exit $status
fi
rm -f "$tmp"/[ab].sock
"${in_a[@]}" "$nornic" smc service --foreground -d udp:nna --socket "$tmp/a.sock" --capture "$tmp/a.pcapng" \
    2>"$tmp/service_a" &
service_a=$!
"${in_b[@]}" "$nornic" smc service --foreground -d udp:nnb --socket "$tmp/b.sock" --capture "$tmp/b.pcapng" \
    2>"$tmp/service_b" &
service_b=$!
e2e_pids+=("$service_a" "$service_b")
until_true 20 eval '[ -S "$tmp/a.sock" ] && [ -S "$tmp/b.sock" ]'
: >"$tmp/dump"
"${in_a[@]}" tcpdump -Z root --immediate-mode -U -i nna -w "$tmp/tcp.pcap" 'tcp port 5000' 2>"$tmp/dump" &
dump=$!
e2e_pids+=("$dump")
until_true 10 grep -q "listening on" "$tmp/dump"
pair 1 bulk 300000 500000 -- bulk 500000 300000
end_services
until_true 10 eval '[ "$(tshark -r "$tmp/tcp.pcap" -Y "tcp.flags.fin == 1" 2>/dev/null | wc -l)" -ge 2 ]'
kill -INT "$dump"
wait "$dump" 2>/dev/null
run "$nornic" verify --strict "$tmp/a.pcapng" "$tmp/b.pcapng"
expect verified "$words $out $err" [ $rc = 0 ]
run tshark -r "$tmp/tcp.pcap" -T fields -e _ws.col.Protocol -e _ws.col.Info
expect dissected "$out $err" eval '[[ $out == *Proposal*Accept*Confirm* ]]'
exit $status
