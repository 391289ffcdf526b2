#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic replay`: the engine in the place of each Linux peer of the captures, as replay.list says; then the command
# as a user meets it. Lines: "ok NAME", "not ok NAME: why".
. "$(dirname "$0")/lib.sh"

# replay ARG...: runs `nornic replay`
replay() { run "$nornic" replay "$@"; }
# result NAME COMMAND...: ok if the command is true of the last run
result() {
    local name=$1
    shift
    if "$@"; then ok "$name"
    else notok "$name" "exit status $rc, $(tail -n 3 "$tmp/out" "$tmp/err" | tr '\n' ' ' | cut -c 1-600)"; fi
}
# comes_out STATUS COUNTS: that exit status, and the last line sums up so many packets of each outcome
comes_out() {
    [ "$rc" = "$1" ] && python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
o = lines[-1]
assert o["equal"] == (sys.argv[2] == "0")
all_outcomes = o["outcomes"] | o["smc"]["outcomes"] | o["iwarp"]["outcomes"]
got = {k: v for k, v in all_outcomes.items() if v}
if o["smc"]["version_2_connections"]:
    got["smc_version_2"] = o["smc"]["version_2_connections"]
if o["smc"]["older_connections"]:
    got["smc_older"] = o["smc"]["older_connections"]
if o["iwarp"]["left_out"]:
    got["iwarp_left_out"] = o["iwarp"]["left_out"]
for key in "changed_memory", "late_queue_pairs":
    if o[key]:
        got[key] = o[key]
for key, count in all_outcomes.items():
    told = sum(l["outcome"] == key for l in lines[:-1])
    assert key in ("equal", "smc_equal", "iwarp_equal") or told == count, "each is told of"
if sys.argv[3] != "any":
    want = dict((k, int(v)) for k, v in (part.split("=") for part in sys.argv[3].split(",")))
    assert got == want, "it is %s" % got
' "$tmp/out" "$1" "$2" 2>>"$tmp/err"
}
# fails TEXT: exit status 2, and one sentence on standard error that has the text
fails() { [ "$rc" = 2 ] && one_sentence "$err" "$1"; }
has() { [ "$rc" = "$1" ] && grep -qF -- "$2" "$tmp/out"; }

while read -r capture address outcome counts _; do
    [[ -z $capture || $capture == \#* ]] && continue
    replay --json "pcaps/$capture.pcap" --as "$address"
    result "${capture}_as_$address" comes_out "$([ "$outcome" = equal ] && echo 0 || echo 1)" "$counts"
done <test/e2e/replay.list

# every capture has both of its ends in the list, but for the one without RoCE
missing=$(for f in pcaps/*.pcap pcaps/iwarp/*.pcap; do
    [ "$f" != pcaps/smcfb_eid.pcap ] || continue
    name=${f#pcaps/}
    [ "$(grep -c "^${name%.pcap} " test/e2e/replay.list)" = 2 ] || echo "$f"
done)
rc=0
echo "$missing" >"$tmp/out"
result every_capture_is_replayed_from_both_ends [ -z "$missing" ]

# the MSN of the Send of #12 becomes 7
python3 - pcaps/iwarp/rping_23.pcap "$tmp/msn.pcap" <<'END'
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
at = data.index(bytes.fromhex('4143' + '00000000' * 2 + '00000002'))
data[at + 13] = 7
open(sys.argv[2], 'wb').write(data)
END
replay "$tmp/msn.pcap" --as 10.77.0.2
result a_wrong_msn_of_iwarp_is_told has 1 'ddp_untagged.msn: recorded 0x7, engine 0x2'

replay --help
result help_has_an_example has 0 'nornic replay pcaps/rc_write_1024.pcap --as 10.77.0.1'
replay pcaps/rc_write_1024.pcap --as 10.77.0.1
result text_sums_up has 0 '27 work requests, 0 receives, 0 keys; 27 packets in; equal'
replay --all pcaps/rc_nak.pcap --as 10.77.0.2
result text_shows_fields has 0 \
    'aeth.syndrome: recorded NAK remote operational error (0x63), engine NAK invalid request (0x61)'
replay - --as 10.77.0.1 <pcaps/rc_atomic.pcap
result standard_input has 0 equal
replay pcaps/rc_atomic.pcap
result address_is_needed fails '--as ADDR is needed'
replay pcaps/rc_atomic.pcap --as b
result address_is_an_address fails '--as b'
replay pcaps/rc_atomic.pcap --as 10.9.9.9
result address_speaks_in_the_capture fails 'no queue pair of 10.9.9.9'
replay --as 10.77.0.1
result file_is_needed fails 'name one capture file'
replay "$tmp/none.pcap" --as 10.77.0.1
result file_is_there fails none.pcap
head -c 3000 pcaps/rc_atomic.pcap >"$tmp/cut.pcap"
replay "$tmp/cut.pcap" --as 10.77.0.1
result file_cut_off fails cut.pcap
exit $status
