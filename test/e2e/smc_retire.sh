#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The end of a process deletes its link groups, in version 1 too (RFC 7609 4.8.3, 3.5.5.1.4): the peer hears DELETE
# LINK, and no end takes a link for failed. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# machine: SMC-R keeps sockets in /run/nornic
. "$(dirname "$0")/lib.sh"
peer=$(realpath "${BUILD:-build}/test/service_peer/peer")
rounds=5

why=$(why_no_namespaces)
if [ -n "$why" ]; then
    for name in listener connector service_of_the_client service_of_the_server unread; do
        skip "SMCR_ABT_09_$name" "$why"
    done
    exit $status
fi
veth_make 1500 && ip link add nnc netns "$ns_a" type veth peer name nnd netns "$ns_b" || exit 1
ip -n "$ns_a" addr add 10.78.0.1/24 dev nnc && ip -n "$ns_b" addr add 10.78.0.2/24 dev nnd || exit 1
ip -n "$ns_a" link set nnc up && ip -n "$ns_b" link set nnd up || exit 1
a=(-d packet:nna -d packet:nnc) b=(-d packet:nnb -d packet:nnd)
head -c 300000 /dev/urandom >"$tmp/file"

# heard TRACE: a DELETE LINK of all links came, and no link failed
heard() { grep -q '< .*DELETE LINK request, all' "$1" && ! grep -q 'RETRY_EXC\|not answered' "$1"; }
# result NAME TRACE...: ok if the trace of each end that was told has it, and no trace a failed link
result() {
    local name=SMCR_ABT_09_$1 bad=
    shift
    for trace; do heard "$trace" || bad+=" $(tail -n 8 "$trace")"; done
    if [ -z "$bad" ] && [ -z "$words" ]; then ok "$name"; else notok "$name" "$words; $bad"; fi
}

# connect ARGS...: a connection to the listener, with its trace
connect() {
    run "${in_a[@]}" "$nornic" smc connect "${a[@]}" --require-smc -q --trace="$tmp/trace_a" "$@" 10.77.0.2 5000
}

# The listener has closed last, and its connector has not heard all when it ends: it waits.
words=
for ((round = 0; round < rounds; round++)); do
    start "${in_b[@]}" "$nornic" smc listen "${b[@]}" -q -o "$tmp/copy" 5000
    listening "$ns_b" 5000
    connect -i "$tmp/file"
    finish
    cmp -s "$tmp/file" "$tmp/copy" && [ "$rc$server_rc" = 00 ] && heard "$tmp/trace_a" || break
done
[ $round = $rounds ] || words="round $round: $rc $err; server $server_rc $server_err"
result listener "$tmp/trace_a"

# The connector ends and asks for the end of the group; the listener stays and answers with its own.
words=
start "${in_b[@]}" "$nornic" smc listen -k "${b[@]}" -q -o /dev/null --trace="$tmp/trace_b" 5000
listening "$ns_b" 5000
for ((round = 0; round < rounds; round++)); do
    connect -i "$tmp/file"
    [ "$rc" = 0 ] && heard "$tmp/trace_a" || { words="round $round: $rc $err"; break; }
done
kill -INT "$server"
finish
[ "$(grep -c '> .*DELETE LINK request, all' "$tmp/trace_b")" -ge $rounds ] || words+="; the listener told less often"
result connector "$tmp/trace_a" "$tmp/trace_b"

# services FIRST: two services that lent each other connections end, the one at FIRST first
services() {
    local n first second
    rm -f "$tmp"/[ab].sock "$tmp"/trace_[ab]
    "${in_a[@]}" "$nornic" smc service -f "${a[@]}" --socket "$tmp/a.sock" --trace="$tmp/trace_a" 2>"$tmp/a.err" &
    first=$!
    "${in_b[@]}" "$nornic" smc service -f "${b[@]}" --socket "$tmp/b.sock" --trace="$tmp/trace_b" 2>"$tmp/b.err" &
    second=$!
    e2e_pids+=("$first" "$second")
    until_true 20 [ -S "$tmp/a.sock" ] && until_true 20 [ -S "$tmp/b.sock" ]
    PEER_ENTER=1 start "${in_b[@]}" "$peer" "$tmp/b.sock" server 5000 2 bulk 100000 100000
    listening "$ns_b" 5000
    PEER_ENTER=1 run "${in_a[@]}" "$peer" "$tmp/a.sock" client 10.77.0.2 5000 2 bulk 100000 100000
    finish
    [ "$(grep -c smcr <<<"$out")" = 2 ] || words="$rc $out $err; $server_out; $(cat "$tmp"/[ab].err)"
    [ "$1" = a ] || { n=$first first=$second second=$n; }
    for n in "$first" "$second"; do
        kill -INT "$n"
        wait "$n" || words+="; exit status $?"
    done
}
words=
services a
result service_of_the_client "$tmp/trace_a" "$tmp/trace_b"
words=
services b
result service_of_the_server "$tmp/trace_a"

# A reader that takes nothing keeps its connection: after its time the listener resets it, and tells that.
words=
rm -f "$tmp/trace_a"
mkfifo "$tmp/fifo"
sleep 60 <>"$tmp/fifo" &
e2e_pids+=($!)
head -c 20000000 /dev/zero >"$tmp/long"
start "${in_b[@]}" "$nornic" smc listen "${b[@]}" -q -i "$tmp/long" 5000
listening "$ns_b" 5000
"${in_a[@]}" "$nornic" smc connect "${a[@]}" --require-smc -q --trace="$tmp/trace_a" -o "$tmp/fifo" 10.77.0.2 5000 &
e2e_pids+=($!)
until_true 20 grep -qs 'CDC' "$tmp/trace_a" || words="no connection"
kill -INT "$server"
finish
until_true 5 grep -q 'group.*freed' "$tmp/trace_a"
[ -s "$tmp/trace_a" ] || words+="; server $server_rc $server_err"
result unread "$tmp/trace_a"
exit $status
