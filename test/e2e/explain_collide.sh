#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures whose packets were chosen to meet in one place of a table (explain_collide.py): explain takes about the time
# of a capture with random addresses. Both are measured here, in seconds of a processor.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
count=20000
at_most=4 # times as long; hashes without a key take 80 times as long

# cpu_of KIND: milliseconds of a processor that explain takes for such a capture; 60,000 where it does not end in 60 s
cpu_of() {
    python3 test/e2e/explain_collide.py "$tmp/$1.pcap" "$1" $count || return 1
    TIMEFORMAT=%U
    { time timeout 60 "$nornic" explain "$tmp/$1.pcap" >"$tmp/out" 2>&1; } 2>"$tmp/time" || echo 60 >"$tmp/time"
    awk '{ printf "%d", $1 * 1000 }' "$tmp/time"
}

usual=$(cpu_of random)
for kind in addresses senders same; do
    taken=$(cpu_of $kind)
    if [ "${usual:-0}" -gt 0 ] && [ "${taken:-60000}" -le $((at_most * usual)) ]; then ok "collide_$kind"
    else notok "collide_$kind" "$taken ms of a processor, and $usual ms for random addresses"; fi
done
exit $status
