#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A process that gives up the user of its SMC-R service keeps nothing of that service (test/renounce): no
# memory, no connection to it, no loan. What is new is plain TCP, and standard error says so once.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
renounce=$build/test/renounce/renounce
need_no_sanitizer privileges
need_namespaces privileges
veth_make 9000 || { notok namespaces "cannot make them"; exit 1; }
chmod 755 "$tmp"

# services ARGS...: one at each end, of root
services() {
    local end place port
    rm -f "$tmp"/[ab].sock
    for end in a b; do
        place="in_$end[@]" port=nn$end
        "${!place}" "$nornic" smc service --foreground -d "udp:$port" --socket "$tmp/$end.sock" \
            "${@/PEER/$(peer_of $end)}" 2>"$tmp/service_$end" &
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
    if [ "$out" = right ] && [ "$server_out" = right ] && [ "$server_rc" = 0 ] &&
        [ "$told" = "$times" ]; then
        ok "$name"
    else
        notok "$name" "client $rc: $out $err; server $server_rc: $server_out $server_err; told $told"
    fi
}
# The service looks at the sender of each request, also where no library keeps a program from asking.
cat >"$tmp/asks.py" <<'END'
import array, fcntl, os, signal, socket, struct, sys
version = int(sys.argv[2])
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(5)
    s.connect(sys.argv[1])
    return s
def ask(s, what, number=0):
    s.send(struct.pack("12I", what, 1, 0x4e6f534d, version, number, 0, 0, 0, 0, 0, 0, 0))
def answer(s):  # its result, and its descriptors
    data, ancillary, _, _ = s.recvmsg(100, 100)
    fds = array.array("i")
    for _, _, them in ancillary:
        fds.frombytes(them)
    return struct.unpack("IIi", data[:12])[2] if data else None, fds
def said(s, what):
    ask(s, what)
    return answer(s)
def as_child(act):
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except BaseException as e:
            print(repr(e), flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
s = connect()
result, (memory, doorbell) = said(s, 1)
assert result == 0
# the memory keeps its size
assert fcntl.fcntl(memory, 1034) & 7 == 7, fcntl.fcntl(memory, 1034)
for size in (0, 4096, 1 << 40):
    try:
        os.ftruncate(memory, size)
        sys.exit(f"it was made {size} bytes")
    except PermissionError:
        pass
# a child is not heard by its parent's connection, whoever it is, and the parent goes on
def is_not_heard():
    s.settimeout(0.5)
    ask(s, 1)
    try:
        sys.exit(f"a child was answered: {answer(s)}")
    except TimeoutError:
        pass
def is_not_heard_as_nobody():
    os.setresuid(65534, 65534, 65534)
    is_not_heard()
as_child(is_not_heard)
as_child(is_not_heard_as_nobody)
assert said(s, 5)[0] == 0
# one that may become the user again is heard, one that may not is cut off
def is_cut_off():
    t = connect()
    assert said(t, 1)[0] == 0
    for ids in ((-1, 65534, -1), (65534, 0, 0), (65534, 65534, 0), (0, 65534, 65534)):
        os.setresuid(*ids)
        assert said(t, 5)[0] == 0, ids
        os.seteuid(0)
    os.setresuid(65534, 65534, 65534)
    for what in (5, 1, 4):
        try:
            ask(t, what)
            assert answer(t)[0] is None, what
        except (BrokenPipeError, ConnectionResetError):
            pass
as_child(is_cut_off)
def may_not_connect():
    os.setresuid(65534, 65534, 65534)
    try:
        connect()
        sys.exit("another user was let in")
    except PermissionError:
        pass
as_child(may_not_connect)
assert said(s, 1)[0] == 0
END
services
version=$(awk '$2 == "SERVICE_VERSION" { print $3 }' service/memory/shared.h)
run python3 "$tmp/asks.py" "$tmp/a.sock" "$version"
if [ $rc = 0 ] && [ -z "$out" ]; then ok the_service_looks_who_asks
else notok the_service_looks_who_asks "$rc: $out $err"; fi
way and_it_goes_on same 0
end_services

for by in option peers; do
    if [ $by = option ]; then services; else services --peers PEER; fi
    for name in setuid setreuid setresuid initgroups steps syscall_setuid syscall_setresuid \
        no_library thread chroot namespace; do
        way "${by}_$name" "$name" 1
    done
    for name in same seteuid seteuid_and_back effective_by_setresuid effective_by_setreuid effective_by_syscall \
        setfsuid setgid sandbox refused; do
        way "${by}_kept_$name" "$name" 0
    done
    end_services
done
exit $status
