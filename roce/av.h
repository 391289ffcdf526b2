/* SPDX-License-Identifier: BSD-2-Clause */
/* Address vectors and handles. Inside roce/ only. */
#ifndef NORNIC_ROCE_AV_H
#define NORNIC_ROCE_AV_H

#include "roce/qp.h"

struct nornic_ah {
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct nornic_av av;
    struct nornic_gid local; /* the entry that av.sgid_index named when the handle was made */
    struct roce_frame_template tmpl;
    _Atomic uint32_t users; /* WQEs that name it: ROCE-AH-3 */
    struct roce_way way;
};

/* Its SGID index names an entry, of the family of its DGID (ROCE-FRM-39), and its SL is one that can be sent
 * (ROCE-VB-5). */
bool roce_av_is_valid(const struct roce_dev *dev, const struct nornic_av *av);
/* The headers below the BTH of all packets to a valid `av`. */
void roce_av_template(const struct roce_dev *dev, const struct nornic_av *av, uint16_t src_port,
                      struct roce_frame_template *tmpl);
/* The same with another ECN field. */
void roce_av_template_ecn(const struct roce_dev *dev, const struct nornic_av *av, uint8_t ecn,
                          uint16_t src_port, struct roce_frame_template *tmpl);
/* A WQE takes over what `wr` says about its destination, and counts itself as a user of the handle (any
 * thread); and it is complete, or forgotten. Nothing happens to one without a handle. */
void roce_ah_get(struct roce_send_wqe *w, const struct nornic_send_wr *wr);
void roce_ah_put(struct roce_send_wqe *w);
/* Makes the headers of everything that is sent along it. */
void roce_ah_template(struct nornic_ah *ah);

/* --- route.c --- */
/* Where a packet to `dgid` goes now; looked for again only after a GID table has changed. */
enum roce_route roce_route_to(const struct roce_dev *dev, const struct nornic_addr *dgid,
                              struct roce_way *way);
/* Of a connected QP: for whom its packets are. */
struct roce_dest roce_dest_of_peer(struct roce_qp *qp);
/* Looks for the way to its destination. False: the GID entry that it names is no longer what it was
 * (ROCE-AH-10). */
bool roce_ah_route(struct nornic_ah *ah, enum roce_route *route);

#endif
