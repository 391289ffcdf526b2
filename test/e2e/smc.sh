#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic smc` as a user meets it: over veth pairs between two namespaces, by SMC-R and by TCP.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# machine: it listens at 127.0.0.1 of the machine
# as root it runs where /run/nornic is its own, since it lists all of that
if [ "$(id -u)" = 0 ] && [ -z "${E2E_OWN_RUN:-}" ] && unshare --mount true 2>/dev/null; then
    [ -d /run/nornic ] || mkdir -m 755 /run/nornic
    E2E_OWN_RUN=1 exec unshare --mount sh -c 'mount -t tmpfs -o mode=755 tmpfs /run/nornic && exec bash "$0"' "$0"
fi
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
install -m 755 "$nornic" "$tmp/nornic" # where a user without privileges can read it
peer=$PWD/test/e2e/smc_peer.py
check=$PWD/test/e2e/smc_check.py

# --- the command line ---
refused_command=(smc)
refuse no_command "listen, connect"
refuse unknown_command "smc frobnicate" frobnicate
refuse no_port "[ADDRESS:]PORT" listen
refuse no_host "HOST and PORT" connect 5000
refuse unknown_option "--frobnicate" listen --frobnicate 5000
refuse bad_device "eth0" listen -d eth0 5000
refuse memory_is_no_device "memory" listen -d memory 5000
refuse udp_without_interface "udp:INTERFACE" listen -d udp: 5000
refuse udp_with_an_address "udp:INTERFACE" listen -d udp:127.0.0.1 5000
refuse bad_pnetid "pnetid" listen -d xdp:eth0,net=1 5000
refuse too_few_links "--max-links 1" listen --max-links 1 5000
refuse bare_ipv6 "[ADDRESS]:PORT" listen fd00::1:5000
refuse require_without_device "--device" connect --require-smc 127.0.0.1 5000
refuse missing_interface "nn-none" connect -d xdp:nn-none 127.0.0.1 5000
refuse missing_input "/nonexistent" connect -i /nonexistent 127.0.0.1 5000
refuse nobody_listens "127.0.0.1 port 5999" connect 127.0.0.1 5999
for command in listen connect stat ladder; do
    run "$nornic" smc $command --help
    if [ $rc = 0 ] && [[ $out == *Try:* || $out == *"Try, "* ]]; then ok help_$command
    else notok help_$command "exit status $rc: $err"; fi
done
run "$nornic" smc stat --pid $$
if [ $rc = 1 ] && one_sentence "$err" "process $$"; then ok stat_of_another_process
else notok stat_of_another_process "exit status $rc: $out $err"; fi

run "$nornic" smc ladder /etc/hostname /dev/null
if [ $rc = 1 ] && one_sentence "$err" --trace; then ok ladder_of_no_traces
else notok ladder_of_no_traces "exit status $rc: $out $err"; fi

head -c 50000000 /dev/urandom >"$tmp/file"
head -c 3000000 /dev/urandom >"$tmp/back"
sum=$(sha256sum <"$tmp/file") sum=${sum%% *}

# --- plain TCP, as nobody ---
start "${as_nobody[@]}" "$tmp/nornic" smc listen --json --sum -o /dev/null 127.0.0.1:5999
until_true 10 grep -q listening "$tmp/server.out"
run "${as_nobody[@]}" "$tmp/nornic" smc connect --sum 127.0.0.1 5999 <"$tmp/file"
finish
by_tcp="j['ok'] and j['transport'] == 'tcp' and 'device' in j['reason'] and j['received_sha256'] == '$sum'"
expect tcp_without_device "$rc $err; $server_rc $server_out $server_err" is "$by_tcp" "$tmp/server.out"

need_namespaces veth
veth_make 1500 || { notok veth "cannot make a veth pair"; exit 1; }
# the second pair: nnc in A, nnd in B
ip link add nnc netns "$ns_a" mtu 1500 type veth peer name nnd netns "$ns_b" mtu 1500 || exit 1
ip -n "$ns_a" addr add 10.78.0.1/24 dev nnc
ip -n "$ns_b" addr add 10.78.0.2/24 dev nnd
ip -n "$ns_a" addr add fd78::1/64 dev nnc nodad
ip -n "$ns_b" addr add fd78::2/64 dev nnd nodad
ip -n "$ns_a" link set nnc up
ip -n "$ns_b" link set nnd up

run "${in_a[@]}" "$nornic" smc connect -d xdp:nna --require-smc 10.77.0.1 5999
if [[ $err == *refused* ]]; then kind=xdp
else kind=packet; skip xdp "$err"; fi
run "${in_a[@]}" "$nornic" smc connect -d $kind:nna --require-smc 10.77.0.1 5999
if [[ $err != *refused* ]]; then
    skip smc_r "$err"
    exit $status
fi
a=(-d "$kind:nna" -d "$kind:nnc") b=(-d "$kind:nnb" -d "$kind:nnd")

# The kernel frees the queue of a process a little after its end, which the next one waits for without a word.
again=
for ((i = 0; i < 8; i++)); do
    run "${in_a[@]}" "$nornic" smc connect -d $kind:nna --require-smc 10.77.0.1 5999
    one_sentence "$err" refused || again=$err
done
expect again_at_once "$again" [ -z "$again" ]

# start_with FILE COMMAND...: start() with that standard input, which a background job has only if it is told
start_with() {
    local input=$1
    shift
    "$@" <"$input" >"$tmp/server.out" 2>"$tmp/server.err" &
    server=$!
    e2e_pids+=("$server")
}
# serve ARGS...: `smc listen` in A on port 5000, with both devices
serve() {
    start "${in_a[@]}" "$nornic" smc listen --json "${a[@]}" "$@" 5000
    until_true 10 grep -q listening "$tmp/server.out" "$tmp/server.err"
}
# connect ARGS...: in B
connect() { run "${in_b[@]}" "$nornic" smc connect --json "${b[@]}" "$@"; }

by_smc="j['ok'] and j['transport'] == 'smcr'"
two_links="len([l for l in j['links'] if l['state'] == 'ACTIVE']) == 2"

# --- a file each way, over both families ---
for host in 10.77.0.1 fd77::1; do
    family=v4
    [[ $host != *:* ]] || family=v6
    serve --sum -o "$tmp/copy"
    connect --sum -i "$tmp/file" -o /dev/null $host 5000
    finish
    words="client $rc $out $err; server $server_rc $server_out $server_err"
    expect file_there_$family "$words" cmp -s "$tmp/file" "$tmp/copy"
    expect file_there_by_smc_$family "$words" is "$by_smc and $two_links and j['sent_sha256'] == '$sum'" "$tmp/out"
    expect file_there_sum_$family "$words" is "$by_smc and j['received_sha256'] == '$sum'" "$tmp/server.out"
    serve --sum -i "$tmp/file" -o /dev/null
    connect --sum -o "$tmp/copy" $host 5000
    finish
    words="client $rc $out $err; server $server_rc $server_out $server_err"
    expect file_back_$family "$words" cmp -s "$tmp/file" "$tmp/copy"
    expect file_back_sum_$family "$words" is "$by_smc and j['received_sha256'] == '$sum'" "$tmp/out"
done

# --- over UDP sockets; the TCP option needs root still ---
through=("${a[@]}" "${b[@]}")
a=(-d udp:nna -d udp:nnc) b=(-d udp:nnb -d udp:nnd)
for host in 10.77.0.1 fd77::1; do
    family=v4
    [[ $host != *:* ]] || family=v6
    serve --require-smc --sum -o "$tmp/copy"
    connect --require-smc --sum -i "$tmp/file" -o /dev/null $host 5000
    finish
    words="client $rc $out $err; server $server_rc $server_out $server_err"
    expect over_udp_$family "$words" cmp -s "$tmp/file" "$tmp/copy"
    expect over_udp_by_two_links_$family "$words" is "$by_smc and $two_links" "$tmp/out"
done

# --- which move trains: writes of one packet each, all of one length, and not a longer FIRST before the others ---
writes() # FILE OPCODE: how many packets there are of it
{
    "$nornic" explain --all --json "$1" | grep -c "\"bth\":{\"opcode\":$2,"
}
serve -o /dev/null
connect -i "$tmp/back" -o /dev/null --require-smc --capture "$tmp/trains.pcapng" 10.77.0.1 5000
finish
firsts=$(writes "$tmp/trains-nnb.pcapng" 6) onlys=$(writes "$tmp/trains-nnb.pcapng" 10)
expect over_udp_in_trains "client $rc $out $err; $firsts of RDMA WRITE First, $onlys of Only" \
    eval '[ "$onlys" -gt 20 ] && [ "$firsts" -lt $((onlys / 20)) ]'
a=("${through[@]:0:4}") b=("${through[@]:4}")

# --- both ways at once, by standard input and output ---
start_with "$tmp/back" "${in_a[@]}" "$nornic" smc listen "${a[@]}" --require-smc 5000
listening "$ns_a" 5000
timeout 60 "${in_b[@]}" "$nornic" smc connect "${b[@]}" --require-smc 10.77.0.1 5000 \
    <"$tmp/file" >"$tmp/out" 2>"$tmp/err"
rc=$? err=$(cat "$tmp/err")
mv "$tmp/server.out" "$tmp/there" # no text
finish 2>/dev/null
server_err=$(cat "$tmp/server.err")
if [ $rc = 0 ] && [ $server_rc = 0 ] && cmp -s "$tmp/out" "$tmp/back" && cmp -s "$tmp/there" "$tmp/file"
then ok both_ways
else notok both_ways "client $rc $err; server $server_rc $server_err"; fi
if [[ $err == *"bytes travel by SMC-R"* ]] && [[ $server_err == *"bytes travel by SMC-R"* ]]; then ok it_says_how
else notok it_says_how "client $err; server $server_err"; fi

# the answer comes after the question has ended: a half close each way
mkfifo "$tmp/fifo"
exec 9<>"$tmp/fifo"
start_with "$tmp/fifo" "${in_a[@]}" "$nornic" smc listen -q "${a[@]}" 5000 9>&-
listening "$ns_a" 5000
"${in_b[@]}" "$nornic" smc connect -q "${b[@]}" 10.77.0.1 5000 <<<question >"$tmp/out" 2>"$tmp/err" 9>&- &
client=$!
e2e_pids+=("$client")
until_true 10 grep -q question "$tmp/server.out"
asked=$?
echo answer >"$tmp/fifo"
until_true 10 grep -q answer "$tmp/out"
answered=$?
exec 9>&-
finish
wait "$client"
expect half_close "asked $asked, answered $answered: $(cat "$tmp/err") $server_err" [ "$asked $answered" = "0 0" ]

# --- one after another, on the links of the first ---
serve -k -o /dev/null
for i in 1 2 3; do connect -i "$tmp/back" -o /dev/null 10.77.0.1 5000; done
kill -INT "$server"
finish
count=$(grep -c '"ok":true' "$tmp/server.out")
expect keeps_listening "$server_rc $server_out $server_err" [ "$server_rc $count" = "0 3" ]

# --- while it runs: stat, and a link that is cut and comes back ---
mkfifo "$tmp/enough" # a line in it lets a connection end
exec 8<>"$tmp/enough"
# lasting: the file within four seconds, or until nobody reads; and its end when enough() is called
lasting() {
    python3 "$peer" feed "$tmp/file" 12000000 2>/dev/null
    read -r -u 8 _
}
enough() { echo >&8; }
serve --sum -o "$tmp/copy" --trace "$tmp/server.trace"
"${in_b[@]}" "$nornic" smc connect --json --sum "${b[@]}" --trace "$tmp/client.trace" -i /dev/stdin -o /dev/null \
    10.77.0.1 5000 < <(lasting) >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
# stat_says EXPRESSION: of the process `p` of the server
stat_says() {
    "$nornic" smc stat --json --pid "$server" >"$tmp/stat"
    is "[p for p in j['processes'] if $1]" "$tmp/stat"
}
symmetric="p['groups'] and p['groups'][0]['redundancy'] == 'SYMMETRIC'"
until_true 10 stat_says "$symmetric and p['conns'] and p['conns'][0]['rx_bytes'] > 0"
expect stat_sees_the_group "$(cat "$tmp/stat") $(cat "$tmp/err")" stat_says "$symmetric and len(p['links']) == 2"
run "$nornic" smc stat --pid "$server"
if [ $rc = 0 ] && [[ $out == *"group 1"*SYMMETRIC*"link 1"*"link 2"*"connections over SMC-R"* ]]; then ok stat_text
else notok stat_text "exit status $rc: $out $err"; fi
run "${as_nobody[@]}" "$tmp/nornic" smc stat
if [ $rc = 1 ] && [[ $out == *"No process of this user"*"of other users: "* ]]; then ok stat_tells_of_other_users
else notok stat_tells_of_other_users "exit status $rc: $out $err"; fi
ip -n "$ns_b" link set nnb down
expect stat_sees_the_failover "$(cat "$tmp/stat")" until_true 10 stat_says "not ($symmetric)"
ip -n "$ns_b" link set nnb up
expect stat_sees_the_recovery "$(cat "$tmp/stat")" until_true 15 stat_says "$symmetric"
enough
wait "$client"
rc=$?
finish
words="client $rc $(cat "$tmp/out" "$tmp/err"); server $server_rc $server_out $server_err"
expect cut_and_restored "$words" cmp -s "$tmp/file" "$tmp/copy"
expect cut_sums "$words" is "$by_smc and j['received_sha256'] == '$sum' and j['counters']['links_failed'] > 0" \
    "$tmp/server.out"
run "$nornic" smc ladder --failover "$tmp/client.trace" "$tmp/server.trace"
if [ $rc = 0 ] && [[ $out == *"-> DOWN"*"failover validation"*"ADD LINK request"*"CONFIRM LINK response"* ]]
then ok ladder
else notok ladder "exit status $rc: $out $err"; fi

# both links cut: nothing is left to go on with
serve -o /dev/null
"${in_b[@]}" "$nornic" smc connect --json "${b[@]}" -i /dev/stdin -o /dev/null 10.77.0.1 5000 \
    < <(lasting) >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
until_true 10 stat_says "$symmetric and p['conns'][0]['rx_bytes'] > 0"
ip -n "$ns_b" link set nnd down
until_true 10 stat_says "not ($symmetric)"
ip -n "$ns_b" link set nnb down
wait "$client"
rc=$?
enough
finish
if [ $rc = 1 ] && [ $server_rc = 1 ] && grep -q 'broke' "$tmp/err"; then ok both_cut_is_a_reset
else notok both_cut_is_a_reset "client $rc $(cat "$tmp/err"); server $server_rc $server_err"; fi
ip -n "$ns_b" link set nnb up
ip -n "$ns_b" link set nnd up
ip -n "$ns_b" addr add fd77::2/64 dev nnb nodad 2>/dev/null
ip -n "$ns_b" addr add fd78::2/64 dev nnd nodad 2>/dev/null

# --- packets vanish on their way, and both ends keep their carrier: a bridge loses a port between them ---
ns_make c || exit 1
ip -n "nn-$$-c" link add nnbr type bridge
ip -n "nn-$$-c" link set nnbr up
ip link add nne netns "$ns_a" mtu 1500 type veth peer name nnx netns "nn-$$-c" mtu 1500 || exit 1
ip link add nnf netns "$ns_b" mtu 1500 type veth peer name nny netns "nn-$$-c" mtu 1500 || exit 1
ip -n "$ns_a" addr add 10.79.0.1/24 dev nne
ip -n "$ns_b" addr add 10.79.0.2/24 dev nnf
ip -n "$ns_a" link set nne up
ip -n "$ns_b" link set nnf up
for port in nnx nny; do ip -n "nn-$$-c" link set $port master nnbr up; done
start "${in_a[@]}" "$nornic" smc listen --json --sum -d "$kind:nne" -d "$kind:nnc" -o "$tmp/copy" 5000
until_true 10 grep -q listening "$tmp/server.out"
"${in_b[@]}" "$nornic" smc connect --json -d "$kind:nnf" -d "$kind:nnd" -i /dev/stdin -o /dev/null \
    10.79.0.1 5000 < <(lasting) >"$tmp/out" 2>"$tmp/err" &
client=$!
e2e_pids+=("$client")
until_true 10 stat_says "$symmetric and p['conns'] and p['conns'][0]['rx_bytes'] > 0"
ip -n "nn-$$-c" link set nny nomaster
moved="p['groups'] and not ($symmetric) and [l for l in p['links'] if l['port'] == 'nnc' and l['conns'] == 1]"
expect black_hole_is_noticed "$(cat "$tmp/stat")" until_true 10 stat_says "$moved"
carriers="$(ip -n "$ns_a" -o link show nne) $(ip -n "$ns_b" -o link show nnf)"
expect black_hole_keeps_the_carriers "$carriers" [ "$(grep -o 'state UP' <<<"$carriers" | wc -l)" = 2 ]
ip -n "nn-$$-c" link set nny master nnbr
enough
wait "$client"
rc=$?
finish
words="client $rc $(cat "$tmp/out" "$tmp/err"); server $server_rc $server_out $server_err"
expect black_hole_loses_nothing "$words" cmp -s "$tmp/file" "$tmp/copy"
expect black_hole_sums "$words" is "$by_smc and j['received_sha256'] == '$sum' and j['counters']['failovers'] > 0" \
    "$tmp/server.out"

# --- a peer that is killed ---
killed() { # NAME: client_is_killed or server_is_killed
    serve -o /dev/null
    "${in_b[@]}" "$nornic" smc connect --json "${b[@]}" -i /dev/stdin -o /dev/null 10.77.0.1 5000 \
        < <(lasting) >"$tmp/out" 2>"$tmp/err" &
    local client=$! from
    e2e_pids+=("$client")
    until_true 10 stat_says "p['conns'] and p['conns'][0]['rx_bytes'] > 0"
    from=$SECONDS
    if [ "$1" = client_is_killed ]; then
        kill -KILL "$client"
        finish
        rc=$server_rc err=$server_err
    else
        kill -KILL "$server"
        wait "$client"
        rc=$?
        err=$(cat "$tmp/err")
        finish
    fi
    enough
    if [ $rc = 1 ] && [[ $err == *broke* ]] && ((SECONDS - from < 20)); then ok "$1"
    else notok "$1" "exit status $rc after $((SECONDS - from)) s: $err"; fi
}
killed client_is_killed
killed server_is_killed
expect stat_forgets_the_dead "$(ls /run/nornic 2>/dev/null)" \
    bash -c '"$1" smc stat --json >/dev/null; [ ! -e "/run/nornic/smc-$2" ]' - "$nornic" "$server"

# --- a peer without SMC-R ---
serve --sum -o "$tmp/copy"
run "${in_b[@]}" python3 "$peer" connect 10.77.0.1 5000 "$tmp/file" "$tmp/taken"
finish
expect falls_back_as_server "$rc $err $server_rc $server_out $server_err" \
    is "j['ok'] and j['transport'] == 'tcp' and j['reason'] and j['received_sha256'] == '$sum'" "$tmp/server.out"
start "${in_a[@]}" python3 "$peer" listen 5000 "$tmp/back" "$tmp/taken"
listening "$ns_a" 5000
connect --sum -i "$tmp/file" -o "$tmp/copy" 10.77.0.1 5000
finish
expect falls_back_as_client "$rc $out $err $server_rc $server_err" \
    is "j['ok'] and j['transport'] == 'tcp' and j['reason'] and j['sent_sha256'] == '$sum'" "$tmp/out"
if cmp -s "$tmp/taken" "$tmp/file" && cmp -s "$tmp/copy" "$tmp/back"; then ok fallback_loses_nothing
else notok fallback_loses_nothing "$(ls -l "$tmp")"; fi
serve --tcp -o "$tmp/copy"
connect -i "$tmp/back" -o /dev/null 10.77.0.1 5000
finish
expect never_smc "$rc $out $err" is "j['ok'] and j['transport'] == 'tcp'" "$tmp/out"
start "${in_a[@]}" python3 "$peer" listen 5000 /dev/null /dev/null
listening "$ns_a" 5000
run "${in_b[@]}" "$nornic" smc connect "${b[@]}" --require-smc 10.77.0.1 5000 </dev/null
finish
if [ $rc = 1 ] && one_sentence "$(tail -1 <<<"$err")" "--require-smc"; then ok require_smc
else notok require_smc "exit status $rc: $err"; fi

# --- what a capture shows ---
if command -v tshark >/dev/null && command -v tcpdump >/dev/null && command -v mergecap >/dev/null; then
    : >"$tmp/tcpdump.err"
    "${in_b[@]}" tcpdump -Z root -i nnb --immediate-mode -U -w "$tmp/tcp.pcap" 'tcp port 5000' 2>"$tmp/tcpdump.err" &
    dump=$!
    e2e_pids+=("$dump")
    until_true 10 grep -q 'listening on' "$tmp/tcpdump.err"
    serve -o /dev/null --trace "$tmp/server.trace"
    connect -i "$tmp/back" -o /dev/null --trace "$tmp/client.trace" --capture "$tmp/roce.pcapng" 10.77.0.1 5000
    finish
    until_true 5 eval '[ "$(tshark -r "$tmp/tcp.pcap" -Y "tcp.flags.fin == 1" 2>/dev/null | wc -l)" -ge 2 ]'
    kill "$dump"
    wait "$dump" 2>/dev/null
    mergecap -w "$tmp/all.pcapng" "$tmp/tcp.pcap" "$tmp/roce-nnb.pcapng" "$tmp/roce-nnd.pcapng"
    run python3 "$check" "$tmp/all.pcapng" "$tmp/client.trace"
    echo "$out"
    [ -z "$err" ] || notok tshark "$err"
    [ $rc = 0 ] || status=1
    run "$nornic" verify "$tmp/roce-nnb.pcapng" "$tmp/roce-nnd.pcapng"
    if [ $rc = 0 ] && [[ $out == *"bad 0"* ]]; then ok icrcs_are_good
    else notok icrcs_are_good "exit status $rc: $out $err"; fi
else
    skip tshark "tshark, tcpdump or mergecap is not installed"
fi

# --- a full disk is noticed, though the bytes went on ---
if mkdir "$tmp/small" && mount -t tmpfs -o size=64k none "$tmp/small" 2>/dev/null; then
    for what in capture trace; do
        serve -o /dev/null
        connect --$what "$tmp/small/$what" -i "$tmp/file" -o /dev/null 10.77.0.1 5000
        finish
        rm -f "$tmp"/small/*
        if [ $rc = 2 ] && [ $server_rc = 0 ] && one_sentence "$err" "the $what " && is "$by_smc" "$tmp/out"
        then ok full_disk_for_the_$what
        else notok full_disk_for_the_$what "exit status $rc: $err; server $server_rc: $server_err"; fi
    done
    umount "$tmp/small"
else
    skip full_disk "no tmpfs can be mounted here"
fi

# --- it ends without a trace, however it ends ---
left() { # whether anything of the server is still there
    [ -e "/run/nornic/smc-$server" ] || ip -n "$ns_a" -d link show nna | grep -q prog/xdp ||
        find /sys/fs/cgroup -maxdepth 3 -type d -name "*nornic*$server*" | grep -q .
}
for signal in INT TERM; do
    serve -o /dev/null
    kill -$signal "$server"
    finish
    if [ $server_rc = $((128 + $(kill -l $signal))) ] && [[ $server_err == *stopped* ]] && ! left
    then ok ended_by_$signal
    else notok ended_by_$signal "exit status $server_rc: $server_err"; fi
done
exit $status
