#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random calls of libibverbs, librdmacm and rsockets (test/verbs/random), with deaths and forks, over RoCE and iWARP, in
# a namespace of its own. NORNIC_RANDOM_CALLS: how many of each kind (default 4000); NORNIC_SEEDS: runs (default 1).
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
calls=${NORNIC_RANDOM_CALLS:-4000} seeds=${NORNIC_SEEDS:-1} seconds=$((20 + ${NORNIC_RANDOM_CALLS:-4000} / 1000))
run_seconds=$((seconds + 220)) # the program gives its processes 200 s for their end

need_namespaces random_calls
ns_make a || { notok namespace "cannot make one"; exit 1; }

for port in udp iwarp; do
    for kind in verbs cm rsockets all; do
        for ((seed = 1; seed <= seeds; seed++)); do
            run ip netns exec "nn-$$-a" env "LD_LIBRARY_PATH=$build/lib" "NORNIC_PORT=$port:127.0.0.1" \
                "$build/test/verbs/random/random" $kind 127.0.0.1 $seed 3 "$calls" $seconds
            if [ $rc = 0 ] && [[ $out == *"all well"* ]]; then ok "${port}_${kind}_$seed"
            else notok "${port}_${kind}_$seed" "exit status $rc: $out ${err: -600}"; fi
        done
    done
done
exit $status
