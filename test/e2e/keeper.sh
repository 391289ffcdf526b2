#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The keeper under harder conditions (docs/deaths.md): in an installation, in a container, killed, without threads or
# descriptors, in a directory that is full or read-only; and programs that are stopped.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
within=10 # seconds; it takes a tenth of one on a quiet machine

why=$(why_no_namespaces)
if [ -n "$why" ]; then
    skip keeper "$why"
    exit $status
fi
veth_make 1500 || { notok namespaces "cannot make them"; exit 1; }
for i in 3 4; do ip -n "$ns_b" addr add "10.77.0.$i/24" dev nnb; done
export NORNIC_RUNTIME_DIR=$tmp/own
mkdir -m 700 "$NORNIC_RUNTIME_DIR"
program=$build/test/verbs/programs/killed libraries=$build/lib as=(env) user=()

# on_a NAME COMMAND...: the program in the background, in $tmp/NAME.out; $pid
# serve NAME ADDRESS COUNT: a server on the other host, which is listening
on_a() { begin "$1" "$ns_a" udp:10.77.0.1 "${@:2}"; }
begin() {
    : >"$tmp/$1.out"
    ip netns exec "$2" "${as[@]}" "LD_LIBRARY_PATH=$libraries" "NORNIC_PORT=$3" "$program" "${@:4}" \
        >"$tmp/$1.out" 2>&1 &
    pid=$!
    e2e_pids+=("$pid")
}
serve() {
    local as=("${user[@]}" env) program=$build/test/verbs/programs/killed libraries=$build/lib
    begin "$1" "$ns_b" "udp:$2" serve "$2" "$3"
    until_true 10 says "$1" listening
}
says() { grep -q "^$2" "$tmp/$1.out" 2>/dev/null; }
keeper_of() { ip netns pids "$1" | xargs -r ps -o pid=,args= -p | awk '/nornic keep$/ { print $1 }'; }
has_keeper() { [ -n "$(keeper_of "$ns_a")" ]; }
has_none() { ! has_keeper; }
all_end() { has_none && [ -z "$(keeper_of "$ns_b")" ]; }
is_empty() { all_end && [ -z "$(ls "$NORNIC_RUNTIME_DIR")" ]; }

# done_with NAME: ok if all of it was right ($wrong is empty), and nothing is left
done_with() {
    local programs=()
    mapfile -t programs < <(for ns in "$ns_a" "$ns_b"; do ip netns pids "$ns"; done | while read -r pid; do
        grep -qsz '^keep$' "/proc/$pid/cmdline" || echo "$pid"
    done)
    [ ${#programs[@]} = 0 ] || kill -KILL "${programs[@]}" 2>/dev/null
    [ -n "$wrong" ] || until_true 10 is_empty || wrong="left: $(ls "$NORNIC_RUNTIME_DIR")"
    if [ -z "$wrong" ]; then ok "$1"; else notok "$1" "$wrong: $(tail -n 3 "$tmp"/*.out)"; fi
    end_all "$ns_a" "$ns_b"
    rm -rf "${NORNIC_RUNTIME_DIR:?}"/* "$tmp"/*.out
    wrong=""
}
wrong=""
must() { # SECONDS WHY COMMAND...
    until_true "$1" "${@:3}" || wrong+="$2; "
}

# kill_asking ADDRESS: the programs that are connected to it, and not what they were started by
kill_asking() {
    local pid
    for pid in $(ip netns pids "$ns_a"); do
        [[ $(tr '\0' ' ' <"/proc/$pid/cmdline") != "$program ask $1 "* ]] || kill -KILL "$pid"
    done
}

# one_dies NAME: a client with two connections, which is killed
one_dies() {
    serve server 10.77.0.2 2
    on_a client ask 10.77.0.2 2 pause
    must 20 "no connection" says client ready
    must 15 "no keeper" has_keeper
    kill_asking 10.77.0.2
    must $within "the end is not heard" says server ended
    done_with "$1"
}

# --- in an installation, by LD_LIBRARY_PATH and by RPATH ---
installed() { # NAME LIBDIR
    local libdir=$2
    if ! make -s install "BUILD=${build#"$PWD"/}" "DESTDIR=$tmp/root" prefix=/usr "libdir=$libdir" LDCONFIG= \
        >"$tmp/make" 2>&1; then
        notok "$1" "$(tail -n 3 "$tmp/make")"
        return
    fi
    libraries=$tmp/root$libdir/nornic one_dies "$1"
    cc -o "$tmp/by_rpath" test/verbs/programs/killed.c "-L$tmp/root$libdir/nornic" -lrdmacm -libverbs \
        "-Wl,-rpath,$tmp/root$libdir/nornic" 2>"$tmp/make" || { notok "$1_rpath" "$(tail -n 3 "$tmp/make")" && return; }
    program=$tmp/by_rpath libraries=/nowhere one_dies "$1_by_rpath"
    rm -rf "$tmp/root"
}
if [[ $build == *san-* ]]; then
    skip installed "a sanitizer has to be in the program itself"
else
    installed installed /usr/lib
    installed installed_with_an_architecture /usr/lib/x86_64-linux-gnu
fi

# --- in a container: PID, mount and user namespaces of its own ---
if unshare --user --map-root-user --pid --fork --mount --mount-proc true 2>/dev/null; then
    as=(unshare --user --map-root-user --pid --fork --mount --mount-proc --kill-child=KILL sh -c
        'env "$@" & wait $!; sleep 8' sh)
    one_dies in_a_container
    as=(env)
else
    skip in_a_container "this machine lets root make no user namespace"
fi

# --- two processes with one number, in PID namespaces of their own, and one keeper ---
as=(unshare --pid --fork --mount-proc --kill-child=KILL env)
serve server 10.77.0.2 1
serve other 10.77.0.3 1
on_a one ask 10.77.0.2 1 pause
must 20 "no connection" says one ready
on_a two ask 10.77.0.3 1 pause
must 20 "no connection" says two ready
kill_asking 10.77.0.3
kill_asking 10.77.0.2
as=(env)
# The keeper is in the first PID namespace, and ends with it. The next program has the next one.
serve third 10.77.0.4 1
on_a next ask 10.77.0.4 1 pause
must 20 "no connection" says next ready
must $within "the end of the second is not heard" says other ended
must $within "the end of the first is not heard" says server ended
done_with containers_that_end

# --- the keeper is killed: the next connection of the program has another one, and the next program ---
serve server 10.77.0.2 1
on_a client ask 10.77.0.2 1 pause
client=$pid
must 20 "no connection" says client ready
must 15 "no keeper" has_keeper
keeper=$(keeper_of "$ns_a")
kill -KILL "$keeper" "$client"
must 15 "the keeper lives" has_none
says server ended && wrong+="no keeper, and yet an end; "
serve other 10.77.0.3 1
on_a next ask 10.77.0.3 1 pause
must 20 "no connection of the next program" says next ready
must $within "the end is not heard" says server ended
says other ended && wrong+="the next program has ended; "
done_with keeper_killed_and_the_next_program

serve server 10.77.0.2 21
on_a client ask 10.77.0.2 21 slowly
client=$pid
must 15 "no keeper" has_keeper
kill -KILL "$(keeper_of "$ns_a")"
must 20 "no connections" says client ready
must 1 "no keeper again" has_keeper
kill -KILL "$client"
must $within "the end is not heard" says server ended
done_with keeper_killed_and_the_next_connection

# --- a program that is stopped is not dead ---
serve server 10.77.0.2 1
on_a client ask 10.77.0.2 1 pause
client=$pid
must 20 "no connection" says client ready
kill -STOP "$client"
sleep 1
says server ended && wrong+="it was stopped, and counts as dead; "
kill -KILL "$client"
must $within "the end is not heard" says server ended
done_with a_program_that_is_stopped

# --- the keeper has no threads or descriptors for all: the later ones are heard as well ---
# limited NAME: 40 processes, after one that had no more than the command of ${limit[@]} lets it have
limited() {
    local clients=() i all=("${as[@]}")
    serve server 10.77.0.2 41
    as=("${limit[@]}" "${as[@]}")
    on_a client0 ask 10.77.0.2 1 pause
    as=("${all[@]}") clients+=("$pid")
    must 20 "no connection" says client0 ready
    must 15 "no keeper" has_keeper
    [ -z "${2:-}" ] || "${user[@]}" prlimit --pid "$(keeper_of "$ns_a")" "$2" || wrong+="prlimit; "
    for ((i = 1; i <= 40; i++)); do
        on_a "client$i" ask 10.77.0.2 1 pause
        clients+=("$pid")
    done
    must 30 "no connections" says server ready
    kill -KILL "${clients[@]}"
    must 10 "the ends are not heard" says server ended
    done_with "$1"
}
limit=(prlimit --nofile=56:56)
limited few_descriptors
limit=()
chmod 711 "$tmp"
if [[ $build != *san-* ]]; then
    chown 61234 "$NORNIC_RUNTIME_DIR"
    user=(setpriv --reuid=61234 --regid=61234 --clear-groups --inh-caps=-all --bounding-set=-all)
    as=("${user[@]}" env)
    limited few_threads --nproc=1:1
    chown 0 "$NORNIC_RUNTIME_DIR"
    user=() as=(env)
fi

# --- the directory is full or read-only: the port is refused, with a sentence ---
own=$NORNIC_RUNTIME_DIR
mkdir "$tmp/small"
mount -t tmpfs -o size=64k,mode=700 none "$tmp/small" || wrong+="mount; "
head -c 1M /dev/zero >"$tmp/small/fill" 2>"$tmp/err"
NORNIC_RUNTIME_DIR=$tmp/small on_a full ask 10.77.0.2 1 pause
must 10 "no sentence" grep -q "its file system is full" "$tmp/full.out"
rm "$tmp/small/fill"
mount -o remount,ro "$tmp/small"
NORNIC_RUNTIME_DIR=$tmp/small on_a ro ask 10.77.0.2 1 pause
must 10 "no sentence" grep -q "Read-only file system" "$tmp/ro.out"
umount -l "$tmp/small"
done_with directory_is_full_or_read_only

# --- no room for the ledger for a while: the connections work, and later ones have a keeper ---
has_table() { compgen -G "$tmp/small/roce*" >"$tmp/err"; }
no_ledger() { ! has_ledger; }
has_ledger() { compgen -G "$tmp/small/cm1-*" >"$tmp/err"; }
# of the directory, a table and two sockets
mount -t tmpfs -o size=1m,nr_inodes=4,mode=700 none "$tmp/small" || wrong+="mount; "
serve server 10.77.0.2 31
export NORNIC_RUNTIME_DIR=$tmp/small
on_a client ask 10.77.0.2 31 slowly
client=$pid
must 10 "no table" has_table
sleep 0.5
has_ledger && wrong+="there was room for a ledger; "
mount -o remount,nr_inodes=100 "$tmp/small"
must 20 "no connections" says client ready
must 1 "no ledger" has_ledger
must 1 "no keeper" has_keeper
kill -KILL "$client"
must 15 "the ledger stays" no_ledger
done_with no_room_for_the_ledger
umount -l "$tmp/small"
export NORNIC_RUNTIME_DIR=$own
exit $status
