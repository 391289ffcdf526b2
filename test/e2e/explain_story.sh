#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The story stands above the packets, which wait for it in a file of $TMPDIR; from a pipe it stands below them.
# What is above, and what below where there is no room for the packets to wait, is laid beside that.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
capture=pcaps/lossy_all.pcap
mkdir "$tmp/room"
export TMPDIR=$tmp/room

# of_file HOW, of_input HOW: what `nornic explain HOW` writes of the capture, again and again: 3 MB of text
more=()
for ((i = 1; i < 64; i++)); do
    more+=("$capture")
done
of_file() { timeout 60 "$nornic" explain "$@" "$capture" "${more[@]}" >"$tmp/file"; }
of_input() { cat "$capture" | timeout 60 "$nornic" explain "$@" - "${more[@]}" >"$tmp/input"; }

# same NAME WHAT EXPECTED
same() {
    if cmp -s "$2" "$3"; then
        ok "$1"
    else
        notok "$1" "$(diff "$2" "$3" | head -3)"
    fi
}

for how in '' -v --ladder; do
    name=${how:-text}
    of_file ${how:+"$how"}
    of_input ${how:+"$how"}
    # the first paragraph of the one stands before the last line of the other
    lines=$(($(sed -n '/^$/{=;q}' "$tmp/file") - 1))
    {
        sed -n "$((lines + 2)),\$p" "$tmp/file" | sed '$d'
        head -$lines "$tmp/file"
        tail -1 "$tmp/file"
    } >"$tmp/moved"
    same "the_story_leads_${name#--}" "$tmp/moved" "$tmp/input"
    timeout 60 "$nornic" explain ${how:+"$how"} - "${more[@]}" <"$capture" >"$tmp/input"
    same "and_that_of_a_file_on_standard_input_${name#--}" "$tmp/file" "$tmp/input"
done

of_input
if [ "$(stat -c %s "$tmp/input")" -gt 2621440 ]; then
    ok the_packets_are_too_many_for_memory
else
    notok the_packets_are_too_many_for_memory 'less than 2.5 MiB: nothing had to wait in a file'
fi
TMPDIR=$tmp/nowhere of_file
same without_a_file_it_comes_last "$tmp/file" "$tmp/input"

# 1.5 MiB: there is room for the first text of one, and the second fails in its middle
(
    trap '' XFSZ # a write fails then, and nobody dies of it
    ulimit -f 1536
    timeout 60 "$nornic" explain "$capture" "${more[@]}"
) | cat >"$tmp/file"
same where_the_disk_is_full_it_comes_last "$tmp/file" "$tmp/input"

left=$(ls -A "$tmp/room")
if [ -z "$left" ]; then
    ok no_file_is_left
else
    notok no_file_is_left "$left"
fi
exit $status
