#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What others make of the packets: scapy computes the same ICRCs, tshark finds no malformed packet; in the
# captures of real peers, and in those that nornic writes. golden.sh [FILE...]: captures of nornic to look at
# instead of those of a short demo in one process, over IPv4 and over IPv6.
# covers: CA17-1, CA17-2, CA17-22, ROCE-ICRC-8
cd "$(dirname "$0")/../.." || exit 1
nornic=${NORNIC:-build/nornic}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

# result NAME STATUS: by the exit status of what wrote $tmp/out; 77 is a skip
result() {
    case $2 in
    0) echo "ok $1" ;;
    77) echo "skip $1: $3" ;;
    *)
        echo "not ok $1: exit status $2, $(tail -3 "$tmp/out" | tr '\n' ' ')"
        status=1
        ;;
    esac
}

# the first python that has scapy: the one in PATH may be another than Debian's
python=python3
for candidate in python3 /usr/bin/python3; do
    ! "$candidate" -c 'import scapy.contrib.roce' 2>/dev/null || { python=$candidate; break; }
done
scapy() {
    timeout 300 "$python" test/e2e/golden.py "${@:2}" >"$tmp/out" 2>&1
    result "$1" $? 'scapy is not installed'
}

# tshark guesses at payloads, and takes random ones for protocols; the guessing is switched off
guesses=(--disable-protocol rpcordma --disable-heuristic mellanox_eoib --disable-heuristic eth_over_ib)
tshark_reads() {
    local name=$1
    shift
    if ! command -v tshark >/dev/null; then
        result "$name" 77 'tshark is not installed'
        return
    fi
    # one file, as tshark takes long to start: frames count on from file to file
    timeout 60 mergecap -a -w "$tmp/merged" "$@" >"$tmp/out" 2>&1 &&
        timeout 300 tshark -n -r "$tmp/merged" "${guesses[@]}" -Y infiniband -T fields -E occurrence=f \
            -e frame.number -e infiniband.bth.opcode -e _ws.malformed >"$tmp/fields" 2>"$tmp/out" &&
        [ -s "$tmp/fields" ] &&
        awk -F'\t' '$2 == "" || $3 != "" { print "frame " $1 " of them in a row is malformed"; bad = 1 }
                    END { exit bad }' "$tmp/fields" >>"$tmp/out"
    result "$name" $?
}

# smcfb_*: fallbacks to TCP, without a RoCE packet
peers=()
for f in pcaps/*.pcap; do [[ $f == pcaps/smcfb_* ]] || peers+=("$f"); done
scapy icrc_of_real_peers_by_scapy "${peers[@]}"
tshark_reads headers_of_real_peers_by_tshark "${peers[@]}"

own=("$@")
if [ $# = 0 ]; then
    for family in --no-color --ipv6; do # --no-color: nothing more, that is IPv4
        # how the demo ends is for its own test to judge; here it is the source of packets
        timeout 120 "$nornic" demo --port memory --count 8 --size 5001 --loss 3% --no-color $family \
            -o "$tmp/demo$family.pcapng" >"$tmp/out" 2>&1
        [ -s "$tmp/demo$family.pcapng" ] && [ -s "$tmp/demo$family-loss.pcapng" ]
        result "captures_of_the_demo_with_$family" $?
    done
    own=("$tmp"/*.pcapng)
fi
scapy icrc_of_nornic_by_scapy "${own[@]}"
tshark_reads headers_of_nornic_by_tshark "${own[@]}"
timeout 60 "$nornic" verify "${own[@]}" >"$tmp/out" 2>&1
result icrc_of_nornic_by_itself $?
exit $status
