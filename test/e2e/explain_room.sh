#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures that ask for much: 200,000 queue pairs; 65,000 with two PSNs far apart each; 65,000 with two READs of
# thousands of PSNs. Memory by a limit of the kernel, work by a count of instructions (callgrind), which no other
# program on the machine changes: as many a packet in 20,000 packets as in 5,000.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
room_kib=$((120 * 1024)) # address space, libraries and stack included

if grep -q __asan_init "$nornic" || grep -q __tsan_init "$nornic"; then
    skip explain_room "a sanitizer takes memory of its own"
    exit 0
fi
bounded() { (ulimit -v $room_kib && exec timeout 60 "$nornic" "$@"); }

for kind in qpns:200000 far:130000 reads:130000; do
    file=$tmp/${kind%:*}.pcap name=${kind%:*}
    python3 test/e2e/explain_room.py "$name" "${kind#*:}" >"$file"
    for how in '' --json "--html $tmp/page.html"; do
        # shellcheck disable=SC2086 # several words
        if bounded explain $how "$file" >"$tmp/out" 2>"$tmp/err" && ! [ -s "$tmp/err" ]; then
            ok "${name}_explained${how:+_as${how%% *}}_within_120_MiB"
        else
            notok "${name}_explained${how:+_as${how%% *}}_within_120_MiB" "$(tail -2 "$tmp/err")"
        fi
    done
    bounded explain "$file" >"$tmp/out" 2>&1
    grep -q 'of the flows 1 to [0-9]* were forgotten for room' "$tmp/out" && ok "${name}_says_what_was_forgotten" ||
        notok "${name}_says_what_was_forgotten" "$(tail -3 "$tmp/out")"
    bounded replay "$file" --as 10.0.0.1 >"$tmp/out" 2>&1
    [ $? = 2 ] && grep -q 'too much to replay together' "$tmp/out" && ok "${name}_is_too_much_to_replay" ||
        notok "${name}_is_too_much_to_replay" "$(tail -3 "$tmp/out")"
done

if ! command -v valgrind >/dev/null; then
    skip work_per_packet "valgrind is not installed"
    exit $status
fi
# instructions NAME COUNT: that `nornic explain` takes for so many packets
instructions() {
    python3 test/e2e/explain_room.py "$1" "$2" >"$tmp/few.pcap"
    timeout 200 valgrind --tool=callgrind --callgrind-out-file="$tmp/callgrind" "$nornic" explain "$tmp/few.pcap" \
        >/dev/null 2>"$tmp/err"
    sed -n 's/^totals: //p; s/^summary: //p' "$tmp/callgrind" | head -1
}
for name in qpns far reads; do
    few=$(instructions "$name" 5000) many=$(instructions "$name" 20000)
    each=$(((many - few) / 15000))
    [ "$each" -gt 0 ] && [ "$each" -lt 100000 ] && [ "$many" -lt $((few * 5)) ] && ok "${name}_work_per_packet" ||
        notok "${name}_work_per_packet" "$few instructions for 5000 packets, $many for 20000"
    echo "# $name: $each instructions a packet"
done
exit $status
