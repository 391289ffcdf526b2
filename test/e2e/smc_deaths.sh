#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Deaths over SMC-R (docs/deaths.md): a program on the service, and the service itself, end by SIGKILL. Programs on the
# other host, which only read, hear of it within seconds. The other service has no connection left, and new ones work.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
need_namespaces smc_deaths
if [[ ${BUILD:-build} == *san-* ]]; then
    skip smc_deaths "a sanitizer has to be in the program itself"
    exit $status
fi
veth_make 1500 || { notok namespaces "cannot make them"; exit 1; }
within=15 # seconds; without the death being told they never hear
count=20 # connections

cat >"$tmp/ends.py" <<'END'
"""ends.py listen PORT COUNT | connect ADDRESS PORT COUNT: "ready" when all connections have carried a byte, then reads
until each has ended, and says how: "ended COUNT" and the kinds of ends."""
import collections, errno, socket, sys, threading
role, *words = sys.argv[1:]
count = int(words[-1])
if role == "listen":
    listener = socket.create_server(("", int(words[0])))
    print("listening", flush=True)
    conns = [listener.accept()[0] for _ in range(count)]
    for conn in conns:
        conn.sendall(conn.recv(1))
else:
    conns = [socket.create_connection((words[0], int(words[1])), 10) for _ in range(count)]
    for conn in conns:
        conn.sendall(b"x")
    for conn in conns:
        conn.recv(1)
print("ready", flush=True)
ends = collections.Counter()
def read(conn):
    try:
        ends["end" if not conn.recv(1) else "data"] += 1
    except OSError as e:
        ends[errno.errorcode[e.errno]] += 1
threads = [threading.Thread(target=read, args=(conn,)) for conn in conns]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("ended", sum(ends.values()), *sorted(ends), flush=True)
END

# serve a | b: the service of a host; $service_a, $service_b
serve() {
    ip netns exec "nn-$$-$1" "$nornic" smc service --foreground -d "udp:nn$1" --peers 10.77.0.0/24 \
        --socket "$tmp/$1.sock" 2>"$tmp/service_$1" &
    declare -g "service_$1=$!"
    e2e_pids+=("$!")
    until_true 20 [ -S "$tmp/$1.sock" ]
}
on() { # HOST NAME ARGUMENT...: ends.py in the background, in $tmp/NAME.out; $pid
    : >"$tmp/$2.out" # not the words of the one before
    ip netns exec "nn-$$-$1" "$nornic" run --smc --service "$tmp/$1.sock" -- python3 "$tmp/ends.py" "${@:3}" \
        >"$tmp/$2.out" 2>&1 &
    pid=$!
    e2e_pids+=("$pid")
}
says() { grep -q "^$2" "$tmp/$1.out" 2>/dev/null; }
stat_a() { # KEY: a counter of the service of host a, or "conns": connections that it has
    "$nornic" smc stat --json --pid "$service_a" 2>/dev/null | python3 -c 'import json, sys
p = json.load(sys.stdin)["processes"][0]
print(len(p["conns"]) if sys.argv[1] == "conns" else p["counters"][sys.argv[1]])' "$1"
}
has_no_conns() { [ "$(stat_a conns)" = 0 ]; }

# connect: $listener on a and $client on b, all over SMC-R
connect() {
    local before
    before=$(stat_a conns_smc)
    on a listener listen 5000 $count
    until_true 10 says listener listening
    on b client connect 10.77.0.1 5000 $count
    until_true 30 says client ready && until_true 10 says listener ready
    smc=$(($(stat_a conns_smc) - before))
}

# end_client: the program itself, not what started it
end_client() {
    kill -KILL "$(ip netns pids "$ns_b" | xargs ps -o pid=,args= -p |
        awk '/ends.py connect/ && !/nornic run/ { print $1; exit }')"
}

# heard NAME: by the program on the other host
heard() {
    if [ "$smc" != $count ]; then notok "$1" "$smc connections over SMC-R: $(cat "$tmp"/*.out)"
    elif ! until_true $within says listener "ended $count"; then notok "$1" "not heard: $(tail -n 2 "$tmp"/*.out)"
    elif ! until_true $within has_no_conns; then notok "$1" "the service has $(stat_a conns) connections"
    else ok "$1"; fi
}

serve a && serve b
connect
end_client
heard program_killed

connect
kill -KILL "$service_b"
heard service_killed
until_true $within says client "ended $count" || notok service_killed_here "$(tail -n 2 "$tmp/client.out")"

serve b
connect
end_client
heard the_next_service
exit $status
