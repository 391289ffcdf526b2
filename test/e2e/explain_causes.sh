#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `nornic explain` says of causes in the captures of real peers, held against what explain_causes.py computes
# by other means; and captures that were merged, in which nothing happened: not one warning.
#
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

timeout 300 python3 test/e2e/explain_causes.py "$nornic" pcaps/*.pcap 2>"$tmp/table" || status=1

# quiet NAME FILE: --strict finds nothing above a note in it
quiet() {
    local n
    n=$(timeout 60 "$nornic" explain --strict --json "$2" | python3 -c '
import json, sys
warnings = [r for line in sys.stdin for r in json.loads(line).get("remarks", []) if r["severity"] > 0]
print("%d: %s" % (len(warnings), "; ".join(r["kind"] + ": " + r["words"] for r in warnings[:3])))')
    if [ "${n%%:*}" = 0 ]; then ok "$1"; else notok "$1" "$n"; fi
}

# READs whose packets overtake each other, and nothing is lost: the ack timer of `nornic perf` is 67 ms, so that no
# shorter silence is its timeout, and nothing shows where packets were lost
timeout 60 "$nornic" perf --port memory --op read --size 16K --iters 300 --reorder 2% --capture "$tmp/late.pcapng" \
    >/dev/null 2>"$tmp/err" || notok run_reordered "nornic perf: $(cat "$tmp/err")"
false_timers=$(timeout 60 "$nornic" explain --json "$tmp/late.pcapng" | python3 -c '
import json, sys
lines = [json.loads(line) for line in sys.stdin]
remarks = [r for o in lines for r in o.get("remarks", [])]
again = [r for r in remarks if r["kind"] == "read_replay"]
false = [r for r in again if r["cause"] == "timeout" and r["silence_ns"] < 60e6]
place = [o["flow"]["place"] for o in lines if isinstance(o.get("flow"), dict) and o["flow"]["place"].startswith("not")]
print("%d of %d" % (len(false) + len(place), len(again)), *(r["words"] for r in false[:3]), *place)')
case $false_timers in
    "0 of 0"*) notok timers_of_reordered_reads "nothing was sent again" ;;
    "0 of "*) ok timers_of_reordered_reads ;;
    *) notok timers_of_reordered_reads "$false_timers" ;;
esac

# two runs one after the other: the second has queue pairs of its own, perhaps with the numbers of the first
for i in 1 2; do
    timeout 60 "$nornic" perf --port memory --size 3000 --iters 50 --qps 2 --capture "$tmp/run$i.pcapng" \
        >/dev/null 2>"$tmp/err" || notok "run_$i" "nornic perf: $(cat "$tmp/err")"
done
quiet one_run "$tmp/run1.pcapng"
if command -v mergecap >/dev/null; then
    mergecap -w "$tmp/merged.pcapng" "$tmp/run1.pcapng" "$tmp/run2.pcapng"
    quiet two_runs_merged "$tmp/merged.pcapng"
    mergecap -a -w "$tmp/joined.pcapng" pcaps/rc_send_1024.pcap pcaps/rc_write_1024.pcap pcaps/rc_send_256.pcap \
        pcaps/rc_write_1024.pcap pcaps/rc_read_256.pcap pcaps/rc_read_1024.pcap
    quiet six_runs_one_after_the_other "$tmp/joined.pcapng"
else
    skip runs_merged 'mergecap is not installed'
fi
exit $status
