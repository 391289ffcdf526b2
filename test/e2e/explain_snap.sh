#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures of real peers, cut as `tcpdump -s` cuts them: `nornic explain` says what it says of the whole ones, as far
# as it is there (explain_snap.py), and tshark reads the same fields of the cut ones.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
captures=(pcaps/cm_*.pcap pcaps/smc*.pcap)

timeout 200 python3 test/e2e/explain_snap.py "$nornic" "${captures[@]}" || status=1

name=fields_of_cut_packets_equal_those_of_tshark
need_programs $name tshark
guesses=(--disable-protocol rpcordma --disable-heuristic mellanox_eoib --disable-heuristic eth_over_ib)
for snap in 96 128 256; do
    timeout 60 mergecap -a -s $snap -F pcap -w "$tmp/$snap.pcap" "${captures[@]}" 2>>"$tmp/err"
done
if ! timeout 60 mergecap -a -F pcap -w "$tmp/cut.pcap" "$tmp"/{96,128,256}.pcap 2>>"$tmp/err" ||
    ! timeout 200 tshark -n -r "$tmp/cut.pcap" "${guesses[@]}" -T pdml >"$tmp/pdml" 2>>"$tmp/err"; then
    notok $name "tshark: $(tail -3 "$tmp/err")"
elif ! timeout 100 "$nornic" explain --all --json "$tmp/cut.pcap" >"$tmp/json" 2>"$tmp/err"; then
    notok $name "nornic explain: $(tail -3 "$tmp/err")"
elif timeout 200 python3 test/e2e/explain_tshark.py --cut "$tmp/pdml" "$tmp/json" >"$tmp/out" 2>&1; then
    tail -1 "$tmp/out"
    ok $name
else
    cat "$tmp/out"
    notok $name "$(tail -3 "$tmp/out")"
fi
exit $status
