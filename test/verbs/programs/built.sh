# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: programs that no package of Debian 12 has, whose source is fetched and built as it is (build/): fio
# with its librpma engines, libfabric's fabtests, MPICH over libfabric, google/rdma-unit-test. By name only.
# shellcheck shell=bash
begin built

# --- fio over librpma: memory of the server that the client writes, reads, and asks to be flushed ---

# rpma NAME ENGINE SERVER-OPTION... -- CLIENT-OPTION...
rpma() {
    local name=$1 engine=$2 server_options=()
    local common=(--create_serialize=0 --thread --serverip=10.77.0.2 --port=7204 --numjobs=1)
    wanted "$name" more || return
    shift 2
    while [ "$1" != -- ]; do server_options+=("$1") && shift; done
    shift
    build_it "$name" fio || return
    cp "$built/fio" "$tmp/fio.rpma"
    chmod 755 "$tmp/fio.rpma"
    # the server's file is where it runs
    speak on b cm "$tmp/captures/$name" env -C "$tmp/home" "$tmp/fio.rpma" --name=server \
        --ioengine="librpma_${engine}_server" "${common[@]}" --direct_write_to_pmem=0 --size=16MiB --filename=malloc \
        --aux-path="$tmp/home" "${server_options[@]}" -- \
        env -C "$tmp/home" "$tmp/fio.rpma" --name=client --ioengine="librpma_${engine}_client" "${common[@]}" \
        --iodepth=2 --iodepth_batch_submit=1 --sync=1 --bs=4KiB --size=1MiB --aux-path="$tmp/home" "$@"
    both_well "$name" 'err= 0'
    wire "capture_$name" "$tmp/captures/$name"
}
rpma built_rpma_write apm -- --rw=write
rpma built_rpma_verify apm -- --rw=write --verify=crc32c --do_verify=1 --verify_fatal=1
rpma built_rpma_mixed apm -- --rw=randrw
rpma built_rpma_flush gpspm --iodepth=2 -- --rw=write

# --- fabtests: what its own scripts run by verbs, and by ofi_rxm over it, but for what they leave out there
# (test_configs/*/*.exclude). Those scripts themselves end every process of the machine that is called fi_* ---

fabtests_table() {
    cat <<'TABLE'
verbs|fi_cq_data -e msg
verbs|fi_msg
verbs|fi_msg_epoll
verbs|fi_msg_sockets
verbs|fi_msg_inject -A inject -v
verbs|fi_msg_inject -N -A inject -v
verbs|fi_multi_ep -e msg -v
verbs|fi_bw -e msg -v -T 1
verbs|fi_msg_pingpong -I 5 -v
verbs|fi_msg_bw -I 5 -v
verbs|fi_rma_bw -e msg -o write -I 5
verbs|fi_rma_bw -e msg -o read -I 5
verbs|fi_rma_bw -e msg -o writedata -I 5
verbs;ofi_rxm|fi_av_xfer -e rdm
verbs;ofi_rxm|fi_cq_data -e rdm
verbs;ofi_rxm|fi_poll -t queue
verbs;ofi_rxm|fi_poll -t counter
verbs;ofi_rxm|fi_rdm
verbs;ofi_rxm|fi_rdm -U
verbs;ofi_rxm|fi_rdm_tagged_peek
verbs;ofi_rxm|fi_multi_ep -e rdm -v
verbs;ofi_rxm|fi_recv_cancel -e rdm -V
verbs;ofi_rxm|fi_unexpected_msg -e rdm -I 10
verbs;ofi_rxm|fi_bw -e rdm -v -T 1
verbs;ofi_rxm|fi_rdm_multi_client -C 10 -I 5
verbs;ofi_rxm|fi_rma_bw -e rdm -o write -I 5
verbs;ofi_rxm|fi_rma_bw -e rdm -o read -I 5
verbs;ofi_rxm|fi_rma_bw -e rdm -o writedata -I 5
verbs;ofi_rxm|fi_rdm_cntr_pingpong -I 5
verbs;ofi_rxm|fi_multi_recv -e rdm -I 5
verbs;ofi_rxm|fi_rdm_pingpong -I 5 -v
verbs;ofi_rxm|fi_rdm_tagged_pingpong -I 5 -v -U
verbs;ofi_rxm|fi_rdm_tagged_bw -I 5 -v
TABLE
}

# fabtest PROVIDER PROGRAM OPTION...
fabtest() {
    local provider=$1 name=built_fabtests_${1##*[;]}
    shift
    name+=_$(echo "$*" | sed 's/^fi_//; s/ -*/_/g')
    wanted "$name" more || return
    build_it "$name" fabtests || return
    if [ ! -d "$tmp/fabtests" ]; then
        mkdir "$tmp/fabtests"
        cp "$built"/bin/fi_* "$tmp/fabtests"
        chmod -R 755 "$tmp/fabtests"
    fi
    speak on b cm '' "$tmp/fabtests/$1" "${@:2}" -p "$provider" -s 10.77.0.2 -- \
        "$tmp/fabtests/$1" "${@:2}" -p "$provider" -s 10.77.0.1 10.77.0.2
    both_well "$name"
}
while IFS='|' read -r provider line; do
    read -ra words <<<"$line"
    fabtest "$provider" "${words[@]}" </dev/null
done < <(fabtests_table)

# --- MPICH over libfabric, whose RDM endpoints are made of verbs' connected ones: on one host, where ranks have no
# other way to each other either, and on two (see mpi.sh) ---

# mpich_ofi NAME PATTERN HOW HYDRA-OPTION...: mpi.c by `alone` or `two_hosts`. Exit status 1: it was not run
mpich_ofi() {
    local name=$1 pattern=$2 how=$3 more=()
    wanted "$name" more || return
    shift 3
    build_it "$name" mpich || return
    if [ ! -d "$tmp/mpich_ofi" ]; then
        mkdir "$tmp/mpich_ofi"
        cp "$built/bin/mpiexec.hydra" "$built/bin/hydra_pmi_proxy" "$tmp/mpich_ofi"
        "$built/bin/mpicc" -O2 -Wall -Wextra -Wno-stringop-overflow -o "$tmp/mpich_ofi/mpi" test/verbs/programs/mpi.c
        chmod -R 755 "$tmp/mpich_ofi"
    fi
    [ "$how" = alone ] || more=(more --)
    $how "$name" "$pattern" "${more[@]}" "$tmp/mpich_ofi/mpiexec.hydra" -genv FI_PROVIDER 'verbs;ofi_rxm' "$@" \
        "$tmp/mpich_ofi/mpi"
}
mpich_ofi built_mpich_ofi_2 'mpi: 2 ranks on 1 host, .* all data right' alone \
    -genv NORNIC_CAPTURE "$tmp/captures/mpich_ofi.%p" -n 2 &&
    wire capture_built_mpich_ofi_2 "$tmp/captures/mpich_ofi"
mpich_ofi built_mpich_ofi_8 'mpi: 8 ranks on 1 host, .* all data right' alone -n 8
mpich_ofi built_mpich_ofi_hosts 'mpi: 4 ranks on 2 hosts, .* all data right' two_hosts "${mpich_to_far[@]}"

# --- google/rdma-unit-test: every case, each as the table says ---

rdma_unit_test() {
    wanted built_rdma_unit_test more || return
    build_it built_rdma_unit_test rdma-unit-test || return
    cp "$built/unit" test/verbs/programs/rdma_unit_test.* "$tmp"
    chmod 755 "$tmp/unit" "$tmp"/rdma_unit_test.*
    ip -n "$ns_a" addr add 127.9.9.9/8 dev lo # an address that no other program has
    # It locks its buffers, 760 MB of them in one case: of root's capabilities it has that one.
    [ "${as_nobody[0]}" = env ] ||
        local as_nobody=("${as_nobody[@]/%-all/-all,+ipc_lock}" --ambient-caps=+ipc_lock)
    patience=7200
    on a "$tmp/rdma_unit_test.py" "$tmp/unit" "$tmp/rdma_unit_test.txt"
    run "${command[@]//udp:10.77.0.1/udp:127.9.9.9}"
    patience=50
    if [ $rc = 0 ]; then ok built_rdma_unit_test
    else notok built_rdma_unit_test "$rc: $(end_of out) $(end_of err)"; fi
    tail -n 1 "$tmp/out"
}
rdma_unit_test
