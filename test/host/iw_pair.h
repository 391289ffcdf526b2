/* SPDX-License-Identifier: BSD-2-Clause */
/* Two iWARP devices over loopback, by the programs' API, and raw TCP peers. */
#ifndef NORNIC_TEST_HOST_IW_PAIR_H
#define NORNIC_TEST_HOST_IW_PAIR_H

#include "base/base.h"
#include "nornic/nornic.h"

#define IW_BYTES   262144
#define IW_WAIT_NS (20 * NS_PER_S)
#define IW_RIGHTS                                                                         \
    (NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | \
     NORNIC_ACCESS_REMOTE_ATOMIC | NORNIC_ACCESS_MW_BIND)

struct iw_end {
    struct nornic_dev *dev;
    struct nornic_cm *cm;
    struct nornic_pd *pd;
    struct nornic_cq *cq;
    struct nornic_mr *mr; /* all of `memory`, with every right */
    uint8_t *memory;      /* IW_BYTES */
    struct nornic_qp *qp; /* 64 sends, 64 receives, of two SGEs each */
    struct nornic_cm_id *id;
};

/* A device on `port` as `iwarp` says (NULL: the defaults), with all but a queue pair. Fails the test
 * otherwise; so do the others. */
void iw_open(struct iw_end *e, const char *port, const struct nornic_iwarp_config *iwarp);
void iw_make_qp(struct iw_end *e);
void iw_close(struct iw_end *e);
/* The same of two, on 127.0.0.1. */
void iw_open_both(struct iw_end ends[2], const struct nornic_iwarp_config *first,
                  const struct nornic_iwarp_config *second);
void iw_close_both(struct iw_end ends[2]);

/* `e` listens; the port. */
uint16_t iw_listen(struct iw_end *e, struct nornic_cm_id **out, unsigned backlog);

/* The next event, which has to be of this type; the caller acknowledges it. */
struct nornic_cm_event *iw_event(struct iw_end *e, enum nornic_cm_event_type type);
/* The same, acknowledged; its status. */
int iw_hears(struct iw_end *e, enum nornic_cm_event_type type);

/* `e->id`, new, connects to `port` of 127.0.0.1. */
void iw_start(struct iw_end *e, uint16_t port, const struct nornic_conn_param *param);
/* The same to any address; with the step of connecting left out: the caller's. */
void iw_resolve(struct iw_end *e, const struct nornic_addr *from, const struct nornic_addr *to,
                uint16_t port);
/* Takes the request that comes, as `e->id` with a new queue pair. */
void iw_take(struct iw_end *e, const struct nornic_conn_param *param);

/* Opens both and connects them: ends[0] is the initiator. */
void iw_connect(struct iw_end ends[2], const struct nornic_iwarp_config *first,
                const struct nornic_iwarp_config *second);
void iw_disconnect(struct iw_end ends[2]);

/* A request of `len_bytes` from `from` of the memory, to `to` of the peer's. */
struct nornic_send_wr iw_wr(enum nornic_wr_opcode opcode, const struct iw_end *e, const struct iw_end *peer,
                            struct nornic_sge *sge, size_t from, size_t to, uint32_t len_bytes);
void iw_post(struct iw_end *e, const struct nornic_send_wr *wr);
void iw_post_recv(struct iw_end *e, size_t at, uint32_t len_bytes);
struct nornic_wc iw_wait(struct iw_end *e);
/* Bytes that tell where they stand, in the memory from `at` on. */
void iw_fill(struct iw_end *e, size_t at, size_t len_bytes);
/* What this thread has written is before what the device does from now on for its peer, and what that has
 * done is before what this thread reads: ThreadSanitizer does not see what the kernel's TCP brings about. */
void iw_agree_with(const struct iw_end *e);

/* A TCP connection to `port` of 127.0.0.1, which no reading of keeps the test longer than IW_WAIT_NS. */
int iw_tcp(uint16_t port);
/* Sends all of that. */
void iw_tcp_say(int fd, const void *bytes, size_t len_bytes);
/* Whether the other end has ended it by now, or does in time. Reads on. */
bool iw_tcp_ended(int fd);
/* Closes it by a reset, as a kernel does where something is left unread. */
void iw_tcp_reset(int fd);

#endif
