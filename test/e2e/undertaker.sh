#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A process that dies is disconnected (docs/deaths.md): its peers only wait for events, and hear of its end within
# seconds (test/verbs/programs/killed.c). It ends by SIGKILL, SIGTERM, _exit, a fault or exec, or a child lives on.
# Client and server; alone on its host and beside others; 100 connections; rsockets; each kind of port; as root and
# without privileges. Afterwards no process is left, and no file in the directory of the user.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
program=$build/test/verbs/programs/killed
within=10 # seconds; it takes a tenth of one on a quiet machine, and without a keeper it never comes

need_namespaces undertaker
veth_make 1500 || { notok namespaces "cannot make them"; exit 1; }
chmod 711 "$tmp"
mkdir -m 700 "$tmp/root" "$tmp/nobody"
chown 65534 "$tmp/nobody"
export NORNIC_RUNTIME_DIR=$tmp/root
server_port=udp:10.77.0.2 client_port=udp:10.77.0.1 as=(env) libraries=$build/lib

# on_a NAME COMMAND...; on_b NAME COMMAND...: the program in the background, in $tmp/NAME.out; $pid
on_a() { begin "$1" "$ns_a" "$client_port" "${@:2}"; }
on_b() { begin "$1" "$ns_b" "$server_port" "${@:2}"; }
begin() {
    ip netns exec "$2" "${as[@]}" "LD_LIBRARY_PATH=$libraries" "NORNIC_PORT=$3" "$program" "${@:4}" \
        >"$tmp/$1.out" 2>&1 &
    pid=$!
    e2e_pids+=("$pid")
}
says() { grep -q "^$2" "$tmp/$1.out" 2>/dev/null; }

# nothing_left: no keeper, and no file in the directory; 15 seconds at most. $left: what is
no_keeper() {
    left=$(ls "$NORNIC_RUNTIME_DIR")
    local ns
    for ns in "$ns_a" "$ns_b"; do left+=$(ip netns pids "$ns" | xargs -r ps -o args= -p | grep 'nornic keep'); done
    [ -z "$left" ]
}
nothing_left() { until_true 15 no_keeper; }

# end_programs: ends the processes of the first host that live on after a fork or an exec. The keeper goes on: it may
# still await the answer to its DREQ, and the files are its own to remove.
end_programs() {
    local pid
    for pid in $(ip netns pids "$ns_a"); do
        grep -qsz '^keep$' "/proc/$pid/cmdline" || kill -KILL "$pid" 2>/dev/null
    done
}

# heard NAME SURVIVOR: the survivor ends within the bound, and nothing is left
heard() {
    until_true $within says "$2" ended
    local rc=$?
    end_programs
    until_true 5 is_gone
    if [ $rc != 0 ]; then notok "$1" "no end within $within seconds: $(tail -n 3 "$tmp"/*.out | tr '\n' ' ')"
    elif ! nothing_left; then notok "$1" "left: $left"
    else ok "$1"; fi
    end_all "$ns_a" "$ns_b"
    until_true 5 has_no_xdp # the kernel takes the programs of the dead back when it comes to it
    rm -rf "${NORNIC_RUNTIME_DIR:?}"/* "$tmp"/*.out
}
has_no_xdp() { ! { ip -n "$ns_a" link show nna && ip -n "$ns_b" link show nnb; } | grep -q xdp; }
is_gone() { ! kill -0 "$survivor" 2>/dev/null; }

# client_dies NAME COUNT HOW [SIGNAL]: of COUNT connections
client_dies() {
    on_b server serve 10.77.0.2 "$2"
    survivor=$pid
    until_true 10 says server listening
    on_a client ask 10.77.0.2 "$2" "$3"
    until_true 20 says client ready && until_true 10 says server ready
    [ -z "${4:-}" ] || kill "-$4" "$pid"
    heard "$1" server
}

# server_dies NAME COUNT SIGNAL
server_dies() {
    on_b server serve 10.77.0.2 "$2"
    local victim=$pid
    until_true 10 says server listening
    on_a client ask 10.77.0.2 "$2" wait
    survivor=$pid
    until_true 20 says client ready && until_true 10 says server ready
    kill "-$3" "$victim"
    heard "$1" client
}

client_dies client_killed 1 pause KILL
client_dies client_terminated 1 children TERM
client_dies client_ends_by_exit_of_the_kernel 1 _exit
client_dies client_faults 1 segv
client_dies client_becomes_another_program 1 exec
client_dies client_leaves_a_child 1 fork
client_dies hundred_connections 100 pause KILL
server_dies server_killed 1 KILL
server_dies server_terminated 3 TERM

# --- beside another process, whose connection is older and stays: the keeper sees ledgers that come later ---
beside() {
    ip -n "$ns_b" addr add 10.77.0.3/24 dev nnb
    server_port=udp:10.77.0.3 on_b other serve 10.77.0.3 1
    local other=$pid
    until_true 10 says other listening
    on_a neighbour ask 10.77.0.3 1 pause
    local neighbour=$pid
    until_true 20 says neighbour ready && until_true 10 says other ready
    on_b server serve 10.77.0.2 1
    survivor=$pid
    until_true 10 says server listening
    on_a client ask 10.77.0.2 1 pause
    until_true 20 says client ready && until_true 10 says server ready
    kill -KILL "$pid"
    until_true $within says server ended
    local rc=$?
    if [ $rc = 0 ] && kill -0 "$neighbour" && ! says other ended; then ok beside_a_neighbour
    else notok beside_a_neighbour "$(tail -n 3 "$tmp"/*.out | tr '\n' ' ')"; fi
    kill -KILL "$neighbour"
    survivor=$other
    heard neighbour_of_the_dead other
    ip -n "$ns_b" addr del 10.77.0.3/24 dev nnb
}
beside

# --- rsockets ---
rsockets() {
    on_b server rserve 10.77.0.2 read
    survivor=$pid
    until_true 10 says server listening
    on_a client rask 10.77.0.2 read
    until_true 20 says client ready && until_true 10 says server ready
    kill -KILL "$pid"
    heard rsocket_reads_the_end server
    on_b server rserve 10.77.0.2 full
    local victim=$pid
    until_true 10 says server listening
    on_a client rask 10.77.0.2 full
    survivor=$pid
    until_true 20 says client ready
    kill -KILL "$victim"
    heard rsocket_with_a_full_window client
}
rsockets

# --- ports of other kinds, iWARP's among them: there the kernel's TCP tells of the end ---
for kind in packet xdp; do
    server_port=$kind:nnb client_port=$kind:nna
    client_dies "client_killed_on_$kind" 1 pause KILL
    server_dies "server_killed_on_$kind" 2 KILL
done
server_port=iwarp:10.77.0.2 client_port=iwarp:10.77.0.1
client_dies client_killed_on_iwarp 1 pause KILL
server_port=udp:10.77.0.2 client_port=udp:10.77.0.1

# --- many short processes, each ended by _exit ---
many() {
    local i
    on_b server serve 10.77.0.2 100
    survivor=$pid
    until_true 10 says server listening
    for ((i = 0; i < 100; i += 10)); do
        local pids=()
        for ((j = 0; j < 10; j++)); do on_a "client$j" ask 10.77.0.2 1 _exit && pids+=("$pid"); done
        wait "${pids[@]}"
    done
    heard hundred_processes server
}
many

# --- whoever reads the output of a program does not wait for its keeper; and NORNIC_KEEPER=never ---
on_b server serve 10.77.0.2 1
survivor=$pid
until_true 10 says server listening
words=$(timeout 10 ip netns exec "$ns_a" env "LD_LIBRARY_PATH=$build/lib" NORNIC_PORT=$client_port \
    "$program" ask 10.77.0.2 1 _exit)
rc=$?
if [ $rc = 0 ] && [ "$words" = ready ]; then ok output_ends
else notok output_ends "$rc: $words"; fi
heard output_ends_and_peer_hears server
as=(env NORNIC_KEEPER=never)
on_b server serve 10.77.0.2 1
until_true 10 says server listening
on_a client ask 10.77.0.2 1 pause
until_true 20 says client ready
if no_keeper || [[ $left != *keep* && $left != *cm1* ]]; then ok never; else notok never "$left"; fi
end_all "$ns_a" "$ns_b"
as=(env)

# --- a helper that a stranger has put beside the library is not run ---
# plant NAME MODE: libraries in a folder below one of this mode, and a program that tells that it ran
plant() {
    mkdir "$tmp/$1" "$tmp/$1/lib"
    install -m 755 "$build"/lib/*.so* "$tmp/$1/lib"
    printf '#!/bin/sh\ntouch "%s"\n' "$tmp/$1.ran" >"$tmp/$1/nornic"
    chmod 755 "$tmp/$1/nornic"
    chmod "$2" "$tmp/$1"
}
# has_begun NAME: it ran, or is about to; the client is ready after it has been started
has_begun() { ip netns pids "$ns_a" | xargs -r ps -o args= -p | grep -q "$1/nornic" || [ -e "$tmp/$1.ran" ]; }
plant own 755
plant common 1777
begun=
for place in own common; do
    on_b server serve 10.77.0.2 1
    until_true 10 says server listening
    libraries=$tmp/$place/lib on_a client ask 10.77.0.2 1 pause
    until_true 20 says client ready
    ! has_begun $place || begun+="$place "
    end_all "$ns_a" "$ns_b"
    rm -rf "${NORNIC_RUNTIME_DIR:?}"/* "$tmp"/*.out
done
if [ "$begun" = "own " ]; then ok planted_helper; else notok planted_helper "these were begun: $begun"; fi

# --- without privileges ---
export NORNIC_RUNTIME_DIR=$tmp/nobody
as=("${as_nobody[@]}" env)
client_dies client_killed_as_nobody 2 pause KILL
server_dies server_terminated_as_nobody 2 TERM
exit $status
