#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The sandbox of commands that read bytes of strangers: code in the process (confined.c) tries to get out when the
# command has done its work. It cannot, and can with --no-sandbox. Each process has no_new_privs, a filter of calls, and
# the capabilities of docs/sandbox.md. As root and as user 65534; on a kernel without Landlock one sentence says so.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=${BUILD:-build}
[[ $build != *san-* ]] || skip_rest "a process with a sanitizer has no sandbox" confined
need_namespaces confined
chmod 755 "$tmp"
mkdir -m 1777 "$tmp/open"
gcc -shared -fPIC -O1 -o "$tmp/escape.so" test/e2e/confined.c || { notok confined "gcc failed"; exit 1; }
mkdir "$tmp/lib"
install -m 755 "$nornic" "$tmp"
install -m 755 "$build"/lib/*.so* "$tmp/lib"
install -m 644 pcaps/cm_rping.pcap "$tmp/capture.pcap"
nornic=$tmp/nornic capture=$tmp/capture.pcap
as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
out_there="read_a_file make_a_file socket new_namespace code fork"

# escaping COMMAND...: runs it with the attacker inside; $err has the attempts
escaping() {
    rm -f "$tmp/open/made"
    run env LD_PRELOAD="$tmp/escape.so" ESCAPE_FILE="$tmp/open/made" "$@"
}
# confined NAME [ALLOWED...]: every attempt failed, but for those that the process is allowed
confined() {
    local name=$1 attempts worked
    shift
    attempts=$(grep -c '^escape ' <<<"$err")
    worked=$(sed -n 's/^escape \([a-z_]*\) 0$/\1/p' <<<"$err" | paste -sd' ')
    if [ "$attempts" = 10 ] && [ "$worked" = "$*" ] && [ ! -e "$tmp/open/made" ]; then ok "$name"
    else notok "$name" "exit status $rc, $attempts attempts, these worked: $worked; $err"; fi
}
# free NAME: the attempts work, so that their failure is the sandbox's
free() {
    local name=$1 missing= attempt
    for attempt in $out_there exec; do
        grep -q "^escape $attempt 0" <<<"$err" || missing+="$attempt "
    done
    if [ -z "$missing" ]; then ok "$name"; else notok "$name" "these failed: $missing; $err"; fi
}
# status_of NAME PID CAPS: no_new_privs, a filter, and the capabilities of the process
status_of() {
    local name=$1 pid=$2 caps=$3 found
    found=$(awk '/^(CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):/ {printf "%s%s ", $1, $2}' "/proc/$pid/status")
    if [ "$found" = "CapEff:$caps CapBnd:$caps CapAmb:0000000000000000 NoNewPrivs:1 Seccomp:2 " ]; then ok "$name"
    else notok "$name" "$found"; fi
}
none=0000000000000000

# --- readers of files ---
readers=(explain verify "replay --as 10.77.0.1" "explain --html $tmp/open/page.html" "explain --csv operations"
    "explain --json")
for reader in "${readers[@]}"; do
    name=$(tr -cs 'a-z\n' _ <<<"${reader%% /*}")
    escaping "$nornic" $reader "$capture"
    confined "${name}_is_confined"
    escaping "$nornic" $reader --no-sandbox "$capture"
    free "${name}_without_a_sandbox_is_not"
    escaping "${as_user[@]}" "$nornic" $reader "$capture"
    confined "${name}_of_a_user_is_confined"
    rm -f "$tmp/open/page.html"
done
escaping env NORNIC_NO_SANDBOX=1 "$nornic" verify "$capture"
free the_variable_switches_it_off

mkfifo "$tmp/fifo"
"$nornic" explain - <"$tmp/fifo" >"$tmp/server.out" 2>&1 &
server=$!
e2e_pids+=("$server")
exec 9>"$tmp/fifo"
head -c 24 "$capture" >&9
until_true 10 grep -q 'NoNewPrivs:.1' "/proc/$server/status"
until_true 10 grep -q 'Seccomp:.2' "/proc/$server/status"
status_of status_of_a_reader "$server" $none
exec 9>&-
wait "$server"

# --- a kernel without Landlock ---
run env LD_PRELOAD="$tmp/escape.so" ESCAPE_NO_LANDLOCK=1 "$nornic" verify "$capture" "$capture"
if [ $rc = 0 ] && one_sentence "$err" "the kernel lacks Landlock here"; then ok without_landlock_one_sentence
else notok without_landlock_one_sentence "exit status $rc: $err"; fi
escaping env ESCAPE_NO_LANDLOCK=1 "$nornic" verify "$capture"
worked=$(sed -n 's/^escape \([a-z_]*\) 0$/\1/p' <<<"$err" | paste -sd' ')
if [[ " $worked " != *" exec "* && " $worked " != *" socket "* && " $worked " != *" fork "* ]]; then
    ok without_landlock_calls_are_refused
else notok without_landlock_calls_are_refused "these worked: $worked"; fi

# --- live capture and the service ---
rm -f "$tmp/open/made"
veth_make 4200 || { notok namespaces "cannot make them"; exit 1; }
for command in "sniff -i nna -o $tmp/open/sniff.pcapng" "explain -i nna"; do
    name=$(cut -d' ' -f1 <<<"$command")_live
    LD_PRELOAD=$tmp/escape.so ESCAPE_FILE=$tmp/open/made "${in_a[@]}" "$nornic" $command >"$tmp/server.out" \
        2>"$tmp/server.err" &
    server=$!
    e2e_pids+=("$server")
    until_true 10 grep -q 'Seccomp:.2' "/proc/$server/status"
    status_of "status_of_$name" "$server" $none
    kill -INT "$server"
    finish
    rc=$server_rc err=$server_err
    confined "${name}_is_confined"
done
LD_PRELOAD=$tmp/escape.so ESCAPE_FILE=$tmp/open/made "${in_a[@]}" "$nornic" smc service --foreground -d udp:nna \
    --socket "$tmp/a.smc" >"$tmp/server.out" 2>"$tmp/server.err" &
server=$!
e2e_pids+=("$server")
until_true 10 grep -q 'Seccomp:.2' "/proc/$server/status"
caps=$(awk '/^CapEff/ {print $2}' "/proc/$server/status")
status_of status_of_the_service "$server" "$caps"
# CAP_NET_ADMIN and CAP_BPF, or CAP_SYS_ADMIN before Linux 5.8; CAP_DAC_OVERRIDE if root needs it for its files
of_service=$((1 << 12 | 1 << ($(cat /proc/sys/kernel/cap_last_cap) >= 39 ? 39 : 21)))
if [ $((16#$caps & ~(1 << 1 | 1 << 2))) = $of_service ]; then ok capabilities_of_the_service
else notok capabilities_of_the_service "$caps"; fi
service=$server
# what a service does: connections of programs, and an interface whose addresses and state change
"${in_b[@]}" "$nornic" smc service --foreground -d udp:nnb --socket "$tmp/b.smc" >"$tmp/b.out" 2>"$tmp/b.err" &
other=$!
e2e_pids+=("$other")
until_true 10 [ -S "$tmp/b.smc" ]
for round in 1 2; do
    timeout 30 "${in_a[@]}" "$nornic" run --smc --service "$tmp/a.smc" -- python3 -c '
import socket
with socket.create_server(("10.77.0.1", 7000)) as l:
    c, _ = l.accept()
    count = 0
    while data := c.recv(65536):
        count += len(data)
    print("took", count)' >"$tmp/took" 2>&1 &
    reader=$!
    listening "$ns_a" 7000
    timeout 30 "${in_b[@]}" "$nornic" run --smc --service "$tmp/b.smc" -- python3 -c '
import socket
with socket.create_connection(("10.77.0.1", 7000)) as c:
    c.sendall(bytes(3000000))'
    wait "$reader"
    if grep -q "took 3000000" "$tmp/took"; then ok "data_through_confined_services_$round"
    else notok "data_through_confined_services_$round" "$(cat "$tmp/took" "$tmp/server.err" "$tmp/b.err")"; fi
    ip -n "$ns_a" link set nna down
    ip -n "$ns_a" link set nna up
    ip -n "$ns_a" addr add 10.77.0.9/24 dev nna
    ip -n "$ns_a" addr del 10.77.0.9/24 dev nna
done
kill -TERM "$service" "$other"
wait "$other"
server=$service
finish
rc=$server_rc err=$server_err
confined service_is_confined
before_escape=$(sed '/^escape/,$d' <<<"$server_err")
if [[ $before_escape$(cat "$tmp/b.err") != *refused* ]]; then ok services_need_no_other_call
else notok services_need_no_other_call "$server_err; $(cat "$tmp/b.err")"; fi

# --- an interface that is deleted and made again carries links again ---
# make_again: the veth pair, with other interface numbers
make_again() {
    ip -n "$ns_a" link del nna
    ip link add nna netns "$ns_a" mtu 4200 type veth peer name nnb netns "$ns_b" mtu 4200
    ip -n "$ns_a" addr add 10.77.0.1/24 dev nna
    ip -n "$ns_b" addr add 10.77.0.2/24 dev nnb
    ip -n "$ns_a" link set nna up
    ip -n "$ns_b" link set nnb up
}
# sends_by_smcr COUNT: makes a connection; true if COUNT of them used SMC-R since the services began
sends_by_smcr() {
    timeout 8 "${in_a[@]}" "$nornic" run --smc --service "$tmp/a.smc" -- python3 -c '
import socket
with socket.create_server(("10.77.0.1", 7000)) as l:
    c, _ = l.accept()
    while c.recv(65536):
        pass' >"$tmp/took" 2>&1 &
    local reader=$!
    listening "$ns_a" 7000
    timeout 8 "${in_b[@]}" "$nornic" run --smc --service "$tmp/b.smc" -- python3 -c '
import socket
with socket.create_connection(("10.77.0.1", 7000)) as c:
    c.sendall(bytes(100000))' 2>>"$tmp/took"
    wait "$reader"
    [ "$("$nornic" smc stat --json --pid "$server" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["processes"][0]["counters"]["conns_smc"])')" = "$1" ]
}
for kind in udp packet xdp; do
    caps_wanted=$of_service
    # and CAP_NET_RAW, CAP_IPC_LOCK, CAP_PERFMON
    [ $kind = udp ] || caps_wanted=$((of_service | 1 << 13 | 1 << 14 | (of_service >> 39 & 1) << 38))
    start "${in_a[@]}" "$nornic" smc service --foreground -d $kind:nna --peers 10.77.0.0/24 --socket "$tmp/a.smc"
    "${in_b[@]}" "$nornic" smc service --foreground -d $kind:nnb --peers 10.77.0.0/24 --socket "$tmp/b.smc" \
        >"$tmp/b.out" 2>"$tmp/b.err" &
    other=$!
    e2e_pids+=("$other")
    until_true 10 [ -S "$tmp/a.smc" ] && until_true 10 [ -S "$tmp/b.smc" ]
    caps=$(awk '/^CapEff/ {print $2}' "/proc/$server/status")
    if [ $((16#$caps & ~(1 << 1 | 1 << 2))) = $caps_wanted ]; then ok "capabilities_with_$kind"
    else notok "capabilities_with_$kind" "$caps"; fi
    first=no again=no
    ! sends_by_smcr 1 || first=yes
    make_again
    until_true 1 sends_by_smcr 2 && again=yes # ten connections at most: the first may find no link yet
    if [ $first = yes ] && [ $again = yes ] && ! grep -q refused "$tmp/server.err" "$tmp/b.err"; then
        ok "made_again_$kind"
    else notok "made_again_$kind" "first $first, again $again: $(cat "$tmp/server.err" "$tmp/b.err" "$tmp/took")"; fi
    kill -TERM "$server" "$other"
    wait "$other"
    finish
done
exit $status
