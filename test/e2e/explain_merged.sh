#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures of real peers merged, in pairs: `nornic explain` and `nornic verify --strict` warn of nothing that they do
# not warn of in each alone (explain_merged.py).
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

timeout 300 python3 test/e2e/explain_merged.py "$nornic" pcaps/*.pcap || status=1
exit $status
