/* SPDX-License-Identifier: BSD-2-Clause */
/* The program of SMC-R's TCP option on a cgroup: beside what an earlier nornic left there, and while cgroups
 * come and go. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "sock/rendezvous/cgroup.h"
#include "sock/rendezvous/enable.h"
#include "sock/rendezvous/map.h"
#include "test/support/netns.h"

#define WALKS 8000

static int root_fd = -1;
static char name[64]; /* of a cgroup of this test, below the root */

static void make_cgroup(void)
{
    struct nornic_error why;
    netns_need();
    root_fd = smcr_cgroup_open("/", &why);
    if (root_fd < 0)
        cr_skip_test("%s", why.text);
    snprintf(name, sizeof name, "/nn-%d", (int)getpid());
    cr_assert_eq(mkdirat(root_fd, name + 1, 0755), 0);
}

static void remove_cgroup(void)
{
    if (root_fd < 0)
        return;
    unlinkat(root_fd, name + 1, AT_REMOVEDIR);
    close(root_fd);
}

/* Puts a program on it that does nothing and is called as nornic's: of another version, as it were. */
static uint32_t put_older(void)
{
    const struct bpf_insn does_nothing[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
        {.code = BPF_JMP | BPF_EXIT},
    };
    char called[BPF_OBJ_NAME_LEN];
    struct bpf_prog_info info = {0};
    uint32_t info_bytes = sizeof info;
    struct nornic_error why;
    snprintf(called, sizeof called, "%.*s", BPF_OBJ_NAME_LEN - 1, SMCR_RENDEZVOUS_PROGRAM);
    int program_fd =
        bpf_prog_load(BPF_PROG_TYPE_SOCK_OPS, called, "GPL", does_nothing, array_len(does_nothing), NULL);
    cr_assert_geq(program_fd, 0);
    int cgroup_fd = smcr_cgroup_open(name, &why);
    cr_assert_geq(cgroup_fd, 0, "%s", why.text);
    cr_assert_eq(bpf_prog_attach(program_fd, cgroup_fd, BPF_CGROUP_SOCK_OPS, BPF_F_ALLOW_MULTI), 0);
    cr_assert_eq(bpf_obj_get_info_by_fd(program_fd, &info, &info_bytes), 0);
    close(cgroup_fd);
    close(program_fd);
    return info.id;
}

/* How many programs are on it; `*first`: one of them. */
static unsigned programs(uint32_t *first)
{
    uint32_t ids[8] = {0}, count = array_len(ids);
    struct nornic_error why;
    int fd = smcr_cgroup_open(name, &why);
    cr_assert_geq(fd, 0, "%s", why.text);
    cr_assert_eq(bpf_prog_query(fd, BPF_CGROUP_SOCK_OPS, 0, NULL, ids, &count), 0);
    close(fd);
    *first = ids[0];
    return count;
}

Test(enable, an_older_program_gives_way, .init = make_cgroup, .fini = remove_cgroup, .timeout = 60)
{
    struct nornic_error why = {""};
    uint32_t older = put_older(), id, again;
    cr_assert_eq(programs(&id), 1);
    cr_assert_eq(smcr_enable(name, &why), 0, "%s", why.text);
    cr_expect_eq(programs(&id), 1);
    cr_expect_neq(id, older);
    cr_assert_eq(smcr_enable(name, &why), 1, "it is there: %s", why.text);
    cr_expect_eq(programs(&again), 1);
    cr_expect_eq(again, id, "and stays");
    put_older(); /* by an older nornic that was run once more */
    cr_assert_eq(programs(&again), 2);
    cr_assert_eq(smcr_enable(name, &why), 1, "%s", why.text);
    cr_expect_eq(programs(&again), 1);
    cr_expect_eq(again, id);
    put_older();
    cr_assert_eq(smcr_disable(name, &why), 0, "%s", why.text);
    cr_expect_eq(programs(&again), 0, "all go");
}

/* --- while cgroups come and go --- */

static _Atomic bool is_over;

static void *come_and_go(void *unused)
{
    char inner[80];
    (void)unused;
    snprintf(inner, sizeof inner, "%s/inner", name + 1);
    while (!is_over) {
        mkdirat(root_fd, inner, 0755);
        unlinkat(root_fd, inner, AT_REMOVEDIR);
    }
    return NULL;
}

static void count(void *ctx, const char *visited)
{
    *(unsigned *)ctx += strcmp(visited, name) == 0;
}

Test(enable, a_cgroup_that_goes_during_the_walk_is_none, .init = make_cgroup, .fini = remove_cgroup,
     .timeout = 60)
{
    struct nornic_error why = {""};
    pthread_t other;
    unsigned seen = 0;
    cr_assert_eq(smcr_enable(name, &why), 0, "%s", why.text);
    cr_assert_eq(pthread_create(&other, NULL, come_and_go, NULL), 0);
    for (unsigned i = 0; i < WALKS; i++)
        cr_assert_eq(smcr_enabled_visit(count, &seen, &why), 0, "walk %u: %s", i, why.text);
    is_over = true;
    pthread_join(other, NULL);
    cr_expect_eq(seen, WALKS, "what stays is found by each");
    cr_expect_eq(smcr_disable(name, &why), 0, "%s", why.text);
}
