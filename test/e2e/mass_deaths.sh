#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A thousand connections end at once by SIGKILL (docs/deaths.md): of one process; of 100 processes that share an
# address; and of a server with 100 clients. Each peer hears within seconds, the keeper needs little memory, and
# nothing is left. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why"; and "# NAME: SECONDS".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
program=$build/test/verbs/programs/killed
within=15     # seconds; it takes half of one on a quiet machine
most_kb=65536 # of memory; with a sanitizer more
processes=100 each=10

why=$(why_no_namespaces)
if [ -n "$why" ]; then
    skip mass_deaths "$why"
    exit $status
fi
[[ $build != *san-* ]] || processes=20 most_kb=4194304
veth_make 1500 || { notok namespaces "cannot make them"; exit 1; }
export NORNIC_RUNTIME_DIR=$tmp/own
mkdir -m 700 "$NORNIC_RUNTIME_DIR"

# on_a NAME COMMAND...; on_b NAME COMMAND...: the program in the background, in $tmp/NAME.out; $pid
on_a() { begin "$1" "$ns_a" udp:10.77.0.1 "${@:2}"; }
on_b() { begin "$1" "$ns_b" udp:10.77.0.2 "${@:2}"; }
begin() {
    ip netns exec "$2" env "LD_LIBRARY_PATH=$build/lib" "NORNIC_PORT=$3" "$program" "${@:4}" >"$tmp/$1.out" 2>&1 &
    pid=$!
    e2e_pids+=("$pid")
}
says() { grep -q "^$2" "$tmp/$1.out" 2>/dev/null; }
say() { # COUNT WORD: so many clients have said it
    [ "$(cat "$tmp"/client*.out | grep -c "^$2")" = "$1" ]
}
is_empty() { [ -z "$(ls "$NORNIC_RUNTIME_DIR")" ]; }
keeper_of() { ip netns pids "$1" | xargs -r ps -o pid=,args= -p | awk '/nornic keep$/ { print $1 }'; }

# heard NAME NAMESPACE COMMAND...: the command becomes true in time, and nothing is left; the keeper of the namespace of
# the dead stays small
heard() {
    local name=$1 keeper begin peak=0 now
    keeper=$(keeper_of "$2")
    begin=$(date +%s%N)
    kill -KILL "${victims[@]}"
    while ! "${@:3}" && [ $(($(date +%s%N) - begin)) -lt $((within * 1000000000)) ]; do
        now=$(awk '/VmHWM/ { print $2 }' "/proc/$keeper/status" 2>/dev/null)
        peak=${now:-$peak}
        sleep 0.02
    done
    if ! "${@:3}"; then notok "$name" "not within $within seconds: $(tail -qn 1 "$tmp"/*.out | sort | uniq -c)"
    elif [ "${peak:-0}" -gt $most_kb ]; then notok "$name" "the keeper took $peak KB"
    else
        echo "# $name: $((($(date +%s%N) - begin) / 10000000))0 ms, $peak KB"
        if until_true 10 is_empty; then ok "$name"; else notok "$name" "left: $(ls "$NORNIC_RUNTIME_DIR")"; fi
    fi
    end_all "$ns_a" "$ns_b"
    rm -rf "${NORNIC_RUNTIME_DIR:?}"/* "$tmp"/*.out
}

# connect PROCESSES IDS HOW: the server, and clients in $clients
connect() {
    on_b server serve 10.77.0.2 $(($1 * $2))
    server=$pid clients=()
    until_true 10 says server listening
    for ((i = 0; i < $1; i++)); do
        on_a "client$i" ask 10.77.0.2 "$2" "$3"
        clients+=("$pid")
    done
    until_true 60 says server ready && until_true 20 say "$1" ready
}

connect 1 $((processes * each)) pause
victims=("${clients[@]}")
heard one_process "$ns_a" says server ended

connect $processes $each pause
victims=("${clients[@]}")
heard many_processes "$ns_a" says server ended

connect $processes $each wait
victims=("$server")
heard a_server_of_many "$ns_b" say $processes ended
exit $status
