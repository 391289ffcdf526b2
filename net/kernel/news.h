/* SPDX-License-Identifier: BSD-2-Clause */
/* That something changed at the interfaces of a network namespace: links and addresses (rtnetlink). What
 * changed is found by looking again, so that a notification that was lost (ENOBUFS) loses nothing. Internal
 * to the library. */
#ifndef NORNIC_NET_KERNEL_NEWS_H
#define NORNIC_NET_KERNEL_NEWS_H

#include <stdbool.h>

#include "net/error.h"

struct nlmsghdr;
struct net_news;

/* Of the caller's network namespace, wherever the caller goes later. `place` (NULL: it stays) may give the
 * descriptor another number, which it returns. 0 or -errno with a sentence. */
int net_news_open(int (*place)(int fd), struct net_news **out, struct nornic_error *why);
void net_news_close(struct net_news *news);

/* Polls readable (POLLIN) when something may have changed; the object's. */
int net_news_fd(const struct net_news *news);

/* Reads all that waits, without waiting for more. `is_relevant` (NULL: all is) is asked about each message
 * until one is; where some were lost nobody is asked. 1: look again; 0: nothing relevant; or -errno of the
 * socket. */
int net_news_read(struct net_news *news, bool (*is_relevant)(void *ctx, const struct nlmsghdr *message),
                  void *ctx);

#endif
