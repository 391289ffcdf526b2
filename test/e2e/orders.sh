#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The end of a connection by SMC-R: sending, shutdown(), options, reading and close() in many orders
# (test/preload/orders.py). Both ends say what they say over the kernel's TCP.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
need_no_sanitizer orders
need_namespaces orders
veth_make 9000 || { notok namespaces "cannot make them"; exit 1; }

# orders NAME PORT: runs both ends under "${run_a[@]}" and "${run_b[@]}"
orders() {
    local args=(10.77.0.1 "$2" "$tmp/$1.control")
    start timeout 100 "${in_a[@]}" "${run_a[@]}" python3 test/preload/orders.py server "${args[@]}"
    until_true 20 [ -S "$tmp/$1.control" ]
    run timeout 100 "${in_b[@]}" "${run_b[@]}" python3 test/preload/orders.py client "${args[@]}"
    finish
    cp "$tmp/out" "$tmp/$1.client"
    cp "$tmp/server.out" "$tmp/$1.server"
    words="client $rc $err; server $server_rc $server_err"
}
# whole NAME: every order was run
num_orders=$(python3 test/preload/orders.py list)
whole() {
    local lines
    lines=$(wc -l <"$tmp/$1.server")/$(wc -l <"$tmp/$1.client")
    if [ "$lines" = "$num_orders/$num_orders" ]; then ok "orders_of_$1"
    else notok "orders_of_$1" "$lines of $num_orders; $words"; fi
}
same() { # NAME FILE OTHER
    if cmp -s "$2" "$3"; then ok "$1"; else notok "$1" "$(diff "$2" "$3" | head -20)"; fi
}

run_a=() run_b=()
orders tcp 5100
whole tcp
for end in a b; do
    port=nn$end place="in_$end[@]"
    "${!place}" "$nornic" smc service --foreground -d "udp:$port" --socket "$tmp/$end.sock" \
        2>"$tmp/service_$end" &
    e2e_pids+=("$!")
    eval "service_$end=$!"
    until_true 20 [ -S "$tmp/$end.sock" ]
done
run_a=("$nornic" run --smc --service "$tmp/a.sock" --)
run_b=("$nornic" run --smc --service "$tmp/b.sock" --)
orders smc 5101
whole smc
same server_as_tcp "$tmp/tcp.server" "$tmp/smc.server"
same client_as_tcp "$tmp/tcp.client" "$tmp/smc.client"
moved=$("$nornic" smc stat --json --pid "$service_a" | python3 -c 'import json, sys
c = json.load(sys.stdin)["processes"][0]["counters"]
print(c["conns_smc"], c["conns_fallback"])')
# the last connection has no order
if [ "$moved" = "$((num_orders + 1)) 0" ]; then ok all_by_rdma
else notok all_by_rdma "$moved of $num_orders"; fi
kill -TERM "$service_a" "$service_b"
wait "$service_a" "$service_b"
exit $status
