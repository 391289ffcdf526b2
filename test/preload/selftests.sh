# SPDX-License-Identifier: BSD-2-Clause
# Sourced by programs: the kernel's selftests for sockets, as they are.
# shellcheck shell=bash

# What mptcp_connect is run with, as the kernel's mptcp_connect.sh does and beyond: a name; whether the outcome is that
# over TCP (`same`) or another where the connection goes by SMC-R (`other`: docs/smc.md says why); the server's
# options; those of the client. SELFTEST_ROWS: those that are run (all).
mptcp_rows="
poll         same
poll6        same      -6 ; -6
mmap         same      -m mmap ; -m mmap
mmap6        same      -6 -m mmap ; -6 -m mmap
sendfile     same      -m sendfile ; -m sendfile
mixed        same      ; -m sendfile
peek         same      -P saveWithPeek ; -P saveWithPeek
peek_again   same      -P saveAfterPeek ; -P saveAfterPeek
peek_mmap    same      -P saveAfterPeek -m mmap ; -P saveWithPeek -m mmap
buffers      same      -S 8192 -R 8192 ; -S 8192 -R 8192
large        same      -S 2000000 -R 2000000 ; -S 2000000 -R 2000000
transparent  same      -o TRANSPARENT ;
mark         same      ; -M 7
first_waits  same      -j ; -j
late_end     same      -w 1 ; -w 1
server_stops same      -f 100000 ; -f -1
client_stops same      -f -1 ; -f 100000
timestamps   other     ; -c TIMESTAMPNS
reconnects   other     -t 2 -I 3 ; -t 2 -I 3
"

# mptcp_transfer PORT SERVER-OPTIONS CLIENT-OPTIONS: both ends send a file to the other; what became of it in one line
mptcp_transfer() {
    local port=$1 serves=$2 connects=$3 to=$at ends
    [[ $serves != -6* ]] || to=fd77::1
    # shellcheck disable=SC2086
    serve "$mptcp_program" -l -s TCP -t 20 -p "$port" -i "$tmp/text_a" $serves $to
    listening "$ns_a" "$port" || { echo "the server does not listen: $(cat "$tmp/server.err")"; return; }
    # shellcheck disable=SC2086
    timeout 30 "${in_b[@]}" "${run_c[@]}" "$mptcp_program" -s TCP -t 20 -p "$port" -i "$tmp/text_b" $connects $to \
        >"$tmp/client.out" 2>"$tmp/client.err"
    ends="client $?"
    finish
    ends+=", server $server_rc"
    # how much comes before one of them cuts it off is no property of a socket
    [[ $serves$connects == *-f* ]] || ! cmp -s "$tmp/text_a" "$tmp/client.out" || ends+=", whole to the client"
    [[ $serves$connects == *-f* ]] || ! cmp -s "$tmp/text_b" "$tmp/server.out" || ends+=", whole to the server"
    echo "$ends; $(cat "$tmp/client.err" "$tmp/server.err" | tr '\n' ' ')"
}

run_mptcp_connect() {
    local label kind options tcp ours tries port=5700 differ="" expected="" words=""
    local under_s=("${run_s[@]}") under_c=("${run_c[@]}")
    needs cc xz || return
    mptcp_program=$(test/preload/fetch mptcp/mptcp_connect 2>"$tmp/err") ||
        { skip "${mode}_$name" "the kernel's source cannot be had: $(tail -1 "$tmp/err")"; return; }
    data
    head -c 300000 "$tmp/data" | base64 >"$tmp/text_a"
    tail -c 250000 "$tmp/data" | base64 >"$tmp/text_b"
    while read -r label kind options; do
        [ -n "$label" ] && [[ " ${SELFTEST_ROWS:-$label} " == *" $label "* ]] || continue
        # where one end is plain TCP, or nothing is lent, both are; and `timestamps` fails now and then with plain TCP,
        # for want of a stamp
        tries=1
        [ "$kind" = same ] || if [[ $mode = @(smc|lent|late) ]]; then expected+=" $label"; else tries=8; fi
        for ((; tries > 0; tries--)); do
            run_s=() run_c=()
            tcp=$(mptcp_transfer $((port++)) "${options%;*}" "${options#*;}")
            run_s=("${under_s[@]}") run_c=("${under_c[@]}")
            ours=$(mptcp_transfer $((port++)) "${options%;*}" "${options#*;}")
            [ "$tcp" != "$ours" ] || break
        done
        [ "$tcp" = "$ours" ] || { differ+=" $label" words+=" $label: by TCP $tcp, here $ours"; }
    done <<<"$mptcp_rows"
    [ "$differ" = "$expected" ]
    rc=$?
    judge "differ:$differ; expected:$expected;$words"
}
