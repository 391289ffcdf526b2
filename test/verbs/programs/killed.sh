# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: one of two programs is killed (SIGKILL) while they speak. The other one is told so and ends by
# itself, nothing of either is left, and two others begin at the same addresses. A line is: name | who is killed | when
# it runs | server | client, @ is its address | what the other one says of it, a pattern. They would speak for longer
# than anybody waits. Not here: a program without librdmacm that has sent nothing (ib_send_bw's server) hears nothing of
# the end, as with an adapter. Programs of librdmacm: test/e2e/undertaker.sh.
# shellcheck shell=bash
begin killed

killed_table() {
    cat <<'TABLE'
write_bw|server||ib_write_bw -F -x 0 -n 50000000 -u 10|ib_write_bw -F -x 0 -n 50000000 -u 10 @|status 12
write_bw|client||ib_write_bw -F -x 0 -n 50000000 -u 10|ib_write_bw -F -x 0 -n 50000000 -u 10 @|.
read_bw|server|more|ib_read_bw -F -x 0 -n 50000000 -u 10|ib_read_bw -F -x 0 -n 50000000 -u 10 @|status 12
read_bw|client|more|ib_read_bw -F -x 0 -n 50000000 -u 10|ib_read_bw -F -x 0 -n 50000000 -u 10 @|.
send_bw|server|more|ib_send_bw -F -x 0 -n 50000000 -u 10|ib_send_bw -F -x 0 -n 50000000 -u 10 @|status 12
atomic_bw|server|more|ib_atomic_bw -F -x 0 -n 50000000 -u 10|ib_atomic_bw -F -x 0 -n 50000000 -u 10 @|status 12
TABLE
}

# nothing_left: no process has a device open, and no socket is on RoCE's port, on either host; 5 seconds at most
nothing_left() {
    local ns left
    for ns in "$ns_a" "$ns_b"; do
        for ((i = 0; i < 50; i++)); do
            left=$(ip netns exec "$ns" "$nornic" stat 2>&1)$(ip netns exec "$ns" ss -Hlun 'sport = :4791')
            [[ $left != "no process"* || $left == *4791* ]] || break
            sleep 0.1
        done
        [ "$i" -lt 50 ] || { echo "$ns: $left" && return; }
    done
}

# killed_line NAME VICTIM SERVER CLIENT SAYS
killed_line() {
    local name=$1 victim=$2 server_command client_command client other left
    read -ra server_command <<<"$3"
    read -ra client_command <<<"${4/@/10.77.0.2}"
    on b "${server_command[@]}"
    start "${command[@]}"
    until_ready "$ns_b" 18515
    on a "${client_command[@]}"
    "${command[@]}" >"$tmp/out" 2>"$tmp/err" &
    client=$!
    e2e_pids+=("$client")
    flowing "$ns_a" nna
    if [ "$victim" = server ]; then end_all "$ns_b" && other=$client; else end_all "$ns_a" && other=$server; fi
    for ((i = 0; i < 400; i++)); do
        kill -0 "$other" 2>/dev/null || break
        sleep 0.1
    done
    wait "$other" 2>/dev/null
    rc=$?
    out="$(end_of out) $(end_of err)"
    [ "$victim" = server ] || out="$(end_of server.out) $(end_of server.err)"
    end_all "$ns_a" "$ns_b"
    wait "$client" "$server" 2>/dev/null
    left=$(nothing_left)
    if [ "$i" -lt 400 ] && [ $rc -gt 0 ] && [ $rc -lt 124 ] && [[ $out =~ $5 ]] && [ -z "$left" ]; then ok "$name"
    else notok "$name" "the other one ended with $rc after $i tenths of a second: $out left: $left"; fi
}

# bash tells of each that was killed on stderr
while IFS='|' read -r name victim when server_line client_line says; do
    wanted "killed_${name}_$victim" "$when" &&
        killed_line "killed_${name}_$victim" "$victim" "$server_line" "$client_line" "$says" </dev/null 2>/dev/null
done < <(killed_table)

# those that begin after them
if wanted killed_and_again; then
    speak on b 18515 "$tmp/captures/again" ib_write_bw -F -x 0 -n 50 -- ib_write_bw -F -x 0 -n 50 10.77.0.2
    both_well killed_and_again
    wire capture_killed_and_again "$tmp/captures/again"
fi
