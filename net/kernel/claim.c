/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/claim.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/notice.h"
#include "net/kernel/diag.h"
#include "net/kernel/evidence.h"

#define STAY_NS      20000000
#define STAY_TRIES   20
#define NAME_BYTES   sizeof((struct sockaddr_un *)NULL)->sun_path
#define OWN_TRIES    4 /* random names, which nobody can have taken before */
#define NO_INODE     0
#define NUMBER_BYTES 17

/* --- claims that are there --- */

/* A search for claims, and its results. */
struct search {
    int asker;
    const char *kind;
    unsigned ifindex;
    uint64_t first, last; /* the numbers */
    uint32_t own_inode;   /* of a claim that is left out; NO_INODE: none is */
    unsigned counted, strangers;
    uint32_t stranger_uid;
    uint64_t stranger_number;
};

/* Reads the number of a claim of this kind and interface. False: it is another name. */
static bool read_number(const struct search *search, const struct net_diag_unix *found, uint64_t *number)
{
    char prefix[NAME_BYTES], digits[NUMBER_BYTES];
    size_t len = (size_t)snprintf(prefix, sizeof prefix, "nornic/%s/%u/", search->kind, search->ifindex);
    if (found->name_bytes <= len || memcmp(found->name, prefix, len) != 0)
        return false;
    size_t count = 0;
    while (len + count < found->name_bytes && found->name[len + count] != '/')
        count++;
    if (count == 0 || count >= sizeof digits)
        return false;
    memcpy(digits, found->name + len, count);
    digits[count] = '\0';
    char *end;
    *number = strtoull(digits, &end, 16);
    return *end == '\0';
}

/* Asks the kernel for the thing that is claimed. */
static bool has_evidence(const struct search *search, uint32_t uid)
{
    if (strcmp(search->kind, "xdp") == 0)
        return net_evidence_of_xdp(search->ifindex) &&
               (uid == NET_DIAG_NO_UID || net_diag_has_xdp_socket(search->asker, search->ifindex, uid));
    if (strcmp(search->kind, "udp") == 0)
        return net_evidence_of_udp(search->ifindex, uid);
    return net_evidence_of_packet(search->ifindex, uid);
}

/* A claim of this search. The evidence is asked for after the dump, since its answer is still being read. */
struct claim {
    uint32_t uid;
    uint64_t number;
};

struct claims {
    struct search *search;
    struct claim *list;
    size_t count, room;
};

static void on_name(void *ctx, const struct net_diag_unix *found)
{
    struct claims *claims = ctx;
    const struct search *search = claims->search;
    uint64_t number;
    if (!read_number(search, found, &number) || number < search->first || number > search->last)
        return;
    if (search->own_inode != NO_INODE && found->inode == search->own_inode)
        return;
    if (claims->count == claims->room) {
        size_t room = claims->room ? 2 * claims->room : 16;
        void *more = realloc(claims->list, room * sizeof *claims->list);
        if (!more)
            return;
        claims->list = more;
        claims->room = room;
    }
    claims->list[claims->count++] = (struct claim){.uid = found->uid, .number = number};
}

/* Fills `counted` and the strangers of a search. Each user's evidence is looked for once in a row. */
static void look(struct search *search)
{
    struct claims claims = {.search = search};
    uint32_t last_uid = 0;
    bool has_last = true;
    if (search->asker < 0)
        return;
    (void)net_diag_unix(search->asker, on_name, &claims);
    for (size_t i = 0; i < claims.count; i++) {
        const uint32_t uid = claims.list[i].uid;
        bool is_trusted = uid == 0 || uid == geteuid();
        if (!is_trusted && uid != last_uid) {
            last_uid = uid;
            has_last = has_evidence(search, uid);
        }
        if (is_trusted || has_last) {
            search->counted++;
        } else {
            search->strangers++;
            search->stranger_uid = uid;
            search->stranger_number = claims.list[i].number;
        }
    }
    free(claims.list);
}

int net_claim_asker(void)
{
    return net_diag_open();
}

bool net_claim_is_taken(int asker, const char *kind, unsigned ifindex, uint64_t number)
{
    struct search search = {
        .asker = asker, .kind = kind, .ifindex = ifindex, .first = number, .last = number};
    look(&search);
    return search.counted > 0;
}

unsigned net_claim_count(int asker, const char *kind, unsigned ifindex, unsigned count)
{
    struct search search = {.asker = asker, .kind = kind, .ifindex = ifindex, .last = count - 1u};
    look(&search);
    return search.counted;
}

bool net_claim_stays_taken(int asker, const char *kind, unsigned ifindex, unsigned count)
{
    for (unsigned tries = 0; tries < STAY_TRIES; tries++) {
        if (net_claim_count(asker, kind, ifindex, count) == 0)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = STAY_NS / STAY_TRIES}, NULL);
    }
    return true;
}

void net_claim_tell_strangers(int asker, const char *kind, unsigned ifindex, unsigned count)
{
    struct search search = {.asker = asker, .kind = kind, .ifindex = ifindex, .last = count - 1u};
    char user[BASE_USER_SIZE] = "another user";
    look(&search);
    /* A port may have its socket from another user (net/share/lend.h). Then the claim of that user counts. */
    if (search.strangers == 0 || (strcmp(kind, "udp") == 0 && net_evidence_of_udp(ifindex, NET_DIAG_NO_UID)))
        return;
    if (search.stranger_uid != NET_DIAG_NO_UID)
        base_user(search.stranger_uid, user);
    const char *thing = strcmp(kind, "xdp") == 0   ? "an XDP program"
                        : strcmp(kind, "udp") == 0 ? "a UDP socket of port 4791"
                                                   : "a packet socket";
    base_notice("%s holds the name nornic/%s/%u/%" PRIx64 " without %s; nornic goes on", user, kind, ifindex,
                search.stranger_number, thing);
}

/* --- a claim of the caller's --- */

/* The name comes after the zero byte that makes it abstract. */
int net_claim_bind(const char *text)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t len = (size_t)snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%s", text);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) ==
        0)
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

/* Binds a name that nobody can have foreseen. */
static int bind_random(const char *text)
{
    char name[NAME_BYTES];
    uint64_t random;
    int fd = -EADDRINUSE;
    for (unsigned tries = 0; tries < OWN_TRIES && fd == -EADDRINUSE; tries++) {
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return -EIO;
        snprintf(name, sizeof name, "%.70s/%" PRIx64, text, random);
        fd = net_claim_bind(name);
    }
    return fd;
}

static uint32_t inode_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? (uint32_t)st.st_ino : NO_INODE;
}

/* A name that another user has bound costs the caller its short form. The caller binds first, and then looks
 * for others. So of two that come at once at least one sees the other. */
static int take(int asker, const char *kind, unsigned ifindex, uint64_t number)
{
    char text[NAME_BYTES];
    struct search search = {
        .asker = asker, .kind = kind, .ifindex = ifindex, .first = number, .last = number};
    snprintf(text, sizeof text, "nornic/%s/%u/%" PRIx64 "/%u", kind, ifindex, number, geteuid());
    int fd = net_claim_bind(text);
    if (fd == -EADDRINUSE) {
        look(&search);
        fd = search.counted > 0 ? -EADDRINUSE : bind_random(text);
    }
    if (fd < 0)
        return fd;
    search.own_inode = inode_of(fd);
    search.counted = 0;
    look(&search);
    if (search.counted == 0)
        return fd;
    close(fd);
    return -EADDRINUSE;
}

int net_claim_take(const char *kind, unsigned ifindex, uint64_t number)
{
    int asker = net_claim_asker();
    int fd = take(asker, kind, ifindex, number);
    if (asker >= 0)
        close(asker);
    return fd;
}

int net_claim_take_any(const char *kind, unsigned ifindex, unsigned count)
{
    int asker = net_claim_asker(), fd = -EADDRINUSE;
    for (unsigned number = 0; number < count && fd == -EADDRINUSE; number++)
        fd = take(asker, kind, ifindex, number);
    if (asker >= 0)
        close(asker);
    return fd;
}
