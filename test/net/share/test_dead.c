/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes leave in the user's directory that were killed in network namespaces of their own. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/share/share.h"
#include "net/share/inner.h"
#include "test/net/share_pair.h"
#include "test/support/netns.h"

#define NAMES 3 /* of a process that is alone: the table and two sockets */

TestSuite(share_dead, .init = share_dir_make, .fini = share_dir_remove, .timeout = 60);

static struct net_share *come(void)
{
    struct net_share *share;
    struct nornic_error why = {""};
    cr_assert_eq(net_share_open(0, &share, &why), 0, "%s", why.text);
    return share;
}

/* A process in a namespace of its own, which waits to be killed. */
static pid_t start(void)
{
    int ready[2];
    char byte;
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        netns_loopback();
        come();
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
    }
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void stop(pid_t pid)
{
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

static unsigned count_names(void)
{
    unsigned count = 0;
    DIR *dir = opendir(share_dir_path());
    cr_assert_not_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* Who comes to any namespace removes it, and leaves what those have who live. */
Test(share_dead, what_the_dead_of_another_namespace_left_goes)
{
    netns_need();
    pid_t dies = start(), lives = start();
    stop(dies);
    cr_expect_eq(count_names(), 2 * NAMES);
    net_share_close(come());
    cr_expect_eq(count_names(), NAMES);
    stop(lives);
    net_share_close(come());
    cr_expect_eq(count_names(), 0);
}
