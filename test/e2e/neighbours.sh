#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Users of one machine, of whom one means harm: root and user 12345 go on working beside user 23456
# (neighbours.py), and each command ends in bounded time. In a mount namespace of its own, with /run/nornic and /tmp
# of its own, and in a network namespace. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
if [ "$(id -u)" = 0 ] && [ -z "$NEIGHBOURS_ALONE" ] && unshare -m --propagation private true 2>/dev/null; then
    exec env NEIGHBOURS_ALONE=1 unshare -m --propagation private bash "$0" "$@"
fi
if [ -n "$NEIGHBOURS_ALONE" ]; then
    mkdir -p /run/nornic && mount -t tmpfs -o mode=1777 nn-run /run/nornic
    case $PWD in /tmp/*) ;; *) mount -t tmpfs -o mode=1777 nn-tmp /tmp ;; esac
fi
. "$(dirname "$0")/lib.sh"
need_namespaces neighbours
[ -n "$NEIGHBOURS_ALONE" ] || skip_rest "this machine lets root make no mount namespace" neighbours
unset NORNIC_RUNTIME_DIR XDG_RUNTIME_DIR NORNIC_SMC
chmod 755 "$tmp"
mkdir "$tmp/bin" "$tmp/bin/lib"
install -m 755 "$nornic" "$tmp/bin"
install -m 755 "${BUILD:-build}"/lib/*.so* "$tmp/bin/lib"
install -m 755 test/e2e/neighbours.py "$tmp"
nornic=$tmp/bin/nornic
harmless=true # a program for `nornic run`; libraries with a sanitizer need one in the program itself
[[ ${BUILD:-build} != *san-* ]] || harmless="$nornic --version"
ns_make n || { notok neighbours "cannot make a network namespace"; exit 1; }
in_ns=(ip netns exec "nn-$$-n")
ip -n "nn-$$-n" link add nn0 type veth peer name nn12345
for uid in 0 12345; do
    ip -n "nn-$$-n" link set nn$uid up
    ip -n "nn-$$-n" addr add "10.78.$((uid % 7)).1/24" dev nn$uid
done
ns_id=$("${in_ns[@]}" stat -L -c %i /proc/self/ns/net)
cookie=$("${in_ns[@]}" python3 -c 'import socket
print("%x" % int.from_bytes(socket.socket().getsockopt(socket.SOL_SOCKET, 71, 8), "little"))')
shared=/run/nornic/shared
install -d -m 1777 $shared

# as UID COMMAND...: in the namespace; root keeps what it may
as() {
    local uid=$1
    shift
    [ "$uid" = 0 ] && { "${in_ns[@]}" timeout -k 1 "${limit:-25}" "$@"; return; }
    "${in_ns[@]}" setpriv --reuid="$uid" --regid="$uid" --clear-groups --inh-caps=-all --bounding-set=-all \
        timeout -k 1 "${limit:-25}" "$@"
}
# attack NAME ARGUMENT...: user 23456 holds what neighbours.py says, until peace
attacker=23456
attack() {
    : >"$tmp/attack.out"
    limit=300 as "$attacker" python3 "$tmp/neighbours.py" "$@" >"$tmp/attack.out" 2>&1 &
    e2e_pids+=("$!")
    until_true 10 grep -q held "$tmp/attack.out" || notok "attack_$1" "$(cat "$tmp/attack.out")"
}
# peace: ends the attacker, the services and what they left
peace() {
    end_all "${e2e_namespaces[@]}"
    wait 2>/dev/null
    rm -rf $shared/* /run/nornic/[0-9]* /run/nornic/root
    [[ $PWD == /tmp/* ]] || rm -rf /tmp/nornic-[0-9]*
}
# timed SECONDS COMMAND...: runs it, and adds to $why what is wrong: its exit status, or a time that is longer
timed() {
    local most=$1 begun=$SECONDS
    shift
    as "$@" >"$tmp/out" 2>"$tmp/err"
    rc=$?
    [ $rc = 0 ] || why+="user $1: exit status $rc: $(cat "$tmp/out" "$tmp/err"); "
    [ $((SECONDS - begun)) -le "$most" ] || why+="user $1: it took $((SECONDS - begun)) s; "
}
# exchange UID SECONDS [ENV=VALUE]: two processes of a user at one address
address=0
exchange() {
    local uid=$1 most=$2 port
    shift 2
    address=$((address + 1))
    port=udp:127.77.0.$address
    : >"$tmp/server.out"
    limit=60 as "$uid" env "$@" "$nornic" rping -s --port "$port" >"$tmp/server.out" 2>&1 &
    e2e_pids+=("$!")
    until_true 20 grep -q listening "$tmp/server.out" || why+="user $uid: $(cat "$tmp/server.out"); "
    timed "$most" "$uid" env "$@" "$nornic" rping -c -a "127.77.0.$address" -C 3 --port "$port"
}
# smc UID SECONDS: a program over the service of a user, which is started for it on an interface of its own
smc() { timed "$2" "$1" "$nornic" run --smc --port "udp:nn$1" -- $harmless; }
# verdict NAME
verdict() {
    if [ -z "$why" ]; then ok "$1"; else notok "$1" "$why"; fi
    why=
    peace
}

# --- names of claims ---
attack names 1,2,3 0 12345 23456
exchange 0 5
grep -qx 'nornic: user 23456 holds the name nornic/xdp/1/0 without an XDP program; nornic goes on' "$tmp/err" ||
    why+="the sentence: $(cat "$tmp/err"); "
exchange 12345 5
as 0 "$nornic" ports --json >"$tmp/out"
python3 - "$tmp/out" <<'PY' || why+="ports: $(cat "$tmp/out"); "
import json, sys
ports = {p['port']: p for p in json.load(open(sys.argv[1]))['ports']}
sys.exit(not (ports['packet:lo']['usable'] and ports['xdp:lo']['usable']))
PY
smc 0 10
verdict names_of_a_stranger_are_no_claims

attack names 1,2,3 0 12345 23456
: >"$tmp/server.out"
limit=60 as 0 "$nornic" rping -s --port packet:lo >"$tmp/server.out" 2>&1 &
e2e_pids+=("$!")
until_true 20 grep -q listening "$tmp/server.out" || why+="packet: $(cat "$tmp/server.out"); "
as 12345 "$nornic" rping -s --port udp:127.0.0.1 >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] && grep -q "takes the RoCE packets of lo by its packet port" "$tmp/err" ||
    why+="user 12345 beside root's packet port: $(cat "$tmp/out" "$tmp/err"); "
timed 5 0 "$nornic" rping -c -a 127.0.0.1 -C 1 -p 7175 --port packet:lo
[ $rc = 1 ] && grep -q "nothing listens" "$tmp/err" && why=
verdict claims_of_root_count_under_attack

: >"$tmp/server.out"
limit=60 as 12345 "$nornic" rping -s --port udp:127.0.0.1 >"$tmp/server.out" 2>&1 &
e2e_pids+=("$!")
until_true 20 grep -q listening "$tmp/server.out" || why+="udp: $(cat "$tmp/server.out"); "
as 0 "$nornic" rping -s --port packet:lo >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] && grep -q "has a udp port on lo" "$tmp/err" || why+="$(cat "$tmp/out" "$tmp/err")"
verdict a_claim_with_a_socket_counts

# --- the shared directory ---
for uid in 0 12345; do
    for kind in lock dir fifo link socket; do
        [ $kind = lock ] && files=("$shared/smc-$uid-$ns_id.lock") || files=("$shared/smc-$uid-$ns_id"{,.lock})
        attack squat $kind "${files[@]}" "$shared/roce5-$cookie" "$shared/roce6-$cookie" "$shared/$uid"
        smc $uid 10
        exchange $uid 5
        verdict "a_shared_directory_with_a_${kind}_of_a_stranger_of_user_$uid"
    done
done
attack leases "$shared/roce6-$cookie"
exchange 0 5
exchange 12345 5
verdict leases_in_a_shared_directory

# --- the user's own directory ---
for kind in dir link socket; do
    attack squat $kind /run/nornic/{0,root,12345} /tmp/nornic-{0,12345}
    for uid in 0 12345; do
        smc $uid 10
        exchange $uid 5
    done
    verdict "names_of_own_directories_are_taken_by_a_$kind"
done
# The processes of a user stay together, also when the stranger goes away between the first and the second.
attack squat dir /run/nornic/12345 /tmp/nornic-12345
: >"$tmp/server.out"
limit=60 as 12345 "$nornic" rping -s --port udp:127.77.1.1 >"$tmp/server.out" 2>&1 &
e2e_pids+=("$!")
until_true 20 grep -q listening "$tmp/server.out" || why+="$(cat "$tmp/server.out"); "
rmdir /run/nornic/12345 /tmp/nornic-12345
timed 5 12345 "$nornic" rping -c -a 127.77.1.1 -C 3 --port udp:127.77.1.1
verdict a_name_that_comes_and_goes_splits_nobody

# --- a common directory that users have asked for ---
for kind in lock dir fifo link; do
    attack squat $kind "$shared/roce6-$cookie"
    exchange 0 10 NORNIC_RUNTIME_DIR=$shared
    grep -q "nornic goes on by /" "$tmp/err" || why+="the sentence: $(cat "$tmp/err"); "
    exchange 12345 10 NORNIC_RUNTIME_DIR=$shared
    as 12345 env NORNIC_RUNTIME_DIR=$shared "$nornic" stat >"$tmp/out" 2>"$tmp/err"
    [ $? -le 1 ] || why+="stat: $(cat "$tmp/err")"
    timed 10 0 env NORNIC_RUNTIME_DIR=$shared "$nornic" run --smc --port udp:nn0 -- $harmless
    verdict "a_common_directory_with_a_$kind"
done
attack leases "$shared/roce6-$cookie"
exchange 0 10 NORNIC_RUNTIME_DIR=$shared
exchange 12345 10 NORNIC_RUNTIME_DIR=$shared
verdict leases_of_a_common_directory

# --- a socket in a directory of all, by name ---
for kind in dir lock socket; do
    file=$shared/mine
    [ $kind != lock ] || file+=.lock
    attack squat $kind "$file"
    begun=$SECONDS
    as 0 "$nornic" run --smc --port udp:nn0 --service "$shared/mine" -- $harmless >"$tmp/out" 2>"$tmp/err"
    rc=$?
    [ $rc = 2 ] && grep -q "of user 23456" "$tmp/err" && [ $((SECONDS - begun)) -le 5 ] ||
        why="exit status $rc after $((SECONDS - begun)) s: $(cat "$tmp/out" "$tmp/err")"
    verdict "a_service_is_not_behind_a_${kind}_of_a_stranger"
done

# --- silence ---
attack silent 40
begun=$SECONDS
as 0 "$nornic" stat >"$tmp/out" 2>&1
rc=$?
[ $rc = 0 ] && grep -q "40 processes with devices open, which gave no answer" "$tmp/out" &&
    [ $((SECONDS - begun)) -le 4 ] || why="exit status $rc after $((SECONDS - begun)) s: $(cat "$tmp/out")"
verdict silent_processes_cost_two_seconds

for uid in 0 12345; do
    smc $uid 10
    service=
    for pid in $(ip netns pids "nn-$$-n"); do
        grep -qz service "/proc/$pid/cmdline" 2>/dev/null && service=$pid
    done
    kill -STOP "$service"
    begun=$SECONDS
    as $uid "$nornic" run --smc --port udp:nn$uid -- $harmless >"$tmp/out" 2>"$tmp/err"
    rc=$?
    [ $rc = 2 ] && grep -q "(process $service) does not answer, since it is stopped: .*(kill -CONT $service)" \
        "$tmp/err" && [ $((SECONDS - begun)) -le 8 ] ||
        why+="exit status $rc after $((SECONDS - begun)) s: $(cat "$tmp/out" "$tmp/err"); "
    kill -CONT "$service"
    smc $uid 10
    verdict "a_stopped_service_of_user_${uid}_is_named"
done

# The lock of a user's own table, held by the user's own process, which sleeps.
attacker=12345
: >"$tmp/holder.out"
limit=60 as 12345 "$nornic" rping -s --port udp:127.77.2.1 >"$tmp/holder.out" 2>&1 &
e2e_pids+=("$!")
until_true 20 grep -q listening "$tmp/holder.out" || why+="$(cat "$tmp/holder.out"); "
for pid in $(ip netns pids "nn-$$-n"); do
    [ "$(cat "/proc/$pid/comm")" = nornic ] && first=$pid
done
kill -STOP "$first"
attack tablelock "$(echo /run/nornic/12345/"roce6-$cookie")"
begun=$SECONDS
as 12345 "$nornic" rping -s --port udp:127.77.2.2 >"$tmp/out" 2>"$tmp/err"
rc=$?
[ $rc = 2 ] && grep -q "nornic (process $first) is stopped and may hold the lock: continue it (kill -CONT $first)" \
    "$tmp/err" && [ $((SECONDS - begun)) -le 8 ] ||
    why+="exit status $rc after $((SECONDS - begun)) s: $(cat "$tmp/out" "$tmp/err"); "
exchange 0 5
verdict a_stopped_holder_is_named
exit $status
