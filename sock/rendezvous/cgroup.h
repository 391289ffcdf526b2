/* SPDX-License-Identifier: BSD-2-Clause */
/* A cgroup v2 of this process alone, inside the one that it came from. Internal to sock/. */
#ifndef NORNIC_SOCK_CGROUP_H
#define NORNIC_SOCK_CGROUP_H

#include <sys/types.h>

#include "net/error.h"

struct smcr_cgroup {
    char home[512]; /* directory that the process came from */
    char own[600];  /* nornic-PID in it */
    int fd;         /* of `own` */
    int mount_fd;   /* of the hierarchy, where no directory shows it; else -1 */
};

/* The directory of a cgroup, which `path` names: as a directory, or from the root of the hierarchy, as
 * /proc/PID/cgroup does, also where no directory shows it. A descriptor, or -errno with a sentence. */
int smcr_cgroup_open(const char *path, struct nornic_error *why);

/* Makes it and moves the process there; cgroups that dead processes left behind in the same place are
 * removed. 0, or -errno with a sentence; then nothing has changed. */
int smcr_cgroup_enter(struct smcr_cgroup *cgroup, struct nornic_error *why);
/* Moves another process into it. 0 or -errno. */
int smcr_cgroup_admit(const struct smcr_cgroup *cgroup, pid_t pid);
/* Moves the process, and whatever children it left there, back home and removes it. */
void smcr_cgroup_leave(struct smcr_cgroup *cgroup);

#endif
