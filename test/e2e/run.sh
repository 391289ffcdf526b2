#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic run`: what the program sees, as root and as an ordinary user; that it keeps its exit status and signals; what
# is said where the files of an adapter cannot be shown; and the recipe of docs/ci.md, as an ordinary user with nothing
# in the environment.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"

need_no_sanitizer run
need_programs run ibv_devinfo ibv_rc_pingpong python3
need_namespaces run
veth_make 4200 || { notok veth "cannot make a veth pair"; exit 1; }
chmod 711 "$tmp"
here="${in_a[*]}"
build=$(realpath "${BUILD:-build}")

# says NAME STATUS PATTERN: of what run() ran
says() {
    if [ "$rc" = "$2" ] && [[ $out$err == *$3* ]]; then ok "$1"; else notok "$1" "exit status $rc: $out $err"; fi
}

# shown WHO COMMAND-PREFIX...: the files, to a program that reads them as UCX and pyverbs do
shown() {
    local who=$1
    shift
    run $here "$@" "$nornic" run --files=always --port udp:10.77.0.1,udp:127.0.0.1 -- python3 -c '
import os, stat
for number, name, interface, gid in ((0, "nornic0", "nna", "0a4d:0001"), (1, "nornic1", "lo", "7f00:0001")):
    device = "/sys/class/infiniband/" + name
    node = os.stat("/dev/infiniband/uverbs%d" % number)
    assert stat.S_ISCHR(node.st_mode) and os.access("/dev/infiniband/uverbs%d" % number, os.R_OK | os.W_OK)
    assert os.listdir(device + "/device/net") == [interface], os.listdir(device + "/device/net")
    assert os.path.exists(device + "/device/net/" + interface + "/mtu")
    read = lambda path: open(device + "/" + path).read().strip()
    assert read("ports/1/gids/0") == "0000:0000:0000:0000:0000:ffff:" + gid, read("ports/1/gids/0")
    assert read("ports/1/gid_attrs/types/0") == "RoCE v2" and read("ports/1/gid_attrs/ndevs/0") == interface
    assert read("ports/1/state") == "4: ACTIVE" and read("ports/1/link_layer") == "Ethernet"
    assert open("/sys/class/infiniband_verbs/uverbs%d/ibdev" % number).read().strip() == name
assert os.path.exists("/dev/infiniband/rdma_cm") and os.path.exists("/sys/class/misc/rdma_cm/abi_version")
assert os.path.isdir("/dev/shm") and os.path.exists("/dev/null") and "lo" in os.listdir("/sys/class/net")
print("seen by", os.getuid(), os.getgid())'
}
shown root
says files_as_root 0 "seen by 0 0"
shown user "${as_nobody[@]}"
says files_as_user 0 "seen by 65534 65534"
run $here "${as_nobody[@]}" "$nornic" run --port udp:10.77.0.1 -- bash -c \
    'diff <(ibv_devinfo -v | sed -n "s/.*node_guid:[\t ]*//p") /sys/class/infiniband/nornic0/node_guid && echo the same'
says guid_as_libibverbs_has_it 0 "the same"
run $here "$nornic" run --port udp:10.77.0.1 -- true
run $here "${as_nobody[@]}" "$nornic" run --files=always --port udp:10.77.0.1,iwarp:10.77.0.1 -- \
    cat /sys/class/infiniband/nornic0/node_type /sys/class/infiniband/nornic1/node_type
says node_types 0 "1: CA
4: RNIC"
run $here "${as_nobody[@]}" "$nornic" run --files=always --port udp:10.77.0.1,iwarp:10.77.0.1 -- \
    cat /sys/class/infiniband/nornic0/ports/1/gid_attrs/types/0 /sys/class/infiniband/nornic1/ports/1/gid_attrs/types/0
says gid_types 0 "RoCE v2
IB/RoCE v1"
if [ ! -e /sys/class/infiniband/nornic0 ]; then ok nothing_is_left; else notok nothing_is_left "of the files"; fi

# rules of faults out of a file, wherever the program is when it opens its device; and what was counted
mkdir -m 755 "$tmp/rules"
echo "allocation of the 1st PD fails with EPERM" >"$tmp/rules/faults"
chmod 644 "$tmp/rules/faults"
run $here "${as_nobody[@]}" sh -c "cd '$tmp/rules' && exec '$nornic' run --trace --faults faults \
    --port udp:10.77.0.1 -- sh -c 'cd / && exec ibv_rc_pingpong -g 0'"
says faults_of_a_file 1 "fault of line 1: allocation 1 of PD fails"
run $here "$nornic" run --faults "$tmp/rules/none" -- true
if [ $rc = 2 ] && one_sentence "$err" "cannot read the rules of faults in $tmp/rules/none: No such file"; then
    ok faults_of_no_file
else notok faults_of_no_file "$rc: $err"; fi
start $here "${as_nobody[@]}" "$nornic" run --stat --port udp:10.77.0.1 -- ibv_rc_pingpong -g 0 -n 100
listening "$ns_a" 18515
run $here "${as_nobody[@]}" "$nornic" run --stat --port udp:10.77.0.1 -- ibv_rc_pingpong -g 0 -n 100 10.77.0.1
says stat_of_the_client 0 "nornic: nornic0 of ibv_rc_pingpong (process "
finish
if [ "$server_rc" = 0 ] && [[ $server_err =~ tx_pkts\ [1-9][0-9]* ]]; then ok stat_of_the_server
else notok stat_of_the_server "$server_rc: $server_err"; fi

# A program that opens the library by the linker's name gets nornic's, although the distribution's stands in the
# loader's folders. So does a program that is linked by -L and -l.
cp "$build/test/verbs/programs/open_by_name" "$tmp/" && chmod 755 "$tmp/open_by_name"
for name in libibverbs.so librdmacm.so libibverbs.so.1 librdmacm.so.1; do
    run $here "${as_nobody[@]}" "$nornic" run --port udp:10.77.0.1 -- "$tmp/open_by_name" $name
    says "opened_as_$name" 0 "$name: nornic0"
done
printf '#include <infiniband/verbs.h>\n#include <stdio.h>\nint main(void)\n{\n    int n = 0;\n%s' \
    '    ibv_get_device_list(&n);
    printf("%d devices\n", n);
}
' >"$tmp/linked.c"
run gcc -o "$tmp/linked" "$tmp/linked.c" -L"$build/lib" -Wl,-rpath,"$build/lib" -libverbs
run $here env NORNIC_PORT=udp:10.77.0.1 "$tmp/linked"
says linked_by_name 0 "1 devices"

# where no namespace may be made: who has no rights, inside a namespace whose limit is none
none=(unshare --user --map-root-user sh -c
    'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --bounding-set=-all "$@"' sh)
run $here "${as_nobody[@]}" "${none[@]}" "$nornic" run --port udp:10.77.0.1 -- ibv_devinfo
says without_files_it_runs 0 "PORT_ACTIVE"
if one_sentence "$err" "/sys/class/infiniband are not shown (this user may make no user namespace"; then
    ok without_files_it_says_so
else notok without_files_it_says_so "$err"; fi
run $here "${as_nobody[@]}" "${none[@]}" "$nornic" run --files=always --port udp:10.77.0.1 -- echo ran
if [ $rc = 2 ] && [ -z "$out" ] && one_sentence "$err" "cannot show"; then ok files_demanded
else notok files_demanded "$rc: $out $err"; fi
run $here "${as_nobody[@]}" "$nornic" run --files=never --port udp:10.77.0.1 -- ls /sys/class/infiniband
if [ $rc = 2 ] && [[ $err == *"No such file"* ]]; then ok files_refused; else notok files_refused "$rc: $out $err"; fi

# the program is the process: its exit status, its end by a signal, and Ctrl-C
run $here "$nornic" run --port udp:10.77.0.1 -- sh -c 'exit 37'
says exit_status 37 ""
run $here "$nornic" run --port udp:10.77.0.1 -- "$tmp/none"
says no_such_program 2 "cannot run $tmp/none: No such file or directory"
for signal in INT TERM KILL; do
    start $here "${as_nobody[@]}" "$nornic" run --port udp:10.77.0.1 -- \
        python3 -c 'import signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("running", flush=True)
time.sleep(60)'
    for ((i = 0; i < 100; i++)); do
        grep -q running "$tmp/server.out" && break
        sleep 0.1
    done
    kill -$signal "$server"
    finish
    if [ $server_rc = $((128 + $(kill -l $signal))) ]; then ok signal_$signal
    else notok signal_$signal "exit status $server_rc: $server_err"; fi
done

# docs/ci.md, word for word, by an ordinary user who has nothing: no home, no variables but the path
recipe=$(sed -n '/^```ci$/,/^```$/{/^```/!p}' docs/ci.md)
run $here "${as_nobody[@]}" env -i PATH="$(dirname "$nornic"):/usr/bin:/bin" bash -euc "$recipe"
if [ $rc = 0 ] && [[ $recipe == *"nornic run"* && $out == *"1000 iters"* ]]; then ok ci_recipe
else notok ci_recipe "$rc: $out $err"; fi
exit $status
