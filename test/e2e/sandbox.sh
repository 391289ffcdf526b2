#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# nornic in what a container leaves an ordinary user: no capability, none to be had, no user namespace, one network
# interface, which is lo. What the udp port writes down there is compared with what tcpdump, as root and outside,
# sees beside it. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
need_namespaces sandbox
need_programs sandbox tcpdump
chmod 755 "$tmp"
install -m 755 "$nornic" "$tmp/nornic"
install -d -m 777 "$tmp/home"
install -d "$tmp/root"
ns_make s || { notok sandbox "cannot make a network namespace"; exit 1; }
ns=nn-$$-s
ip -n "$ns" addr add 127.0.0.2/8 dev lo
ip -n "$ns" addr add fd77::1/128 dev lo
ip -n "$ns" addr add fd77::2/128 dev lo
# Packets one by one, as a wire would have them: tcpdump sees trains whole where the sender's kernel need not cut them.
ip netns exec "$ns" ethtool -K lo tx-udp-segmentation off >/dev/null

# In a root directory that is not the kernel's own, nobody makes user namespaces (clone(2): EPERM).
# shellcheck disable=SC2016 # the inner shell's words
sandboxed=(ip netns exec "$ns" sh -c 'mount --rbind / "$0" && exec chroot "$0" "$@"' "$tmp/root"
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs
    env -C "$tmp/home" -u XDG_RUNTIME_DIR)

json() { # EXPRESSION FILE: true of the object `j` in the last line
    python3 -c 'import json, sys
j = json.loads(open(sys.argv[2]).readlines()[-1])
sys.exit(not eval("(%s)" % sys.argv[1]))' "$@"
}

# --- the sandbox is one ---
run "${sandboxed[@]}" sh -c 'grep -E "^(Cap|NoNewPrivs)" /proc/self/status; id -u; unshare -U true'
caps=$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):[[:space:]]0+$' "$tmp/out")
if [ "$caps" = 5 ] && [[ $out == *65534 ]] && grep -q '^NoNewPrivs:[[:space:]]1$' "$tmp/out" && [ $rc = 1 ] &&
    [[ $err == *"not permitted"* ]]; then ok the_sandbox_gives_nothing
else notok the_sandbox_gives_nothing "exit status $rc: $out $err"; fi

run "${sandboxed[@]}" "$tmp/nornic" ports --json
of="{p['port']: p['usable'] for p in j['ports']}"
without="('udp:', 'iwarp:', 'memory')"
if [ $rc = 0 ] && json "{'udp:127.0.0.1', 'udp:fd77::1', 'packet:lo', 'xdp:lo'} <= $of.keys() and
    all(usable == port.startswith($without) for port, usable in $of.items())" "$tmp/out"; then
    ok ports_says_what_is_left
else notok ports_says_what_is_left "exit status $rc: $out $err"; fi

# --- what the port writes down is what tcpdump sees beside it ---
begin_wire() {
    tcpdump_begin "$ns" lo udp port 4791 && return
    notok "$name" "tcpdump did not start: $(cat "$tmp/tcpdump.err")"
    return 1
}
# agree NAME CAPTURE [--part | --trains]: packet by packet (udp_captures.py); what verify says of it, and explain of
# both
agree() {
    local name=$1 capture=$2
    shift 2
    run python3 test/e2e/udp_captures.py "$@" "$capture" "$tmp/wire.pcap"
    if [ $rc = 0 ]; then ok "${name}_is_as_on_the_wire"; else notok "${name}_is_as_on_the_wire" "$out $err"; fi
    run "$nornic" verify --strict "$capture"
    if [ $rc = 0 ] && [[ $out == *" 0 violations"* ]] && [[ $out == *"bad 0"* ]]; then ok "${name}_breaks_no_rule"
    else notok "${name}_breaks_no_rule" "exit status $rc: $(tail -3 "$tmp/out") $err"; fi
    run "${sandboxed[@]}" "$tmp/nornic" explain --json "$capture"
    if [ $rc != 0 ] || [ -n "$err" ]; then
        notok "${name}_is_explained" "exit status $rc: $err"
        return
    fi
    mv "$tmp/out" "$tmp/ours.json"
    "$nornic" explain --json "$tmp/wire.pcap" >"$tmp/theirs.json"
    run python3 test/e2e/udp_explained.py "$@" "$tmp/ours.json" "$tmp/theirs.json"
    if [ $rc = 0 ]; then ok "${name}_is_explained"; else notok "${name}_is_explained" "$out $err"; fi
}

# pair COMMAND NAME SERVER CLIENT CHECK COMPARE ARGS...: COMMAND between two addresses, the client writing a capture, of
# whose report CHECK is true; COMPARE: how agree() does. "${both[@]}" are options that the server is told as well.
pair() {
    local command=$1 server_addr=$3 client_addr=$4 check=$5 compare=$6
    name=$2
    shift 6
    begin_wire || return
    start "${sandboxed[@]}" "$tmp/nornic" "$command" -p 18611 --port "udp:$server_addr" "${both[@]}"
    if ! listening "$ns" 18611; then
        notok "$name" "the server did not listen: $(cat "$tmp/server.err")"
        return
    fi
    run "${sandboxed[@]}" "$tmp/nornic" "$command" -p 18611 --port "udp:$client_addr" --json "${both[@]}" "$@" \
        --capture "$tmp/home/$name.pcapng" "$server_addr"
    finish
    tcpdump_end "$tmp/home/$name.pcapng"
    if [ $rc = 0 ] && [ $server_rc = 0 ] && json "$check" "$tmp/out"; then ok "$name"
    else notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err"; fi
    # shellcheck disable=SC2086 # an option, or none
    agree "$name" "$tmp/home/$name.pcapng" $compare
}
v4=(127.0.0.1 127.0.0.2) v6=(fd77::1 fd77::2)
verified="j['verified_messages'] == 20"
both=(-n 20 -s 300000)
pair pingpong pingpong_v4 "${v4[@]}" "$verified" --trains
pair pingpong pingpong_v6 "${v6[@]}" "$verified" ''
both=(-n 20 -s 1000 --transport ud)
pair pingpong datagrams_v4 "${v4[@]}" "$verified" ''
pair pingpong datagrams_v6 "${v6[@]}" "$verified" ''
both=()
verified="j['verified'] and j['ops'] == 60"
for op in write read send; do
    pair perf "perf_$op" "${v4[@]}" "$verified" --trains -n 60 -w 0 --verify --op "$op"
done
pair perf perf_fetch_add "${v4[@]}" "$verified" '' -n 60 -w 0 --verify --op fetch-add
pair perf perf_write_v6 "${v6[@]}" "$verified" '' -n 60 -w 0 --verify --op write

name=demo
if begin_wire; then
    run "${sandboxed[@]}" "$tmp/nornic" demo --count 20 --loss 0% -o "$tmp/home/demo.pcapng"
    tcpdump_end "$tmp/home/demo.pcapng"
    if [ $rc = 0 ] && [[ $out == *"over ordinary UDP sockets within this machine"* ]]; then ok demo
    else notok demo "exit status $rc: $(tail -5 "$tmp/out") $err"; fi
    agree demo "$tmp/home/demo.pcapng" --part
fi
exit $status
