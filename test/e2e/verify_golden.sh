#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic verify --strict` over every capture in pcaps/: the violations that it names are those that were made on
# purpose or that a peer really makes, each of them and no other (verify_golden.py).
# shellcheck source=test/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

timeout 200 python3 test/e2e/verify_golden.py "$nornic" pcaps || status=1
exit $status
