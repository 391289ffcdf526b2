#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A process that gives up the user of its SMC-R service keeps nothing of that service: no memory, no connection
# to it, no loan. What is new is plain TCP, and standard error says so once (test/renounce).
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
renounce=$build/test/renounce/renounce
if [[ $build == *san-* ]]; then
    skip privileges "a sanitizer has to be in the program itself"
    exit $status
fi
why=$(why_no_namespaces)
if [ -n "$why" ]; then
    skip privileges "$why"
    exit $status
fi
veth_make 9000 || { notok namespaces "cannot make them"; exit 1; }
chmod 755 "$tmp"

# services ARGS...: one at each end, of root
services() {
    local end place port
    rm -f "$tmp"/[ab].sock
    for end in a b; do
        place="in_$end[@]" port=nn$end
        "${!place}" "$nornic" smc service --foreground -d "udp:$port" --socket "$tmp/$end.sock" "${@/PEER/$(peer_of $end)}" \
            2>"$tmp/service_$end" &
        e2e_pids+=("$!")
        eval "service_$end=$!"
        until_true 20 [ -S "$tmp/$end.sock" ]
    done
}
peer_of() { if [ "$1" = a ]; then echo 10.77.0.2; else echo 10.77.0.1; fi; }
end_services() {
    kill -TERM "$service_a" "$service_b"
    wait "$service_a" "$service_b"
}
run_a=("$nornic" run --smc --service "$tmp/a.sock" --)
run_b=("$nornic" run --smc --service "$tmp/b.sock" --)
sentence="has given up user 0, whose service lends SMC-R"
port=5400

# way NAME WAY TIMES: the child of a server goes WAY; the sentence is told so often
way() {
    local name=$1 way=$2 times=$3 told
    port=$((port + 2))
    start "${in_a[@]}" "${run_a[@]}" "$renounce" serve "$port" "$way" 10.77.0.2 "$((port + 1))"
    listening "$ns_a" "$port"
    run "${in_b[@]}" "${run_b[@]}" python3 test/renounce/client.py 10.77.0.1 "$port" "$((port + 1))"
    finish
    told=$(grep -c "$sentence" <<<"$server_err")
    if [ "$out" = right ] && [ "$server_out" = right ] && [ "$server_rc" = 0 ] && [ "$told" = "$times" ]; then
        ok "$name"
    else
        notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err; told $told times"
    fi
}
# goes_on: the service of the server serves its other programs
goes_on() {
    way "$1" same 0
}

for by in option peers; do
    if [ $by = option ]; then services; else services --peers PEER; fi
    for name in setuid setreuid setresuid initgroups steps syscall_setuid syscall_setresuid thread chroot \
        namespace; do
        way "${by}_$name" "$name" 1
    done
    for name in same seteuid seteuid_and_back setfsuid setgid refused; do
        way "${by}_kept_$name" "$name" 0
    done
    end_services
done
exit $status
