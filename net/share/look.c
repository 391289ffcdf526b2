/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share/look.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "net/share/hand.h"

/* 0, or -errno with a sentence. `table->fd` is -1 where nobody has shared anything. */
static int open_table(struct net_share_table *table, struct nornic_error *why)
{
    struct net_share_dir dir;
    table->fd = -1;
    int err = net_share_dir_find(&dir, why);
    if (err)
        return err == NET_SHARE_NOWHERE ? 0 : err;
    err = net_share_table_look(&dir, table);
    if (err && err != -ENOENT && dir.is_common && net_share_dir_own(&dir, NULL) == 0)
        err = net_share_table_look(&dir, table); /* as a port that opens: membership.c */
    if (!err || err == -ENOENT)
        return 0;
    return net_error_set(why, -err, "cannot look at who shares addresses by %s: %s", table->path,
                         strerror(-err));
}

int net_share_look(net_share_visit *visit, void *ctx, struct nornic_error *why)
{
    struct net_share_table table;
    struct net_share_record record;
    uint64_t marks[NET_SHARE_SLOTS];
    int err = open_table(&table, why);
    if (err || table.fd < 0)
        return err;
    net_share_table_marks(&table, marks);
    for (unsigned slot = 0; slot < NET_SHARE_SLOTS; slot++)
        if (marks[slot] && net_share_table_is_leased(&table, slot) &&
            net_share_table_read(&table, slot, &record))
            visit(ctx, slot, &record);
    net_share_table_close(&table);
    return 0;
}

/* The answer comes to an address that the kernel chooses (unix(7), autobind). */
static int open_socket(void)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&any, sizeof any.sun_family) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool net_share_ask(unsigned slot, uint64_t wait_ns, struct net_port_counters *out)
{
    const struct net_share_message question = {.word = NET_SHARE_TELL, .fd = -1};
    struct net_share_table table;
    if (open_table(&table, NULL) != 0 || table.fd < 0)
        return false;
    int fd = open_socket();
    bool is_answered = fd >= 0 && net_share_hand_connect(fd, &table, slot) &&
                       net_share_hand_send(fd, &table, slot, &question, NULL);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    is_answered = is_answered && poll(&ready, 1, (int)(wait_ns / NS_PER_MS)) == 1 &&
                  recv(fd, out, sizeof *out, MSG_DONTWAIT) == sizeof *out;
    if (fd >= 0)
        close(fd);
    net_share_table_close(&table);
    return is_answered;
}
