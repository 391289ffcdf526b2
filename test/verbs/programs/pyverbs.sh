# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: pyverbs' own suite, from Debian's package of rdma-core as it is. The package is fetched once and
# unpacked, not installed: it wants rdma-core, which brings udev along.
#   NORNIC_VERBS_CACHE  where the package is kept (~/.cache/nornic-verbs)
# shellcheck shell=bash
begin pyverbs

huge_pool=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
pyverbs_wanted=145 # that pass; the rest is skipped, for the reasons in docs/verbs.md
pyverbs_huge=3     # of them want huge pages

# pyverbs_unpack: the package's files in $tmp/pyverbs; some tests are packed there
pyverbs_unpack() {
    local cache=${NORNIC_VERBS_CACHE:-$HOME/.cache/nornic-verbs}
    mkdir -p "$cache" && cd "$cache" || return 1
    ls python3-pyverbs_*.deb >/dev/null 2>&1 || apt-get -qq -o APT::Sandbox::User=root download python3-pyverbs
    dpkg-deb -x "$(ls python3-pyverbs_*.deb | sort -V | tail -1)" "$tmp/pyverbs" &&
        gunzip "$tmp"/pyverbs/usr/share/doc/rdma-core/tests/*.gz && chmod 755 "$tmp/pyverbs"
}

# huge_pages_reserve: where there are none, sixteen for as long as the suite runs; 1: the machine gives none
huge_pages_reserve() {
    huge_before=$(cat $huge_pool 2>/dev/null) || return 1
    [ "$huge_before" = 0 ] || return 0
    trap 'huge_pages_return; e2e_cleanup' EXIT
    echo 16 2>/dev/null >$huge_pool && [ "$(cat $huge_pool)" -ge 8 ]
}
huge_pages_return() { [ "${huge_before:-}" != 0 ] || echo 0 2>/dev/null >$huge_pool; }

pyverbs_suite() {
    local ran skipped passed
    wanted pyverbs || return
    (pyverbs_unpack) >"$tmp/out" 2>"$tmp/err" || { notok pyverbs "the package cannot be had: $(end_of err)" && return; }
    if ! huge_pages_reserve; then
        pyverbs_wanted=$((pyverbs_wanted - pyverbs_huge))
        skip pyverbs_huge "this machine gives no huge pages: $pyverbs_huge tests are skipped"
    fi
    patience=400
    with_files a env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$tmp/pyverbs/usr/lib/python3/dist-packages" \
        python3 "$tmp/pyverbs/usr/share/doc/rdma-core/tests/run_tests.py" -v --dev nornic0
    run "${command[@]}"
    patience=50
    huge_pages_return
    ran=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$tmp/err")
    skipped=$(sed -n 's/^OK (skipped=\([0-9]*\))$/\1/p' "$tmp/err")
    passed=$((${ran:-0} - ${skipped:-${ran:-0}}))
    echo "# pyverbs: $passed passed, ${skipped:-?} skipped of ${ran:-?}"
    if [ "$rc" = 0 ] && [ $passed -ge $pyverbs_wanted ]; then ok pyverbs
    else
        notok pyverbs "$rc: $passed passed, $pyverbs_wanted are wanted:
            $(grep -E '^(ERROR|FAIL):' "$tmp/err") $(end_of err)"
    fi
}
pyverbs_suite
