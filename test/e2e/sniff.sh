#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic sniff` as a user meets it. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
install -m 755 "$nornic" "$tmp/nornic" # where a user without privileges can read it
# the first python that has scapy: the one in PATH may be another than Debian's
python=python3
for candidate in python3 /usr/bin/python3; do
    ! "$candidate" -c 'import scapy.all' 2>/dev/null || { python=$candidate; break; }
done

# is EXPRESSION FILE: the last line of the file is an object `j` of which the expression is true
is() {
    "$python" -c 'import json, sys
j = json.loads(open(sys.argv[2]).readlines()[-1])
sys.exit(not eval(sys.argv[1]))' "$@"
}
refused_command=(sniff)
refuse no_interface "-i" -w "$tmp/x.pcapng"
refuse no_file "-o" -i lo
refuse no_such_interface "nn-none" -i nn-none -w "$tmp/x.pcapng"
if [ ! -e "$tmp/x.pcapng" ]; then ok a_wrong_interface_replaces_no_file
else notok a_wrong_interface_replaces_no_file "there is a file"; fi
refuse all_interfaces_at_once "name one interface" -i any -w "$tmp/x.pcapng"
refuse bad_count "--count 0" -i lo -w "$tmp/x.pcapng" -c 0
refuse bad_time "--seconds soon" -i lo -w "$tmp/x.pcapng" --seconds soon
refuse bad_rotate_size "--rotate-size 1000" -i lo -w "$tmp/x.pcapng" --rotate-size 1000
refuse bad_rotate_count "--rotate-size" -i lo -w "$tmp/x.pcapng" --rotate-count 3
refuse what_is_left_over "lo" -w "$tmp/x.pcapng" lo
refuse unknown_option "--frobnicate" -i lo -w "$tmp/x.pcapng" --frobnicate
run "$nornic" help sniff
if [ $rc = 0 ] && [[ $out == *Example* ]]; then ok help; else notok help "exit status $rc: $err"; fi
run "${as_nobody[@]}" "$tmp/nornic" sniff -i lo -w /dev/null --seconds 1ms
if [ $rc = 2 ] && one_sentence "$err" "root"; then ok no_privileges
else notok no_privileges "exit status $rc: $out $err"; fi

need_namespaces veth
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }

# background NAME COMMAND...: runs it beside the rest, its output in $tmp/NAME.out and .err; $pid
background() {
    local name=$1
    shift
    "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" &
    pid=$!
    e2e_pids+=("$pid")
}
# how many captures on nnb have their ring: before that a socket is there, and loses what it got so far
rings() { "${in_b[@]}" ss -H0e | grep -A3 ':nnb ' | grep -c ring_rx; }
# capturing N: waits, 10 seconds at most, until N packet sockets are bound in B
capturing() {
    for ((i = 0; i < 100; i++)); do
        [ "$(rings)" -ge "$1" ] && return 0
        sleep 0.1
    done
    return 1
}
# stop PID: as Ctrl-C does; $rc is its exit status
stop() { kill -INT "$1" && await "$1"; }
# pingpong ARGS...: a transfer between A and B
pingpong() {
    start "${in_a[@]}" "$nornic" pingpong --port packet:nna "$@"
    listening "$ns_a" 18515
    run "${in_b[@]}" "$nornic" pingpong --port packet:nnb "$@" 10.77.0.1
    finish
    [ $rc = 0 ] && [ $server_rc = 0 ]
}
# sniffing NAME ARGS...: nornic sniff of nnb, ready; $sniffer
sniffing() {
    local name=$1 ready
    ready=$(rings)
    shift
    background "$name" "${in_b[@]}" "$nornic" sniff -i nnb "$@"
    sniffer=$pid
    capturing $((ready + 1))
}

if ! "$python" -c 'import scapy.all' 2>/dev/null || ! command -v tcpdump >/dev/null; then
    skip captures 'scapy or tcpdump is not installed'
    exit $status
fi

# --- exactly the RDMA packets, among everything else ---
background all "${in_b[@]}" tcpdump -q -U -s 0 -w "$tmp/all.pcap" -i nnb
all=$pid
capturing 1 || notok tcpdump_begins "$(cat "$tmp/all.err")"
sniffing one -w "$tmp/one.pcapng" --json
"${in_a[@]}" "$python" test/e2e/sniff_check.py send nna
pingpong -s 10000 -n 20 || notok traffic "client $rc: $err; server $server_rc: $server_err"
pingpong -s 5000 -n 40 --loss 5% || notok traffic_with_loss "client $rc: $err; server $server_rc: $server_err"
pingpong -s 1000 -n 10 --roce-v1 || notok traffic_v1 "client $rc: $err; server $server_rc: $server_err"
run "${in_a[@]}" ping -c 3 -i 0.2 10.77.0.2
run "${in_a[@]}" ping -c 3 -i 0.2 fd77::2
start "${in_a[@]}" iperf3 -s -1
listening "$ns_a" 5201
run "${in_b[@]}" iperf3 -c 10.77.0.1 -n 2M
finish
stop "$all"
stop "$sniffer"
out=$(cat "$tmp/one.out") err=$(cat "$tmp/one.err")
if [ $rc = 0 ] && [ -z "$err" ]; then ok ends_with_ctrl_c; else notok ends_with_ctrl_c "exit status $rc: $err"; fi
want=$("$python" test/e2e/sniff_check.py same "$tmp/all.pcap" "$tmp/one.pcapng" 2>"$tmp/why")
if [ -n "$want" ]; then ok exactly_the_rdma_packets; else notok exactly_the_rdma_packets "$(cat "$tmp/why")"; fi
sent=$("$python" test/e2e/sniff_check.py sent)
if is "j['packets'] == $want and j['lost'] == 0 and all(j['kinds'][k] == n for k, n in $sent.items()) and \
    j['packets'] == sum(j['kinds'].values())" "$tmp/one.out"; then ok counts
else notok counts "$out, $want packets, sent $sent"; fi
if is "j['retransmissions'] > 0 and j['icrc_bad'] >= 4 and j['kinds']['ack'] > 0 and j['flows'] == 3" "$tmp/one.out"
then ok counts_of_the_analysis; else notok counts_of_the_analysis "$out"; fi
run tshark -r "$tmp/one.pcapng" -Y 'infiniband || tcp' -T fields -e frame.number
if ! command -v tshark >/dev/null; then skip tshark_reads_it 'tshark is not installed'
elif [ "$(wc -l <"$tmp/out")" = "$want" ]; then ok tshark_reads_it
else notok tshark_reads_it "$(wc -l <"$tmp/out")"; fi
run "$nornic" verify --json "$tmp/one.pcapng"
if is "j['packets'] == $want and j['icrc_bad'] + j['malformed'] >= 5" "$tmp/out" &&
    "$python" test/e2e/sniff_equal.py agree "$tmp/one.out" "$tmp/out" 2>"$tmp/why"
then ok verify_reads_it; else notok verify_reads_it "$(cat "$tmp/why") $out"; fi

# --- equal frames: no number hangs on how quickly they come, and sniff and verify have the same ---
# judged NAME ARGUMENT...: the case NAME, as sniff_equal.py judges it; its files are shown if it fails
judged() {
    local name=$1
    shift
    if "$python" test/e2e/sniff_equal.py "$@" >"$tmp/why" 2>&1; then ok "$name"
    else notok "$name" "$(cat "$tmp/why" "${@:2}")"; fi
}
# holds PACKETS FILE: the capture that still grows has so many
holds() { [ "$(packets_in "$2")" -ge "$1" ]; }
for order in twice again; do
    numbers=()
    for gap_ms in 0 15; do
        case=${order}_$gap_ms
        sniffing "$case" -w "$tmp/$case.pcapng" --json
        "${in_a[@]}" "$python" test/e2e/sniff_equal.py send nna "$order" "$gap_ms"
        until_true 10 holds "$("$python" test/e2e/sniff_equal.py count)" "$tmp/$case.pcapng"
        stop "$sniffer"
        run "$nornic" verify --strict --json "$tmp/$case.pcapng"
        cp "$tmp/out" "$tmp/$case.verify"
        numbers+=("$tmp/$case.out" "$tmp/$case.verify")
        judged "equal_frames_${case}_count_each" sent "$tmp/$case.out"
        judged "equal_frames_${case}_verify_agrees" agree "$tmp/$case.out" "$tmp/$case.verify"
    done
    judged "equal_frames_${order}_at_any_speed" alike "${numbers[@]}"
done

# --- loopback, where the kernel shows a frame as it leaves and as it arrives: it counts once ---
background lo "${in_b[@]}" "$nornic" sniff -i lo -w "$tmp/lo.pcapng" --json
lo=$pid
ring_of_lo() { "${in_b[@]}" ss -H0e | grep -A3 ':lo ' | grep -q ring_rx; }
until_true 10 ring_of_lo
"${in_b[@]}" "$python" test/e2e/sniff_equal.py send lo twice 0
until_true 10 holds "$("$python" test/e2e/sniff_equal.py count)" "$tmp/lo.pcapng"
stop "$lo"
run "$nornic" verify --json "$tmp/lo.pcapng"
cp "$tmp/out" "$tmp/lo.verify"
judged loopback_shows_a_frame_once sent "$tmp/lo.out"
judged loopback_verify_agrees agree "$tmp/lo.out" "$tmp/lo.verify"

# --- traffic of each kind of port, with losses: the counters agree ---
for port_a in packet:nna xdp:nna udp:10.77.0.1; do
    case=agree_${port_a%%:*}
    # XDP takes frames before sniff would see them: the end where it listens has none
    if [ "$case" = agree_udp ]; then port_b=udp:10.77.0.2; else port_b=packet:nnb; fi
    sniffing "$case" -w "$tmp/$case.pcapng" --json
    start "${in_a[@]}" "$nornic" pingpong --port "$port_a" -s 20000 -n 20 --loss 5%
    listening "$ns_a" 18515
    run "${in_b[@]}" "$nornic" pingpong --port "$port_b" -s 20000 -n 20 --loss 5% 10.77.0.1
    finish
    stop "$sniffer"
    [ "$rc $server_rc" = "0 0" ] || notok "${case}_traffic" "$rc: $err; $server_rc: $server_err"
    run "$nornic" verify --json "$tmp/$case.pcapng"
    cp "$tmp/out" "$tmp/$case.verify"
    is "j['kinds']['send'] > 100" "$tmp/$case.out" || notok "${case}_sees_it" "$(cat "$tmp/$case.out")"
    judged "$case" agree "$tmp/$case.out" "$tmp/$case.verify"
done

# --- one capture, many files ---
sniffing many -w "$tmp/many.pcapng" --rotate-size 64K
many=$sniffer
sniffing few -w "$tmp/few.d.pcapng" --rotate-size 64K --rotate-count 3 --json
few=$sniffer
sniffing whole -w "$tmp/whole.pcapng"
pingpong -s 50000 -n 15 || notok traffic_for_rotation "client $rc: $err; server $server_rc: $server_err"
stop "$sniffer"
stop "$many"
stop "$few"
files=("$tmp"/many-*.pcapng)
if [ ${#files[@]} -gt 10 ] && [ "${files[0]}" = "$tmp/many-00001.pcapng" ] &&
    [ -z "$(find "$tmp" -name 'many-*' -size +65536c)" ] && [ -n "$(find "$tmp" -name 'many-*' -size +60000c)" ]
then ok files_of_the_size; else notok files_of_the_size "$(ls -l "${files[@]}")"; fi
if "$python" test/e2e/sniff_check.py same "$tmp/whole.pcapng" "${files[@]}" >/dev/null 2>"$tmp/why"
then ok rotation_loses_nothing; else notok rotation_loses_nothing "$(cat "$tmp/why")"; fi
mapfile -t kept < <(find "$tmp" -name 'few.d-*.pcapng' | sort)
if [ $rc = 0 ] && [ ${#kept[@]} = 3 ] && is "j['files'] == '''${kept[*]}'''.split()" "$tmp/few.out"
then ok the_newest_files_are_kept; else notok the_newest_files_are_kept "$rc: ${kept[*]}: $(cat "$tmp/few.out")"; fi

# --- ends by itself ---
sniffing count -w "$tmp/count.pcapng" -c 7 --json
pingpong -s 10000 -n 20
wait "$sniffer"
if is "j['packets'] == 7" "$tmp/count.out"; then ok count
else notok count "$(cat "$tmp/count.out" "$tmp/count.err")"; fi
run "${in_b[@]}" "$nornic" sniff -i nnb -w "$tmp/time.pcapng" --seconds 200ms
if [ $rc = 0 ] && [[ $out == *"0 packets"* ]]; then ok seconds; else notok seconds "exit status $rc: $out $err"; fi

# --- the counters on a terminal, which `script` makes ---
sniff="ip netns exec $ns_b $nornic sniff -i nnb -w $tmp/t.pcapng --seconds 3"
background terminal timeout 20 script -qec "$sniff" /dev/null
capturing 1
pingpong -s 10000 -n 20
wait "$pid"
if grep -q 'packets; resent 0, NAK 0, RNR 0, bad ICRC 0; SEND ' "$tmp/terminal.out"; then ok live_counters
else notok live_counters "$(cat "$tmp/terminal.out")"; fi

# --- what goes wrong on the way ---
mkdir "$tmp/small"
if mount -t tmpfs -o size=128k none "$tmp/small" 2>/dev/null; then
    sniffing full -w "$tmp/small/full.pcapng"
    pingpong -s 50000 -n 10
    wait "$sniffer"
    full_rc=$?
    cp "$tmp/small/full.pcapng" "$tmp/full.pcapng"
    umount "$tmp/small"
    run "$nornic" verify "$tmp/full.pcapng"
    if [ "$rc $full_rc" = '0 2' ] && [[ $out != *" 0 RoCE"* ]] && one_sentence "$(cat "$tmp/full.err")" "No space left"
    then ok full_disk
    else notok full_disk "verify $rc: $out $err; sniff $full_rc: $(cat "$tmp/full.err")"; fi
else
    skip full_disk "this machine lets root mount no tmpfs"
fi
refuse write_nowhere "/nonexistent/" -i lo -w /nonexistent/nn.pcapng
sniffing gone -w "$tmp/gone.pcapng"
pingpong -s 10000 -n 20
ip -n "$ns_b" link del nnb
wait "$sniffer"
rc=$?
if [ $rc = 2 ] && one_sentence "$(cat "$tmp/gone.err")" "nnb" && [ -s "$tmp/gone.pcapng" ]; then ok interface_goes_away
else notok interface_goes_away "exit status $rc: $(cat "$tmp/gone.err")"; fi
exit $status
