/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share_look.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "net/share_hand.h"

static bool open_table(struct net_share_table *table)
{
    struct net_share_dir dir;
    return net_share_dir_find(&dir, NULL) == 0 && net_share_table_look(&dir, table) == 0;
}

void net_share_look(net_share_visit *visit, void *ctx)
{
    struct net_share_table table;
    struct net_share_record record;
    uint8_t used[NET_SHARE_SLOTS];
    if (!open_table(&table))
        return;
    net_share_table_used(&table, used);
    for (unsigned slot = 0; slot < NET_SHARE_SLOTS; slot++)
        if (used[slot] && net_share_table_is_leased(&table, slot) &&
            net_share_table_read(&table, slot, &record))
            visit(ctx, slot, &record);
    net_share_table_close(&table);
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
    if (!open_table(&table))
        return false;
    int fd = open_socket();
    bool is_answered = fd >= 0 && net_share_hand_send(fd, &table, slot, &question, NULL);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    is_answered = is_answered && poll(&ready, 1, (int)(wait_ns / NS_PER_MS)) == 1 &&
                  recv(fd, out, sizeof *out, MSG_DONTWAIT) == sizeof *out;
    if (fd >= 0)
        close(fd);
    net_share_table_close(&table);
    return is_answered;
}
