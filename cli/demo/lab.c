/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "base/base.h"
#include "cli/demo/lab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NETNS_DIR "/run/netns" /* where ip(8) keeps its namespaces */
#define PREFIX    "nn-demo-"

/* The first line of a file descriptor's content, without its end. */
static void first_line(int fd, char *buf, size_t size)
{
    ssize_t n = pread(fd, buf, size - 1, 0);
    buf[n > 0 ? n : 0] = 0;
    buf[strcspn(buf, "\n")] = 0;
}

static int spawn_ip(const char *netns, int in_fd, int err_fd, pid_t *pid)
{
    char *all[] = {"ip", "-n", (char *)netns, "-batch", "-", NULL};
    char *here[] = {"ip", "-batch", "-", NULL};
    char *env[] = {"PATH=/usr/sbin:/sbin:/usr/bin:/bin", "LC_ALL=C", NULL};
    static const char *const paths[] = {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"};
    posix_spawn_file_actions_t actions;
    int err = ENOENT;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in_fd, 0);
    posix_spawn_file_actions_adddup2(&actions, err_fd, 1);
    posix_spawn_file_actions_adddup2(&actions, err_fd, 2);
    for (size_t i = 0; err == ENOENT && i < array_len(paths); i++)
        err = posix_spawn(pid, paths[i], &actions, NULL, netns ? all : here, env);
    posix_spawn_file_actions_destroy(&actions);
    return err;
}

/* Runs ip(8) over the lines of `batch`, inside `netns` unless that is NULL; it stops at the first that fails.
 * 0, or -errno with a sentence. */
static int run_ip(const char *netns, const char *batch, struct nornic_error *why)
{
    int in_fd = memfd_create("ip-batch", MFD_CLOEXEC), err_fd = memfd_create("ip-errors", MFD_CLOEXEC);
    ssize_t len = (ssize_t)strlen(batch);
    int err = 0, status = 0;
    pid_t pid = -1;
    char said[200];

    if (in_fd < 0 || err_fd < 0 || write(in_fd, batch, (size_t)len) != len ||
        lseek(in_fd, 0, SEEK_SET) != 0) {
        err = net_error_set(why, errno, "no memory file for a few lines: %s", strerror(errno));
        goto out;
    }
    err = spawn_ip(netns, in_fd, err_fd, &pid);
    if (err) {
        err = net_error_set(why, err, "cannot run the command ip (%s): install the package iproute2",
                            strerror(err));
        goto out;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        first_line(err_fd, said, sizeof said);
        err = net_error_set(why, EPERM, "cannot make a network namespace or a veth pair: %s",
                            *said ? said : "ip was interrupted");
    }
out:
    if (in_fd >= 0)
        close(in_fd);
    if (err_fd >= 0)
        close(err_fd);
    return err;
}

static void delete_netns(const char *name)
{
    char batch[300];
    /* The veth pair goes first, so that it is gone when this returns: a namespace is taken down later, in the
     * kernel's own time. It may not exist, which is fine. */
    run_ip(name, "link del " DEMO_LAB_IFNAME "\n", NULL);
    run_ip(name, "link del " DEMO_LAB_IFNAME2 "\n", NULL);
    snprintf(batch, sizeof batch, "netns del %s\n", name);
    run_ip(NULL, batch, NULL);
}

/* Whether a nornic with that process id still runs. */
static bool is_running(long pid)
{
    char path[64], name[32] = "";

    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    first_line(fd, name, sizeof name);
    close(fd);
    return strcmp(name, "nornic") == 0;
}

void demo_lab_sweep(void)
{
    DIR *dir = opendir(NETNS_DIR);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char *end;
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        long pid = strtol(entry->d_name + strlen(PREFIX), &end, 10);
        if (pid > 0 && (strcmp(end, "-a") == 0 || strcmp(end, "-b") == 0) && !is_running(pid))
            delete_netns(entry->d_name);
    }
    if (dir)
        closedir(dir);
}

void demo_lab_addrs(bool ipv6, struct nornic_addr addr[2])
{
    for (int i = 0; i < 2; i++) {
        addr[i] =
            ipv6 ? (struct nornic_addr){{0xfd, 0x77}} : nornic_addr_from_v4((const uint8_t[]){10, 77, 0, 0});
        addr[i].b[15] = (uint8_t)(i + 1);
    }
}

void demo_lab_loopback_addrs(bool ipv6, struct nornic_addr addr[2])
{
    for (int i = 0; i < 2; i++) {
        const uint8_t v4[4] = {127, (uint8_t)(1 + getpid() % 250), (uint8_t)(getpid() / 250 % 250),
                               (uint8_t)(i + 1)};
        addr[i] = nornic_addr_from_v4(v4);
        if (ipv6)
            nornic_addr_parse("::1", &addr[i]);
    }
}

/* Addresses of one end of a pair, 10.`net`.0.0/30 and fd`net`::/64. nodad and no generated link-local
 * address: nothing waits for duplicate address detection. */
static int configure_end(const char *netns, int end, const char *ifname, int net, uint32_t mtu_bytes,
                         struct nornic_error *why)
{
    char batch[400];
    snprintf(batch, sizeof batch,
             "link set lo up\n"
             "link set %s addrgenmode none\n"
             "link set %s mtu %u up\n"
             "addr add fe80::%d/64 dev %s nodad\n"
             "addr add 10.%d.0.%d/30 dev %s\n"
             "addr add fd%d::%d/64 dev %s nodad\n",
             ifname, ifname, mtu_bytes, end + 1, ifname, net, end + 1, ifname, net, end + 1, ifname);
    return run_ip(netns, batch, why);
}

/* A veth pair between the two, configured. It is born inside them. */
static int add_pair(const struct demo_lab *lab, const char *ifname, int net, uint32_t mtu_bytes,
                    struct nornic_error *why)
{
    char batch[300];
    snprintf(batch, sizeof batch, "link add %s netns %s type veth peer name %s netns %s\n", ifname,
             lab->netns[0], ifname, lab->netns[1]);
    int err = run_ip(NULL, batch, why);
    for (int i = 0; i < 2 && !err; i++)
        err = configure_end(lab->netns[i], i, ifname, net, mtu_bytes, why);
    return err;
}

int demo_lab_add_pair(const struct demo_lab *lab, uint32_t mtu_bytes, struct nornic_error *why)
{
    return add_pair(lab, DEMO_LAB_IFNAME2, 78, mtu_bytes, why);
}

int demo_lab_set_link(const struct demo_lab *lab, int end, const char *ifname, bool up,
                      struct nornic_error *why)
{
    char batch[64];
    snprintf(batch, sizeof batch, "link set %s %s\n", ifname, up ? "up" : "down");
    return run_ip(lab->netns[end], batch, why);
}

int demo_lab_up(struct demo_lab *lab, uint32_t mtu_bytes, struct nornic_error *why)
{
    char batch[400];

    for (int i = 0; i < 2; i++)
        snprintf(lab->netns[i], sizeof lab->netns[i], PREFIX "%ld-%c", (long)getpid(), "ab"[i]);
    snprintf(batch, sizeof batch, "netns add %s\nnetns add %s\n", lab->netns[0], lab->netns[1]);
    int err = run_ip(NULL, batch, why);
    if (!err)
        err = add_pair(lab, DEMO_LAB_IFNAME, 77, mtu_bytes, why);
    if (err)
        demo_lab_down(lab);
    return err;
}

void demo_lab_down(const struct demo_lab *lab)
{
    for (int i = 0; i < 2; i++)
        delete_netns(lab->netns[i]);
}

int demo_lab_enter(const char *netns, struct nornic_error *why)
{
    char path[128];

    snprintf(path, sizeof path, NETNS_DIR "/%s", netns);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 || setns(fd, CLONE_NEWNET) != 0 ? -errno : 0;
    if (err)
        net_error_set(why, -err, "cannot enter the network namespace %s: %s", netns, strerror(-err));
    if (fd >= 0)
        close(fd);
    return err;
}
