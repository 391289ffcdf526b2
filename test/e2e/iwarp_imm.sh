#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Immediate Data and both RDMAP versions, with a peer written from the RFCs (iwarp_imm.py), at a program over
# libibverbs: test/verbs/programs/immediate.c. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# machine: it listens at 127.0.0.1 of the machine
. "$(dirname "$0")/lib.sh"
BUILD=${BUILD:-build}

start "$nornic" run --port iwarp:127.0.0.1 -- "$BUILD/test/verbs/programs/immediate" 127.0.0.1 18721
for ((i = 0; i < 500; i++)); do
    grep -q listening "$tmp/server.out" && break
    sleep 0.02
done
run python3 test/e2e/iwarp_imm.py 127.0.0.1 18721
finish
# a completion of libibverbs has the first four octets, and the last four in vendor_err
if [[ $server_out == *"success 129 2 0 11223344 55667788"*"success 129 2 0 99aabbcc 00000000"* ]]; then
    ok IWARP_RDMAP_43_no_octet_is_lost
else notok IWARP_RDMAP_43_no_octet_is_lost "$server_rc: $server_out $server_err"; fi
# RFC 5040 4.1: both versions are valid
if [[ $server_out == *"success 128 0 5 "* ]]; then ok IWARP_GEN_05_version_0_is_taken
else notok IWARP_GEN_05_version_0_is_taken "$server_out; the peer heard: $out"; fi
# of a request of 32 bits the rest is 0
if [ $rc = 0 ] && [[ $out == *"72 feed000000000000"*"72 feed000100000000"* ]]; then ok IWARP_RDMAP_43_the_rest_is_zero
else notok IWARP_RDMAP_43_the_rest_is_zero "$rc: $out $err"; fi
exit $status
