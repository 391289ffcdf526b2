#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic explain -i` on a bridge between two ends of `nornic smc`: every byte is followed, and nothing is wrong.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need_namespaces smc_over_a_bridge
# between the two ends of a pair: a third namespace with a bridge, through which all of it goes
bridged() {
    ns_a="nn-$$-a" ns_b="nn-$$-b" ns_c="nn-$$-c"
    in_a=(ip netns exec "$ns_a") in_b=(ip netns exec "$ns_b") in_c=(ip netns exec "$ns_c")
    ns_make a && ns_make b && ns_make c && ip -n "$ns_c" link add nnbr type bridge || return 1
    ip -n "$ns_c" link set nnbr mtu 9000 up
    for end in a b; do
        ip link add "nn$end" netns "nn-$$-$end" mtu 9000 type veth peer name "nnc$end" netns "$ns_c" mtu 9000 ||
            return 1
        ip -n "$ns_c" link set "nnc$end" master nnbr up
        ip -n "nn-$$-$end" addr add "10.77.0.$([ $end = a ] && echo 1 || echo 2)/24" dev "nn$end"
        ip -n "nn-$$-$end" link set "nn$end" up
    done
}
bridged || { skip smc_over_a_bridge "no bridge can be made here"; exit 0; }

head -c 300000 /dev/urandom >"$tmp/file"
"${in_c[@]}" "$nornic" explain -i nncb --json >"$tmp/json" 2>"$tmp/json.err" &
watcher=$!
e2e_pids+=("$watcher")
for ((i = 0; i < 100; i++)); do
    [ -z "$("${in_c[@]}" ss -H0e | grep -A3 ':nncb ' | grep ring_rx)" ] || break
    sleep 0.1
done
start "${in_a[@]}" "$nornic" smc listen -d packet:nna -o "$tmp/copy" 5000
listening "$ns_a" 5000
run "${in_b[@]}" "$nornic" smc connect -d packet:nnb 10.77.0.1 5000 <"$tmp/file"
finish
if [ $rc = 0 ] && [ $server_rc = 0 ] && cmp -s "$tmp/file" "$tmp/copy"; then ok smc_transfer
else notok smc_transfer "client $rc: $err; server $server_rc: $server_err"; fi
sleep 0.5
kill -INT "$watcher"
wait "$watcher"
if python3 -c 'import json, sys
objects = [json.loads(line) for line in open(sys.argv[1])]
connections = [o["smc_connection"] for o in objects if "smc_connection" in o]
assert len(connections) == 1, "%d connections" % len(connections)
c = connections[0]
assert c["bytes"] == [300000, 0] and c["closed"] == [True, True] and c["wraps"][0] >= 1, c
bad = [r for o in objects for r in o.get("remarks", []) if r["severity"] == 2]
assert not bad, bad[:3]
data = sum(o["smc"]["to"] - o["smc"]["from"] for o in objects if "from" in o.get("smc", {}) and not o.get("answers"))
assert data == 300000, "%d bytes in writes" % data' "$tmp/json" 2>"$tmp/why"; then ok every_byte_is_followed
else notok every_byte_is_followed "$(tail -1 "$tmp/why") $(cat "$tmp/json.err")"; fi
exit $status
