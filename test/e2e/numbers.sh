#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Keys, QPNs, communication ids and first PSNs as peers see them, of several devices and processes, over RoCE and over
# iWARP: number_patterns.py looks for patterns. And processes of SMC-R that share an address: a number that another
# process holds is drawn again.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
program=$build/test/verbs/programs/numbers
count=1500

need_namespaces numbers
ns_make a || { notok namespace "cannot make one"; exit 1; }
inside=(ip netns exec "nn-$$-a")

here=("${inside[@]}" "${as_nobody[@]}" env "LD_LIBRARY_PATH=$build/lib")
udp=(NORNIC_PORT=udp:127.0.0.1 "$program")

# judged PREFIX COMMAND...: its lines with PREFIX, all of them good ones
judged() {
    run "${@:2}"
    sed -E -n "s/^((not )?ok) /\1 $1_/p" <<<"$out"
    if [ "$rc" != 0 ]; then notok "$1" "exit status $rc: $err"; fi
}

for port in udp iwarp; do
    bits=16
    [ $port = udp ] || bits=24
    for process in 1 2; do
        run "${here[@]}" "NORNIC_PORT=$port:127.0.0.1" "$program" objects $count
        cp "$tmp/out" "$tmp/$port.$process"
        if [ "$rc" = 0 ] && [ "$(wc -l <"$tmp/out")" = $((count * 10)) ]; then ok "${port}_objects_of_process_$process"
        else notok "${port}_objects_of_process_$process" "exit status $rc: $err"; fi
    done
    judged $port python3 test/e2e/number_patterns.py $bits "$tmp/$port.1" "$tmp/$port.2"
done

connections=300 captured=250
"${inside[@]}" timeout 100 python3 test/e2e/number_patterns.py capture $captured >"$tmp/seen" 2>"$tmp/seen.err" &
tap=$!
e2e_pids+=("$tap")
start timeout 60 "${here[@]}" "${udp[@]}" serve 127.0.0.1 $connections
for ((i = 0; i < 500; i++)); do
    grep -q listening "$tmp/server.out" && grep -q listening "$tmp/seen" && break
    sleep 0.02
done
run "${here[@]}" "${udp[@]}" connect 127.0.0.1 $connections
if [ "$out" = "$connections connections" ]; then ok connections
else notok connections "$out $err $(cat "$tmp/server.err")"; fi
[ "$rc" = 0 ] || kill "$tap"
wait "$tap" || notok capture "$(cat "$tmp/seen.err")"
judged cm python3 test/e2e/number_patterns.py 16 "$tmp/seen"

# all numbers of peers are held but 3: the process gets one of these
mkfifo "$tmp/go"
"${inside[@]}" python3 test/e2e/number_patterns.py peers 3 <"$tmp/go" >"$tmp/peers" 2>"$tmp/peers.err" &
e2e_pids+=("$!")
exec 9>"$tmp/go"
for ((i = 0; i < 1000; i++)); do
    grep -q ready "$tmp/peers" && break
    sleep 0.02
done
"${inside[@]}" cat /proc/net/unix | grep -o 'nornic/peer/.*' | sort >"$tmp/before"
start "${inside[@]}" "$nornic" smc listen -d udp:lo 127.0.0.1:7901
for ((i = 0; i < 500; i++)); do
    "${inside[@]}" cat /proc/net/unix | grep -o 'nornic/peer/.*' | sort >"$tmp/after"
    [ "$(wc -l <"$tmp/after")" -gt "$(wc -l <"$tmp/before")" ] && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.02
done
new=$(comm -13 "$tmp/before" "$tmp/after")
if [ -n "$new" ] && grep -qw -- "${new##*/}" "$tmp/peers"; then ok a_peer_id_that_is_held_is_drawn_again
else notok a_peer_id_that_is_held_is_drawn_again "new $new, free $(cat "$tmp/peers"{,.err} "$tmp/server.err")"; fi
exec 9>&-
exit $status
