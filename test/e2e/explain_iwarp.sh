#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `nornic explain` and `nornic verify` say of iWARP, held against a reader in Python and against tshark, for every
# capture of pcaps/iwarp: test/e2e/explain_iwarp.py says how.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
name=iwarp_of_real_peers_is_read_as_others_read_it
alone=()
if ! command -v tshark >/dev/null; then
    skip fields_of_iwarp_equal_those_of_tshark 'tshark is not installed'
    alone=(--no-tshark)
fi
# one file, as tshark takes long to start
if ! timeout 60 mergecap -a -F pcap -w "$tmp/all.pcap" pcaps/iwarp/*.pcap 2>"$tmp/err"; then
    notok $name "mergecap: $(tail -3 "$tmp/err")"
elif timeout 300 python3 test/e2e/explain_iwarp.py "$nornic" "${alone[@]}" "$tmp/all.pcap" >"$tmp/out" 2>&1; then
    tail -1 "$tmp/out"
    ok $name
else
    tail -20 "$tmp/out"
    notok $name "$(tail -1 "$tmp/out")"
fi
# Its 24 faulty segments are no messages.
captures=$(find pcaps/iwarp -name '*.pcap' ! -name 'host_faults.pcap' | sort)
# shellcheck disable=SC2086
if timeout 100 python3 test/e2e/explain_iwarp_times.py "$nornic" $captures >"$tmp/out" 2>&1; then
    tail -1 "$tmp/out"
    ok messages_of_iwarp_begin_and_end_where_a_reader_says
else
    notok messages_of_iwarp_begin_and_end_where_a_reader_says "$(tail -3 "$tmp/out")"
fi
# The sums are of these rows: the side that sent Reads and Sends, in text, JSON and as a table
run "$nornic" explain --csv iwarp pcaps/iwarp/crc_mix.pcap
row=$(sed -n 2p <<<"$out")
if [ $rc = 0 ] && [ "$row" = "1,0,10.77.0.2,37497,10.77.0.1,7504,13,8,11520,324815,0,0,2896,6,0,745000,1467000,$(
    )18600000,18600000,18600000" ] && "$nornic" explain --json pcaps/iwarp/crc_mix.pcap |
    grep -q '"iwarp_numbers":{"connection":1,"ends":\[{"addr":"10.77.0.2",.*"most_bytes":2896,.*"p50":1467000,' &&
    "$nornic" explain pcaps/iwarp/crc_mix.pcap |
    grep -q '^iWARP connection 1, from 10.77.0.2: 8 messages, 11.5 kB, 325 kbit/s; latency of 6: median 1.47 ms, '
then ok numbers_of_iwarp; else notok numbers_of_iwarp "exit status $rc: $out"; fi
exit $status
