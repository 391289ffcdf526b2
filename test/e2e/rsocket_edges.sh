#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rsockets that have something under way while the program looks elsewhere, calls on those that were refused, and
# datagrams of forged sources (test/verbs/programs/rs_edges.c), over RoCE and over iWARP, in a namespace of its own.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
edges=$build/test/verbs/programs/rs_edges

need_namespaces rsocket_edges
ns_make a || { notok namespace "cannot make one"; exit 1; }

# case_of PORT WHAT TEXT: the program says that, and ends with 0
case_of() {
    local port=$1 what=$2
    # shellcheck disable=SC2086
    run ip netns exec "nn-$$-a" env "LD_LIBRARY_PATH=$build/lib" "NORNIC_PORT=$port:127.0.0.1" "$edges" $what
    if [ $rc = 0 ] && [[ $out == *"$3"* ]]; then ok "${port}_${what%% *}"
    else notok "${port}_${what%% *}" "exit status $rc: $out ${err: -300}"; fi
}

for port in udp iwarp; do
    case_of $port "self 20" "20 of 20 connections"
    case_of $port "window 300" "300 of 300 windows"
    case_of $port refused "0 wrong answers"
    if [[ $build == *san-* ]]; then
        skip "${port}_thread" "a sanitizer has threads of its own"
    else
        case_of $port thread "0 wrong numbers of threads"
        case_of $port fork "child 0, the parent is served"
    fi
done
# the device is at 127.0.0.2, from which nothing goes to 127.0.0.77 unless the program says so
run ip netns exec "nn-$$-a" env "LD_LIBRARY_PATH=$build/lib" NORNIC_PORT=udp:127.0.0.2 "$edges" elsewhere
if [ $rc = 0 ] && [[ $out == "0 wrong answers elsewhere" ]]; then ok datagrams_from_no_device
else notok datagrams_from_no_device "exit status $rc: $out ${err: -300}"; fi
if [[ $build == *san-* ]]; then skip udp_flood "a sanitizer's memory and time are its own"
else case_of udp "flood 4" "longest wait"; fi
exit $status
