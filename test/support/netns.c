/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* unshare, setns */
#include "test/support/netns.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_own_namespace(void)
{
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

void netns_need(void)
{
    /* A child tries, so that the answer leaves this process where it is. */
    pid_t child = fork();
    if (child == 0)
        _exit(unshare(CLONE_NEWNET) == 0 ? 0 : 1);
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        cr_skip_test("needs root: may not make network namespaces");
    if (access("/sbin/ip", X_OK) != 0 && access("/usr/sbin/ip", X_OK) != 0 && access("/bin/ip", X_OK) != 0)
        cr_skip_test("needs the command ip (iproute2)");
}

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t written = write(fd, text, strlen(text));
    close(fd);
    return written == (ssize_t)strlen(text);
}

/* A fresh namespace for the calling thread, quick to come up: no duplicate address detection. */
static int make_namespace(void)
{
    if (unshare(CLONE_NEWNET) != 0)
        return -1;
    write_file("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
    write_file("/proc/sys/net/ipv6/conf/default/router_solicitations", "0");
    return open_own_namespace();
}

void netns_loopback(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWNET) != 0)
        return;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0, "lo does not come up: %s", strerror(errno));
    close(fd);
}

void netns_enter(const struct netns_veth *veth, int side)
{
    if (setns(side < 0 ? veth->home : veth->fd[side], CLONE_NEWNET) != 0) {
        perror("setns");
        abort();
    }
}

static int run_here(const char *format, va_list args)
{
    char command[1024];
    int len = vsnprintf(command, sizeof command, format, args);
    if (len < 0 || (size_t)len >= sizeof command)
        return -1;
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int netns_run(const struct netns_veth *veth, int side, const char *format, ...)
{
    va_list args;
    int current = open_own_namespace();
    netns_enter(veth, side);
    va_start(args, format);
    int status = run_here(format, args);
    va_end(args);
    if (current >= 0 && setns(current, CLONE_NEWNET) != 0)
        abort();
    close(current);
    return status;
}

/* Run in side 1's namespace: the peer end is made straight into side 0's. */
static bool make_pair(const struct netns_veth *veth, uint32_t mtu_bytes)
{
    int pid = (int)getpid();
    if (netns_run(veth, 1, "ip link add nn1 mtu %u type veth peer name nn0 mtu %u netns /proc/%d/fd/%d",
                  mtu_bytes, mtu_bytes, pid, veth->fd[0]) != 0)
        return false;
    for (int side = 0; side < 2; side++)
        if (netns_run(
                veth, side,
                "ip link set lo up && ip addr add %s/24 dev nn%d && ip addr add %s/64 dev nn%d nodad && "
                "ip link set nn%d up",
                NETNS_VETH_V4(side), side, NETNS_VETH_V6(side), side, side) != 0)
            return false;
    return true;
}

static bool has_link_local(int side)
{
    char line[128];
    bool found = false;
    FILE *f = fopen("/proc/thread-self/net/if_inet6", "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = strncmp(line, "fe80", 4) == 0 && strstr(line, NETNS_VETH_IFNAME(side));
    if (f)
        fclose(f);
    return found;
}

/* The kernel gives an interface its link-local address some time after its peer has come up. */
static bool await_link_local(const struct netns_veth *veth)
{
    int found = 0;
    for (int side = 0; side < 2; side++) {
        netns_enter(veth, side);
        for (int ms = 0; ms < 10000 && !has_link_local(side); ms++)
            usleep(1000);
        found += has_link_local(side);
    }
    netns_enter(veth, -1);
    return found == 2;
}

void netns_veth_open(struct netns_veth *veth, uint32_t mtu_bytes)
{
    netns_need();
    veth->fd[0] = veth->fd[1] = -1;
    veth->home = open_own_namespace();
    cr_assert_geq(veth->home, 0, "cannot open the network namespace: %s", strerror(errno));
    for (int side = 0; side < 2; side++) {
        veth->fd[side] = make_namespace();
        cr_assert_geq(veth->fd[side], 0, "cannot make a network namespace: %s", strerror(errno));
    }
    netns_enter(veth, -1);
    cr_assert(make_pair(veth, mtu_bytes), "cannot make a veth pair of MTU %u", mtu_bytes);
    cr_assert(await_link_local(veth), "the veth pair got no link-local addresses");
}

void netns_veth_destroy(struct netns_veth *veth)
{
    netns_enter(veth, -1);
    for (int side = 0; side < 2; side++)
        if (veth->fd[side] >= 0)
            close(veth->fd[side]);
    close(veth->home);
}
