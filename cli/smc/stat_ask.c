/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "base/now.h"
#include "cli/report/json.h"
#include "cli/smc/stat.h"
#include "sock/stat/json.h"

#define ANSWER_SECONDS 2
#define OTHERS_NS      (4 * NS_PER_S) /* of waits for sockets of other users than root and the caller */
#define MAX_BYTES      (16u << 20)    /* some 16384 connections are 6 MB */

static const char others[] = "it belongs to another user: ask as root";

static int connect_to(unsigned pid)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    _Static_assert(sizeof addr.sun_path >= SMCR_STAT_PATH_BYTES, "the path fits");
    smcr_stat_path(pid, addr.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0)
        return fd;
    int error = errno;
    close(fd);
    /* A socket that nobody listens on, of a process that is no more. */
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
        unlink(addr.sun_path);
        error = ESRCH;
    }
    errno = error;
    return -1;
}

struct json_object *smc_stat_ask(unsigned pid, const char **why)
{
    int fd = connect_to(pid);
    if (fd < 0) {
        *why = errno == EACCES ? others : "it has no SMC-R of nornic's";
        return NULL;
    }
    struct json_object *o = cli_json_read(fd, MAX_BYTES, ANSWER_SECONDS * NS_PER_S);
    close(fd);
    *why = o ? "" : "it did not answer";
    return o;
}

static int by_number(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

/* Whether a socket is root's or the caller's. */
static bool is_trusted(unsigned pid)
{
    char path[SMCR_STAT_PATH_BYTES];
    struct stat st;
    smcr_stat_path(pid, path);
    return lstat(path, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid());
}

/* The processes that have a socket, in order; free() it. */
static unsigned *list(size_t *count)
{
    DIR *dir = opendir(SMCR_STAT_DIR);
    unsigned *pids = NULL;
    *count = 0;
    for (struct dirent *d; dir && (d = readdir(dir));) {
        char *end;
        if (strncmp(d->d_name, SMCR_STAT_PREFIX, sizeof SMCR_STAT_PREFIX - 1) != 0)
            continue;
        unsigned long pid = strtoul(d->d_name + sizeof SMCR_STAT_PREFIX - 1, &end, 10);
        unsigned *more = *end || pid == 0 ? NULL : realloc(pids, (*count + 1) * sizeof *pids);
        if (!more)
            continue;
        pids = more;
        pids[(*count)++] = (unsigned)pid;
    }
    if (dir)
        closedir(dir);
    if (pids)
        qsort(pids, *count, sizeof *pids, by_number);
    return pids;
}

struct json_object *smc_stat_collect(unsigned pid, unsigned *hidden)
{
    struct json_object *all = json_object_new_array();
    const char *why = NULL;
    uint64_t others_ns = 0;
    size_t count;
    unsigned *pids = list(&count);
    *hidden = 0;
    for (size_t i = 0; i < count; i++) {
        if (pid != 0 && pids[i] != pid)
            continue;
        const bool is_other = !is_trusted(pids[i]);
        if (is_other && others_ns >= OTHERS_NS)
            continue;
        const uint64_t began_ns = base_now_ns();
        struct json_object *o = smc_stat_ask(pids[i], &why);
        others_ns += is_other ? base_now_ns() - began_ns : 0;
        *hidden += why == others;
        if (o)
            json_object_array_add(all, o);
    }
    free(pids);
    return all;
}
