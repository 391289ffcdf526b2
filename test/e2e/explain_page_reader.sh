#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The page of `nornic explain --html` as one meets it who reads it for the first time (explain_page_reader.py).
# alone: a browser needs both processors
source "$(dirname "$0")/lib.sh"

NORNIC="$nornic" timeout 560 python3 test/e2e/explain_page_reader.py "$tmp" || status=1
exit $status
