#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic demo` as a user meets it, and what it leaves behind: nothing but captures.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# alone: it counts the namespaces of all demos, and records the machine's loopback
. "$(dirname "$0")/lib.sh"
reader=$(realpath test/e2e/explain_iwarp.py)
chmod 755 "$tmp"
pid= tcpdump=

cleanup() {
    [ -z "$tcpdump" ] || kill "$tcpdump" 2>/dev/null
    if [ -n "$pid" ] && kill -TERM "$pid" 2>/dev/null; then
        wait "$pid"
    fi
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
cd "$tmp" || exit 1

# start NAME ARGS...: the demo in the background; $pid, its output in NAME.out and NAME.err
start() {
    name=$1
    shift
    : >"$name.out"
    # job control off: a background process ignores Ctrl-C, which env undoes
    env --default-signal=INT "$nornic" demo "$@" >"$name.out" 2>"$name.err" &
    pid=$!
}
# finish SECONDS: waits at most so long; $rc is its status, or "late"
finish() {
    local i
    for ((i = 0; i < $1 * 10; i++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    if kill -0 "$pid" 2>/dev/null; then
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null
        rc=late
    else
        wait "$pid"
        rc=$?
    fi
    last=$pid pid=
}
# result NAME COMMAND...: ok if the command is true
result() {
    local test=$1
    shift
    if "$@"; then
        echo "ok $test"
    else
        echo "not ok $test: status ${rc:-?}, $(tail -c 300 "$name.out" "$name.err" | tr '\n' ' ')"
        status=1
    fi
}
# holds FILE EXPRESSION: true of the JSON object `j`
holds() {
    python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
p = j["passes"]
sys.exit(not eval(sys.argv[2]))' "$@"
}
# succeeded WORDS: status 0 and the output has the words
succeeded() { [ "$rc" = 0 ] && grep -q -- "$1" "$name.out" && [ ! -s "$name.err" ]; }
# refused WORDS: status 2, nothing on standard output, one sentence with the words
refused() { one_sentence 2 "$1" && [ ! -s "$name.out" ]; }
# one_sentence STATUS WORDS: that status, and one line on standard error that has the words
one_sentence() { [ "$rc" = "$1" ] && [ "$(wc -l <"$name.err")" = 1 ] && grep -q -- "$2" "$name.err"; }
alive() { kill -0 "$@" 2>/dev/null; }
nobody_alive() { for p in "$@"; do ! alive "$p" || return 1; done; }
# nothing of the demo with that process id is left
nothing_left() { ! ip netns list | grep -q "nn-demo-$1-" && ! ip -o link show nn0 >/dev/null 2>&1; }
clean_end() { "$@" && nothing_left "$last" && until_true 3 nobody_alive $children; }
at_work() { grep -q 'as fast as it goes' "$name.out" && [ "$(pgrep -c -P "$pid")" = 2 ]; }
here_nothing() { ! ip address | grep -qE '10\.77\.0\.|fd77:|nn0'; }
rests_well() {
    local good
    good=$("$nornic" verify --json "$@" | grep -c '"icrc_bad": *0,.*"malformed": *0')
    [ "$rc $good" = "0 $#" ]
}

all_compared='all(o["compared_operations"] >= 20 and o["wrong_operations"] == 0
    for q in p for o in q["operations"])'
all_good='all(q["icrc"]["good"] > 0 and q["icrc"]["bad"] == 0 for q in p)'
all_right="$all_compared and $all_good"
seven='all(len(q["operations"]) == 7 for q in p)'
recovered='p[1]["lost_frames"] > 0 and sum(o["retransmitted_pkts"] for o in p[1]["operations"]) > 0'

# the command line
rc=0
start help --help && finish 10
result help_teaches_with_examples succeeded 'nornic demo --loss 5% --seed 7'
start bad --loss 2x && finish 10
result bad_option_value refused '--loss 2x'
start bad --port eth0 && finish 10
result the_demo_takes_no_interface refused '--port eth0'
start bad -o /no/such/directory/x.pcapng --port memory && finish 20
result a_capture_that_cannot_be_written one_sentence 2 /no/such/directory
start more --frobnicate && finish 10
result unknown_option refused frobnicate

# in one process, as any user
as_nobody=()
[ "$(id -u)" = 0 ] && as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
cp "$nornic" ./nornic-copy && mkdir public && chmod 777 public
name=nobody
(cd public && "${as_nobody[@]}" timeout 60 ../nornic-copy demo --count 30 --seed 3) >nobody.out 2>nobody.err
rc=$?
result without_root_over_udp_sockets succeeded 'over ordinary UDP sockets within this machine'
result without_root_it_says_what_root_would_add grep -q '^With root it would run' nobody.out
result its_captures_are_clean rests_well public/nornic-demo.pcapng public/nornic-demo-loss.pcapng
(cd public && "${as_nobody[@]}" timeout 60 ../nornic-copy demo --port udp --count 30 --json) >udp.out 2>udp.err
rc=$?
result udp_json holds udp.out "j['ok'] and j['port'] == 'udp' and len(p) == 2 and $seven and $all_right"
start memory --port memory --count 40 --json && finish 60
result the_second_act_is_left_out_for_a_reason grep -q '^The second act, SMC-R.*left out' nobody.out
start no_act --act 2 --port memory && finish 10
result the_second_act_needs_namespaces refused 'the second act needs root'
result memory_json \
    holds memory.out "j['ok'] and j['port'] == 'memory' and len(p) == 2 and $seven and $all_right"
result memory_recovers holds memory.out "$recovered"

# the third act: iWARP, whose sides have no privilege wherever they are
iw='j["iwarp"]'
steps="connect send write write_imm read fetch_add cmp_swap swap send_inv bad_stag"
all_steps="[s['step'] for s in $iw['steps']] == '$steps'.split() and all(s['ok'] for s in $iw['steps'])"
terminated="all('by a Terminate: invalid STag (1/1/00)' in $iw['steps'][9][side] for side in 'ab')"
# of_nobody NAME UID: its sides had that user, and each step went well
of_nobody() {
    holds "$1.out" "j['ok'] and $all_steps and $terminated and [s['uid'] for s in $iw['sides']] == [$2] * 2"
}
start third --act 3 && finish 60
result the_third_act succeeded 'Over TCP each byte is where it should be'
result it_puts_the_terminate_into_words grep -q 'the peer ended the stream by a Terminate' third.out
result its_lines_fit [ "$(awk 'length > 100' third.out | wc -l)" = 0 ]
start no_output --act 3 -o x.pcapng && finish 10
result the_third_act_has_no_capture refused '--act 3 leaves that out'
uid=$(id -u)
[ "$uid" = 0 ] && uid=65534
name=third_v6
(cd public && "${as_nobody[@]}" timeout 60 ../nornic-copy demo --act 3 --ipv6 --json) >third_v6.out 2>third_v6.err
rc=$?
result the_third_act_over_ipv6 of_nobody third_v6 "$uid"

if [ "$(id -u)" != 0 ]; then
    echo "skip namespaces: they need root"
    exit $status
fi

# record FILTER COMMAND...: tcpdump of that by that command, into tcp.pcap
record() {
    local filter=$1
    shift
    : >tcpdump.err # not that of the one before
    "$@" -U --immediate-mode -B 65536 -s 0 -w tcp.pcap "$filter" 2>tcpdump.err &
    tcpdump=$!
    until_true 10 grep -q listening tcpdump.err
}
# is_right PCAP: what it has of a connection is whole, and right, for nornic, tshark and a third reader
is_right() {
    local kinds
    "$nornic" verify --strict "$1" || return 1
    "$nornic" verify --strict "$1" | grep -q 'CRC good [1-9][0-9]*, bad 0, not in use 0' || return 1
    python3 "$reader" "$nornic" "$1" || return 1
    kinds=$(tshark -r "$1" -T fields -e iwarp_rdma.opcode 2>/dev/null | tr ',' '\n' | sort -u | xargs)
    echo "kinds $kinds"
    [ "$kinds" = "0x00 0x01 0x02 0x03 0x04 0x07 0x08 0x0a 0x0b" ]
}
# recorded NAME: what it has of the act's connection is_right
recorded() {
    local port
    port=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["iwarp"]["tcp_port"])' "$1.out")
    fins() { tcpdump -r tcp.pcap "tcp port $port and tcp[tcpflags] & tcp-fin != 0" 2>/dev/null | wc -l; }
    has_all() { [ "$(fins)" = 2 ]; }
    until_true 10 has_all
    kill "$tcpdump" 2>/dev/null # it has ended where its interface has
    wait "$tcpdump" 2>/dev/null
    tcpdump=
    tcpdump -r tcp.pcap -w "$1.pcap" "tcp port $port" 2>/dev/null
    is_right "$1.pcap" >right.out 2>&1 && return
    cat tcpdump.err right.out >>"$1.err"
    return 1
}
if command -v tshark >/dev/null && command -v tcpdump >/dev/null; then
    name=third_lo
    # not the connections of others, which may fill its buffer: they are between 127.0.0.1 and itself
    record 'tcp and net 127.0.0.0/8 and not net 127.0.0.0/16' tcpdump -i lo
    (cd public && "${as_nobody[@]}" timeout 60 ../nornic-copy demo --act 3 --json) >third_lo.out 2>third_lo.err
    rc=$?
    result the_third_act_of_nobody of_nobody third_lo 65534
    result its_stream_is_right recorded third_lo
    # between the namespaces that the demo makes, where tcpdump comes while the first act plays
    start third_veth --time 3s --loss 0% --file-size 1M --json -o third_veth.pcapng
    until_true 20 ip netns exec "nn-demo-$pid-a" ip link show nn0 >/dev/null 2>&1
    record tcp ip netns exec "nn-demo-$pid-a" tcpdump -i nn0
    finish 120
    result all_three_acts of_nobody third_veth 65534
    result the_third_act_is_between_namespaces \
        holds third_veth.out "[s['address'] for s in $iw['sides']] == ['10.77.0.1', '10.77.0.2']"
    result its_stream_is_right_between_namespaces recorded third_veth
else
    echo "skip third_act_stream: tshark or tcpdump is not installed"
fi

# two namespaces, AF_XDP
children=
start xdp --act 1 --count 150 -o run.pcapng && finish 90
result over_af_xdp succeeded 'Every byte arrived right, and every ICRC was good'
result over_af_xdp_leaves_nothing nothing_left "$last"
result its_port_is_af_xdp grep -q '^Port: xdp:nn0' xdp.out
requests='SEND_ONLY|SEND_ONLY_IMM|WRITE_FIRST|WRITE_ONLY_IMM|READ_REQUEST|CMP_SWAP|FETCH_ADD'
result the_ladder_has_each_operation [ "$(grep -cE "^ +[0-9.]+ \|-- ($requests)  psn" xdp.out)" -ge 7 ]
result the_ladder_of_a_recovery [ "$(grep -cE 'X LOST|LOST X|goes back to psn|  again' xdp.out)" -ge 3 ]
# the last packet of a message may be the lost one: then the selective ACK has 0 behind it
shows_selective_recovery() {
    grep -q 'selective ACK  psn .* has [0-9]* behind it' xdp.out && grep -q 'sends what is missing' xdp.out
}
result the_ladder_of_a_selective_recovery shows_selective_recovery
result no_line_is_longer_than_100_columns [ "$(awk 'length > 100' xdp.out | wc -l)" = 0 ]
result clean_capture_verifies rests_well run.pcapng
result lossy_capture_verifies rests_well run-loss.pcapng
if command -v tshark >/dev/null; then
    # its RPC-over-RDMA heuristic takes SENDs of any content for its own
    malformed() { tshark -r "$1" --disable-protocol rpcordma -Y _ws.malformed 2>/dev/null | wc -l; }
    result tshark_finds_nothing_malformed [ "$(malformed run.pcapng) $(malformed run-loss.pcapng)" = '0 0' ]
    roce=$("$nornic" verify --json run.pcapng | grep -o '"roce": *[0-9]*' | grep -o '[0-9]*$')
    result tshark_counts_the_packets [ "$(tshark -r run.pcapng -Y infiniband 2>/dev/null | wc -l)" = "$roce" ]
else
    echo "skip tshark: tshark is not installed"
fi
start json --act 1 --count 60 --json --loss 3% --seed 11 && finish 60
result json_of_both_passes \
    holds json.out "j['ok'] and j['port'] == 'xdp' and len(p) == 2 and $seven and $all_right"
result the_lossy_pass_recovers holds json.out "$recovered"
start v6 --act 1 --count 40 --ipv6 --mtu 2048 --loss 0% --json && finish 60
result over_ipv6_at_2048 holds v6.out "j['ok'] and len(p) == 1 and p[0]['pmtu'] == 2048 and $all_right"
result its_packets_are_ipv6 [ "$(od -v -An -tx1 nornic-demo.pcapng | tr -d '\n ' | grep -c fd770000)" = 1 ]
start packet --act 1 --count 40 --port packet --size 3000 --json && finish 60
result over_af_packet holds packet.out "j['ok'] and j['port'] == 'packet' and $all_right"

# ended from outside, in the middle
for signal in INT TERM; do
    start "$signal" --act 1 --time 60s --loss 0%
    until_true 20 at_work
    children=$(pgrep -P "$pid")
    result "meanwhile_here_is_nothing_$signal" here_nothing
    kill "-$signal" "$pid"
    finish 10
    result "ended_by_$signal" clean_end one_sentence $((128 + $(kill -l $signal))) interrupted
done
name=full
unshare -m bash -c 'mkdir small && mount -t tmpfs -o size=16k none small &&
    exec timeout 60 "$1" demo --act 1 --port memory --count 20 --loss 0% -o small/x.pcapng' - "$nornic" \
    >full.out 2>full.err
rc=$?
result a_capture_cut_by_a_full_disk_is_told one_sentence 1 'small/x.pcapng ends too early: No space left'
start child --act 1 --time 60s --loss 0%
until_true 20 at_work
children=$(pgrep -P "$pid")
kill -KILL "${children##*$'\n'}"
finish 10
result a_side_that_dies_ends_the_demo clean_end one_sentence 1 'side B was ended by signal 9'
start killed --act 1 --time 60s --loss 0%
until_true 20 at_work
children=$(pgrep -P "$pid")
kill -KILL "$pid"
wait "$pid" 2>/dev/null
killed=$pid pid=
result children_die_with_the_front until_true 5 nobody_alive $children
start next --act 1 --count 20 --loss 0% && finish 60
result the_next_demo_runs succeeded 'Every byte arrived right'
result the_next_demo_removes_them nothing_left "$killed"
start keep --act 1 --count 20 --loss 0% --keep && finish 60
result keep_says_how_to_look succeeded "ip netns exec nn-demo-$last-a"
result keep_keeps [ "$(ip netns list | grep -c "nn-demo-$last-")" = 2 ]
ip netns del "nn-demo-$last-a"
ip netns del "nn-demo-$last-b"

# the second act: SMC-R over two links, one of which is cut
smc='j["smc"]'
whole="$smc['bytes'] == 20000000 and $smc['sent_sha256'] == $smc['arrived_sha256'] != ''"
moved="$smc['client']['counters']['failovers'] > 0 and $smc['client']['transport'] == 'smcr'"
children=
start act --act 2 --file-size 60000000 && finish 90
result the_second_act succeeded 'The file arrived whole'
result the_second_act_leaves_nothing clean_end [ "$rc" = 0 ]
result it_fails_over grep -q 'the bytes go on over' act.out
result it_regains_its_second_link grep -q 'has its second link again: SYMMETRIC' act.out
result its_sums_are_equal [ "$(grep -o 'sha256 [0-9a-f]*$' act.out | sort -u | wc -l)" = 1 ]
result its_ladder_has_the_failover grep -q 'failover validation' act.out
result its_ladder_has_the_new_link grep -q 'ADD LINK request' act.out
for how in 'v6 --ipv6' 'packet --port packet'; do
    start "act_${how%% *}" --act 2 --file-size 20000000 --json ${how#* } && finish 90
    result "the_second_act_${how%% *}" holds "$name.out" "j['ok'] and $whole and $moved"
done
start both --count 20 --file-size 20000000 --json && finish 120
result both_acts holds both.out "j['ok'] and $all_right and $whole"
feeding() { grep -q 'now it is cut' "$name.out"; }
for signal in INT TERM; do
    start "act_$signal" --act 2 --file-size 2G
    until_true 30 feeding
    children=$(pgrep -P "$pid")
    kill "-$signal" "$pid"
    finish 20
    result "the_second_act_ended_by_$signal" clean_end one_sentence $((128 + $(kill -l $signal))) interrupted
done
start act_child --act 2 --file-size 2G
until_true 30 feeding
children=$(pgrep -P "$pid")
kill -KILL "${children##*$'\n'}"
finish 20
result an_end_that_dies_ends_the_second_act clean_end one_sentence 1 'of the second act ended too early'
exit $status
