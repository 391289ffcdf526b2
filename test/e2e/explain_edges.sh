#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures of real peers, cut and laid together as people do: that breaks no rule (explain_edges.py).
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

timeout 200 python3 test/e2e/explain_edges.py "$nornic" pcaps/*.pcap pcaps/iwarp/*.pcap || status=1
exit $status
