#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A third host repeats CLC messages of two others, whose link group it would like to end (smc_third_host.py). A client
# that is one host with several addresses is no third host, nor is such a server.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
need_namespaces smc_third_host
need_no_sanitizer smc_third_host
script=test/e2e/smc_third_host.py

# a: the server, b: the client, x: the third host, with a bridge between all
for name in a b x; do ns_make "$name" || { notok namespaces "cannot make them"; exit 1; }; done
x="nn-$$-x"
ip -n "$x" link add bridge type bridge
ip -n "$x" addr add 10.99.0.3/24 dev bridge
ip -n "$x" link set bridge up
i=1
for name in a b; do
    ip link add "to_$name" netns "$x" type veth peer name v0 netns "nn-$$-$name"
    ip -n "$x" link set "to_$name" master bridge up
    ip -n "nn-$$-$name" addr add "10.99.0.$i/24" dev v0
    ip -n "nn-$$-$name" addr add "fd99::$i/64" dev v0 nodad
    ip -n "nn-$$-$name" link set v0 up
    i=$((i + 1))
done
for name in a b; do
    ip netns exec "nn-$$-$name" "$nornic" smc service --foreground -d udp:v0 --peers 10.99.0.0/24 --peers fd99::/64 \
        --socket "$tmp/$name.sock" 2>"$tmp/service_$name" &
    e2e_pids+=("$!")
    until_true 20 [ -S "$tmp/$name.sock" ]
done
in_a=(ip netns exec "nn-$$-a" "$nornic" run --smc --service "$tmp/a.sock" -- python3 "$script")
in_b=(ip netns exec "nn-$$-b" "$nornic" run --smc --service "$tmp/b.sock" -- python3 "$script")

"${in_a[@]}" echo 5000 2>"$tmp/echo.err" &
e2e_pids+=("$!")
listening "nn-$$-a" 5000

# third NAME ROLE WORDS: the third host plays ROLE, says WORDS, and the connection of the two others lives on
third() {
    start ip netns exec "$x" python3 "$script" "$2" 10.99.0.1 5000
    listening "$x" 7000
    run "${in_b[@]}" client 10.99.0.1 5000 10.99.0.3
    finish
    if [ "$rc" = 0 ] && [ "$out" = "lives" ] && [ "$server_rc" = 0 ] && [ "$server_out" = "$3" ]; then
        ok "$1"
    else
        notok "$1" "client $rc: $out $err; third host $server_rc: $server_out $server_err"
    fi
}
third decline_out_of_sync decline "a first contact of its own"
third accept_of_first_contact accept "said"
third accept_of_the_group join "declined in sync"

# smc_conns: connections over SMC-R of the server's service, so far
smc_conns() {
    "$nornic" smc stat --json --pid "${e2e_pids[0]}" | python3 -c 'import json, sys
print(json.load(sys.stdin)["processes"][0]["counters"]["conns_smc"])'
}

# between NAME SOURCE,SERVER...: connections at a time, which all use SMC-R
between() {
    local before
    before=$(smc_conns)
    run "${in_b[@]}" between 5000 "${@:2}"
    local smc=$(($(smc_conns) - before))
    if [ "$out" = lives ] && [ $smc = $(($# - 1)) ]; then
        ok "$1"
    else
        notok "$1" "client $rc: $out $err; connections over SMC-R: $smc"
    fi
}
ip -n "nn-$$-a" addr add 10.99.0.11/24 dev v0
ip -n "nn-$$-b" addr add 10.99.0.12/24 dev v0
between addresses_of_one_client 10.99.0.2,10.99.0.1 10.99.0.12,10.99.0.1
between addresses_of_one_server ,10.99.0.1 ,10.99.0.11 ,10.99.0.1 ,10.99.0.11
between both_families ,10.99.0.1 ,fd99::1 ,10.99.0.11 ,fd99::1
exit $status
