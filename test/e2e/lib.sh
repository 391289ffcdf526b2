# SPDX-License-Identifier: BSD-2-Clause
# For the scripts beside it, sourced: results, namespaces, processes. Everything made here is removed when the
# script ends, however it ends.
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
nornic=$(realpath "${NORNIC:-build/nornic}")
tmp=$(mktemp -d)
status=0
e2e_namespaces=() e2e_pids=()

# ok NAME; notok NAME WHY; skip NAME WHY: the one line of a case
ok() { echo "ok $1"; }
notok() {
    echo "not ok $1: $(echo "$2" | tr '\n' ' ')"
    status=1
}
skip() { echo "skip $1: $2"; }

# start COMMAND...: runs it in the background, in $tmp/server.out and .err; $server is its process
start() {
    # not those of the one before: the process opens them when it gets a processor, and they are looked at until then
    : >"$tmp/server.out" >"$tmp/server.err"
    "$@" >"$tmp/server.out" 2>"$tmp/server.err" &
    server=$!
    e2e_pids+=("$server")
}

# run COMMAND...: runs it for 60 seconds ($run_seconds) at most; $rc, $out and $err say what became of it
run() {
    timeout "${run_seconds:-60}" "$@" >"$tmp/out" 2>"$tmp/err"
    rc=$?
    out=$(cat "$tmp/out")
    err=$(cat "$tmp/err")
}

# finish: waits for what start() started, 20 seconds at most; $server_rc, $server_out, $server_err
finish() {
    for ((i = 0; i < 1000; i++)); do
        kill -0 "$server" 2>/dev/null || break
        sleep 0.02
    done
    kill -KILL "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    server_rc=$?
    server_out=$(cat "$tmp/server.out")
    server_err=$(cat "$tmp/server.err")
}

# one_sentence TEXT PATTERN: one line, and the pattern is in it
one_sentence() { [ "$(echo "$1" | wc -l)" = 1 ] && [[ $1 == *"$2"* ]]; }

# expect NAME WHY COMMAND...: the case is ok if the command is true, else not for that reason
expect() {
    local name=$1 why=$2
    shift 2
    if "$@"; then ok "$name"; else notok "$name" "$why"; fi
}

# refuse NAME PATTERN ARG...: nornic with "${refused_command[@]}" and these arguments ends with status 2, writes one
# sentence that has the pattern, and nothing to standard output
refused_command=()
refuse() {
    local name=$1 pattern=$2
    shift 2
    run "$nornic" "${refused_command[@]}" "$@"
    if [ $rc = 2 ] && [ -z "$out" ] && one_sentence "$err" "$pattern"; then ok "$name"
    else notok "$name" "exit status $rc: $out $err"; fi
}

# is EXPRESSION FILE: the expression of Python is true of `j`, the JSON object of the file's last line
is() {
    python3 -c 'import json, sys; j = json.loads(open(sys.argv[2]).readlines()[-1]); sys.exit(not eval(sys.argv[1]))' \
        "$@" 2>/dev/null
}

# why_no_namespaces: nothing, or why none can be made here
why_no_namespaces() {
    local name="nn-$$-try"
    if [ "$(id -u)" != 0 ]; then
        echo "namespaces need root"
    elif ! ip netns add "$name" 2>/dev/null; then
        echo "this machine lets root make no network namespace"
    else
        ip netns del "$name"
    fi
}

# skip_rest WHY CASE...: ends the script with these cases skipped for that reason; does nothing if WHY is empty
skip_rest() {
    local why=$1 name
    shift
    [ -n "$why" ] || return 0
    for name in "$@"; do skip "$name" "$why"; done
    exit $status
}

# need_namespaces CASE...: skip_rest if no network namespace can be made
need_namespaces() { skip_rest "$(why_no_namespaces)" "$@"; }

# need_no_sanitizer CASE...: skip_rest in a build with a sanitizer, as the programs of the cases are built without
need_no_sanitizer() {
    [[ ${BUILD:-build} != *san-* ]] || skip_rest "a sanitizer has to be in the program itself" "$@"
}

# need_programs CASE PROGRAM...: skip_rest unless each program is installed, or is a file
need_programs() {
    local program
    for program in "${@:2}"; do
        command -v "$program" >/dev/null || [ -e "$program" ] || skip_rest "$program is not installed" "$1"
    done
}

# ns_make SUFFIX: the namespace nn-PID-SUFFIX, loopback up
ns_make() {
    local name="nn-$$-$1"
    ip netns add "$name" || return 1
    e2e_namespaces+=("$name")
    ip -n "$name" link set lo up
}

# veth_make MTU: the namespaces $ns_a and $ns_b joined by nna (10.77.0.1, fd77::1) and nnb (10.77.0.2, fd77::2);
# "${in_a[@]}" COMMAND... and "${in_b[@]}" COMMAND... run there, as the process that start() knows
veth_make() {
    ns_a="nn-$$-a" ns_b="nn-$$-b"
    in_a=(ip netns exec "$ns_a") in_b=(ip netns exec "$ns_b")
    ns_make a && ns_make b &&
        ip link add nna netns "$ns_a" mtu "$1" type veth peer name nnb netns "$ns_b" mtu "$1" || return 1
    ip -n "$ns_a" addr add 10.77.0.1/24 dev nna
    ip -n "$ns_b" addr add 10.77.0.2/24 dev nnb
    ip -n "$ns_a" addr add fd77::1/64 dev nna nodad
    ip -n "$ns_b" addr add fd77::2/64 dev nnb nodad
    ip -n "$ns_a" link set nna up
    ip -n "$ns_b" link set nnb up
}

# veth_paths: two ways between $ns_a and $ns_b for addresses of lo: from 10.80.0.1 to 10.80.0.2 by nna and nnb of
# veth_make, from 10.81.0.1 to 10.81.0.2 by nnc and nnd
veth_paths() {
    ip link add nnc netns "$ns_a" type veth peer name nnd netns "$ns_b" || return 1
    ip -n "$ns_a" addr add 10.78.0.1/24 dev nnc
    ip -n "$ns_b" addr add 10.78.0.2/24 dev nnd
    ip -n "$ns_a" link set nnc up
    ip -n "$ns_b" link set nnd up
    local i
    for i in 0 1; do
        ip -n "$ns_a" addr add 10.8$i.0.1/32 dev lo
        ip -n "$ns_b" addr add 10.8$i.0.2/32 dev lo
        ip -n "$ns_a" route add 10.8$i.0.2 via 10.7$((7 + i)).0.2 src 10.8$i.0.1
        ip -n "$ns_b" route add 10.8$i.0.1 via 10.7$((7 + i)).0.1 src 10.8$i.0.2
    done
}

# wire_start NAME PEER PORT OPTION...: test/verbs/programs/wire as the end `a` or `b`, in the namespace of that name,
# with these options of `nornic run`
declare -A wire_orders wire_pids wire_lines
wire_start() {
    local name=$1 peer=$2 port=$3 orders
    shift 3
    mkfifo "$tmp/$name.orders"
    exec {orders}<>"$tmp/$name.orders"
    wire_orders[$name]=$orders wire_lines[$name]=0
    ip netns exec "nn-$$-$name" "$nornic" run --port "$port" "$@" -- \
        "${BUILD:-build}/test/verbs/programs/wire" "$tmp" "$name" "$peer" \
        <"$tmp/$name.orders" >"$tmp/$name.answers" 2>"$tmp/$name.err" {orders}>&- &
    wire_pids[$name]=$!
    e2e_pids+=("$!")
}

# order NAME ORDER: gives one. answer NAME: waits for the next answer, 30 seconds at most; $answer has it, or what the
# program has said at its end
order() { echo "$2" >&"${wire_orders[$1]}"; }
answer() {
    local i line=$((++wire_lines[$1]))
    for ((i = 0; i < 1500; i++)); do
        [ "$(wc -l <"$tmp/$1.answers")" -ge "$line" ] && break
        kill -0 "${wire_pids[$1]}" 2>/dev/null || break
        sleep 0.02
    done
    answer=$(sed -n "${line}p" "$tmp/$1.answers")
    [ -n "$answer" ] || answer="nothing: $(tail -2 "$tmp/$1.err" | tr '\n' ' ')"
}

# ask NAME ORDER: both. wire_expect CASE NAME ORDER PATTERN: the answer is as the pattern
ask() { order "$1" "$2" && answer "$1"; }
wire_expect() {
    ask "$2" "$3"
    # shellcheck disable=SC2053
    if [[ $answer == $4 ]]; then ok "$1"; else notok "$1" "$2 to '$3': $answer"; fi
}

# wire_end: both ends have no more orders, and end
wire_end() {
    local name
    for name in "${!wire_orders[@]}"; do
        exec {wire_orders[$name]}>&-
        await "${wire_pids[$name]}"
        rm -f "$tmp/$name" "$tmp/$name.orders"
    done
    wire_orders=()
}

# veth_mtu MTU: changes it on both ends
veth_mtu() { ip -n "$ns_a" link set nna mtu "$1" && ip -n "$ns_b" link set nnb mtu "$1"; }

# "${as_nobody[@]}" COMMAND...: without privileges; the command must be readable by all
as_nobody=(env)
[ "$(id -u)" != 0 ] ||
    as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all)

# listening NAMESPACE PORT: waits, 10 seconds at most, until a TCP server is there or what was started has ended
listening() {
    for ((i = 0; i < 200; i++)); do
        [ -n "$(ip netns exec "$1" ss -Hltn "sport = :$2")" ] && return 0
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

# serving NAMESPACE: waits, 10 seconds at most, until a process there listens to a service of the connection manager
serving() {
    listens() { ip netns exec "$1" "$nornic" stat 2>/dev/null | grep -q 'listens to [1-9]'; }
    until_true 10 listens "$1"
}

# why_no_program NAME: nothing, or why this program of a distribution cannot run on nornic here
why_no_program() {
    if [[ ${BUILD:-} == *san-* ]]; then echo "a sanitizer has to be in the program itself, and this is Debian's"
    elif ! command -v "$1" >/dev/null; then echo "there is no $1"; fi
}

# flowing NAMESPACE INTERFACE: waits, 20 seconds at most, until 200 more frames have left it
flowing() {
    local sent_frames=(ip netns exec "$1" cat "/sys/class/net/$2/statistics/tx_packets") first now
    first=$("${sent_frames[@]}")
    for ((i = 0; i < 200; i++)); do
        now=$("${sent_frames[@]}")
        [ "$((now - first))" -ge 200 ] && return 0
        sleep 0.1
    done
    return 1
}

# until_true SECONDS COMMAND...: waits, so long at most, until the command is true
until_true() {
    local i limit=$1
    shift
    for ((i = 0; i < limit * 10; i++)); do
        "$@" && return
        sleep 0.1
    done
    return 1
}

# tcpdump_begin NAMESPACE INTERFACE ARGUMENT...: tcpdump with these arguments, into $tmp/wire.pcap; $tcpdump
# is its process. Where it does not listen within 10 seconds, $tmp/tcpdump.err says why.
tcpdump_begin() {
    local ns=$1 interface=$2
    shift 2
    : >"$tmp/tcpdump.err" # not that of the one before
    ip netns exec "$ns" tcpdump -i "$interface" -U -s 0 -B 65536 -w "$tmp/wire.pcap" "$@" 2>"$tmp/tcpdump.err" &
    tcpdump=$!
    e2e_pids+=("$tcpdump")
    until_true 10 grep -q listening "$tmp/tcpdump.err"
}

# await PID: until that job has ended, 10 seconds at most; sets $rc to its exit status, or "hangs"
await() {
    for ((i = 0; i < 500; i++)); do
        kill -0 "$1" 2>/dev/null || break
        sleep 0.02
    done
    if kill -0 "$1" 2>/dev/null; then rc=hangs; else wait "$1"; rc=$?; fi
}

# packets_in FILE: how many RoCE packets; it may still grow
packets_in() {
    "$nornic" verify --json "$1" 2>/dev/null |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["packets"])' || echo 0
}

# tcpdump_end CAPTURE: ends it when it has written as many RoCE packets as CAPTURE has, or after 10 seconds; what it has
# not read yet comes with its end
tcpdump_end() {
    local expected
    expected=$(packets_in "$1")
    wire_has_them() { [ "$(packets_in "$tmp/wire.pcap")" -ge "$expected" ]; }
    until_true 10 wire_has_them
    kill -INT "$tcpdump"
    wait "$tcpdump"
}

# end_all NAMESPACE...: kills what still runs there, also what has left the process group that start() or run() made (a
# job of fio has a session of its own, and outlives its parent)
end_all() {
    local ns pid
    for ns in "$@"; do
        for pid in $(ip netns pids "$ns" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
    done
}

e2e_cleanup() {
    local pid ns
    for pid in "${e2e_pids[@]}"; do kill -KILL "$pid" 2>/dev/null; done
    end_all "${e2e_namespaces[@]}"
    wait 2>/dev/null
    for ns in "${e2e_namespaces[@]}"; do ip netns del "$ns"; done
    rm -rf "$tmp"
}
trap e2e_cleanup EXIT
trap 'exit 130' INT TERM HUP
