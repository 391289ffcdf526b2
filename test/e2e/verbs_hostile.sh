#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that treat libibverbs badly (test/verbs/programs/hostile.c, crowd.c) as ordinary users on one address: many
# processes of which some kill themselves in mid transfer, children made at each step, things given back that threads
# use. Nobody else notices, and everything comes back: leases, sockets.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
hostile=$build/test/verbs/programs/hostile

need_namespaces verbs_hostile
ns_make a || { notok namespace "cannot make one"; exit 1; }
here=(ip netns exec "nn-$$-a" "${as_nobody[@]}" env "LD_LIBRARY_PATH=$build/lib" NORNIC_PORT=udp:127.0.0.1)

# bounded COMMAND...: runs it there for 150 s at most; its output is in $tmp/out and $tmp/err
bounded() { timeout -k 5 150 "${here[@]}" "$@" >"$tmp/out" 2>"$tmp/err"; }

# nothing_left NAME: no process has numbers leased, no socket is on the port of RoCEv2
nothing_left() {
    local left sockets
    left=$("${here[@]}" "$nornic" stat)
    sockets=$(ip netns exec "nn-$$-a" ss -Hlun 'sport = :4791')
    if [[ $left == "no process"* && -z $sockets ]]; then ok "$1_all_comes_back"
    else notok "$1_all_comes_back" "$left $sockets"; fi
}

# says NAME STATUS TEXT: of what ran last
says() {
    local rc=$2
    if [ "$rc" = 0 ] && grep -qF -- "$3" "$tmp/out"; then ok "$1"
    else notok "$1" "exit status $rc: $(tail -n 3 "$tmp/out") $(tail -n 3 "$tmp/err")"; fi
}

bounded "$hostile" swarm 50 40 0
says swarm $? "2000 queue pairs in 50 processes: 50 ended well, 0 killed themselves"
nothing_left swarm
bounded "$hostile" swarm 50 40 10
says swarm_with_deaths $? "2000 queue pairs in 50 processes: 40 ended well, 10 killed themselves"
nothing_left swarm_with_deaths

# many that open the device at the same moment: each waits as long as the others get on
crowd=250
[[ $build != *san-* ]] || crowd=100
bounded "$build/test/verbs/programs/crowd" $crowd $crowd
says crowd $? "$crowd processes at once: $crowd had room, 0 were refused"
nothing_left crowd

# libraries that are unloaded while their threads run
bounded "$build/test/verbs/programs/unload"
says unloaded $? "unloaded, and loaded again: nornic0"

if [[ $build == *san-thread* ]]; then
    skip forks "a sanitizer: ThreadSanitizer starts no thread in the child of a process that has threads"
else
    # leaks are not looked for: what a child inherited is its parent's to give back
    bounded env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" "$hostile" forks
    says forks $? "54 children, none was noticed"
    nothing_left forks
fi

# exit() in a signal handler, in the middle of a call that has a lock
if [[ $build == *san-* ]]; then
    skip ends "a sanitizer has locks of its own, which a signal handler may not wait for"
else
    bounded "$hostile" ends
    says ends $? "16 children ended in a signal handler"
    nothing_left ends
fi

# beside those that crash, or hang until they are killed, others go on
if [[ $build == *san-* ]]; then
    skip guilty "a sanitizer would report what the guilty do"
else
    : >"$tmp/guilty"
    (for ((seed = 1; seed <= 40; seed++)); do
        timeout -s KILL 2 "${here[@]}" "$hostile" guilty $seed >/dev/null 2>&1
        echo $? >>"$tmp/guilty"
    done) 2>/dev/null &
    guilty=$!
    e2e_pids+=("$guilty")
    rounds=0
    while [ "$(wc -l <"$tmp/guilty")" -lt 40 ] && [ $rounds -lt 200 ]; do
        bounded "$hostile" swarm 4 8 1
        rc=$?
        rounds=$((rounds + 1))
        [ $rc = 0 ] || break
    done
    says beside_the_guilty $rc "32 queue pairs in 4 processes: 3 ended well, 1 killed themselves"
    wait "$guilty"
    if [ "$(wc -l <"$tmp/guilty")" = 40 ] && grep -qvx 0 "$tmp/guilty"; then ok guilty
    else notok guilty "$(sort "$tmp/guilty" | uniq -c | tr '\n' ' ')"; fi
    nothing_left guilty
fi
exit $status
