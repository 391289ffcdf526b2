#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Arguments of libibverbs beside the trodden path (test/verbs/programs/verbs_edges.c), over RoCE and over iWARP.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")

need_namespaces verbs_edges
ns_make a || { notok namespace "cannot make one"; exit 1; }
for kind in udp iwarp; do
    run ip netns exec "nn-$$-a" env "LD_LIBRARY_PATH=$build/lib" NORNIC_PORT=$kind:127.0.0.1 \
        "$build/test/verbs/programs/verbs_edges"
    sed "s/^\(not ok\|ok\) /&${kind}_/" <<<"$out"
    [ "$rc" = 0 ] || notok "${kind}_program" "exit status $rc: $err"
done
exit $status
