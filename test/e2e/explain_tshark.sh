#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every field that tshark decodes in the captures of real peers has the value that `nornic explain --json` gives
# it. What differs is listed with its reason in explain_tshark.py.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
name=fields_of_real_peers_equal_those_of_tshark
# tshark guesses at payloads, and takes random ones for protocols; the guessing is switched off
guesses=(--disable-protocol rpcordma --disable-heuristic mellanox_eoib --disable-heuristic eth_over_ib)
need_programs $name tshark
# one file, as tshark takes long to start
if ! timeout 60 mergecap -a -F pcap -w "$tmp/all.pcap" pcaps/*.pcap 2>"$tmp/err" ||
    ! timeout 200 tshark -n -r "$tmp/all.pcap" "${guesses[@]}" -T pdml >"$tmp/pdml" 2>"$tmp/err"; then
    notok $name "tshark: $(tail -3 "$tmp/err")"
elif ! timeout 100 "$nornic" explain --all --json "$tmp/all.pcap" >"$tmp/json" 2>"$tmp/err"; then
    notok $name "nornic explain: $(tail -3 "$tmp/err")"
elif timeout 200 python3 test/e2e/explain_tshark.py "$tmp/pdml" "$tmp/json" >"$tmp/out" 2>&1; then
    tail -1 "$tmp/out"
    ok $name
else
    cat "$tmp/out"
    notok $name "$(tail -3 "$tmp/out")"
fi
exit $status
