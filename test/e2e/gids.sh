#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Interfaces with 200 addresses and more: all are GIDs, a connection by each works on each kind of port, and the end of
# the table is told. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
lib=$(realpath "${BUILD:-build}/lib")
export NORNIC_RUNTIME_DIR=$tmp/meet
mkdir -m 700 "$tmp/meet"

why=$(why_no_namespaces)
if [ -n "$why" ]; then
    skip gids "$why"
    exit $status
fi
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }
ip -n "$ns_a" addr flush dev nna scope link # which comes some time after the others
ip -n "$ns_a" addr add 10.78.0.1/16 dev nna
ip -n "$ns_b" addr add 10.78.0.2/16 dev nnb
ip -n "$ns_b" addr add fd78::2/64 dev nnb nodad

# addresses add | del FIRST LAST: 10.78.1.N and fd78::1:N
addresses() {
    for ((i = $2; i <= $3; i++)); do
        echo "addr $1 10.78.1.$i/32 dev nna"
        printf 'addr %s fd78::1:%x/64 dev nna %s\n' "$1" "$i" "$([ "$1" = del ] || echo nodad)"
    done | ip -n "$ns_a" -batch -
}
addresses add 1 100

# up PORT ARGUMENT...: a server of many clients in a
up() { start "${in_a[@]}" "$nornic" rping -s -P --port "$@"; }
# down: ends it
down() {
    kill "$server"
    finish
}
# reach ADDRESS PORT ARGUMENT...: a client in b talks to that address
reach() {
    local address=$1
    shift
    run_seconds=20 run "${in_b[@]}" "$nornic" rping -c -a "$address" -C 3 -t 5s --port "$@"
    [ $rc = 0 ]
}
# met NAME ADDRESS PORT ARGUMENT...: within 20 seconds, as the server may have only begun
met() {
    local name=$1 end=$((SECONDS + 20))
    shift
    until reach "$@"; do
        [ $SECONDS -lt $end ] || { notok "$name" "$err $(cat "$tmp/server.err")"; return; }
        sleep 0.1
    done
    ok "$name"
}

# --- all are seen ---
if command -v ibv_devinfo >/dev/null && [[ ${BUILD:-} != *san-* ]]; then
    for kind in udp packet; do
        run "${in_a[@]}" env "LD_LIBRARY_PATH=$lib" "NORNIC_PORT=$kind:nna" ibv_devinfo -v
        count=$(grep -c 'GID\[' <<<"$out")
        if [ "$count" = 203 ] && [[ $out == *fd78::1:64* ]]; then ok "${kind}_devinfo"
        else notok "${kind}_devinfo" "$count GIDs: $err"; fi
    done
else
    skip devinfo "ibv_devinfo is not installed, or cannot be in a build with a sanitizer"
fi
run "${in_a[@]}" "$nornic" ports
count=$(grep -c 'udp:' <<<"$out")
if [ $rc = 0 ] && [ "$count" -ge 203 ] && [[ $out == *iwarp:fd78::1:64* ]]; then ok ports_lists_them
else notok ports_lists_them "exit status $rc, $count udp ports: $err"; fi

# --- a connection by each kind of address, on each kind of port; addresses come and go meanwhile ---
# come_and_go NAME PORT: as its server is there
come_and_go() {
    addresses del 1 20
    addresses add 101 120
    met "$1_new_ipv4" 10.78.1.120 "$2:nnb"
    met "$1_new_ipv6" fd78::1:78 "$2:nnb"
    met "$1_old_ipv4" 10.78.1.99 "$2:nnb"
    addresses del 101 120
    addresses add 1 20
    met "$1_back_again" 10.78.1.20 "$2:nnb"
}
for kind in udp packet xdp iwarp; do
    up "$kind:nna"
    met "${kind}_ipv4" 10.78.1.97 "$kind:nnb" # the 100th GID
    met "${kind}_ipv6" fd78::1:31 "$kind:nnb" # the 150th
    come_and_go "$kind" "$kind"
    down
done

# --- several processes, each with the limit of 1024 descriptors ---
ulimit -Sn 1024
servers=()
for service in 7301 7302 7303; do
    up udp:nna -p $service
    servers+=("$server")
done
for service in 7301 7302 7303; do
    met "shared_$service" fd78::1:31 udp:nnb -p $service
done
kill "${servers[@]}"
for server in "${servers[@]}"; do finish; done

# --- what finds no room is told ---
run "${in_a[@]}" prlimit --nofile=160 "$nornic" rping -s -a 10.78.1.100 --port udp:nna
if [ $rc = 2 ] && [[ $err == *"has no descriptors for more: raise its limit of open files"* ]]; then
    ok descriptors_are_told
else notok descriptors_are_told "exit status $rc: $err"; fi
start "${in_a[@]}" prlimit --nofile=160 "$nornic" rping -s -P --port udp:nna
met few_descriptors_serve_the_first 10.78.1.30 udp:nnb
down
run "${in_a[@]}" "$nornic" rping -s -a fd78::1:64 --port udp:nna,entropy
if [ $rc = 2 ] && [[ $err == *"has no descriptors for more: raise its limit of open files"* ]]; then
    ok descriptors_of_entropy_are_told
else notok descriptors_of_entropy_are_told "exit status $rc: $err"; fi

addresses add 101 140 # with the three others 283; the kernel lists new IPv6 addresses first
for kind in udp packet; do
    run_seconds=20 run "${in_a[@]}" "$nornic" rping -s -a fd78::1:15 --port "$kind:nna"
    if [ $rc = 2 ] && [[ $err == *"$kind:nna has more addresses than the 255 entries of a GID table"* ]]; then
        ok "${kind}_tells_a_full_table"
    else notok "${kind}_tells_a_full_table" "exit status $rc: $err"; fi
done
run_seconds=20 run "${in_a[@]}" "$nornic" rping -s -a fd78::1:15 --port iwarp:nna
if [ $rc = 2 ] && [[ $err == *"iwarp:nna has more than the 255 addresses of a device"* ]]; then
    ok iwarp_tells_the_rest
else notok iwarp_tells_the_rest "exit status $rc: $err"; fi
for kind in udp iwarp; do
    up "$kind:fd78::1:15"
    met "${kind}_by_name" fd78::1:15 "$kind:nnb"
    down
done
exit $status
