#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures that ask for much: 200,000 queue pairs; 65,000 with two PSNs far apart each; 65,000 with two READs of
# thousands of PSNs. Memory by a limit of the kernel, work by a count of instructions (callgrind), which no other
# program on the machine changes: as many a packet in 20,000 packets as in 5,000.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
room_kib=$((120 * 1024))   # address space, libraries and stack included
memory_kib=$((100 * 1024)) # that is used of it
cpu_seconds=5              # of the processor

if grep -q __asan_init "$nornic" || grep -q __tsan_init "$nornic"; then
    skip explain_room "a sanitizer takes memory of its own"
    exit 0
fi
# bounded ARG...: the command within that much address space; what it took stands in $tmp/took
bounded() {
    (python3 test/e2e/measured.py "$tmp/took" bash -c "ulimit -v $room_kib && exec timeout 60 \"\$@\"" - "$nornic" "$@")
}
# within NAME: the last one took no more than it may
within() {
    local kib seconds
    read -r kib seconds <"$tmp/took"
    echo "# $1: $kib KiB, $seconds s"
    if [ "$kib" -lt $memory_kib ] && [ "${seconds%.*}" -lt $cpu_seconds ]; then
        ok "$1_within_100_MiB_and_5_s"
    else
        notok "$1_within_100_MiB_and_5_s" "$kib KiB, $seconds s"
    fi
}

for kind in qpns:200000 far:130000 reads:130000; do
    file=$tmp/${kind%:*}.pcap name=${kind%:*}
    python3 test/e2e/explain_room.py "$name" "${kind#*:}" >"$file"
    for how in explain 'explain --json' 'explain --ladder' "explain --html $tmp/page.html" 'explain --csv operations' \
        verify 'verify --strict'; do
        read -r -a words <<<"$how"
        label=$name.$(tr -d ' -' <<<"${words[0]}_${words[1]:-text}")
        if bounded "${words[@]}" "$file" >"$tmp/out" 2>"$tmp/err" && ! [ -s "$tmp/err" ]; then
            within "$label"
        else
            notok "$label" "$(tail -2 "$tmp/err")"
        fi
    done
    bounded explain "$file" >"$tmp/out" 2>&1
    grep -q 'of the flows 1 to [0-9]* were forgotten for room' "$tmp/out" && ok "${name}_says_what_was_forgotten" ||
        notok "${name}_says_what_was_forgotten" "$(tail -3 "$tmp/out")"
    # the forgotten flows, and those that are said to be in JSON, page, verify and beside CSV
    all=$(sed -n 's/^\([0-9]*\) of the flows .*/\1/p' "$tmp/out")
    {
        "$nornic" explain --json "$file" | grep -o '"forgotten":{"flows":[0-9]*'
        "$nornic" explain --html - "$file" | grep -o '"forgotten":{"flows":[0-9]*'
        "$nornic" verify --strict "$file" | grep -o '[0-9]* of [0-9]* flows were forgotten for room'
        "$nornic" verify --strict --json "$file" | grep -o '"forgotten_flows":[0-9]*'
        "$nornic" explain --csv flows "$file" 2>&1 >"$tmp/flows" | grep -o '[0-9]* of [0-9]* flows have no rows'
    } >"$tmp/said"
    flows=$("$nornic" explain "$file" | sed -n 's/.* packets, \([0-9]*\) flows;.*/\1/p')
    rows=$(($(sed 1d "$tmp/flows" | cut -d, -f1 | sort -u | wc -l)))
    cat >"$tmp/wanted" <<END
"forgotten":{"flows":$all
"forgotten":{"flows":$all
$all of $flows flows were forgotten for room
"forgotten_flows":$all
$((flows - rows)) of $flows flows have no rows
END
    if [ "$all" -gt 0 ] && cmp -s "$tmp/said" "$tmp/wanted"; then
        ok "${name}_says_it_everywhere"
    else
        notok "${name}_says_it_everywhere" "$(diff "$tmp/said" "$tmp/wanted" | head -4)"
    fi
    bounded replay "$file" --as 10.0.0.1 >"$tmp/out" 2>&1
    [ $? = 2 ] && grep -q 'too much to replay together' "$tmp/out" && ok "${name}_is_too_much_to_replay" ||
        notok "${name}_is_too_much_to_replay" "$(tail -3 "$tmp/out")"
    within "${name}.replay"
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
