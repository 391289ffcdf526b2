#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `nornic explain` says of the captures of real peers, compared with pcaps/golden: the first 80 lines of text
# of each (NAME.txt), packets of each kind drawn (verbose.txt), three captures as JSON (NAME.json), and digests of
# the whole text and JSON of all (digests). `test/e2e/explain_golden.sh write` renews them: then look at the diff.
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
golden=pcaps/golden
lines=80
# capture and number: together every header of RoCE and of the connection manager
drawn=(rc_write_1024:1 rc_write_1024:2 rc_write_1024:29 rc_write_1024:30 rc_read_256:1 rc_read_256:2 rc_atomic:1
    rc_atomic:2 rc_sendinv:14 rc_ipv6_write_1024:1 rc_vlan:6 uc:1 ud_4:11 cm_disc:1 cm_disc:2 cm_disc:3
    cm_reject:6 cm_lossy:11 cm_lossy:13 cm_udaddy:1 cm_udaddy:3
    smc_first:1 smc_first:4 smc_first:6 smc_first:8 smc_first:10 smc_first:14 smc_first:20 smcfb_eid:6
    smcr_failover:1 smcr_failover:2 smcr_failover:3 smcr_failover:4 smcr_failover:8 smcr_failover:12
    iwarp/crc_rping_100:4 iwarp/crc_rping_100:10 iwarp/crc_rping_100:11 iwarp/term_badread:9)

# make_all DIRECTORY: everything that is compared
make_all() {
    local pcap name one
    mkdir -p "$1"
    for pcap in pcaps/*.pcap pcaps/iwarp/*.pcap; do
        name=${pcap#pcaps/}
        name=${name%.pcap}
        name=${name/\//_}
        timeout 60 "$nornic" explain "$pcap" >"$tmp/text" || return 1
        timeout 60 "$nornic" explain --json "$pcap" >"$tmp/json" || return 1
        head -$lines "$tmp/text" >"$1/$name.txt"
        case $name in rc_sendinv | cm_udaddy | iwarp_p2p_64) cp "$tmp/json" "$1/$name.json" ;; esac
        echo "$name text $(sha256sum <"$tmp/text" | cut -c1-16) json $(sha256sum <"$tmp/json" | cut -c1-16)"
    done >"$1/digests"
    for one in "${drawn[@]}"; do
        timeout 60 "$nornic" explain -v -f "n == ${one#*:}" "pcaps/${one%:*}.pcap" | grep -v ' packets, ' || return 1
    done >"$1/verbose.txt"
}

if [ "$1" = write ]; then
    rm -rf "$golden"
    make_all "$golden"
    exit
fi
if ! make_all "$tmp/golden" 2>"$tmp/err"; then
    notok explain_reads_every_capture "$(tail -3 "$tmp/err")"
elif diff -r "$golden" "$tmp/golden" >"$tmp/diff"; then
    ok explain_says_what_it_said
else
    head -40 "$tmp/diff"
    notok explain_says_what_it_said "see the diff above; test/e2e/explain_golden.sh write renews what is expected"
fi
exit $status
