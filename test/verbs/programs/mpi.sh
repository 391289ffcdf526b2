# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: Open MPI and MPICH, over UCX and over libfabric: on one host, and on two. The second host is the
# other namespace; what starts ranks there, in the place of ssh, is a script that enters it.
# shellcheck shell=bash
begin mpi

# that of Open MPI and that of MPICH are two programs of one source
for kind in openmpi mpich; do
    mpicc.$kind -O2 -Wall -Wextra -Wno-stringop-overflow -o "$tmp/mpi.$kind" test/verbs/programs/mpi.c ||
        notok mpi_$kind "mpicc.$kind failed"
done
cat >"$tmp/mpi.py" <<'PY'
# mpi4py: objects, arrays, collectives; each rank checks what it got.
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
told = world.sendrecv({'from': rank, 'text': 'x' * 100000}, (rank + 1) % ranks, source=(rank - 1) % ranks)
assert told == {'from': (rank - 1) % ranks, 'text': 'x' * 100000}
total = numpy.empty(100000)
world.Allreduce(numpy.arange(100000) * (rank + 1.0), total)
assert (total == numpy.arange(100000) * (ranks * (ranks + 1) / 2)).all()
assert world.allgather(rank) == list(range(ranks))
if rank == 0:
    print('mpi4py: %d ranks, all right' % ranks)
PY
chmod 755 "$tmp"/mpi.*
openmpi=(mpirun.openmpi --oversubscribe --mca pml ucx --mca osc ucx --mca btl '^vader,tcp,openib' -x UCX_TLS)
for ranks in 2 8; do
    right="mpi: $ranks ranks on 1 host, .* all data right"
    for transport in rc ud; do
        alone mpi_openmpi_${transport}_$ranks "$right" env UCX_TLS=$transport,self \
            "${openmpi[@]}" -n $ranks "$tmp/mpi.openmpi"
        alone mpi_mpich_${transport}_$ranks "$right" env UCX_TLS=$transport,self \
            mpirun.mpich -n $ranks "$tmp/mpi.mpich"
    done
done
# Open MPI's other way: libfabric, whose RDM endpoints are made of verbs' connected ones
openmpi_ofi=(mpirun.openmpi --oversubscribe --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm'
    --mca osc pt2pt --mca btl self)
! wanted mpi_openmpi_ofi_2 more ||
    alone mpi_openmpi_ofi_2 'mpi: 2 ranks on 1 host, .* all data right' "${openmpi_ofi[@]}" -n 2 "$tmp/mpi.openmpi"
alone mpi_mpi4py 'mpi4py: 4 ranks, all right' env UCX_TLS=rc,self "${openmpi[@]}" -n 4 /usr/bin/python3 "$tmp/mpi.py"

# --- two hosts: namespaces with names of their own, and /etc/hosts that has both ---

# as_host NAME: makes of $command one that runs where the host has that name
as_host() {
    # shellcheck disable=SC2016 # the shell inside knows them
    command=("${inside[@]}" unshare -u sh -c 'hostname "$1" && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"' sh
        "$1" "$tmp/hosts" "${command[@]:${#inside[@]}}")
}

# far_host: begins what starts programs on the host "far" for those of "near", in the place of sshd
far_host() {
    printf '127.0.0.1 localhost\n10.77.0.1 near\n10.77.0.2 far\n' >"$tmp/hosts"
    cp test/verbs/programs/remote.py "$tmp/remote.py"
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$tmp/remote.py" "$tmp/home/far" >"$tmp/mpi.agent"
    chmod 755 "$tmp/remote.py" "$tmp/mpi.agent"
    chmod 644 "$tmp/hosts"
    rm -f "$tmp/home/far"
    with_files b "$tmp/remote.py" serve "$tmp/home/far"
    as_host far
    start "${command[@]}"
    for ((i = 0; i < 100; i++)); do
        [ -S "$tmp/home/far" ] && return
        sleep 0.1
    done
}

# two_hosts NAME PATTERN [more] -- PROGRAM...: as alone(), with a second host to start ranks on
two_hosts() {
    local name=$1 pattern=$2 more=
    shift 2
    while [ "$1" != -- ]; do more=$1 && shift; done
    shift
    wanted "$name" "$more" || return
    far_host
    with_files a "$@"
    as_host near
    run "${command[@]}"
    if [ $rc = 0 ] && [[ $out =~ $pattern ]]; then ok "$name"
    else notok "$name" "$rc: $(end_of out) $(end_of err) $(end_of server.err)"; fi
    [[ $name != *table* ]] || echo "$out"
    end_all "$ns_a" "$ns_b"
    wait "$server" 2>/dev/null
}

# Open MPI's daemons speak TCP on the network that they are told; MPICH takes the environment along, but for what only
# this host is to have (NORNIC_PORT), and what it is told; not by -genvlist, as its hydra misses the last variable that
# there is, which is the one that env has just set.
by_agent=(--mca plm_rsh_agent "$tmp/mpi.agent" --mca oob_tcp_if_include 10.77.0.0/24 -x HOME)
to_far=("${by_agent[@]}" --host near:2,far:2 -n 4)
mpich_by_agent=(-launcher ssh -launcher-exec "$tmp/mpi.agent" -genvlist HOME)
mpich_to_far=("${mpich_by_agent[@]}" -hosts near:2,far:2 -n 4)
right='mpi: 4 ranks on 2 hosts, .* all data right'
two_hosts mpi_openmpi_rc_hosts "$right" -- env UCX_TLS=rc,self "${openmpi[@]}" "${to_far[@]}" "$tmp/mpi.openmpi"
two_hosts mpi_openmpi_ud_hosts "$right" more -- env UCX_TLS=ud,self "${openmpi[@]}" "${to_far[@]}" "$tmp/mpi.openmpi"
two_hosts mpi_openmpi_ofi_hosts "$right" -- "${openmpi_ofi[@]}" "${to_far[@]}" "$tmp/mpi.openmpi"
two_hosts mpi_mpich_rc_hosts "$right" -- mpirun.mpich -genv UCX_TLS rc,self "${mpich_to_far[@]}" "$tmp/mpi.mpich"
two_hosts mpi_mpich_ud_hosts "$right" more -- mpirun.mpich -genv UCX_TLS ud,self "${mpich_to_far[@]}" "$tmp/mpi.mpich"
# a rank on each: more than there are processors would measure those that wait
table_right='mpi: 2 ranks on 2 hosts, .* all data right'
patience=170
two_hosts mpi_openmpi_table_hosts "1048576 .*$table_right" more -- \
    env UCX_TLS=rc,self "${openmpi[@]}" "${by_agent[@]}" --host near,far -n 2 "$tmp/mpi.openmpi" table
two_hosts mpi_mpich_table_hosts "1048576 .*$table_right" more -- \
    mpirun.mpich -genv UCX_TLS rc,self "${mpich_by_agent[@]}" -hosts near,far -n 2 "$tmp/mpi.mpich" table
patience=50
two_hosts mpi_mpi4py_hosts 'mpi4py: 4 ranks, all right' more -- \
    env UCX_TLS=rc,self "${openmpi[@]}" "${to_far[@]}" /usr/bin/python3 "$tmp/mpi.py"

# hpcc_right NAME HOW PROGRAM...: hpcc by `alone` or `two_hosts`. It reads hpccinf.txt where it runs, and says in
# hpccoutf.txt which of its tests failed
hpcc_right() {
    local name=$1 how=$2
    wanted "$name" more || return
    shift 2
    rm -rf "$tmp/hpcc"
    mkdir -m 777 "$tmp/hpcc"
    sed -e 's/^1000 .*Ns$/256          Ns/' -e 's/^80 .*NBs$/32           NBs/' \
        /usr/share/doc/hpcc/examples/_hpccinf.txt >"$tmp/hpcc/hpccinf.txt"
    $how "$name" '' "$@"
    if grep -q '^Success=1' "$tmp/hpcc/hpccoutf.txt" &&
        grep -q '0 tests completed and failed' "$tmp/hpcc/hpccoutf.txt"; then ok "${name}_results"
    else notok "${name}_results" "$(grep -E 'FAILED|Success|failed' "$tmp/hpcc/hpccoutf.txt")"; fi
}
in_hpcc=(env UCX_TLS=rc,self "${openmpi[@]}" --wdir "$tmp/hpcc")
hpcc_right mpi_hpcc alone "${in_hpcc[@]}" -n 4 hpcc
patience=170
hpcc_right mpi_hpcc_hosts two_hosts more -- "${in_hpcc[@]}" "${to_far[@]}" hpcc
patience=50
