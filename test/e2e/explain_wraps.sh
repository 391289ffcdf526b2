#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures of real peers as other taps would have written them: the same is said of them (explain_wraps.py).
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

timeout 200 python3 test/e2e/explain_wraps.py "$nornic" pcaps/rc_mix.pcap pcaps/cm_lossy.pcap \
    pcaps/rc_ipv6_atomic.pcap pcaps/smc_first.pcap pcaps/iwarp/crc_write.pcap || status=1
exit $status
