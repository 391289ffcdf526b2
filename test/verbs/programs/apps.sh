# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: fio's rdma engine, qperf, and tgt (iSER) with libiscsi.
# shellcheck shell=bash
begin apps

# --- fio: the client writes, the server reads what comes ---

# fio_pair NAME VERB SERVER-OPTION -- CLIENT-OPTION...: both say that there was no error
fio_pair() {
    local name=$1 verb=$2 server_options=() capture=$tmp/captures/$1.pcapng
    local common=(--ioengine=rdma --port=8888 --bs=16k --size=4m --aux-path="$tmp/home")
    # fio connects with no RNR retry: a SEND that finds no receive ends its connection, with any adapter, and then both
    # ends wait for ever. So the receiver posts a receive for each of the 256 messages, before the first is sent.
    local receives=256
    wanted "$name" || return
    shift 2
    while [ "$1" != -- ]; do server_options+=("$1") && shift; done
    shift
    speak on b cm "$capture" fio --name=server "${common[@]}" --rw=read --iodepth=$receives "${server_options[@]}" -- \
        fio --name=client "${common[@]}" --hostname=10.77.0.2 --verb="$verb" --rw=write --iodepth=8 "$@"
    if [[ $out$err != *"completion status"* && $server_out == *"err= 0"* ]]; then both_well "$name" 'err= 0'
    else notok "$name" "$(end_of out) $(end_of err) $(end_of server.out)"; fi
    wire "capture_$name" "$capture"
}
fio_pair fio_write write --
fio_pair fio_read read --
fio_pair fio_send send --
# what the receiver finds in its buffers is what the sender's checksums say
fio_pair fio_send_verify send --verify=md5 --verify_fatal=1 -- --verify=md5 --do_verify=0

# a receiver that is told to expect other checksums has to say so: else the case above could not fail
fio_notices() {
    wanted fio_verify_notices || return
    speak on b cm '' fio --name=server --ioengine=rdma --port=8888 --bs=16k --size=1m --rw=read --iodepth=64 \
        --verify=md5 --verify_fatal=1 --aux-path="$tmp/home" -- \
        timeout 5 fio --name=client --ioengine=rdma --port=8888 --bs=16k --size=1m --hostname=10.77.0.2 \
        --verb=send --rw=write --verify=crc32c --do_verify=0 --aux-path="$tmp/home"
    if [[ $server_out$server_err == *"verify type mismatch"* ]]; then ok fio_verify_notices
    else notok fio_verify_notices "$(end_of server.out) $(end_of server.err)"; fi
}
fio_notices

# --- qperf: its server makes a process for each test, which leaves its connection to the end of the process ---

for test in rc_lat rc_bw rc_bi_bw rc_rdma_read_lat rc_rdma_read_bw rc_rdma_write_lat rc_rdma_write_bw \
    rc_rdma_write_poll_lat rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add; do
    case $test in
    rc_lat | rc_rdma_read_bw | rc_rdma_write_poll_lat | ver_rc_fetch_add) more='' ;;
    *) more=more ;;
    esac
    wanted qperf_$test $more || continue
    staying=1
    speak on b 19765 "$tmp/captures/qperf" qperf -- qperf -t 1 -m 4k -cm1 10.77.0.2 $test
    staying=
    both_well qperf_$test '= +[0-9]'
    if [ -n "$(tshark -r "$tmp/captures/qperf" -Y 'infiniband.mad.attributeid == 0x16' 2>/dev/null)" ]; then
        ok qperf_${test}_parts # a DREP: the end of the process answered the DREQ
    else notok qperf_${test}_parts "the server's end answered no DisconnectRequest"; fi
    rm -f "$tmp/captures/qperf"*
done

# --- tgt over iSER: a file system is written by libiscsi and read back ---

tgt_admin() {
    on b env TGT_IPC_SOCKET="$tmp/tgt/ipc" tgtadm --lld iser --mode "$@"
    "${command[@]}" >>"$tmp/tgt/admin" 2>&1
}

# tgt_ready: waits, 10 seconds at most, until tgtd answers
tgt_ready() {
    for ((i = 0; i < 100; i++)); do
        tgt_admin target --op show && return
        sleep 0.1
    done
}

tgt_iser() {
    local name=iqn.2024-01.test:disk initiator=iqn.2024-01.test:initiator
    local url=iser://10.77.0.2/$name/1
    wanted iser_file_system || return
    if ! gcc -O2 -Wall -Wextra -o "$tmp/iser" test/verbs/programs/iser.c -liscsi; then
        notok iser_file_system "gcc failed"
        return
    fi
    mkdir -m 777 "$tmp/tgt" "$tmp/tgt/files"
    head -c 5000000 /dev/urandom >"$tmp/tgt/files/data"
    truncate -s 32M "$tmp/tgt/disk" "$tmp/tgt/fs"
    mke2fs -q -t ext4 -d "$tmp/tgt/files" "$tmp/tgt/fs"
    chmod 666 "$tmp/tgt/disk" "$tmp/tgt/fs"
    on b env TGT_IPC_SOCKET="$tmp/tgt/ipc" tgtd -f --iscsi nop_count=0
    start "${command[@]}"
    tgt_ready
    tgt_admin target --op new --tid 1 -T $name
    tgt_admin logicalunit --op new --tid 1 --lun 1 -b "$tmp/tgt/disk"
    tgt_admin target --op bind --tid 1 -I ALL
    tgt_admin target --op bind --tid 1 -Q $initiator
    on a env NORNIC_CAPTURE="$tmp/captures/iser" "$tmp/iser" write "$tmp/tgt/fs" "$url" $initiator
    run "${command[@]}"
    local wrote="$rc $err"
    on a "$tmp/iser" read "$tmp/tgt/back" "$url" $initiator
    run "${command[@]}"
    kill -KILL -- "-$server" 2>/dev/null # with a target that is connected to a disk it does not end otherwise
    finish
    if [[ $wrote == "0 "* ]] && [ $rc = 0 ] && e2fsck -fn "$tmp/tgt/back" >"$tmp/tgt/fsck" 2>&1 &&
        debugfs -R 'cat data' "$tmp/tgt/back" 2>/dev/null | cmp -s - "$tmp/tgt/files/data" &&
        cmp -s "$tmp/tgt/disk" "$tmp/tgt/fs"; then ok iser_file_system
    else notok iser_file_system "writing $wrote reading $rc $err $(tail -3 "$tmp/tgt/admin") $(end_of server.err)"; fi
    wire capture_iser_file_system "$tmp/captures/iser"
}
tgt_iser
