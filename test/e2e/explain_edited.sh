#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Captures of real peers, edited in ways whose meaning the edit tells: `nornic explain` says it, and what tshark reads
# (explain_edited.py).
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

timeout 200 python3 test/e2e/explain_edited.py "$nornic" 2>"$tmp/err" || status=1
grep -v '^Running as user "root"' "$tmp/err" >&2
exit $status
