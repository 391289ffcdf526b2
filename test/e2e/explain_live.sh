#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic explain -i IFACE` and --ladder as a user meets them. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
install -m 755 "$nornic" "$tmp/nornic" # where a user without privileges can read it

refused_command=(explain)
refuse no_such_interface "nn-none" -i nn-none
refuse a_file_and_an_interface "rc_rnr" -i lo pcaps/rc_rnr.pcap
refuse nothing_to_explain "-i"
refuse a_time_for_a_file "--duration" --duration 1 pcaps/rc_rnr.pcap
refuse bad_count "--count 0" -c 0 pcaps/rc_rnr.pcap
refuse no_such_file "/nonexistent" /nonexistent
run "$nornic" explain /nonexistent pcaps/rc_rnr.pcap
if [ $rc = 2 ] && grep -q 'RNR NAK for PSN 0x001000' <<<"$out" && one_sentence "$err" "/nonexistent"
then ok one_file_that_cannot_be_read; else notok one_file_that_cannot_be_read "exit status $rc: $out $err"; fi
"$nornic" explain pcaps/rc_rnr.pcap >/dev/full 2>"$tmp/err"
if [ $? = 2 ] && one_sentence "$(cat "$tmp/err")" "No space left"; then ok disk_full
else notok disk_full "$(cat "$tmp/err")"; fi
refuse ladder_as_json "--ladder" --ladder --json pcaps/rc_rnr.pcap
run "${as_nobody[@]}" "$tmp/nornic" explain -i lo --duration 1ms
if [ $rc = 2 ] && one_sentence "$err" "root"; then ok no_privileges
else notok no_privileges "exit status $rc: $out $err"; fi

# --- a pipe whose writer is still at it: tcpdump -U -w - | nornic explain - ---
mkfifo "$tmp/pipe"
"$nornic" explain - <"$tmp/pipe" >"$tmp/piped" 2>&1 &
e2e_pids+=("$!")
exec 7>"$tmp/pipe"
head -c 1000 pcaps/rc_rnr.pcap >&7
for ((i = 0; i < 100; i++)); do
    ! grep -q 'RNR NAK for PSN 0x001000' "$tmp/piped" || break
    sleep 0.1
done
if [ "$i" -lt 100 ]; then ok pipe_is_explained_as_it_comes
else notok pipe_is_explained_as_it_comes "nothing but $(cat "$tmp/piped")"; fi
exec 7>&-

# --- a signal, while a pipe is silent; and before the end of a file ---
# stops NAME SAID [SUMMARY]: the reader in the background ends, 130, says so in a sentence, and has summed up
stops() {
    kill -INT "$reader"
    await "$reader"
    if [ "$rc" = 130 ] && one_sentence "$(cat "$tmp/stopped.err")" "$2" && grep -q "${3:-^}" "$tmp/stopped" - <<<""
    then ok "$1"
    else notok "$1" "exit status $rc: $(tail -3 "$tmp/stopped") $(cat "$tmp/stopped.err")"; fi
}
# explained SOURCE: in the background, with its own reaction to SIGINT, which shells take from such commands
explained() {
    env --default-signal=INT "$nornic" explain - <"$1" >"$tmp/stopped" 2>"$tmp/stopped.err" &
    reader=$!
    e2e_pids+=("$reader")
}
mkfifo "$tmp/silent" "$tmp/empty"
explained "$tmp/silent"
exec 7>"$tmp/silent"
head -c 1000 pcaps/rc_rnr.pcap >&7
until_true 10 grep -q 'RNR NAK for PSN 0x001000' "$tmp/stopped"
stops stops_on_a_silent_pipe 'stopped after ' '^[1-9][0-9]* packets, 1 flow; '
exec 7>&-
explained "$tmp/empty"
exec 7>"$tmp/empty"
for ((i = 0; i < 100; i++)); do # it catches signals and waits for the first byte
    grep -q 'SigCgt:.*[2367abef]$' "/proc/$reader/status" && grep -q read "/proc/$reader/wchan" && break
    sleep 0.1
done
stops stops_before_the_first_packet 'stopped after 0 packets'
exec 7>&-

# --- a ladder of a file ---
run "$nornic" explain --ladder pcaps/rc_rnr.pcap
if [ $rc = 0 ] && grep -q '^ *# .* 10.77.0.1 *10.77.0.2$' <<<"$out" &&
    grep -q '^ *1 .*|-- SEND only, message 1, 100 bytes -*>|$' <<<"$out" &&
    grep -q '^ *2 .*|<~* RNR NAK for PSN 0x001000: wait 10.24 ms ~~|$' <<<"$out" &&
    grep -q '^ *3 .*|== SEND only, message 1, 100 bytes, sent again (before: #1; .*=*>|$' <<<"$out" &&
    grep -q '^ *|  *RNR NAK #2 is over' <<<"$out" &&
    grep -q 'ms without a packet' <<<"$out"; then ok ladder
else notok ladder "exit status $rc: $(head -5 <<<"$out") $err"; fi
sed -n '/^    \$ nornic explain --ladder pcaps.rc_rnr.pcap$/,/^$/p' docs/explain.md |
    sed '1d; /^$/d; s/^    //' >"$tmp/guide"
if [ "$(wc -l <"$tmp/guide")" -ge 6 ] && ! grep -vxFf "$tmp/out" "$tmp/guide"; then ok ladder_of_the_guide
else notok ladder_of_the_guide "docs/explain.md has another than is drawn"; fi
run "$nornic" explain --ladder pcaps/rc_rnr.pcap pcaps/ud_6.pcap
if [ $rc = 0 ] && grep -q '10.77.0.1 *10.77.0.2 *f[de]' <<<"$out" &&
    grep -q '   |                |                |-*>|  UD SEND' <<<"$out"
then ok ladder_of_many; else notok ladder_of_many "exit status $rc: $(tail -5 <<<"$out") $err"; fi
run "$nornic" explain --ladder -c 3 pcaps/rc_rnr.pcap
if [ $rc = 0 ] && [ "$(grep -c '^ *[0-9][0-9]* *[0-9.]*   |' <<<"$out")" = 3 ]; then ok count_of_a_file
else notok count_of_a_file "exit status $rc: $out"; fi

need_namespaces veth
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }

# watching NAME ARGS...: nornic explain of nnb, ready; $watcher
watching() {
    local name=$1
    shift
    "${in_b[@]}" "$nornic" explain -i nnb "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" &
    watcher=$!
    e2e_pids+=("$watcher")
    for ((i = 0; i < 100; i++)); do
        [ -n "$("${in_b[@]}" ss -H0e | grep -A3 ':nnb ' | grep ring_rx)" ] && return 0
        sleep 0.1
    done
    return 1
}
pingpong() {
    start "${in_a[@]}" "$nornic" pingpong --port packet:nna "$@"
    listening "$ns_a" 18515
    run "${in_b[@]}" "$nornic" pingpong --port packet:nnb "$@" 10.77.0.1
    finish
    [ $rc = 0 ] && [ $server_rc = 0 ]
}
# ended NAME: the watcher is gone by itself, within 10 seconds
ended() { await "$watcher" && [ "$rc" = 0 ]; }

watching text || notok begins "$(cat "$tmp/text.err")"
pingpong -s 3000 -n 5 || notok traffic "client $rc: $err; server $server_rc: $server_err"
for ((i = 0; i < 50; i++)); do # the lines are there at once, while it goes on
    [ "$(grep -c 'SEND' "$tmp/text.out")" -ge 10 ] && break
    sleep 0.1
done
if kill -0 "$watcher" && [ "$(grep -c 'SEND' "$tmp/text.out")" -ge 10 ] && ! grep -q 'packets, ' "$tmp/text.out"
then ok lines_come_at_once; else notok lines_come_at_once "$(cat "$tmp/text.out" "$tmp/text.err")"; fi
kill -INT "$watcher"
if ended && tail -1 "$tmp/text.out" | grep -Eq '^[0-9]+ packets, 1 flow; '; then ok ctrl_c_ends_with_the_summary
else notok ctrl_c_ends_with_the_summary "$(tail -2 "$tmp/text.out")"; fi

watching json --json -f 'aeth' -c 4 || notok begins_json "$(cat "$tmp/json.err")"
pingpong -s 3000 -n 20 || notok traffic_for_json "client $rc: $err"
if ended && [ "$(grep -c '"aeth":' "$tmp/json.out")" = 4 ] && [ "$(grep -c '"n":.*"layers"' "$tmp/json.out")" = 4 ]
then ok json_filter_and_count; else notok json_filter_and_count "$(cut -c1-200 "$tmp/json.out")"; fi
watching time --duration 500ms --ladder || notok begins_time "$(cat "$tmp/time.err")"
if ended && grep -q '^0 packets' "$tmp/time.out"; then ok duration; else notok duration "$(cat "$tmp/time.out")"; fi

# --- iWARP, which is looked for in all of TCP ---
refuse iwarp_of_a_file "--iwarp" --iwarp pcaps/rc_rnr.pcap
watching iwarp --iwarp || notok begins_iwarp "$(cat "$tmp/iwarp.err")"
start "${in_a[@]}" python3 test/e2e/explain_live_iwarp.py pcaps/iwarp/crc_mix.pcap serve 10.77.0.1 7504
listening "$ns_a" 7504
run "${in_b[@]}" python3 test/e2e/explain_live_iwarp.py pcaps/iwarp/crc_mix.pcap call 10.77.0.1 7504
finish
[ $rc = 0 ] && [ $server_rc = 0 ] || notok traffic_of_iwarp "client $rc: $err; server $server_rc: $server_err"
start "${in_a[@]}" python3 -m http.server -b 10.77.0.1 7505
listening "$ns_a" 7505
"${in_b[@]}" timeout 10 python3 -c 'import urllib.request; urllib.request.urlopen("http://10.77.0.1:7505/").read()' \
    || notok traffic_of_others "no answer"
kill "$server"
for ((i = 0; i < 100; i++)); do
    [ "$(grep -c 'FIN: this side' "$tmp/iwarp.out")" -ge 2 ] && break
    sleep 0.1
done
kill -INT "$watcher"
# The FPDUs of both sides, as of the capture that they were taken from; nothing of the other connection
"$nornic" explain pcaps/iwarp/crc_mix.pcap | grep -o 'there .*' | sed 's/, closed//g' >"$tmp/wanted"
if ended && grep -o 'there [0-9].*' "$tmp/iwarp.out" | sed 's/, closed//g' | cmp -s - "$tmp/wanted" &&
    ! grep -q 'iWARP connection 2' "$tmp/iwarp.out" && grep -q 'RDMA Read Response .* of 2900, for #' "$tmp/iwarp.out"
then ok iwarp_as_it_comes; else notok iwarp_as_it_comes "$(cat "$tmp/wanted"; tail -5 "$tmp/iwarp.out")"; fi
exit $status
