#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `test/run` and `test/night` on trees of their own: scripts side by side and alone, whose output and whose reports of
# sanitizers are told as a whole, and which an interrupt ends. Lines: "ok NAME", "not ok NAME: why".
. "$(dirname "$0")/lib.sh"
tree=$tmp/tree
mkdir -p "$tree/test/e2e" "$tree/test/tools" "$tree/build/test/sim"
cp test/run test/night "$tree/test"
cp /bin/true "$tree/build/nornic"

# script NAME LINE...: a script of that tree; only those made since `clear_scripts` are there
script() {
    printf '%s\n' '#!/bin/bash' "${@:2}" >"$tree/test/e2e/$1.sh"
}
clear_scripts() { rm -f "$tree"/test/e2e/*.sh "$tmp"/mark.*; }
# runs ARGUMENT...: test/run there; $rc, $out, $err
runs() { run env -u CI "$tree/test/run" "$@" e2e; }
# result NAME COMMAND...: ok if the command is true
result() {
    if "${@:2}"; then ok "$1"; else notok "$1" "exit status $rc: $out $err"; fi
}
# waits_for FILE: a line that is true when the file is there, within 10 seconds
waits_for() { echo "for i in {1..500}; do [ -e $1 ] && break; sleep 0.02; done; [ -e $1 ]"; }

# --- side by side: each waits for the other ---
script one "touch $tmp/mark.one" "$(waits_for "$tmp/mark.two") && echo ok one"
script two "touch $tmp/mark.two" "$(waits_for "$tmp/mark.one") && echo ok two"
runs -j 2
result side_by_side [ "$rc $(tail -1 <<<"$out")" = '0 2 passed, 0 failed, 0 skipped' ]
clear_scripts
script one "touch $tmp/mark.one" "for i in {1..5}; do sleep 0.02; done" "[ ! -e $tmp/mark.two ] && echo ok one" \
    "rm $tmp/mark.one"
script two "touch $tmp/mark.two" "[ ! -e $tmp/mark.one ] && echo ok two" "rm $tmp/mark.two"
runs
result one_at_a_time_without_j [ "$rc $(tail -1 <<<"$out")" = '0 2 passed, 0 failed, 0 skipped' ]
sed -i '1a # alone: it wants it so' "$tree/test/e2e/one.sh"
runs -j 2
result alone [ "$rc $(tail -1 <<<"$out")" = '0 2 passed, 0 failed, 0 skipped' ]
for name in one two; do sed -i 's/^# alone:/# machine:/; 1a # machine: it wants it so' "$tree/test/e2e/$name.sh"; done
runs -j 2
result one_of_a_lane_at_a_time [ "$rc $(tail -1 <<<"$out")" = '0 2 passed, 0 failed, 0 skipped' ]

# --- test/loads: the longest begins first, and nothing begins beside what takes all processors ---
clear_scripts
loads() { printf '%s\n' '# SUITE SECONDS LOAD' "$@" >"$tree/test/loads"; }
script one "[ -e $tmp/mark.two ] && echo ok one"
script two "[ ! -e $tmp/mark.one ] && touch $tmp/mark.two && sleep 0.3 && echo ok two"
loads "e2e/one 1 $(nproc)" "e2e/two 5 $((2 * $(nproc)))"
runs -j 2
result the_longest_begins_first [ "$rc $(tail -1 <<<"$out")" = '0 2 passed, 0 failed, 0 skipped' ]
order=$(grep -oE 'e2e/(one|two)' <<<"$out" | paste -sd' ')
result a_full_load_has_no_busy_one_beside_it [ "$order" = 'e2e/two e2e/one' ]
runs --record
result loads_are_recorded eval '[ $rc = 0 ] && grep -qE "^e2e/two [0-9]+ [0-9.]+$" "$tree/test/loads"'
runs -j 2 --record
result loads_are_of_suites_that_run_alone eval '[ $rc = 1 ] && one_sentence "$err" "with -j 1"'
rm "$tree/test/loads"
runs -j 0
result no_script_at_a_time eval '[ $rc = 1 ] && one_sentence "$err" "-j 1 runs one script at a time"'

# --- what is printed ---
clear_scripts
for name in one two; do
    script $name "for i in {1..10}; do echo $name \$i; sleep 0.02; done; echo not ok $name: as it should be"
done
runs -j 2
blocks=$(grep -oE '^    (one|two) ' <<<"$out" | uniq | wc -l)
result output_is_whole [ "$rc $blocks $(tail -1 <<<"$out")" = '1 2 0 passed, 2 failed, 0 skipped' ]
clear_scripts
script one 'echo ok one' 'sleep 0.3'
script two 'path=${ASAN_OPTIONS##*log_path=}' 'echo a leak >"${path%%:*}.1"' 'echo ok two'
runs -j 2
result reports_of_sanitizers_are_of_their_suite \
    eval '[ $rc = 1 ] && [[ $out == *"not ok e2e/two sanitizer report: a leak"* ]] && [[ $out != *"not ok e2e/one"* ]]'

# --- an interrupt ends all: the scripts, which tidy up, and what `timeout` put into another process group ---
for signal in INT TERM; do
    clear_scripts
    for name in one two; do
        script $name "trap 'touch $tmp/mark.end.$name' EXIT" "trap 'exit 130' TERM" "echo \$\$ >$tmp/mark.$name" \
            "timeout 60 bash -c 'echo \$\$ >$tmp/mark.child.$name; exec sleep 60'" 'echo ok'
    done
    env -u CI --default-signal=INT "$tree/test/run" -j 2 e2e >"$tmp/out" 2>"$tmp/err" &
    runner=$!
    e2e_pids+=("$runner")
    until_true 10 eval '[ -s "$tmp/mark.child.one" ] && [ -s "$tmp/mark.child.two" ]'
    kill "-$signal" "$runner"
    await "$runner"
    out=$(cat "$tmp/out") err=$(cat "$tmp/err")
    # a process that has ended may wait for its parent: its state is Z
    alive=$(ps -o stat= -p "$(cat "$tmp"/mark.one "$tmp"/mark.two "$tmp"/mark.child.* | paste -sd,)" | grep -cv '^Z')
    result "ended_by_$signal" [ "$rc/$alive/$(cat "$tmp"/mark.end.* 2>&1)" = "$rc/0/" ]
    result "ended_by_${signal}_is_no_success" [ "$rc" != 0 ]
done

# --- test/night: sums of its parts, and their bounds ---
# step FILE LINE...: a program of that tree
step() { printf '%s\n' '#!/bin/bash' "${@:2}" >"$tree/$1" && chmod 755 "$tree/$1"; }
mkdir -p "$tree/test/fuzz/room" "$tree/test/mutations"
touch "$tree/test/fuzz/room/fuzz_some.c" && printf '\n' >"$tree/test/mutations/some.txt"
step test/run 'echo "$FUZZ_TIME of $*"; echo "5 passed, 1 failed, 0 skipped"; exit 1'
step build/test/sim/run '[ "$1" != --list ] || { printf "%s: 1 test\n" one two; exit 0; }' \
    'echo "Tested: $NORNIC_SEEDS | Passing: 20 | Failing: 2 | Crashing: 3 "; exit 1'
step test/tools/mutate 'echo "of $*"; echo "300 killed, 4 survived"; exit 1'
run "$tree/test/night" fuzz sim mutate
result night_adds_up [ "$rc $(tail -1 <<<"$out")" = '1 345 passed, 15 failed' ]
result night_is_long eval '[[ $out == *"600 of -j2 fuzz/some"* && $out == *"Tested: 1000 "* ]]'
result night_names_lists_of_mutations eval '[[ $out == *"of /some\.txt:"* ]]'
run "$tree/test/night" --list
result night_lists_its_parts eval '[ $rc = 0 ] &&
    [[ $(echo $out) == "fuzz/1 random/1 random/2 sim/1 sim/2 lint address/1"*" mutate/1" ]]'
step test/tools/mutate 'echo "300 killed, 0 survived"'
run "$tree/test/night" mutate/1
result night_runs_one_step [ "$rc $(tail -1 <<<"$out")" = '0 300 passed, 0 failed' ]
step test/tools/mutate 'sleep 60'
run "$tree/test/night" --seconds 1 mutate
result night_is_bounded [ "$rc $(tail -1 <<<"$out")" = '1 0 passed, 1 failed' ]
mv "$tree/build/test/sim/run" "$tree/build/test/sim/away"
run "$tree/test/night" sim
result night_wants_a_build eval '[ $rc = 1 ] && one_sentence "$err" "\`make night\` builds them first"'
mv "$tree/build/test/sim/away" "$tree/build/test/sim/run"
run "$tree/test/night" frob
result night_has_no_such_step eval '[ $rc = 1 ] && one_sentence "$err" "fuzz, fuzz/1,"'
exit $status
