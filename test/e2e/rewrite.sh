#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic replay --rewrite` and --scenario as a user meets them. Lines: "ok NAME", "not ok NAME: why".
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

refused_command=(replay)
# scene TEXT: $tmp/scene holds it
scene() { printf '%s\n' "$1" >"$tmp/scene"; }
bad_scene() { # NAME PATTERN TEXT
    scene "$3"
    refuse "$1" "$2" pcaps/rc_write_1024.pcap --as 10.77.0.1 --scenario "$tmp/scene"
}

# --- what is refused ---
refuse nowhere_to_send "-i IFACE" pcaps/rc_write_1024.pcap --rewrite
refuse no_such_interface nn-none pcaps/rc_write_1024.pcap --rewrite -i nn-none
refuse a_file_without_rewrite "--rewrite" pcaps/rc_write_1024.pcap --as 10.77.0.1 -w "$tmp/x"
refuse no_such_scenario "$tmp/none" pcaps/rc_write_1024.pcap --as 10.77.0.1 --scenario "$tmp/none"
refuse bad_speed "--speed fast" pcaps/rc_write_1024.pcap --rewrite -w "$tmp/x" --speed fast
bad_scene unknown_statement "line 2 of the scenario: foo" $'# nothing\nfoo 1'
bad_scene unknown_word "after a QP come" "qp 0x15 wide 1"
bad_scene no_number "is no number" "qp twenty"
bad_scene number_missing "a number is to follow" "qp 0x15 sq-psn"
bad_scene psn_of_25_bits "0x1000000" "qp 0x15 sq-psn 0x1000000"
bad_scene no_mtu "path MTU" "qp 0x15 mtu 1500"
bad_scene no_size "how large" "key 0x4f0 va 0x1000"
bad_scene no_access "execute" "key 0x4f0 va 0x1000 bytes 64 access read,execute"
bad_scene two_families "other family" "address 10.77.0.1 fd77::1"
bad_scene no_mac "MAC" "address 10.77.0.1 10.0.0.1 02:00"
bad_scene no_address "10.77.0" "to 10.77.0 5"
bad_scene not_its_qp "no QP 0x000099" "qp 0x99 mtu 1024"
scene "to 10.77.0.2 0x99 qp 1"
refuse nothing_goes_there "0x000099" pcaps/rc_write_1024.pcap --rewrite -w "$tmp/x" --scenario "$tmp/scene"

# --- a scenario for a comparison ---
scene "key 0x4f0 va 0x10000 bytes 65536 access read,write,atomic
qp 0x15 mtu 1024 rnr-timer 14"
run "$nornic" replay pcaps/rc_write_1024.pcap --as 10.77.0.1 --scenario "$tmp/scene"
if [ $rc = 0 ] && [[ $out == *", 1 key; "*"; equal"* ]]; then ok facts; else notok facts "$rc: $out $err"; fi
rnr_qpn=$("$nornic" explain -f 'n == 1' pcaps/rc_rnr.pcap | sed -n 's/.* qp \(0x[0-9a-f]*\) .*/\1/p')
scene "qp $(printf '%d' "$rnr_qpn") rnr-timer 1"
run "$nornic" replay pcaps/rc_rnr.pcap --as 10.77.0.2 --scenario "$tmp/scene"
if [ $rc = 1 ] && [[ $out == *DIFFERENT* ]]; then ok a_wrong_fact_shows
else notok a_wrong_fact_shows "$rc: $out $err"; fi

# --- packets for another place: what comes out is a capture that replays equal, PSNs around their end too ---
scene "address 10.77.0.1 192.0.2.1 02:00:5e:10:00:01  # the requester
address 10.77.0.2 192.0.2.2 02:00:5e:10:00:02
to 10.77.0.2 0x15 qp 0x777 psn 0xfffffe
to 10.77.0.1 0x15 qp 0x888
rkey 10.77.0.2 3697 0x4f0 va 0x55cea6db0000 0x10000"
run "$nornic" replay pcaps/rc_write_1024.pcap --rewrite -w "$tmp/moved.pcapng" --scenario "$tmp/scene"
if [ $rc = 0 ] && [[ $out == "65 packets rewritten"* ]]; then ok rewrite; else notok rewrite "$rc: $out $err"; fi
run "$nornic" verify "$tmp/moved.pcapng"
if [ $rc = 0 ] && [[ $out == *"good 65, bad 0"* ]]; then ok icrc_is_made_anew; else notok icrc_is_made_anew "$out"; fi
for as in 192.0.2.1 192.0.2.2; do
    run "$nornic" replay "$tmp/moved.pcapng" --as $as
    if [ $rc = 0 ] && [[ $out == *"; equal"* ]]; then ok rewritten_replays_as_$as
    else notok rewritten_replays_as_$as "$rc: $out $err"; fi
done
filter='n == 1 && ip.src == 192.0.2.1 && eth.dst == 02:00:5e:10:00:02 && bth.dest_qpn == 0x777 &&
    bth.psn == 0xfffffe && reth.rkey == 0x4f0 && reth.va == 0x10010'
run "$nornic" explain -f "$filter || n == 2 && bth.dest_qpn == 0x888 && bth.psn == 0xfffffe" "$tmp/moved.pcapng"
if [ "$(grep -c '192.0.2.2  *qp\|192.0.2.1  *qp' <<<"$out")" = 2 ]; then
    ok fields_are_rewritten
else
    notok fields_are_rewritten "$out"
fi
for capture in rc_ipv6_write_1024 ud_4 rc_atomic rc_sendinv; do # nothing to change: byte by byte the same
    : >"$tmp/scene"
    run "$nornic" replay pcaps/$capture.pcap --rewrite -w "$tmp/same.pcapng" --scenario "$tmp/scene"
    "$nornic" explain --json pcaps/$capture.pcap >"$tmp/one"
    "$nornic" explain --json "$tmp/same.pcapng" >"$tmp/two"
    if [ $rc = 0 ] && cmp -s "$tmp/one" "$tmp/two"; then ok "unchanged_$capture"
    else notok "unchanged_$capture" "$rc: $out $err"; fi
done

need_namespaces veth
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }
scene "address 10.77.0.2 10.77.0.9 02:00:00:00:00:99"
"${in_b[@]}" "$nornic" explain -i nnb -c 38 --json >"$tmp/live" 2>&1 &
watcher=$!
e2e_pids+=("$watcher")
for ((i = 0; i < 100; i++)); do
    [ -z "$("${in_b[@]}" ss -H0e | grep -A3 ':nnb ' | grep ring_rx)" ] || break
    sleep 0.1
done
run "${in_a[@]}" "$nornic" replay pcaps/rc_write_1024.pcap --rewrite --as 10.77.0.1 -i nna --scenario "$tmp/scene"
for ((i = 0; i < 100; i++)); do
    kill -0 "$watcher" 2>/dev/null || break
    sleep 0.1
done
mac=$(ip -n "$ns_a" -j link show nna | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["address"])')
if [ $rc = 0 ] && [[ $out == "38 packets rewritten"* ]] && [ "$(grep -c '"layers"' "$tmp/live")" = 38 ] &&
    [ "$(grep -c "\"src\":\"$mac\".*\"dst\":\"10.77.0.9\".*\"ok\":true" "$tmp/live")" = 38 ]; then ok live
else notok live "$rc: $out $err $(cut -c1-300 "$tmp/live" | tail -2)"; fi
exit $status
