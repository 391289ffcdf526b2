/* SPDX-License-Identifier: BSD-2-Clause */
/* One question to the kernel through rtnetlink. Internal to net/. */
#ifndef NORNIC_NET_NETLINK_H
#define NORNIC_NET_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "nornic/addr.h"
#include "net/error.h"

#define NET_NETLINK_BYTES 1024 /* room for any request of ours */

/* A request under construction. */
struct net_netlink_request {
    union {
        struct nlmsghdr header;
        uint8_t bytes[NET_NETLINK_BYTES];
    };
};

/* Starts a request of `type` (RTM_GET...) with `flags` beside NLM_F_REQUEST and a zeroed family header of
 * `extra_bytes`. Returns that header, within `request`. */
void *net_netlink_begin(struct net_netlink_request *request, uint16_t type, uint16_t flags,
                        size_t extra_bytes);

/* Adds an address as 4 or 16 bytes, by its family. */
void net_netlink_put_addr(struct net_netlink_request *request, uint16_t attribute,
                          const struct nornic_addr *addr);

/* AF_INET or AF_INET6. */
uint8_t net_netlink_family(const struct nornic_addr *addr);

/* Reads an address attribute of 4 or 16 bytes. false: any other length. */
bool net_netlink_get_addr(const struct nlattr *attribute, struct nornic_addr *out);

/* Returns whether a whole message is in the `left` bytes at `message`. mnl_nlmsg_ok() takes a length of 2^31
 * or more for a negative number, and so for a short one. */
bool net_netlink_has(const struct nlmsghdr *message, int left);

/* Returns the family header of a message of `type`, `bytes` long; NULL if the message has another type or is
 * shorter. Attributes follow the header. */
const void *net_netlink_head(const struct nlmsghdr *message, uint16_t type, size_t bytes);

/* Copies a string attribute, with or without a zero at its end, to `out` of `room` bytes. Cuts longer
 * ones. */
void net_netlink_get_str(const struct nlattr *attribute, char *out, size_t room);

/* Called with each message of an answer, but those of netlink itself. The length of the message is checked;
 * its type and the length of its family header are not, see net_netlink_head(). */
typedef void net_netlink_each(const struct nlmsghdr *message, void *ctx);

/* Reads a buffer of `len` bytes of the answer to the request with number `sequence`, and calls `each` for
 * its messages. Sets `*is_interrupted` if the table changed under the dump. Returns 1: more comes; 0: the
 * end; or the kernel's -errno; -EBADMSG if the end is no verdict. */
int net_netlink_read_answer(const uint8_t *answer, size_t len, uint32_t sequence, bool *is_interrupted,
                            net_netlink_each *each, void *ctx);

/* Sends the request and calls `each` for every message of the answer. 0, the kernel's -errno (-EINTR: the
 * table changed under a dump, which may lack some or have some twice), or a negative errno of the socket with
 * a sentence in `why` (`why` is left alone for the kernel's own verdict). */
int net_netlink_ask(struct net_netlink_request *request, net_netlink_each *each, void *ctx,
                    struct nornic_error *why);

/* The same through a socket that the caller keeps (one question at a time), without a sentence. The answer is
 * that of the namespace in which the socket was opened, wherever the calling thread is. */
int net_netlink_ask_on(struct mnl_socket *socket, struct net_netlink_request *request, net_netlink_each *each,
                       void *ctx);

/* A socket for questions, bound; NULL with a sentence in `why`. */
struct mnl_socket *net_netlink_open(struct nornic_error *why);

#endif
