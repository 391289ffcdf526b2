/* SPDX-License-Identifier: BSD-2-Clause */
/* Address vectors and handles. Inside roce/ only. */
#ifndef NORNIC_ROCE_AV_H
#define NORNIC_ROCE_AV_H

#include "roce/qp/inner.h"

struct roce_ah {
    struct nornic_ah base; /* PD and users */
    struct roce_dev *dev;
    struct nornic_av av;
    struct nornic_gid local; /* the entry that av.sgid_index named when the handle was made */
    struct roce_frame_template tmpl;
    struct roce_way way;
};

/* The handle behind what a work request names. */
static inline struct roce_ah *roce_ah_of(struct nornic_ah *base)
{
    return container_of(base, struct roce_ah, base);
}

/* Its SGID index names an entry, of the family of its DGID (ROCE-FRM-39), and its SL is one that can be sent
 * (ROCE-VB-5). */
bool roce_av_is_valid(const struct roce_dev *dev, const struct nornic_av *av);
/* All ones is no address of a peer: whoever was to resolve it has not (ROCE-FRM-1). */
bool roce_mac_is_resolved(const struct nornic_mac *mac);
/* It is valid, and that of a peer: no group (ROCE-RX-12), and its MAC is known. What a connected QP takes. */
bool roce_av_is_of_peer(const struct roce_dev *dev, const struct nornic_av *av);
/* Makes the headers below the BTH of all packets to a valid `av`. `flow_label` chooses the UDP source port:
 * roce_flow_label(). */
void roce_av_template(const struct roce_dev *dev, const struct nornic_av *av, uint32_t flow_label,
                      struct roce_frame_template *tmpl);
/* The same with another ECN field. */
void roce_av_template_ecn(const struct roce_dev *dev, const struct nornic_av *av, uint8_t ecn,
                          uint32_t flow_label, struct roce_frame_template *tmpl);
/* Makes the headers of everything that is sent along it. */
void roce_ah_template(struct roce_ah *ah);

/* --- route.c --- */
/* Where a packet to `dgid` goes now; looked for again only after a GID table has changed. */
enum roce_route roce_route_to(const struct roce_dev *dev, const struct nornic_addr *dgid,
                              struct roce_way *way);
/* That route, for a packet to `qpn`: it leaves by the port where another process has the QPN. */
enum roce_route roce_route_qpn(const struct roce_dev *dev, enum roce_route route, uint32_t qpn);
/* Of a connected QP: for whom its packets are. */
struct roce_dest roce_dest_of_peer(struct roce_qp *qp);
/* Looks for the way to its destination. False: the GID entry that it names is no longer what it was
 * (ROCE-AH-10). */
bool roce_ah_route(struct roce_ah *ah, enum roce_route *route);

#endif
