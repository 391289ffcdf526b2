#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `test/tools/reach` in a small tree of its own: each kind of gap is planted and must be found, and a row of the list
# that is no gap must be refused. Lines: "ok NAME", "not ok NAME: why".
. "$(dirname "$0")/lib.sh"
tree=$tmp/tree
mkdir -p "$tree"/{test/tools,test/rdma,rdma,cli,verbs/cm,preload,build/rdma,build/cli}
cp test/tools/reach "$tree/test/tools"
cat >"$tree/test/tools/conformance" <<'PY'
def books():
    return []
def collect(known, wrong):
    return {'RULE-1': [('one.two', 'test/rdma/test_one.c')]}
PY
cat >"$tree/Makefile" <<'MK'
BUILD = build
LIB_OBJ = build/rdma/one.o
CLI_OBJ = build/cli/main.o
print-%:
	@echo '$($*)'
MK
for map in nornic.map verbs/libibverbs.map verbs/cm/librdmacm.map preload/sockets.map; do
    echo '{ global: nornic_one; local: *; };' >"$tree/$map"
done
git -C "$tree" -c init.defaultBranch=main init -q || notok repository "git makes none"

# plain: a tree without a gap
plain() {
    cat >"$tree/rdma/one.h" <<'C'
enum one_kind { ONE_LEFT, ONE_RIGHT };
struct one { int count; };
int one_take(struct one *one, enum one_kind kind);
C
    cat >"$tree/rdma/one.c" <<'C'
#include "rdma/one.h"
int one_take(struct one *one, enum one_kind kind) { return kind == ONE_RIGHT ? one->count : 0; }
C
    cat >"$tree/cli/main.c" <<'C'
#include "rdma/one.h"
int main(int argc, char **argv)
{
    struct one one;
    one.count = argc;
    return one_take(&one, ONE_LEFT) + one_take(&one, ONE_RIGHT) + !argv;
}
C
    echo 'Test(one, two) { one_take(0, ONE_LEFT); }' >"$tree/test/rdma/test_one.c"
    : >"$tree/test/gaps.list"
}
# reaches NAME STATUS TEXT: the check of the tree as it is ends with that status, and says the text
reaches() {
    local file
    for file in rdma/one cli/main; do
        gcc -c -O0 -fPIC -I "$tree" -o "$tree/build/$file.o" "$tree/$file.c" || notok "$1" "gcc fails"
    done
    run "$tree/test/tools/reach" check build
    if [ $rc = "$2" ] && [[ $out == *"$3"* ]]; then ok "$1"; else notok "$1" "exit status $rc: $out $err"; fi
}

plain
reaches without_a_gap_nothing 0 ""
echo 'int one_dead(void) { return 1; }' >>"$tree/rdma/one.c"
echo 'Test(one, two) { one_dead(); }' >"$tree/test/rdma/test_one.c"
reaches a_function_that_tests_alone_call 1 "function one_dead: only tests do it (RULE-1)"
echo 'function one_dead -- nobody asks' >"$tree/test/gaps.list"
reaches a_listed_gap_names_its_rules 1 "all tests of RULE-1 need function one_dead"
echo 'function one_dead (RULE-1) -- nobody asks' >"$tree/test/gaps.list"
reaches a_listed_gap_passes 0 ""
plain
echo 'function one_dead (RULE-1) -- nobody asks' >"$tree/test/gaps.list"
reaches a_mended_gap_leaves_the_list 1 "function one_dead is no gap any more"
plain
printf 'static int one_row(void) { return 1; }\nint (*const one_table[])(void) = {one_row};\n' >>"$tree/rdma/one.c"
printf 'extern int (*const one_table[])(void);\nint nornic_one(void) { return one_table[0](); }\n' >>"$tree/cli/main.c"
reaches a_table_of_an_exported_function_leads_on 0 ""
plain
sed -i 's/ + one_take(&one, ONE_RIGHT)//' "$tree/cli/main.c"
echo 'Test(one, two) { one_take(0, ONE_RIGHT); }' >"$tree/test/rdma/test_one.c"
reaches a_constant_that_tests_alone_give 1 "constant ONE_RIGHT: only tests do it"
plain
sed -i '/one.count = argc/d' "$tree/cli/main.c"
echo 'Test(one, two) { struct one one = {.count = 3}; one_take(&one, ONE_LEFT); }' >"$tree/test/rdma/test_one.c"
reaches a_field_that_tests_alone_set 1 "field count: only tests do it"
exit $status
