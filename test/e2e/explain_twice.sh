#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures that hold their packets twice, made of captures that hold them once: what `nornic explain` says of
# both is the same, but for notes about the packets that come twice.
#
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

need_programs explain_twice mergecap editcap

# same NAME SINGLE DOUBLED LEAST: warnings, flows and numbers of both are equal, at least LEAST of 100 packets are known
# to be there again, and no copy is said to be the network's that was not before
same() {
    local why
    if why=$(timeout 120 python3 test/e2e/explain_twice.py "$nornic" "$2" "$3" "$4" 2>&1); then
        ok "$1"
    else
        notok "$1" "$why"
    fi
}

for name in lossy_loss lossy_all lossy_duplicate lossy_ackloss cm_lossy rc_nak rc_mix rc_ipv6_read_1024 \
    rc_ipv6_send_1024 cm_ipv6_rping smc_first smc2_down smcr_echo ud_4 uc; do
    single=pcaps/$name.pcap
    # the same place twice, as two ports of a switch mirrored to a third, one a little later
    editcap -t 0.000002 "$single" "$tmp/later.pcap"
    mergecap -F pcap -w "$tmp/mirror.pcap" "$single" "$tmp/later.pcap"
    same "${name}_mirror" "$single" "$tmp/mirror.pcap" 90
    # two interfaces of a host, in one pcapng file
    mergecap -w "$tmp/interfaces.pcapng" "$single" "$tmp/later.pcap"
    same "${name}_interfaces" "$single" "$tmp/interfaces.pcapng" 90
    for how in router vlan; do
        python3 test/e2e/explain_twice.py --make "$how" "$single" "$tmp/$how.pcap"
        same "${name}_$how" "$single" "$tmp/$how.pcap" 90
    done
done
for name in lossy_loss lossy_all cm_lossy rc_nak rc_mix; do
    single=pcaps/$name.pcap
    editcap -t 10 "$single" "$tmp/later.pcap"
    mergecap -a -F pcap -w "$tmp/appended.pcap" "$single" "$tmp/later.pcap"
    same "${name}_appended" "$single" "$tmp/appended.pcap" 90
    mergecap -a -F pcap -w "$tmp/appended.pcap" "$single" "$single"
    same "${name}_appended_at_once" "$single" "$tmp/appended.pcap" 90
done
exit $status
