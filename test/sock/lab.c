/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "test/sock/lab.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sock/rendezvous/rendezvous.h"

void lab_add_second_pair(const struct lab *lab)
{
    cr_assert_eq(netns_run(&lab->veth, 1, "ip link add nn3 type veth peer name nn2 netns /proc/%d/fd/%d",
                           (int)getpid(), lab->veth.fd[0]),
                 0);
    for (int side = 0; side < 2; side++)
        cr_assert_eq(netns_run(&lab->veth, side, "ip addr add 10.78.0.%d/24 dev nn%d && ip link set nn%d up",
                               side + 1, side + 2, side + 2),
                     0);
}

void lab_open(struct lab *lab, unsigned links)
{
    struct nornic_error why = {""};
    struct smcr_rendezvous_ctl *ctl;
    netns_need();
    if (smcr_rendezvous_open(&ctl, false, &why) != 0)
        cr_skip_test("%s", why.text);
    smcr_rendezvous_close(ctl);
    netns_veth_open(&lab->veth, 1500);
    lab->links = links;
    if (links > 1)
        lab_add_second_pair(lab);
}

void lab_close(struct lab *lab)
{
    netns_veth_destroy(&lab->veth);
}

struct sockaddr_in lab_address(int side, uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, NETNS_VETH_V4(side), &addr.sin_addr);
    return addr;
}

void lab_start(const struct lab *lab, int side, const struct smcr_times *times)
{
    static const char *const ports[2][2] = {{"xdp:nn0", "xdp:nn2"}, {"xdp:nn1", "xdp:nn3"}};
    struct smcr_sock_config config = {.num_ports = lab->links};
    struct nornic_error why = {""};
    for (unsigned i = 0; i < lab->links; i++)
        config.ports[i].port = ports[side][i];
    if (times)
        config.times = *times;
    int rc = smcr_sock_start(&config, &why);
    if (rc != 0 || why.text[0]) {
        fprintf(stderr, "side %d: %s (%d)\n", side, why.text, rc);
        _exit(4);
    }
}

/* ThreadSanitizer looks at nothing in a process that fork() made of one with threads, as Criterion's are;
 * unless it does not see the fork. */
static pid_t fork_unseen(void)
{
#ifdef __SANITIZE_THREAD__
    return _Fork();
#else
    return fork();
#endif
}

pid_t lab_fork(const struct lab *lab, int side, int (*run)(void *ctx), void *ctx)
{
    fflush(NULL);
    pid_t pid = fork_unseen();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    netns_enter(&lab->veth, side);
    int status = run(ctx);
    smcr_sock_stop(NULL);
    _exit(status);
}

int lab_wait(pid_t pid, unsigned timeout_s)
{
    int status;
    for (unsigned i = 0; i < timeout_s * 100; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    kill(pid, getenv("LAB_CORE") ? SIGABRT : SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

bool lab_await(const volatile int *flag)
{
    for (int i = 0; i < 4000 && !*flag; i++)
        usleep(5000);
    return *flag != 0;
}

int lab_listen(uint16_t port, int backlog)
{
    struct sockaddr_in addr = lab_address(1, port);
    int l = nornic_socket(AF_INET, SOCK_STREAM, 0), on = 1;
    nornic_setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (nornic_bind(l, (struct sockaddr *)&addr, sizeof addr) != 0 || nornic_listen(l, backlog) != 0)
        _exit(5);
    return l;
}
