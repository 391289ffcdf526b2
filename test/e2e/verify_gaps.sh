#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures of real peers with packets left out: `nornic verify --strict` names no violation that the whole capture does
# not have (verify_gaps.py).
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

timeout 300 python3 test/e2e/verify_gaps.py "$nornic" pcaps/*.pcap || status=1
exit $status
