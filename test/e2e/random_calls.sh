#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random calls of libibverbs, librdmacm and rsockets (test/verbs/random), with deaths and forks, over RoCE and iWARP,
# in a namespace of its own; and of TCP sockets by SMC-R, between two namespaces with a service each.
# NORNIC_RANDOM_CALLS: how many of each kind (default 4000); NORNIC_SEEDS: runs (default 1).
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
calls=${NORNIC_RANDOM_CALLS:-4000} seeds=${NORNIC_SEEDS:-1} seconds=$((20 + ${NORNIC_RANDOM_CALLS:-4000} / 1000))
run_seconds=$((seconds + 220)) # the program gives its processes 200 s for their end

need_namespaces random_calls
ns_make r || { notok namespace "cannot make one"; exit 1; }

for port in udp iwarp; do
    for kind in verbs cm rsockets all; do
        for ((seed = 1; seed <= seeds; seed++)); do
            run ip netns exec "nn-$$-r" env "LD_LIBRARY_PATH=$build/lib" "NORNIC_PORT=$port:127.0.0.1" \
                "$build/test/verbs/random/random" $kind 127.0.0.1 $seed 3 "$calls" $seconds
            if [ $rc = 0 ] && [[ $out == *"all well"* ]]; then ok "${port}_${kind}_$seed"
            else notok "${port}_${kind}_$seed" "exit status $rc: $out ${err: -600}"; fi
        done
    done
done

if [[ $build == *san-* ]]; then
    skip smc_sockets "a sanitizer has to be loaded before the library of sockets"
    exit $status
fi
veth_make 4200 || { notok namespaces "cannot make them"; exit 1; }
# sockets END PEER SEED: the words of a run at this end that connects to the other one, its service started with it
sockets() {
    words=("$nornic" run --smc --service "$tmp/$1.smc" --port "udp:nn$1" --
        "$build/test/verbs/random/random" sockets "$2" "$3" 3 "$calls" $seconds)
}
# well NAME: as the last line of the run in $rc, $out and $err says
well() {
    if [ $rc = 0 ] && [[ $out == *"all well"* ]]; then ok "$1"
    else notok "$1" "exit status $rc: $out ${err: -600}; $("$nornic" smc stat 2>&1 | tail -5)"; fi
}
for ((seed = 1; seed <= seeds; seed++)); do
    sockets a 10.77.0.2 $seed
    start "${in_a[@]}" "${words[@]}"
    sockets b 10.77.0.1 $((seed + 1000))
    run "${in_b[@]}" "${words[@]}"
    well "smc_sockets_b_$seed"
    until_true "$run_seconds" eval '! kill -0 "$server" 2>/dev/null'
    finish
    rc=$server_rc out=$server_out err=$server_err
    well "smc_sockets_a_$seed"
done
# both services have had connections by RDMA, and end when they are told
"$nornic" smc stat --json >"$tmp/stat"
services=$(python3 -c '
import json, sys
for p in json.load(open(sys.argv[1]))["processes"]:
    if sys.argv[2] in p["command"] and p["counters"]["conns_smc"] > 0:
        print(p["pid"])' "$tmp/stat" "$tmp/")
if [ "$(wc -w <<<"$services")" = 2 ]; then ok smc_sockets_by_rdma
else notok smc_sockets_by_rdma "$("$nornic" smc stat 2>&1)"; fi
[ -z "$services" ] || kill -TERM $services
gone() { [ ! -e "$tmp/a.smc" ] && [ ! -e "$tmp/b.smc" ]; }
if until_true 60 gone; then ok smc_services_end; else notok smc_services_end "$(ls "$tmp")"; fi
exit $status
