#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Many processes on one address, by the udp port: without privileges, killed at random, of two users.
# NORNIC_SHARE_SECONDS: how long processes are killed (default 5). Lines: "ok NAME", "not ok NAME: why",
# "skip NAME: why".
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
install -m 755 "$nornic" "${BUILD:-build}/examples/datagram" "$tmp" # where a user without privileges can read them
install -d -m 700 "$tmp/run"
[ "$(id -u)" != 0 ] || chown 65534 "$tmp/run"
export NORNIC_RUNTIME_DIR=$tmp/run
server_addr=127.$((RANDOM % 200 + 20)).$((RANDOM % 200)).1

# listens: until what was started says so
listens() {
    for ((i = 0; i < 100; i++)); do
        grep -q listening "$tmp/server.out" && return 0
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# --- two processes, one address, no privilege ---
port=(--port "udp:$server_addr")
start "${as_nobody[@]}" "$tmp/nornic" rping -s -P "${port[@]}"
listens
run "${as_nobody[@]}" "$tmp/nornic" stat
if [ $rc = 0 ] && [[ $out == *"listens to 1 service
  it has counted nothing"* ]]; then ok stat_of_who_was_not_called_yet
else notok stat_of_who_was_not_called_yet "exit status $rc: $out $err"; fi
run "${as_nobody[@]}" "$tmp/nornic" rping -c -a "$server_addr" -C 20 -S 20000 --json "${port[@]}"
if [ $rc = 0 ]; then ok connects_at_one_address; else notok connects_at_one_address "$rc: $out $err"; fi
run "${as_nobody[@]}" "$tmp/nornic" rping -c -a "$server_addr" -p 7999 -C 1 "${port[@]}"
if [ $rc = 1 ] && [[ $err == *"nothing listens"* ]]; then ok what_nobody_serves_is_refused
else notok what_nobody_serves_is_refused "exit status $rc: $out $err"; fi
run "${as_nobody[@]}" "$tmp/nornic" rping -s "${port[@]}"
if [ $rc = 2 ] && one_sentence "$err" 7174; then ok a_service_is_one_process_s
else notok a_service_is_one_process_s "exit status $rc: $out $err"; fi
run "${as_nobody[@]}" "$tmp/nornic" stat --json
if [ $rc = 0 ] && is "[p for p in j['ports'] if p['pid'] == $server and '$server_addr' in p['addresses'] \
        and p['services'] == 1 and p['counters']['rx_frames'] > 100]" "$tmp/out"; then ok stat_shows_it
else notok stat_shows_it "exit status $rc: $out $err"; fi
run "${as_nobody[@]}" "$tmp/nornic" stat
if [ $rc = 0 ] && [[ $out == *"(process $server, user "*": $server_addr; queue pairs 0x"*"rx_frames "* ]]; then
    ok stat_says_it
else notok stat_says_it "exit status $rc: $out $err"; fi
if [ "$(id -u)" = 0 ]; then
    install -d -m 700 "$tmp/elsewhere"
    NORNIC_RUNTIME_DIR=$tmp/elsewhere run "$nornic" rping -s "${port[@]}"
    if [ $rc = 2 ] && one_sentence "$err" "taken by nornic (process $server)"; then ok names_another_user
    else notok names_another_user "exit status $rc: $out $err"; fi
else
    skip names_another_user "it needs root"
fi
for peer in 2 3 4 5; do # the kernel tells one of the two processes what ICMP says
    run "${as_nobody[@]}" "$tmp/nornic" rping -c -a "${server_addr%.*}.$peer" -C 1 "${port[@]}"
    [ $rc = 1 ] && [[ $err == *"nothing there takes RoCE"* ]] || break
done
if [ "$peer" = 5 ] && [ $rc = 1 ]; then ok icmp_reaches_who_sent
else notok icmp_reaches_who_sent "exit status $rc: $out $err"; fi
run env NORNIC_RUNTIME_DIR=/nowhere/at/all "${as_nobody[@]}" "$tmp/nornic" rping -s "${port[@]}"
if [ $rc = 2 ] && one_sentence "$err" "NORNIC_RUNTIME_DIR /nowhere/at/all"; then ok no_place_to_meet_is_an_error
else notok no_place_to_meet_is_an_error "exit status $rc: $out $err"; fi
run env NORNIC_RUNTIME_DIR=/nowhere/at/all "${as_nobody[@]}" "$tmp/nornic" ports --json
if [ $rc = 0 ] && is "all(not p['usable'] and 'NORNIC_RUNTIME_DIR /nowhere' in p['why'] for p in j['ports'] \
        if p['port'].startswith('udp:')) and any(p['usable'] for p in j['ports'])" "$tmp/out"; then ok ports_says_so
else notok ports_says_so "exit status $rc: $out $err"; fi
run env NORNIC_RUNTIME_DIR=/nowhere/at/all "${as_nobody[@]}" "$tmp/nornic" stat
if [ $rc = 2 ] && one_sentence "$err" "NORNIC_RUNTIME_DIR /nowhere/at/all"; then ok stat_says_why_it_cannot_tell
else notok stat_says_why_it_cannot_tell "exit status $rc: $out $err"; fi
kill -KILL "$server"
finish
run "${as_nobody[@]}" "$tmp/nornic" stat
# Others on this machine may have devices open.
if [ $rc -le 1 ] && [ -z "$err" ] && [[ $out != *"(process $server,"* ]]; then ok a_killed_process_is_forgotten
else notok a_killed_process_is_forgotten "exit status $rc: $out $err"; fi
start "${as_nobody[@]}" "$tmp/nornic" rping -s -P "${port[@]}"
listens && kill -INT "$server"
finish
is_empty() { [ -z "$(ls "$tmp/run")" ]; } # the keeper of the connections ends after their programs
if until_true 5 is_empty; then ok leaves_nothing; else notok leaves_nothing "$(ls "$tmp/run")"; fi

# --- a group, of which three processes at one address are members ---
# Of this run alone: what is sent to a group by the loopback interface comes to its members of all runs there.
group=239.$((RANDOM % 200 + 20)).$((RANDOM % 200)).2
members=()
for member in 1 2 3; do
    start "${as_nobody[@]}" "$tmp/datagram" server "udp:$server_addr" "$group"
    listens
    members+=("$server")
    mv "$tmp/server.out" "$tmp/member.$member" # which it still writes to
done
run "${as_nobody[@]}" "$tmp/datagram" client "udp:$server_addr" "$group" 0xffffff
if [ $rc = 0 ] && [[ $out == "a has 64 bytes"* ]]; then ok a_group_answers
else notok a_group_answers "exit status $rc: $out $err"; fi
touch "$tmp/server.out" # for finish
for server in "${members[@]}"; do finish; done
if [ "$(cat "$tmp"/member.* | grep -c 'who is there')" = 3 ]; then ok each_member_hears_a_datagram_once
else notok each_member_hears_a_datagram_once "$(cat "$tmp"/member.*)"; fi

# --- two users ---
if [ "$(id -u)" = 0 ]; then
    install -d -m 1777 "$tmp/shared"
    export NORNIC_RUNTIME_DIR=$tmp/shared
    start "${as_nobody[@]}" "$tmp/nornic" rping -s -P "${port[@]}"
    listens
    run "$nornic" rping -c -a "$server_addr" -C 20 -S 20000 "${port[@]}"
    if [ $rc = 0 ]; then ok two_users_share_a_directory
    else notok two_users_share_a_directory "exit status $rc: $out $err; $(cat "$tmp/server.err")"; fi
    kill -KILL "$server"
    finish
    start "$nornic" rping -s -P "${port[@]}"
    listens
    run "${as_nobody[@]}" "$tmp/nornic" rping -c -a "$server_addr" -C 20 -S 20000 "${port[@]}"
    if [ $rc = 0 ]; then ok either_may_be_the_first
    else notok either_may_be_the_first "exit status $rc: $out $err; $(cat "$tmp/server.err")"; fi
    kill -INT "$server"
    finish
    # The kernel's group is of the user who was there first. When nobody of that one is left, the others found it anew:
    # each user's next process comes to the address, and finds those who stayed.
    as_user() { user=(setpriv --reuid="$1" --regid="$1" --clear-groups --inh-caps=-all --bounding-set=-all); }
    stayed=()
    for uid in 65534 65533 65533 65532; do
        as_user "$uid"
        start "${user[@]}" "$tmp/nornic" rping -s -P -p $((7180 + ${#stayed[@]})) "${port[@]}"
        listens
        stayed+=("$server")
        mv "$tmp/server.out" "$tmp/stayed.${#stayed[@]}" # which it still writes to
    done
    kill -KILL "${stayed[0]}"
    why=
    for uid in 65534 65533 65532; do
        as_user "$uid"
        for service in 7181 7182 7183; do
            run "${user[@]}" "$tmp/nornic" rping -c -a "$server_addr" -p "$service" -C 20 -S 20000 "${port[@]}"
            [ $rc = 0 ] || why+="user $uid, service $service: exit status $rc: $out $err; "
        done
    done
    if [ -z "$why" ]; then ok who_is_left_founds_a_group_anew; else notok who_is_left_founds_a_group_anew "$why"; fi
    kill -INT "${stayed[@]:1}"
    touch "$tmp/server.out" # for finish
    for server in "${stayed[@]}"; do finish; done
    export NORNIC_RUNTIME_DIR=$tmp/run
else
    skip two_users_share_a_directory "it needs root"
fi

# --- eight and more, killed at random ---
need_namespaces eight_processes eight_processes_of_two_users
veth_make 4200 || { notok eight_processes "cannot make a veth pair"; exit 1; }
seconds=${NORNIC_SHARE_SECONDS:-5}
# killed_at_random NAME DIRECTORY USERS: where they meet, and whose processes they are
killed_at_random() {
    NORNIC_RUNTIME_DIR=$2 timeout $((seconds * 3 + 120)) \
        python3 test/e2e/share.py "$tmp/nornic" "$ns_a" "$ns_b" "$seconds" "$RANDOM" "$3" >"$tmp/out" 2>&1
    rc=$?
    out=$(cat "$tmp/out")
    [ -z "$NORNIC_SHARE_SECONDS" ] || echo "$out"
    if [ $rc = 0 ]; then ok "$1"; else notok "$1" "exit status $rc: $out"; fi
}
killed_at_random eight_processes "$tmp/run" 65534
killed_at_random eight_processes_of_two_users "$tmp/shared" 65534,65533
exit $status
