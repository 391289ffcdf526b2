#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Regions by other addresses than those of the process (test/verbs/programs/regions.c), over RoCE and over iWARP: an
# iova, zero based, device memory, null. A post costs the same beside 20,000 other regions.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
regions=20000
[[ $build != *san-* ]] || regions=2000

need_namespaces verbs_memory
ns_make a || { notok namespace "cannot make one"; exit 1; }
for port in udp iwarp; do
    run ip netns exec "nn-$$-a" "${as_nobody[@]}" env "LD_LIBRARY_PATH=$build/lib" "NORNIC_PORT=$port:127.0.0.1" \
        "$build/test/verbs/programs/regions" 127.0.0.1 $regions
    sed -E -n "s/^((not )?ok) /\1 ${port}_/p" <<<"$out"
    if [ "$rc" = 0 ] && [ "$(grep -c ^ok <<<"$out")" = 14 ]; then ok "${port}_all_cases"
    else notok "${port}_all_cases" "exit status $rc: $err"; fi
done
exit $status
