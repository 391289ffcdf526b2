/* SPDX-License-Identifier: BSD-2-Clause */
/* Each process that has a device of the verbs libraries open listens on an abstract UNIX socket; the names of
 * all are in /proc/net/unix. Anyone may take such a name, so the kernel tells the user of a process. Only
 * processes that this user could look at otherwise are asked. */
#define _GNU_SOURCE /* struct ucred */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/report/json.h"
#include "cli/stat/verbs.h"
#include "host/host.h"
#include "host/show_name.h"

#define ANSWER_NS NS_PER_S
#define SLOW_NS   (100 * NS_PER_MS) /* an answer that takes longer counts as a wait */
#define USER_NS   (2 * NS_PER_S)    /* of waits for a user; the user's other processes then count as silent */
#define ALL_NS    (20 * NS_PER_S)   /* of all users together */
#define USERS_MAX 64                /* that are told apart; all others share what the last has */
#define MAX_BYTES (16u << 20)
#define LISTENS   0x10000ul /* __SO_ACCEPTCON, in the column of flags */

struct names {
    char (*list)[sizeof(struct sockaddr_un)];
    size_t count;
};

/* The time that the processes of each user have taken: silent ones of one user cost no other user an
 * answer. */
struct waits {
    uint64_t spent_ns[USERS_MAX];
    uid_t uids[USERS_MAX];
    unsigned count;
};

static uint64_t *spent_on(struct waits *waits, uid_t uid)
{
    unsigned i = 0;
    while (i < waits->count && waits->uids[i] != uid)
        i++;
    if (i == waits->count && i < USERS_MAX)
        waits->uids[waits->count++] = uid;
    return &waits->spent_ns[i < USERS_MAX ? i : USERS_MAX - 1];
}

/* "Num: RefCount Protocol Flags Type St Inode Path"; a path that begins with @ is abstract. */
static bool name_in(const char *line, char *name, size_t name_bytes)
{
    unsigned long flags;
    const char *at = strchr(line, '@');
    if (!at || strncmp(at + 1, HOST_SHOW_PREFIX, strlen(HOST_SHOW_PREFIX)) != 0 ||
        sscanf(line, "%*s %*s %*s %lx", &flags) != 1 || !(flags & LISTENS))
        return false;
    size_t len = strcspn(at + 1, "\n");
    if (len >= name_bytes)
        return false;
    memcpy(name, at + 1, len);
    name[len] = 0;
    return true;
}

static void find_names(struct names *names)
{
    char line[512], name[sizeof(struct sockaddr_un)];
    FILE *from = fopen("/proc/net/unix", "re");
    while (from && fgets(line, sizeof line, from)) {
        if (!name_in(line, name, sizeof name))
            continue;
        void *more = realloc(names->list, (names->count + 1) * sizeof names->list[0]);
        if (!more)
            break;
        names->list = more;
        memcpy(names->list[names->count++], name, sizeof name);
    }
    if (from)
        fclose(from);
}

/* A connection, without waiting for a process that does not accept, or -errno; -ECONNREFUSED: nobody is
 * there. */
static int connect_to(const char *name, struct ucred *who)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    socklen_t bytes = sizeof *who;
    if (len >= sizeof at.sun_path)
        return -ENAMETOOLONG;
    memcpy(at.sun_path + 1, name, len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 &&
        connect(fd, (const struct sockaddr *)&at,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &bytes) == 0)
        return fd;
    int err = -errno;
    if (fd >= 0)
        close(fd);
    return err;
}

/* NULL: no object came by `end_ns`; `*has_ended`: because the stream ended. Closes `fd`. */
static struct json_object *read_from(int fd, uint64_t end_ns, bool *has_ended)
{
    char byte;
    uint64_t now_ns = host_now_ns(), left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
    struct json_object *o = cli_json_read(fd, MAX_BYTES, left_ns < ANSWER_NS ? left_ns : ANSWER_NS);
    *has_ended = !o && recv(fd, &byte, 1, MSG_PEEK) == 0;
    close(fd);
    if (json_object_is_type(o, json_type_object))
        return o;
    json_object_put(o);
    return NULL;
}

/* A connection as the user `uid`, if root asks: as connect_to(). */
static int connect_as(const char *name, uid_t uid, struct ucred *who)
{
    bool is_other = geteuid() == 0 && uid != 0;
    if (is_other && seteuid(uid) != 0)
        return -errno;
    int fd = connect_to(name, who);
    if (is_other && seteuid(0) != 0)
        abort(); /* root is root again */
    return fd;
}

/* A process that ends the stream at once has ended, or does not know the asker: in a user namespace of its
 * own
 * (nornic run) a process does not know root; it does know its user. NULL: `*is_gone` says whether nobody is
 * there any more, or somebody else under the same name. Closes `fd`. */
static struct json_object *ask(int fd, const char *name, const struct ucred *who, uint64_t end_ns,
                               bool *is_gone)
{
    struct ucred again = {0};
    bool has_ended;
    struct json_object *o = read_from(fd, end_ns, &has_ended);
    *is_gone = false;
    if (o || !has_ended)
        return o;
    fd = connect_as(name, who->uid, &again);
    *is_gone = fd == -ECONNREFUSED || (fd >= 0 && (again.pid != who->pid || again.uid != who->uid));
    if (fd >= 0 && !*is_gone && who->uid != 0 && geteuid() == 0)
        return read_from(fd, end_ns, &has_ended);
    if (fd >= 0)
        close(fd);
    return NULL;
}

static void name_process(struct json_object *o, const struct ucred *who)
{
    char path[64], program[64] = "?";
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)who->pid);
    FILE *from = who->pid > 0 ? fopen(path, "re") : NULL;
    if (from && fgets(program, sizeof program, from))
        program[strcspn(program, "\n")] = 0;
    if (from)
        fclose(from);
    cli_json_add_count(o, "pid", (uint64_t)who->pid);
    cli_json_add_text(o, "program", program);
    cli_json_add_count(o, "user", who->uid);
}

static int by_pid(const void *a, const void *b)
{
    struct json_object *of_a, *of_b;
    json_object_object_get_ex(*(struct json_object *const *)a, "pid", &of_a);
    json_object_object_get_ex(*(struct json_object *const *)b, "pid", &of_b);
    return (json_object_get_int64(of_a) > json_object_get_int64(of_b)) -
           (json_object_get_int64(of_a) < json_object_get_int64(of_b));
}

/* Whether this user may look at a process of the user `uid`. */
static bool may_ask(uid_t uid)
{
    return uid == geteuid() || geteuid() == 0;
}

/* Asks the process that listens under a name, and adds its answer to `all`. */
static void collect_one(const char *name, struct waits *waits, uint64_t end_ns, struct json_object *all,
                        unsigned *hidden, unsigned *silent)
{
    struct ucred who = {0};
    bool is_gone;
    int fd = connect_to(name, &who);
    if (fd < 0) {
        *silent += fd == -EAGAIN; /* too many ask, and it accepts none */
        return;
    }
    uint64_t *spent_ns = spent_on(waits, who.uid);
    if (!may_ask(who.uid) || *spent_ns >= USER_NS) {
        *hidden += !may_ask(who.uid);
        *silent += may_ask(who.uid);
        close(fd);
        return;
    }
    const uint64_t began_ns = host_now_ns();
    struct json_object *o = ask(fd, name, &who, min_u64(end_ns, began_ns + USER_NS - *spent_ns), &is_gone);
    const uint64_t took_ns = host_now_ns() - began_ns;
    *spent_ns += !o || took_ns > SLOW_NS ? took_ns : 0;
    if (!o) {
        *silent += !is_gone;
        return;
    }
    name_process(o, &who);
    json_object_array_add(all, o);
}

struct json_object *stat_verbs_collect(unsigned *hidden, unsigned *silent)
{
    struct json_object *all = json_object_new_array();
    struct names names = {0};
    struct waits waits = {.count = 0};
    const uint64_t end_ns = host_now_ns() + ALL_NS;
    *hidden = *silent = 0;
    find_names(&names);
    for (size_t i = 0; i < names.count; i++)
        collect_one(names.list[i], &waits, end_ns, all, hidden, silent);
    free(names.list);
    json_object_array_sort(all, by_pid);
    return all;
}
