/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sock/rendezvous/enable.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sock/rendezvous/cgroup.h"
#include "sock/rendezvous/rendezvous.h"
#include "sock/rendezvous/map.h"

#define MAX_PROGRAMS 64 /* on a cgroup: the kernel's BPF_CGROUP_MAX_PROGS */
#define MAX_DEPTH    32 /* of cgroups in cgroups that are looked at */

/* Those of ours on a cgroup. A link's is a service's, which takes it away itself: no attachment of an
 * administrator's. */
struct found {
    uint32_t ids[MAX_PROGRAMS];
    unsigned count;
};

static int cannot(int err, const char *what, const char *cgroup, struct nornic_error *why)
{
    if (err == -EPERM || err == -EACCES)
        return net_error_set(why, -err, "to %s %s needs root, or the capabilities CAP_BPF and CAP_NET_ADMIN",
                             what, cgroup);
    return net_error_set(why, -err, "cannot %s %s: %s", what, cgroup, strerror(-err));
}

/* Whether it has the name that the kernel keeps of it. */
static bool is_ours(uint32_t id, uint8_t tag[BPF_TAG_SIZE])
{
    struct bpf_prog_info info = {0};
    uint32_t info_bytes = sizeof info;
    int fd = bpf_prog_get_fd_by_id(id);
    bool has_info = fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &info_bytes) == 0;
    if (fd >= 0)
        close(fd);
    memcpy(tag, info.tag, BPF_TAG_SIZE);
    return has_info && strncmp(info.name, SMCR_RENDEZVOUS_PROGRAM, BPF_OBJ_NAME_LEN - 1) == 0;
}

/* Those with another tag than `not_tag` (NULL: all). 0 or -errno. */
static int find(int cgroup_fd, const uint8_t *not_tag, struct found *found)
{
    uint32_t ids[MAX_PROGRAMS], count = MAX_PROGRAMS;
    uint8_t tag[BPF_TAG_SIZE];
    found->count = 0;
    int err = bpf_prog_query(cgroup_fd, BPF_CGROUP_SOCK_OPS, 0, NULL, ids, &count);
    for (uint32_t i = 0; !err && i < count; i++)
        if (is_ours(ids[i], tag) && (!not_tag || memcmp(tag, not_tag, sizeof tag) != 0))
            found->ids[found->count++] = ids[i];
    return err;
}

/* 0, or the first -errno. */
static int detach(int cgroup_fd, const struct found *found)
{
    int err = 0;
    for (unsigned i = 0; i < found->count; i++) {
        int fd = bpf_prog_get_fd_by_id(found->ids[i]);
        int rc = fd < 0 ? fd : bpf_prog_detach2(fd, cgroup_fd, BPF_CGROUP_SOCK_OPS);
        err = err ? err : rc;
        if (fd >= 0)
            close(fd);
    }
    return err;
}

/* Leaves no other of ours beside it. 1: it was there; 0, or -errno. */
static int attach(int cgroup_fd, int program_fd)
{
    struct found before, others;
    struct bpf_prog_info info = {0};
    uint32_t info_bytes = sizeof info;
    int err = bpf_obj_get_info_by_fd(program_fd, &info, &info_bytes);
    if (!err)
        err = find(cgroup_fd, NULL, &before);
    if (!err)
        err = find(cgroup_fd, info.tag, &others);
    if (err)
        return err;
    bool is_there = before.count > others.count;
    if (!is_there)
        err = bpf_prog_attach(program_fd, cgroup_fd, BPF_CGROUP_SOCK_OPS, BPF_F_ALLOW_MULTI);
    if (!err)
        err = detach(cgroup_fd, &others);
    return err ? err : is_there;
}

int smcr_enable(const char *cgroup, struct nornic_error *why)
{
    struct bpf_object *object;
    int fd = smcr_cgroup_open(cgroup, why);
    if (fd < 0)
        return fd;
    int err = smcr_rendezvous_load(true, &object, why);
    if (!err) {
        struct bpf_program *program = bpf_object__find_program_by_name(object, SMCR_RENDEZVOUS_PROGRAM);
        err = attach(fd, bpf_program__fd(program));
        if (err < 0)
            err = cannot(err, "enable SMC-R for", cgroup, why);
        bpf_object__close(object);
    }
    close(fd);
    return err;
}

int smcr_disable(const char *cgroup, struct nornic_error *why)
{
    struct found found;
    int fd = smcr_cgroup_open(cgroup, why);
    if (fd < 0)
        return fd;
    int err = find(fd, NULL, &found);
    if (!err)
        err = found.count == 0 ? 1 : detach(fd, &found);
    if (err < 0)
        err = cannot(err, "disable SMC-R for", cgroup, why);
    close(fd);
    return err;
}

/* --- all --- */

struct walk {
    void (*visit)(void *ctx, const char *name);
    void *ctx;
    char name[4096]; /* of the cgroup that is looked at, from the root; "" there */
};

/* A service's own, where it has a link. */
static bool is_of_service(const char *name)
{
    return strncmp(name, "nornic-", 7) == 0 && strspn(name + 7, "0123456789") == strlen(name + 7);
}

/* Takes over `fd`. Cgroups that go meanwhile are none. 0 or -errno. */
static int look(struct walk *walk, int fd, unsigned depth)
{
    struct found found;
    struct dirent *entry;
    size_t len = strlen(walk->name);
    int err = find(fd, NULL, &found);
    if (err == -ENODEV || err == -ENOENT) /* removed while it was open */
        err = 0;
    if (!err && found.count > 0)
        walk->visit(walk->ctx, len > 0 ? walk->name : "/");
    DIR *dir = err || depth == 0 ? NULL : fdopendir(fd);
    if (!dir) {
        close(fd);
        return err;
    }
    while (!err && (entry = readdir(dir))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || is_of_service(entry->d_name) ||
            len + strlen(entry->d_name) + 2 > sizeof walk->name)
            continue;
        snprintf(walk->name + len, sizeof walk->name - len, "/%s", entry->d_name);
        int inside = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (inside >= 0)
            err = look(walk, inside, depth - 1);
        walk->name[len] = '\0';
    }
    closedir(dir);
    return err;
}

int smcr_enabled_visit(void (*visit)(void *ctx, const char *name), void *ctx, struct nornic_error *why)
{
    struct walk walk = {.visit = visit, .ctx = ctx};
    int fd = smcr_cgroup_open("/", why);
    if (fd < 0)
        return fd;
    int err = look(&walk, fd, MAX_DEPTH);
    return err ? cannot(err, "ask for the cgroups below", "/", why) : 0;
}
