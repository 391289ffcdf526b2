#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic stat` and programs of libibverbs that run: what it shows of them, to whom, and of one that is killed.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
lib=$(realpath "${BUILD:-build}/lib")

need_no_sanitizer stat
need_programs stat ib_send_lat
need_namespaces stat
ns_make a || { notok namespace "cannot make one"; exit 1; }
inside=(ip netns exec "nn-$$-a")
here=("${inside[@]}" "${as_nobody[@]}" env LD_LIBRARY_PATH="$lib" NORNIC_PORT=udp:127.0.0.1)

# look NAME PYTHON [COMMAND...]: within 10 seconds that is true of `all`, what COMMAND (as nobody) says in JSON
look() {
    local name=$1 condition=$2
    shift 2
    [ $# != 0 ] || set -- "${here[@]}" "$nornic" stat --json
    for ((i = 0; i < 100; i++)); do
        "$@" >"$tmp/json" 2>"$tmp/json.err"
        if python3 -c 'import json, sys
all = json.load(open(sys.argv[1]))
qps = [q for p in all["processes"] for d in p["devices"] for q in d["qps"]]
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$tmp/json" "$condition" 2>/dev/null; then
            ok "$name"
            return
        fi
        sleep 0.1
    done
    notok "$name" "$(head -c 600 "$tmp/json") $(cat "$tmp/json.err")"
}

look nobody_is_there 'all["processes"] == [] and all["hidden"] == all["silent"] == 0'
# -u 20: each waits half a minute for a peer that stands still or is gone, on a busy machine, too
start timeout -s KILL 50 "${here[@]}" ib_send_lat -F -x 0 -u 20 -D 40
listening "nn-$$-a" 18515
timeout -s KILL 50 "${here[@]}" ib_send_lat -F -x 0 -u 20 -D 40 127.0.0.1 >/dev/null 2>&1 &
e2e_pids+=("$!")
look both_ends_of_a_connection 'len(all["processes"]) == len(qps) == 2 and
    {q["qpn"] for q in qps} == {q["peer_qpn"] for q in qps} and
    min(q["state"] == "RTS" and q["type"] == "RC" and q["peer"] == "127.0.0.1" for q in qps) and
    min(q["counters"].get("tx_pkts", 0) > 1000 and q["recvs"] > 0 for q in qps) and
    {p["program"] for p in all["processes"]} == {"ib_send_lat"}'
"${here[@]}" "$nornic" stat >"$tmp/text"
queue_pair='^    queue pair 0x[0-9a-f]{6} RC RTS, to 0x[0-9a-f]{6} at 127\.0\.0\.1; '
queue_pair+='outstanding: [0-9]+ sends?, [0-9]+ receives?$'
if [ "$(grep -cE "$queue_pair" "$tmp/text")" = 2 ] &&
    [ "$(grep -cE '^ib_send_lat \(process [0-9]+, user 65534\) by libibverbs: 1 device open$' "$tmp/text")" = 2 ] &&
    [ "$(grep -c '^  nornic0 on udp:127.0.0.1, ACTIVE: 127.0.0.1; 1 queue pair$' "$tmp/text")" = 2 ]; then ok as_text
else notok as_text "$(cat "$tmp/text")"; fi
look root_sees_all 'len(all["processes"]) == 2 and all["hidden"] == 0' "${inside[@]}" "$nornic" stat --json
look others_see_how_many 'all["processes"] == [] and all["hidden"] == 2' \
    "${inside[@]}" setpriv --reuid 12345 --clear-groups "$nornic" stat --json

# one that stands still does not answer, and holds nobody up; one that is killed is no more
pids=$(sed -nE 's/^ib_send_lat \(process ([0-9]+).* by libibverbs.*/\1/p' "$tmp/text")
read -r first second <<<"$(echo "$pids" | tr '\n' ' ')"
kill -STOP "$first"
look one_that_stands_still 'len(all["processes"]) == 1 and all["silent"] == 1'
kill -KILL "$first"
look one_that_was_killed 'len(all["processes"]) == 1 and all["silent"] == 0'
kill -KILL "$second"
look all_have_gone 'all["processes"] == [] and all["silent"] == 0'

# whoever may take such a name may say what he likes: no crash, no escapes, and no more time than allowed
hostile() { # ANSWER: of a listener that gives it and closes; "" holds the connection
    start timeout -s KILL 60 "${inside[@]}" "${as_nobody[@]}" python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(b"\0nornic-verbs-hostile")
s.listen(1)
print("ready", flush=True)
held = []
while True:
    c = s.accept()[0]
    if sys.argv[1] == "flood":
        try:
            c.sendall(b"[" + b"1," * (1 << 26))
        except OSError:
            pass
    elif sys.argv[1] == "hold":
        held.append(c)
        continue
    else:
        c.sendall(sys.argv[1].encode())
    c.close()' "$1"
    hostile_pid=${e2e_pids[-1]}
    for ((i = 0; i < 100; i++)); do
        "${inside[@]}" grep -q '@nornic-verbs-hostile' /proc/net/unix && return
        sleep 0.1
    done
}
n=0
for answer in '{"devices":[{"device":null,"port":[],"addresses":[null,1,{}],"qps":[null,{"type":null}]}]}' \
    '{"devices":[null,[],1],"pid":null}' \
    '{"devices":[{"device":"\u001b]0;x\u0007\u009b","counters":{"\u001b[2J":1}}]}' \
    '[1]' '{' flood hold; do
    n=$((n + 1))
    hostile "$answer"
    timeout -s KILL 20 "${inside[@]}" "$nornic" stat >"$tmp/text" 2>&1
    code=$?
    if [ $code = 0 ] && [ -s "$tmp/text" ] && ! LC_ALL=C grep -q '[^ -~]' "$tmp/text"; then ok "hostile_answer_$n"
    else notok "hostile_answer_$n" "status $code: $(head -c 300 "$tmp/text" | cat -v)"; fi
    kill "$hostile_pid" && wait "$hostile_pid" 2>/dev/null
    look "hostile_answer_${n}_has_gone" 'all["processes"] == []' "${inside[@]}" "$nornic" stat --json
done

# in a user namespace of its own it does not know root
timeout -s KILL 30 "${inside[@]}" "${as_nobody[@]}" env HOME="$tmp" "$nornic" run --files=always \
    --port udp:127.0.0.1 -- ib_send_lat -F -x 0 >/dev/null 2>"$tmp/run.err" &
e2e_pids+=("$!")
if grep -q 'cannot' "$tmp/run.err"; then skip in_a_user_namespace "$(cat "$tmp/run.err")"
else
    listening "nn-$$-a" 18515
    look root_sees_into_a_user_namespace 'len(all["processes"]) == 1' "${inside[@]}" "$nornic" stat --json
    look its_user_too 'len(all["processes"]) == 1'
fi
exit $status
