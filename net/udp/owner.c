/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc/net/udp and udp6 list the sockets of the namespace, each with its owner and inode (proc(5)); the
 * descriptors of a process name their inodes. Addresses stand there as 32-bit words in the machine's order.
 */
#include "net/udp/owner.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/wire/udp.h"

#define PATH_BYTES 320

struct owner {
    unsigned uid;
    unsigned long inode;
};

/* The words of a listed address as bytes. */
static bool read_addr(const char *hex, bool is_v4, struct nornic_addr *out)
{
    uint32_t words[4] = {0};
    int n = is_v4 ? sscanf(hex, "%8x", &words[0])
                  : sscanf(hex, "%8x%8x%8x%8x", &words[0], &words[1], &words[2], &words[3]);
    if (is_v4)
        *out = nornic_addr_from_v4((const uint8_t *)words);
    else
        memcpy(out->b, words, sizeof out->b);
    return n == (is_v4 ? 1 : 4);
}

static bool is_any(const struct nornic_addr *addr)
{
    static const uint8_t zero[4];
    return nornic_addr_is_zero(addr) || (nornic_addr_is_v4(addr) && memcmp(addr->b + 12, zero, 4) == 0);
}

static bool find_socket(const struct nornic_addr *addr, struct owner *out)
{
    bool is_v4 = nornic_addr_is_v4(addr), was_found = false;
    char line[256], hex[40];
    FILE *list = fopen(is_v4 ? "/proc/net/udp" : "/proc/net/udp6", "re");
    while (list && !was_found && fgets(line, sizeof line, list)) {
        unsigned port;
        struct nornic_addr bound;
        if (sscanf(line, " %*u: %32[0-9A-F]:%x %*s %*s %*s %*s %*s %u %*s %lu", hex, &port, &out->uid,
                   &out->inode) == 4 &&
            port == NET_ROCE_UDP_PORT && read_addr(hex, is_v4, &bound))
            was_found = nornic_addr_equal(&bound, addr) || is_any(&bound);
    }
    if (list)
        fclose(list);
    return was_found;
}

static bool process_has(const char *pid, unsigned long inode)
{
    char path[PATH_BYTES], link[64], wanted[64];
    bool has = false;
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
    DIR *fds = opendir(path);
    for (const struct dirent *e; !has && fds && (e = readdir(fds));) {
        snprintf(path, sizeof path, "/proc/%.16s/fd/%.16s", pid, e->d_name);
        ssize_t len = readlink(path, link, sizeof link - 1);
        link[len < 0 ? 0 : len] = '\0';
        has = strcmp(link, wanted) == 0;
    }
    if (fds)
        closedir(fds);
    return has;
}

static bool name_process(const char *pid, char text[NET_UDP_OWNER_SIZE])
{
    char path[PATH_BYTES], name[32] = "";
    snprintf(path, sizeof path, "/proc/%.16s/comm", pid);
    FILE *comm = fopen(path, "re");
    if (!comm)
        return false;
    bool is_named = fgets(name, sizeof name, comm) != NULL;
    fclose(comm);
    name[strcspn(name, "\n")] = '\0';
    snprintf(text, NET_UDP_OWNER_SIZE, "%s (process %.16s)", name, pid);
    return is_named;
}

const char *net_udp_owner(const struct nornic_addr *addr, char text[NET_UDP_OWNER_SIZE])
{
    struct owner owner;
    bool is_named = false;
    snprintf(text, NET_UDP_OWNER_SIZE, "another program");
    if (!find_socket(addr, &owner))
        return text;
    snprintf(text, NET_UDP_OWNER_SIZE, "a process of user %u%s", owner.uid,
             owner.uid == 0 ? ", or by the kernel's soft-RoCE (see `rdma link`)" : "");
    DIR *processes = opendir("/proc");
    for (const struct dirent *e; !is_named && processes && (e = readdir(processes));)
        is_named = isdigit((unsigned char)e->d_name[0]) && process_has(e->d_name, owner.inode) &&
                   name_process(e->d_name, text);
    if (processes)
        closedir(processes);
    return text;
}

int net_udp_owner_explain(const struct nornic_addr *addr, struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE], owner[NET_UDP_OWNER_SIZE];
    return net_error_set(why, EADDRINUSE,
                         "UDP port %u of %s is taken by %s: end that, or use another address",
                         NET_ROCE_UDP_PORT, nornic_addr_str(addr, text), net_udp_owner(addr, owner));
}
