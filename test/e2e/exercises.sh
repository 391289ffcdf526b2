#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The exercises of `nornic explain --quiz`: each answer is that of a reader of its own (exercises.py), right ones are
# taken, wrong ones are not. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

run "$nornic" explain --quiz all --json
printf '%s\n' "$out" >"$tmp/json"
python3 test/e2e/exercises.py >"$tmp/found" 2>"$tmp/err" || notok exercises_reader "$(cat "$tmp/err")"
# NAME, answer of explain, answer of the reader; times differ by the rounding
python3 - "$tmp/json" "$tmp/found" >"$tmp/judged" <<'END'
import json, sys
told = {o['name']: o for o in map(json.loads, open(sys.argv[1]))}
found = dict(line.rstrip('\n').split('\t') for line in open(sys.argv[2]))
for name in sorted(told.keys() | found.keys()):
    if name not in told or name not in found:
        print('not ok exercise_%s: only %s has it' % (name, 'explain' if name in told else 'exercises.py'))
        continue
    a, b, how = told[name]['answer'].split(' (')[0], found[name], told[name]['how'].split()[0]
    if how == 'time':
        same = abs(float(a.split()[0]) / float(b) - 1) < 0.01
    else:
        same = [int(x, 0) for x in a.split()] == [int(x) for x in b.split()]
    print('ok exercise_' + name if same else 'not ok exercise_%s: explain says %s, the capture %s' % (name, a, b))
END
cat "$tmp/judged"
! grep -q '^not ok' "$tmp/judged" || status=1
[ -s "$tmp/judged" ] || notok exercises "nothing was compared: $err"

# a topic has at least three questions
counts=$(sed 's/-[0-9]*\t.*//' "$tmp/found" | sort | uniq -c | awk '$1 < 3')
if [ -z "$counts" ]; then ok every_topic_has_three; else notok every_topic_has_three "$counts"; fi

# --- at the terminal ---
quiz() { # NAME STATUS PATTERN INPUT ARGS...
    local name=$1 want=$2 pattern=$3 input=$4
    shift 4
    run "$nornic" explain "$@" < <(printf '%b' "$input")
    if [ $rc = "$want" ] && grep -q -- "$pattern" <<<"$out$err"; then ok "$name"
    else notok "$name" "exit status $rc: $out $err"; fi
}
cut -f2 "$tmp/found" | sed 's/\.[0-9]*$/&ms/' >"$tmp/answers"
all=$(grep -c . "$tmp/found")
quiz all_right 0 "$all of $all right" "$(cat "$tmp/answers")\n" --quiz all
quiz right_in_hex 0 '1 of 1 right' '0x3001\n' --quiz loss-2
quiz right_in_words 0 '1 of 1 right' 'Invalid Service-ID\n' --quiz cm-3
quiz a_word_of_many_values_is_no_answer 1 '0 of 1 right' 'ACK\nACK\nACK\n' --quiz credits-1
quiz packets_in_any_order 0 '1 of 1 right' '#100, #88 40 21 13 11 2\n' --quiz ecn-1
quiz packets_that_are_not_all 1 'It is: 2 11 13' '2 11 13\n2 2 11 13 21 40 88\nx\n' --quiz ecn-1
quiz right_at_the_third_try 0 'Not yet. PSNs\|Not yet. The PSNs' '1\n3\n2\n' --quiz loss-1
quiz wrong_three_times 1 'It is: 2' '1\n3\n4\n' --quiz loss-1
quiz skipped 1 '0 of 3 right' 'skip\nskip\nskip\n' --quiz loss
quiz nobody_answers 1 '0 of 1 right' '' --quiz loss
quiz answers_told 0 'It is: 0x34 (RNR NAK 10.24 ms)' '' --quiz rnr --answers
quiz listed 0 '^smcr-4 .*smcr_failover.pcap' '' --quiz list
quiz no_such_topic 2 'quiz list' '' --quiz frob
quiz no_such_directory 2 '/nonexistent' '' --quiz loss /nonexistent
quiz answers_without_a_quiz 2 'quiz' '' --answers pcaps/rc_rnr.pcap
exit $status
