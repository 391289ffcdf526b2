#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of rdma-core and perftest, as Debian has them, over build/lib: as an ordinary user, between two namespaces
# and on one host. What crossed the wire is judged by the udp port's own capture: nornic verify --strict, and tshark.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
lib=$(realpath "${BUILD:-build}/lib")

need_no_sanitizer verbs
need_programs verbs ibv_rc_pingpong rping ib_write_bw tshark
need_namespaces verbs
veth_make 4200 || { notok veth "cannot make a veth pair"; exit 1; }
chmod 711 "$tmp"
mkdir -m 777 "$tmp/captures"

# on a | b PORT PROGRAM...: in that namespace, as nobody, over that port
on() {
    local -n place=in_$1
    command=("${place[@]}" "${as_nobody[@]}" env "LD_LIBRARY_PATH=$lib" NORNIC_PORT="$2" NORNIC_TRACE=1)
    shift 2
    command+=("$@")
}

# stats NAMESPACE: waits, 10 seconds at most, until a process there listens to a service of the CM
stats() {
    for ((i = 0; i < 100; i++)); do
        ip netns exec "$1" "${as_nobody[@]}" "$nornic" stat 2>/dev/null | grep -q 'listens to [1-9]' && return
        kill -0 "$server" 2>/dev/null || return
        sleep 0.1
    done
}

# judge NAME FILE: everything that crossed the port is as the standard has it; further contexts have files of their own
judge() {
    local ours theirs=0 file
    if ! "$nornic" verify --strict --json "$2"* >"$tmp/verdict" 2>&1; then
        notok "$1" "$(tail -3 "$tmp/verdict")"
        return
    fi
    ours=$(sed -nE 's/.*"roce": ?([0-9]+).*/\1/p' "$tmp/verdict" | awk '{ sum += $1 } END { print sum }')
    for file in "$2"*; do
        theirs=$((theirs + $(tshark -r "$file" -Y infiniband.bth 2>/dev/null | wc -l)))
    done
    if [ "${ours:-0}" -gt 0 ] && [ "$ours" = "$theirs" ]; then ok "$1"
    else notok "$1" "$ours packets here, $theirs for tshark"; fi
}

# between NAME WAIT SERVER... -- CLIENT...: in two namespaces; WAIT: a TCP port that the server listens on, or cm
between() {
    local name=$1 wait=$2 a=() b=() capture=$tmp/captures/$1.pcapng
    shift 2
    while [ "$1" != -- ]; do b+=("$1") && shift; done
    shift
    a=("$@")
    on b udp:10.77.0.2 "${b[@]}"
    start "${command[@]}"
    if [ "$wait" = cm ]; then stats "$ns_b"; else listening "$ns_b" "$wait"; fi
    on a udp:10.77.0.1 env NORNIC_CAPTURE="$capture" "${a[@]}"
    run "${command[@]}"
    finish
    if [ $rc = 0 ] && [ "$server_rc" = 0 ]; then ok "$name"
    else notok "$name" "client $rc: $(tail -3 "$tmp/err") server $server_rc: ${server_err: -300}"; fi
    judge "capture_$name" "$capture"
}

# names LIBRARY: what it exports, with the version nodes, but for second versions of names from before 2007
# (@IBVERBS_1.0, ibv_register_driver@IBVERBS_1.1). All of Debian's names have to be among nornic's
names() {
    nm -D --defined-only "$1" | awk '{ print $3 }' |
        grep -E '@' | grep -vE '[^@]@IBVERBS_1\.[01]$' | sed 's/@@/@/' | sort
}
for library in libibverbs librdmacm; do
    theirs=$(ldconfig -p | awk -v l=$library.so.1 '$1 == l { print $NF; exit }')
    missing=$(comm -23 <(names "$theirs") <(names "$lib/$library.so.1"))
    if [ -z "$missing" ] && [ -n "$theirs" ]; then ok names_$library
    else notok names_$library "of ${theirs:-no library of Debian}: $missing"; fi
done

on a udp:10.77.0.1 ibv_devices
run "${command[@]}"
if [ $rc = 0 ] && [[ $out == *nornic0* ]]; then ok ibv_devices; else notok ibv_devices "$rc: $out $err"; fi
on a udp:10.77.0.1 ibv_devinfo -v
run "${command[@]}"
if [ $rc = 0 ] && [[ $out == *PORT_ACTIVE* && $out == *"::ffff:10.77.0.1, RoCE v2"* ]]; then ok ibv_devinfo
else notok ibv_devinfo "$rc: $out $err"; fi

pingpong=18515
for kind in rc uc ud srq; do
    between ibv_${kind}_pingpong $pingpong ibv_${kind}_pingpong -g 0 -n 200 -c -- \
        ibv_${kind}_pingpong -g 0 -n 200 -c 10.77.0.2
    between ibv_${kind}_pingpong_events $pingpong ibv_${kind}_pingpong -g 0 -n 200 -c -e -- \
        ibv_${kind}_pingpong -g 0 -n 200 -c -e 10.77.0.2
done
between ibv_rc_pingpong_new_send $pingpong ibv_rc_pingpong -g 0 -n 200 -c -N -- \
    ibv_rc_pingpong -g 0 -n 200 -c -N 10.77.0.2
between ibv_rc_pingpong_timestamps $pingpong ibv_rc_pingpong -g 0 -n 200 -t -- ibv_rc_pingpong -g 0 -n 200 -t 10.77.0.2
between ibv_rc_pingpong_device_memory $pingpong ibv_rc_pingpong -g 0 -n 200 -c -j -- \
    ibv_rc_pingpong -g 0 -n 200 -c -j 10.77.0.2
between ibv_xsrq_pingpong $pingpong ibv_xsrq_pingpong -g 0 -- ibv_xsrq_pingpong -g 0 10.77.0.2

between rping cm rping -s -C 20 -V -a 10.77.0.2 -- rping -c -C 20 -V -a 10.77.0.2
between rping_own_qp cm rping -s -C 20 -V -q -a 10.77.0.2 -- rping -c -C 20 -V -q -a 10.77.0.2
between ucmatose cm ucmatose -c 3 -- ucmatose -c 3 -s 10.77.0.2
between ucmatose_migrate cm ucmatose -c 3 -m -- ucmatose -c 3 -m -s 10.77.0.2
between udaddy cm udaddy -c 3 -- udaddy -c 3 -s 10.77.0.2
between rdma_client cm rdma_server -- rdma_client -s 10.77.0.2
between rdma_xclient cm rdma_xserver -- rdma_xclient -s 10.77.0.2
between rdma_xclient_xrc cm rdma_xserver -c x -- rdma_xclient -c x -s 10.77.0.2

# A device on the loopback interface reaches another loopback address. For a device on a network the same address
# means this machine: the server there listens on the device's own address.
loopback() { # NAME SERVER-ADDRESS CLIENT-ADDRESS LISTENS
    on a "udp:$2" rping -s -C 5 -V -a "$4"
    start "${command[@]}"
    stats "$ns_a"
    on a "udp:$3" rping -c -C 5 -V -a 127.0.0.1
    run "${command[@]}"
    finish
    if [ $rc = 0 ] && [ "$server_rc" = 0 ]; then ok "$1"
    else notok "$1" "client $rc: $(tail -3 "$tmp/err") server $server_rc: ${server_err: -300}"; fi
}
loopback rping_loopback_addresses 127.0.0.1 127.0.0.2 127.0.0.1
loopback rping_this_machine 10.77.0.1 10.77.0.1 10.77.0.1

# a group: who hears it says so before the sender begins, and the sender leaves when its peer may still count
ip -n "$ns_a" route add 239.77.0.0/16 dev nna
on b udp:10.77.0.2 stdbuf -oL mckey -m 239.77.0.1 -b 10.77.0.2
start "${command[@]}"
for ((i = 0; i < 100; i++)); do
    grep -q 'joined' "$tmp/server.out" && break
    sleep 0.1
done
on a udp:10.77.0.1 mckey -m 239.77.0.1 -b 10.77.0.1 -s
run "${command[@]}"
finish
if [ $rc = 0 ] && [ "$server_rc" = 0 ]; then ok mckey; else notok mckey "$rc: $err, $server_rc: $server_err"; fi

for test in write_bw send_bw read_bw atomic_bw write_lat send_lat read_lat atomic_lat; do
    between perftest_$test $pingpong ib_$test -F -x 0 -n 100 -- ib_$test -F -x 0 -n 100 10.77.0.2
done
for kind in UC UD; do
    between perftest_send_bw_$kind $pingpong ib_send_bw -F -x 0 -c $kind -s 1024 -n 100 -- \
        ib_send_bw -F -x 0 -c $kind -s 1024 -n 100 10.77.0.2
done
between perftest_send_bw_events $pingpong ib_send_bw -F -x 0 -e -n 100 -- ib_send_bw -F -x 0 -e -n 100 10.77.0.2
between perftest_write_bw_cm cm ib_write_bw -F -R -n 100 -- ib_write_bw -F -R -n 100 10.77.0.2

# on one host two processes share one address
on a udp:10.77.0.1 ibv_rc_pingpong -g 0 -n 200 -c
start "${command[@]}"
listening "$ns_a" $pingpong
on a udp:10.77.0.1 ibv_rc_pingpong -g 0 -n 200 -c 10.77.0.1
run "${command[@]}"
finish
if [ $rc = 0 ] && [ "$server_rc" = 0 ]; then ok one_host; else notok one_host "client $rc: $err, server $server_rc"; fi

# who is not told a port takes that of the default route, or this machine's
run "${in_a[@]}" "${as_nobody[@]}" env "LD_LIBRARY_PATH=$lib" ibv_devinfo
if [ $rc = 0 ] && [[ $out == *PORT_ACTIVE* ]]; then ok no_port_named; else notok no_port_named "$rc: $out $err"; fi

# faulty NAME RULES PATTERN WAIT SERVER... -- CLIENT...: the client, which those faults happen to, says what is in
# PATTERN
faulty() {
    local name=$1 rules=$2 pattern=$3 wait=$4 b=()
    shift 4
    while [ "$1" != -- ]; do b+=("$1") && shift; done
    shift
    on b udp:10.77.0.2 "${b[@]}"
    start "${command[@]}"
    if [ "$wait" = cm ]; then stats "$ns_b"; else listening "$ns_b" "$wait"; fi
    on a udp:10.77.0.1 env NORNIC_FAULTS="$rules" "$@"
    run "${command[@]}"
    kill -KILL "$server" 2>/dev/null # what its peer's failure leaves it with is its own affair
    wait "$server" 2>/dev/null
    if [[ "$out $err" == *$pattern* && $err == *"fault of line 1"* ]]; then ok "$name"
    else notok "$name" "client $rc: $out $err"; fi
}
faulty fault_write_bw "the 50th WRITE ends with RETRY_EXC_ERR" "Failed status 12" $pingpong \
    ib_write_bw -F -x 0 -n 100 -- ib_write_bw -F -x 0 -n 100 10.77.0.2
faulty fault_rping "the 3rd SEND of the 1st qp ends with RNR_RETRY_EXC_ERR" "completion failed status 13" cm \
    rping -s -C 20 -a 10.77.0.2 -- rping -c -C 20 -a 10.77.0.2
faulty fault_no_region "allocation of the 1st MR fails" "Couldn't register MR" $pingpong \
    ibv_rc_pingpong -g 0 -- ibv_rc_pingpong -g 0 10.77.0.2
faulty fault_port "port down after 100ms" "Failed status 12" $pingpong \
    ib_write_bw -F -x 0 -n 1000000 -- ib_write_bw -F -x 0 -n 1000000 10.77.0.2
between fault_late_completions $pingpong env NORNIC_FAULTS="delay completions by 2ms" ibv_rc_pingpong -g 0 -n 50 -c -e \
    -- env NORNIC_FAULTS="delay completions by 2ms" ibv_rc_pingpong -g 0 -n 50 -c -e 10.77.0.2
on a udp:10.77.0.1 env NORNIC_FAULTS="port down after 200ms for 200ms" timeout 2 stdbuf -oL ibv_asyncwatch
run "${command[@]}"
if [[ $out == *PORT_ERR*PORT_ACTIVE* ]]; then ok fault_port_events; else notok fault_port_events "$rc: $out $err"; fi
on a udp:10.77.0.1 env NORNIC_TRACE=0 NORNIC_FAULTS=$'# first\nevery SEND fails' ibv_devinfo
run "${command[@]}"
if [ $rc != 0 ] && [[ $err == *"line 2, column 12: 'fails' stands where 'ends' is wanted"* ]]; then ok fault_wrong_rule
else notok fault_wrong_rule "$rc: $out $err"; fi

# what fails says why, where that is asked for
on a udp:192.0.2.99 ibv_devinfo
run "${command[@]}"
if [ $rc != 0 ] && [[ $err == *"nornic0 cannot be opened: "* ]]; then ok says_why; else notok says_why "$rc: $err"; fi
exit $status
