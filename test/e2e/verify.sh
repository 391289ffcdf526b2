#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic verify` as a user meets it. Lines: "ok NAME", "not ok NAME: why".
# covers: ROCE-ICRC-7, ROCE-ICRC-8, ROCE-FRM-3
. "$(dirname "$0")/lib.sh"

# verify ARG...: runs `nornic verify`
verify() { run "$nornic" verify "$@"; }
# result NAME COMMAND...: ok if the command is true of the last run
result() {
    local name=$1
    shift
    if "$@"; then ok "$name"; else notok "$name" "exit status $rc, output '${out:0:400}', errors '$err'"; fi
}
# says STATUS OUTPUT: that exit status and exactly that output, and no complaint
says() { [ "$rc" = "$1" ] && [ "$out" = "$2" ] && [ -z "$err" ]; }
# fails TEXT: exit status 2, and one sentence on standard error that has the text
fails() { [ "$rc" = 2 ] && one_sentence "$err" "$1"; }
# json STATUS EXPRESSION: that exit status, and the expression is true of the list `files` of objects
json() {
    [ "$rc" = "$1" ] && python3 -c '
import json, sys
files = [json.loads(line) for line in open(sys.argv[1])]
keys = ["file", "packets", "roce", "icrc_ok", "icrc_bad", "malformed", "bad_frames"]
assert all(list(f)[:7] == keys for f in files), "the fields, in order"
assert all(list(b) == ["n", "expected", "found", "reason"] for f in files for b in f["bad_frames"])
assert all(len(f["bad_frames"]) == f["icrc_bad"] + f["malformed"] for f in files)
sys.exit(not eval(sys.argv[2]))' "$tmp/out" "$2"
}
good='88 packets, 88 RoCE: ICRC good 88, bad 0, malformed 0'

python3 test/e2e/verify_inputs.py "$tmp" || { echo "not ok inputs: verify_inputs.py failed"; exit 1; }

# every capture of the manifest: its number of frames, its number of RoCE packets, all good
rows=$(grep -E '^\| [a-z0-9_/]+\.pcap ' pcaps/MANIFEST.md)
expected='' files=() total=0 total_roce=0
while IFS='|' read -r _ file frames roce _; do
    file=pcaps/${file// /} frames=${frames// /} roce=${roce// /}
    files+=("$file")
    expected+="$file: $frames packets, $roce RoCE: ICRC good $roce, bad 0, malformed 0"$'\n'
    total=$((total + frames)) total_roce=$((total_roce + roce))
done < <(grep -v '^| iwarp/' <<<"$rows")
expected+="all files: $total packets, $total_roce RoCE: ICRC good $total_roce, bad 0, malformed 0"
verify "${files[@]}"
result every_capture_is_as_its_manifest_says says 0 "$expected"
result the_manifest_lists_every_capture [ "$(wc -l <<<"$rows")" = "$(find pcaps -name '*.pcap' | wc -l)" ]
verify --json "${files[@]}"
result json_has_one_line_a_file \
    json 0 "len(files) == ${#files[@]} and sum(f['icrc_ok'] for f in files) == $total_roce"
verify pcaps/rc_vlan.pcap
result vlan says 0 'pcaps/rc_vlan.pcap: 19 packets, 14 RoCE: ICRC good 14, bad 0, malformed 0'
verify "$tmp/good.pcapng"
result pcapng says 0 "$tmp/good.pcapng: $good"
verify - <pcaps/rc_send_1024.pcap
result standard_input says 0 "-: $good"
verify - < <(cat "$tmp/good.pcapng")
result standard_input_from_a_pipe says 0 "-: $good"
# covers: ROCE-FRM-50
verify --json "$tmp/v1.pcap"
result roce_v1 json 1 "(files[0]['roce'], files[0]['icrc_ok'], files[0]['icrc_bad']) == (4, 2, 1) and \
    [(b['n'], b['found']) for b in files[0]['bad_frames']] == [(2, '8185c049'), (3, None)]"
verify "$tmp/others.pcap"
result packets_of_others_are_not_judged \
    says 0 "$tmp/others.pcap: 5 packets, 0 RoCE: ICRC good 0, bad 0, malformed 0"

# damage is found, frame by frame
verify "$tmp/damaged.pcap"
result damage_in_text [ "$rc $(grep -cE '^  frame (2|45): ICRC mismatch, expected \w{8}, found \w{8}$' \
    "$tmp/out") $(wc -l <"$tmp/out")" = '1 2 3' ]
verify --json "$tmp/damaged.pcap" pcaps/rc_send_1024.pcap
result damage_in_json json 1 "[f['icrc_bad'] for f in files] == [2, 0] and files[0]['icrc_ok'] == 86 and \
    [b['n'] for b in files[0]['bad_frames']] == [2, 45]"
# the last byte of frame 2 was changed, so only the last two digits may differ, and what is expected is there
found=$(tail -c +$((24 + 16 + 58 + 16 + 1)) pcaps/rc_send_1024.pcap | head -c 62 | tail -c 4 | od -An -tx1 |
    tr -d ' ')
result expected_is_what_the_packet_had_before json 1 "files[0]['bad_frames'][0]['expected'] == '$found' \
    and files[0]['bad_frames'][0]['found'][:6] == '${found:0:6}' \
    and files[0]['bad_frames'][0]['found'] != '$found'"
verify --json "$tmp/damaged_vlan.pcap"
result damage_behind_a_tag json 1 "[b['n'] for b in files[0]['bad_frames']] == \
    [$(cat "$tmp/damaged_vlan.number")] and files[0]['icrc_ok'] == 13"
verify --json "$tmp/malformed.pcap"
result malformed_packets_have_reasons json 1 "(files[0]['malformed'], files[0]['icrc_ok']) == (3, 85) and \
    [(b['n'], b['expected'], b['found'], b['reason']) for b in files[0]['bad_frames']] == \
    [(3, None, None, 'bad UDP header'), (5, None, None, 'bad IP header or GRH'), \
     (7, None, None, 'too short for its opcode')]"
verify --json "$tmp/snapped.pcap"
result snap_length json 1 "files[0]['roce'] == 88 and files[0]['malformed'] > 20 and \
    files[0]['icrc_bad'] == 0 and all('snap length: 64 of' in b['reason'] for b in files[0]['bad_frames'])"
verify "$tmp/damaged.pcap" pcaps/rc_vlan.pcap "$tmp/no such file"
result the_worst_status_wins fails "$tmp/no such file"

# what cannot be read: one sentence, exit status 2
verify "$tmp/cut_in_record.pcap"
result a_file_cut_in_a_record fails "$tmp/cut_in_record.pcap"
result what_was_read_of_a_cut_file_is_told \
    [ "${out#*: }" = '3 packets, 3 RoCE: ICRC good 3, bad 0, malformed 0' ]
verify "$tmp/udp_checksum.pcap"
result a_wrong_udp_checksum_leaves_the_icrc_to_be_judged says 1 \
    "$tmp/udp_checksum.pcap: $good, wrong UDP checksum 1
  frame 2: wrong UDP checksum; its ICRC is good"
verify --json "$tmp/cut_in_record.pcap"
result json_of_a_cut_file_has_the_error json 2 "files[0]['icrc_ok'] == 3 and files[0]['error']"
for name in cut_in_header empty text wlan missing; do
    verify "$tmp/$name.pcap"
    result "not_a_capture_$name" fails "$tmp/$name.pcap"
done
verify "$tmp"
result a_directory fails "$tmp"
verify - </dev/null
result empty_standard_input fails 'standard input'

# the command line
verify --help
result help_teaches_with_an_example [ "$rc $(grep -c '^  \$ nornic verify' "$tmp/out")" = '0 1' ]
verify
result no_file_named fails "nornic help verify"
verify --jsn pcaps/rc_vlan.pcap
result unknown_option fails --jsn
"$nornic" verify pcaps/rc_vlan.pcap >/dev/full 2>"$tmp/err"
rc=$? out='' err=$(cat "$tmp/err")
result a_full_disk_is_not_success fails 'cannot write'
exit $status
