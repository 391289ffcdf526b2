#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures as users take them, of other people's programs: the links, tags and tunnels of pcaps/links, beside tshark;
# files made by editcap, mergecap, dumpcap and tcpdump; gzip; a pipe that is still written to.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need_programs explain_links tshark

# the same packets, however they travelled: the twelve of rc_send_256 with their words
words() { "$nornic" explain "$1" | sed -n 's/^.*  qp /qp /p'; }
words pcaps/rc_send_256.pcap | head -12 >"$tmp/plain"
for file in pcaps/links/*.pcap*; do
    name=$(basename "${file%.*}")
    timeout 60 tshark -r "$file" -d udp.port==8472,vxlan -T pdml >"$tmp/pdml" 2>/dev/null
    timeout 60 "$nornic" explain --all --json "$file" >"$tmp/json"
    if python3 test/e2e/explain_links.py "$tmp/pdml" "$tmp/json" >"$tmp/out"; then
        ok "${name}_is_what_tshark_says"
    else
        notok "${name}_is_what_tshark_says" "$(head -3 "$tmp/out")"
    fi
    case $name in pause_dcbx | vxlan_any | two_interfaces) continue ;; esac
    words "$file" >"$tmp/words"
    if cmp -s "$tmp/plain" "$tmp/words"; then
        ok "${name}_means_the_same"
    else
        notok "${name}_means_the_same" "$(diff "$tmp/plain" "$tmp/words" | head -3)"
    fi
    if out=$(timeout 60 "$nornic" replay "$file" --as 10.77.0.1 2>&1); then
        ok "${name}_replays"
    else
        notok "${name}_replays" "$(tail -2 <<<"$out")"
    fi
done

# two networks, the same addresses and QPNs: two flows, and nothing sent again
mergecap -w "$tmp/two.pcapng" pcaps/links/vxlan.pcap pcaps/links/vxlan_8472.pcap
last=$("$nornic" explain "$tmp/two.pcapng" | tail -1)
[[ $last == '24 packets, 2 flows; 0 errors, 0 warnings, 0 notes' ]] &&
    ok a_qpn_in_two_vnis_is_two_flows || notok a_qpn_in_two_vnis_is_two_flows "$last"

# interfaces of different link types in one file, as mergecap and dumpcap write it
mergecap -w "$tmp/mixed.pcapng" pcaps/links/sll.pcap pcaps/links/raw.pcap pcaps/links/null.pcap pcaps/rc_nak.pcap
says() { # NAME WANT FILE: the counts that verify prints
    local got
    got=$("$nornic" verify "$3" 2>&1 | head -1)
    [ "${got#*: }" = "$2" ] && ok "$1" || notok "$1" "$got"
}
says mixed_link_types '55 packets, 55 RoCE: ICRC good 55, bad 0, malformed 0' "$tmp/mixed.pcapng"
gzip -k "$tmp/mixed.pcapng"
says packed_with_gzip '55 packets, 55 RoCE: ICRC good 55, bad 0, malformed 0' "$tmp/mixed.pcapng.gz"
editcap -F nseclibpcap pcaps/rc_nak.pcap "$tmp/nano.pcap"
says nanoseconds '19 packets, 19 RoCE: ICRC good 19, bad 0, malformed 0' "$tmp/nano.pcap"

# snap lengths: every header of an Ethernet frame with RoCE is there from 96 bytes on, and everything is said
words pcaps/rc_long.pcap >"$tmp/whole"
for snap in 96 128 256; do
    editcap -s $snap pcaps/rc_long.pcap "$tmp/snapped.pcap"
    words "$tmp/snapped.pcap" >"$tmp/words"
    cmp -s "$tmp/whole" "$tmp/words" && ok "snap_length_$snap" ||
        notok "snap_length_$snap" "$(diff "$tmp/whole" "$tmp/words" | head -3)"
done

# a pipe: each packet is told before the next is written, packed or not; its end within a record is said
live() { # NAME COMMAND...: through which the capture goes
    local name=$1 line n=0
    shift
    rm -f "$tmp/fifo"
    mkfifo "$tmp/fifo"
    "$@" <"$tmp/fifo" | timeout 60 "$nornic" explain - >"$tmp/live" 2>&1 &
    exec 7>"$tmp/fifo"
    head -c 176 pcaps/rc_send_256.pcap >&7
    while [ $n -lt 100 ] && [ "$(grep -c 'qp 0x' "$tmp/live")" -lt 2 ]; do
        sleep 0.1
        n=$((n + 1))
    done
    line=$(grep -c 'qp 0x' "$tmp/live")
    printf 'cut' >&7
    exec 7>&-
    wait $!
    [ $? = 2 ] && ok "${name}_fails_at_its_cut_end" || notok "${name}_fails_at_its_cut_end" "it does not"
    [ "$line" = 2 ] && ok "${name}_says_each_packet_at_once" || notok "${name}_says_each_packet_at_once" "$line lines"
    grep -q 'standard input is cut off or broken at record 3' "$tmp/live" &&
        ok "${name}_cut_in_a_record" || notok "${name}_cut_in_a_record" "$(tail -2 "$tmp/live")"
}
live pipe cat
live packed_pipe python3 -uc 'import sys, zlib, os
z = zlib.compressobj(9, zlib.DEFLATED, 31)
while data := os.read(0, 65536):
    os.write(1, z.compress(data) + z.flush(zlib.Z_SYNC_FLUSH))
os.write(1, z.flush())'
exit $status
