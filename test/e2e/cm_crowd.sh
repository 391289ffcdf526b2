#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Thousands of ids of librdmacm between processes connect and disconnect at once (test/verbs/programs/cm_crowd.c): from
# one process, and from several to one. No message is lost on the way, so no event is seconds late.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
program=$build/test/verbs/programs/cm_crowd

need_namespaces cm_crowd
ns_make a || { notok namespace "cannot make one"; exit 1; }
inside=(ip netns exec "nn-$$-a" env "LD_LIBRARY_PATH=$build/lib")

# crowd NAME SENDERS COUNT: COUNT ids of each of SENDERS processes, all to one server
crowd() {
    local name=$1 senders=$2 count=$3 pids=() failed=0 i
    "${inside[@]}" NORNIC_PORT=udp:127.0.0.1 "$program" serve 127.0.0.1 $((senders * count)) >"$tmp/$name.0" 2>&1 &
    pids=($!)
    for ((i = 0; i < 100; i++)); do
        grep -q listening "$tmp/$name.0" && break
        sleep 0.1
    done
    for ((i = 1; i <= senders; i++)); do
        "${inside[@]}" NORNIC_PORT=udp:127.0.0.$((i + 1)) "$program" ask 127.0.0.1 "$count" >"$tmp/$name.$i" 2>&1 &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i" || failed=1; done
    if [ $failed = 0 ]; then ok "$name"
    else notok "$name" "$(tail -n 2 "$tmp/$name".* | tr '\n' ' ')"; fi
}
crowd four_thousand_ids_of_one_process 1 4000
crowd two_processes_to_one 2 2000
crowd four_processes_to_one 4 1000
exit $status
