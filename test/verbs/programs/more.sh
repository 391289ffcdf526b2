# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: Gloo, a C++ library with a transport over libibverbs, DAPL's dtest, and valkey with its RDMA.
# shellcheck shell=bash
begin more

# --- Gloo: ranks on both hosts, which find each other by files ---

# gloo_ranks NAME RANKS [more]
gloo_ranks() {
    local name=$1 ranks=$2 rank pids=() failed=
    wanted "$name" "${3:-}" || return
    if [ ! -x "$tmp/gloo" ]; then
        g++ -std=c++17 -O1 -Wall -Wextra -o "$tmp/gloo" test/verbs/programs/gloo.cc -lgloo 2>"$tmp/err" ||
            { notok "$name" "g++: $(end_of err)" && return; }
    fi
    chmod 755 "$tmp/gloo"
    "${as_nobody[@]}" mkdir "$tmp/home/$name"
    for ((rank = 0; rank < ranks; rank++)); do
        if [ $((rank % 2)) = 0 ]; then on a "$tmp/gloo" "$tmp/home/$name" $rank $ranks
        else on b "$tmp/gloo" "$tmp/home/$name" $rank $ranks; fi
        "${command[@]}" >"$tmp/gloo.$rank" 2>&1 &
        pids+=($!)
    done
    e2e_pids+=("${pids[@]}")
    for ((rank = 0; rank < ranks; rank++)); do wait "${pids[rank]}" || failed+=" $rank: $?"; done
    if [ -z "$failed" ] && [ "$(cat "$tmp/gloo.0")" = "gloo: $ranks ranks, all right" ]; then ok "$name"
    else notok "$name" "rank and status:$failed $(tail -qn 3 "$tmp"/gloo.?)"; fi
}
gloo_ranks more_gloo_2 2 more
gloo_ranks more_gloo_4 4

# --- DAPL: dtest sends, writes and reads, and looks at what came; its client takes the provider from the server ---

dapl_dtest() {
    local name=$1 library=$2 where=$3 dir
    wanted "$name" || return
    shift 3
    for dir in a b; do
        mkdir -p "$tmp/dapl.$dir"
        echo "nornic u2.0 nonthreadsafe default $library dapl.2.0 \"${where/@/$dir}\" \"\"" >"$tmp/dapl.$dir/dat.conf"
        chmod 755 "$tmp/dapl.$dir"
        chmod 644 "$tmp/dapl.$dir/dat.conf"
    done
    speak on b "$dapl_wait" "$tmp/captures/$name" env DAT_OVERRIDE="$tmp/dapl.b/dat.conf" dtest -P nornic -s "$@" -- \
        env DAT_OVERRIDE="$tmp/dapl.a/dat.conf" dtest -P nornic -h 10.77.0.2 "$@"
    both_well "$name" 'DAPL Test Complete.*PASSED'
    wire "capture_$name" "$tmp/captures/$name"
}
dapl_wait=15828
dapl_dtest more_dapl_cma libdaplofa.so.2 'nn@ 0' -b 65536
dapl_dtest more_dapl_scm libdaploscm.so.2 'nornic0 1' -b 65536

# --- valkey: four threads of its test client set and get some thousand keys each and look at what comes; BGSAVE forks
# the server meanwhile. Not in CI: no package of Debian 12 has it, its source is fetched and built ---

# valkey_clients NAME PLACE-OF-THE-SERVER
valkey_clients() {
    local name=$1 at=$2 built address=10.77.0.2
    wanted "$name" more || return
    [ "$at" = b ] || address=10.77.0.1
    build_it "$name" valkey || return
    cp "$built/src/valkey-server" "$built/tests/rdma/rdma-test" "$tmp"
    chmod 755 "$tmp/valkey-server" "$tmp/rdma-test"
    staying=1
    speak on "$at" cm "$tmp/captures/$name" "$tmp/valkey-server" --port 0 --protected-mode no --save '' \
        --dir "$tmp/home" --rdma-port 6379 --rdma-bind $address -- "$tmp/rdma-test" --thread 4 -h $address
    staying=
    both_well "$name" 'Valkey Over RDMA test \[OK\]'
    wire "capture_$name" "$tmp/captures/$name"
}
valkey_clients more_valkey b
valkey_clients more_valkey_one_host a
