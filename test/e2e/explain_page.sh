#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `nornic explain --html`: the command as a user meets it, then the page in a browser (explain_page.py).
# alone: a browser needs both processors, and the page has a time to be ready in
source "$(dirname "$0")/lib.sh"

# fails TEXT: exit status 2 and one sentence that has the text
fails() { [ "$rc" = 2 ] && one_sentence "$err" "$1"; }
# result NAME COMMAND...: ok if the command is true of the last run
result() {
    local name=$1
    shift
    if "$@"; then ok "$name"; else notok "$name" "exit status $rc, output '${out:0:300}', errors '$err'"; fi
}

run "$nornic" explain --html "$tmp/page.html" pcaps/rc_mix.pcap
wrote() { [ "$rc" = 0 ] && [ -z "$err" ] && [[ $out == "91 packets, 2 flows;"* ]] && [ -s "$tmp/page.html" ]; }
result html-writes-a-page wrote
run "$nornic" explain --html - pcaps/rc_mix.pcap
same() { [ "$rc" = 0 ] && [ -z "$err" ] && cmp -s "$tmp/out" "$tmp/page.html"; }
result html-to-standard-output same
run "$nornic" explain --html "$tmp/none/page.html" pcaps/rc_mix.pcap
result html-not-writable fails "$tmp/none/page.html: cannot be written: No such file"
run "$nornic" explain --html /dev/full pcaps/rc_mix.pcap
result html-disk-full fails "/dev/full: cannot be written: No space left"
run "$nornic" explain --json --html "$tmp/page.html" pcaps/rc_mix.pcap
result html-or-json fails "leave out -v, --json and --ladder"
head -c 3000 pcaps/rc_mix.pcap >"$tmp/cut.pcap"
run "$nornic" explain --html "$tmp/cut.html" "$tmp/cut.pcap"
ended() { [ "$rc" = 2 ] && one_sentence "$err" cut.pcap && [ "$(tail -1 "$tmp/cut.html")" = "</html>" ]; }
result html-of-a-broken-capture-is-whole ended
mkdir -p "$tmp/odd"
cp pcaps/rc_rnr.pcap "$tmp/odd/<b>&\"'.pcap"
run "$nornic" explain --html "$tmp/odd.html" "$tmp/odd/<b>&\"'.pcap"
result html-of-a-file-with-an-odd-name test "$rc" = 0

NORNIC="$nornic" timeout 560 python3 test/e2e/explain_page.py "$tmp" "${EXPLAIN_SHOTS:-}" || status=1
exit $status
