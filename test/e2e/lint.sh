#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `test/tools/lint` in a repository of its own, with a clang-tidy that finds the word "bad": which files it reads after
# which change. Lines: "ok NAME", "not ok NAME: why".
. "$(dirname "$0")/lib.sh"
tree=$tmp/tree
mkdir -p "$tree/test/tools" "$tree/net" "$tmp/bin"
cp test/tools/lint "$tree/test/tools"
touch "$tree/test/tools/analyze.h" "$tree/.clang-tidy" "$tree/test/tools/cppcheck.suppress"
printf 'print-%%:\n\t@echo -I.\n' >"$tree/Makefile"
cat >"$tmp/bin/clang-tidy" <<'SH'
#!/bin/sh
[ "$1" != --version ] || exec echo "LLVM version ${TIDY_VERSION:-14.0}"
echo "$2" >>"$READ"
! grep -n bad "$2"
SH
printf '#!/bin/sh\n[ "$1" != --version ] || exec echo Cppcheck 2.10\n' >"$tmp/bin/cppcheck"
chmod 755 "$tmp/bin/"*
export PATH=$tmp/bin:$PATH XDG_CACHE_HOME=$tmp/cache READ=$tmp/read
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
in_tree=(git -C "$tree")
source_file() { printf '#include "net/one.h"\nint %s(void) { return 0; }\n' "$1" >"$tree/net/$1.c"; }
printf 'int one(void);\n' >"$tree/net/one.h"
for name in one two three; do source_file $name; done
commit() { "${in_tree[@]}" add -A && "${in_tree[@]}" commit -qm "$1"; }
"${in_tree[@]}" init -q && commit first || notok repository "git makes none"

# lints ARGUMENT...: $rc, and in $read the files that clang-tidy read
lints() {
    : >"$READ"
    run "$tree/test/tools/lint" "$@"
    read=$(sort "$READ" | paste -sd' ')
}
# result NAME STATUS FILES: ok if that came of the last lints
result() {
    if [ "$rc $read" = "$2 $3" ]; then ok "$1"; else notok "$1" "exit status $rc, read '$read': $out $err"; fi
}
everything="net/one.c net/three.c net/two.c"

lints clang-tidy
result without_a_base_everything 0 "$everything"
lints clang-tidy
result what_passed_is_not_read_again 0 ""
lints whole
base=$("${in_tree[@]}" rev-parse HEAD)
if [ $rc = 0 ] && grep -q "^commit $base" "$tree/test/tools/lint.base"; then ok whole_writes_the_base
else notok whole_writes_the_base "exit status $rc: $out $err"; fi
commit base
export XDG_CACHE_HOME=$tmp/empty
lints clang-tidy
result at_the_base_nothing 0 ""
sed -i '1i /* a comment */' "$tree/net/one.c"
lints clang-tidy
result a_comment_is_no_code 0 ""
sed -i '1i /* NOLINT: why */' "$tree/net/one.c"
lints clang-tidy
result a_comment_to_the_linter_is 0 net/one.c
"${in_tree[@]}" checkout -q net
echo 'int bad;' >>"$tree/net/two.c"
lints clang-tidy
result a_finding_fails 1 net/two.c
lints clang-tidy
result a_finding_stays 1 net/two.c
lints whole
if [ $rc = 1 ] && [ "$(tail -1 <<<"$out")" = '5 passed, 1 failed' ]; then ok whole_counts_findings
else notok whole_counts_findings "exit status $rc: $out $err"; fi
result whole_keeps_the_base_with_a_finding 1 "$everything"
"${in_tree[@]}" checkout -q net
echo 'int two(void);' >>"$tree/net/one.h"
rm -r "$tmp/empty"
lints clang-tidy
result a_header_is_read_in_its_own_source 0 net/one.c
"${in_tree[@]}" checkout -q net
mkdir "$tree/host" && "${in_tree[@]}" mv net/one.h net/two.c host && sed -i 's|net/one.h|host/one.h|' "$tree"/*/*.c
lints clang-tidy
result a_file_that_moved_is_not_new 0 ""
"${in_tree[@]}" reset -q --hard
TIDY_VERSION=15.0 lints clang-tidy
result another_version_reads_everything 0 "$everything"
echo 'Checks: x' >"$tree/.clang-tidy"
lints clang-tidy
result another_configuration_reads_everything 0 "$everything"
"${in_tree[@]}" checkout -q .clang-tidy
git clone -q --depth 1 "file://$tree" "$tmp/shallow" && tree=$tmp/shallow && rm -rf "$tmp/empty"
lints clang-tidy
result a_shallow_clone_reads_everything 0 "$everything"
exit $status
