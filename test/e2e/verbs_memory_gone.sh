#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Memory that is registered and goes away (test/verbs/programs/memory.c), over RoCEv2 and iWARP: each access to it is an
# error of the operation, and no signal. Signals of the program itself stay the program's. `nornic stat` counts the
# accesses.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")

need_namespaces verbs_memory_gone
ns_make a || { notok namespace "cannot make one"; exit 1; }
here=(ip netns exec "nn-$$-a" "${as_nobody[@]}" env "LD_LIBRARY_PATH=$build/lib")

# cases TRANSPORT WHAT COUNT: runs memory WHAT over it, which prints COUNT lines
cases() {
    local lines rc
    timeout -k 5 150 "${here[@]}" NORNIC_PORT="$1:127.0.0.1" NORNIC_STAT=1 \
        "$build/test/verbs/programs/memory" "$2" >"$tmp/out" 2>"$tmp/err"
    rc=$?
    sed -E "s/^(ok|not ok) /&$1_/" "$tmp/out"
    ! grep -q '^not ok ' "$tmp/out" || status=1
    lines=$(wc -l <"$tmp/out")
    if [ $rc = 0 ] && [ "$lines" = "$3" ]; then ok "$1_$2"
    else notok "$1_$2" "exit status $rc, $lines lines of $3: $(tail -n 3 "$tmp/err")"; fi
}

# counts TRANSPORT: the program that ran last has counted its faults
counts() {
    if grep -q 'memory_faults [1-9]' "$tmp/err"; then ok "$1_counts"
    else notok "$1_counts" "$(tail -n 3 "$tmp/err")"; fi
}

for transport in udp iwarp; do
    cases $transport rights 12
    cases $transport demand 2
    if [[ $build == *san-* ]]; then
        skip "${transport}_signals" "a sanitizer reports the faults of the program itself"
    else
        cases $transport signals 11
    fi
    cases $transport gone 64
    counts $transport
done
exit $status
