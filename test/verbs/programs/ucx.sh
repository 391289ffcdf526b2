# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: UCX and libfabric, as their own programs try them.
# shellcheck shell=bash
begin ucx

# between NAME TCP-PORT PATTERN SERVER... -- CLIENT...: both end well, the client says PATTERN, the wire is right
between() {
    local name=$1 port=$2 pattern=$3
    wanted "$name" || return
    shift 3
    speak with_files b "$port" "$tmp/captures/$name.pcapng" "$@"
    both_well "$name" "$pattern"
    wire "capture_$name" "$tmp/captures/$name.pcapng"
}

alone ucx_info 'rc_verbs.*ud_verbs' ucx_info -d
for transport in rc ud; do
    for test in tag_lat tag_bw ucp_get; do
        size=$([ $test = tag_bw ] && echo 65536 || echo 8)
        between ucx_${transport}_$test 13337 '[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+' \
            env UCX_TLS=$transport,self ucx_perftest -p 13337 -- \
            env UCX_TLS=$transport,self ucx_perftest -p 13337 10.77.0.2 -t $test -s $size -n 300 -f
    done
done

begin libfabric
alone fi_info 'FI_EP_MSG.*FI_EP_DGRAM' fi_info -p verbs
for kind in 'verbs msg' 'verbs dgram' 'verbs;ofi_rxm rdm' 'verbs;ofi_rxd rdm'; do
    read -r provider endpoint <<<"$kind"
    name=fi_${provider//;/_}_$endpoint
    between "$name" 47592 '4k +20 ' fi_pingpong -p "$provider" -e "$endpoint" -I 20 -c -- \
        fi_pingpong -p "$provider" -e "$endpoint" -I 20 -c 10.77.0.2
done
