/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/dev/path.h"

#include "roce/dev/av.h"
#include "roce/dev/inner.h"

bool roce_path_change_is_valid(const struct roce_qp *qp, const struct nornic_qp_attr *a, uint32_t mask)
{
    bool loads = mask & NORNIC_QP_ALT_PATH;
    if (loads && (!qp->dev->config.path_migration || !roce_av_is_of_peer(qp->dev, &a->alt_av) ||
                  a->alt_timeout > 31 || !roce_dev_pkey_get(qp->dev, a->alt_pkey_index)))
        return false;
    if (!(mask & NORNIC_QP_PATH_MIG_STATE) || a->path_mig_state == ROCE_PATH_MIGRATED)
        return true;
    /* ARMED is reached by hearing from a peer that has an alternate path too. */
    return a->path_mig_state == ROCE_PATH_REARM && (loads || qp->has_alt);
}

void roce_path_make(struct roce_qp *qp)
{
    const struct nornic_av *av = &qp->attr.av;
    qp->local = *roce_gid_get(&qp->dev->gids, av->sgid_index);
    qp->way = (struct roce_way){.gid_epoch = 0};
    roce_av_template(qp->dev, av, roce_flow_label(av->flow_label, qp->base.qpn, qp->attr.dest_qpn),
                     &qp->tmpl);
    roce_qp_tell_reach(qp);
}

static bool bears(const struct roce_pkt *pkt, const struct nornic_gid *local, const struct nornic_addr *peer)
{
    return nornic_addr_equal(&pkt->dst, &local->addr) && nornic_addr_equal(&pkt->src, peer) &&
           roce_pkt_vlan_id(pkt) == local->vlan_id && roce_pkt_gid_type(pkt) == local->type;
}

static bool is_on_primary(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    return bears(pkt, &qp->local, &qp->attr.av.dgid);
}

bool roce_path_admits(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    if (is_on_primary(qp, pkt))
        return true;
    if (qp->attr.path_mig_state != ROCE_PATH_ARMED || !pkt->bth.mig_req)
        return false;
    const struct nornic_gid *local = roce_gid_get(&qp->dev->gids, qp->attr.alt_av.sgid_index);
    return local && bears(pkt, local, &qp->attr.alt_av.dgid);
}

uint16_t roce_path_pkey(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    if (qp->attr.path_mig_state != ROCE_PATH_ARMED || is_on_primary(qp, pkt))
        return roce_qp_pkey(qp);
    return roce_dev_pkey_get(qp->dev, qp->attr.alt_pkey_index);
}

void roce_path_note_migreq(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    if (qp->attr.path_mig_state == ROCE_PATH_ARMED && pkt->bth.mig_req && !is_on_primary(qp, pkt))
        roce_path_migrate(qp);
    else if (qp->attr.path_mig_state == ROCE_PATH_REARM && !pkt->bth.mig_req)
        qp->attr.path_mig_state = ROCE_PATH_ARMED;
}

bool roce_path_migrate(struct roce_qp *qp)
{
    struct nornic_qp_attr *attr = &qp->attr;
    if (attr->path_mig_state != ROCE_PATH_ARMED)
        return false;
    attr->path_mig_state = ROCE_PATH_MIGRATED;
    qp->has_alt = false;
    if (!roce_av_is_valid(qp->dev, &attr->alt_av)) {
        rdma_qp_event(&qp->base, NORNIC_EVENT_PATH_MIG_ERR);
        return false;
    }
    attr->av = attr->alt_av;
    attr->pkey_index = attr->alt_pkey_index;
    attr->timeout = attr->alt_timeout;
    roce_path_make(qp);
    rdma_qp_event(&qp->base, NORNIC_EVENT_PATH_MIG);
    return true;
}
