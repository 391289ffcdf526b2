/* SPDX-License-Identifier: BSD-2-Clause */
/* Address vectors and address handles. */
#include "verbs/memory/av.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/faults/faults.h"
#include "verbs/object.h"
#include "verbs/queue/wc.h"

int verbs_av_of(struct verbs_context_own *own, const struct ibv_ah_attr *attr, struct nornic_av *out)
{
    struct nornic_error why = {""};
    if (!attr->is_global || attr->port_num != VERBS_PORT_NUM) {
        verbs_fail(EINVAL, "the address is of port %u of 1, or has no GRH, which RoCE needs: set is_global",
                   attr->port_num);
        return -EINVAL;
    }
    if (attr->sl > 7) { /* ROCE-VB-5 */
        verbs_fail(EINVAL, "service level %u is reserved in RoCE: give one of 0 to 7", attr->sl);
        return -EINVAL;
    }
    *out = (struct nornic_av){
        .sgid_index = attr->grh.sgid_index,
        .sl = attr->sl,
        .traffic_class = attr->grh.traffic_class,
        .hop_limit = attr->grh.hop_limit ? attr->grh.hop_limit : 64,
        .flow_label = attr->grh.flow_label, /* of which 20 bits travel */
    };
    memcpy(out->dgid.b, attr->grh.dgid.raw, sizeof out->dgid.b);
    if (nornic_addr_is_multicast(&out->dgid))
        return 0; /* the group says its MAC itself */
    int err =
        nornic_dev_resolve(own->dev, out->sgid_index, &out->dgid, VERBS_RESOLVE_NS, &out->dst_mac, &why);
    if (err)
        verbs_fail(-err, "%s", why.text);
    return err;
}

void verbs_ah_attr_of(const struct nornic_av *av, struct ibv_ah_attr *out)
{
    *out = (struct ibv_ah_attr){
        .grh = {.flow_label = av->flow_label,
                .sgid_index = av->sgid_index,
                .hop_limit = av->hop_limit,
                .traffic_class = av->traffic_class},
        .sl = av->sl,
        .is_global = 1,
        .port_num = VERBS_PORT_NUM,
    };
    memcpy(out->grh.dgid.raw, av->dgid.b, sizeof av->dgid.b);
}

/* --- handles --- */

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct nornic_av av;
    if (verbs_object_need(VERBS_PD, pd))
        return NULL;
    int err = -verbs_av_of(verbs_own(pd->context), attr, &av);
    if (err)
        return NULL;
    struct verbs_ah *ah = verbs_object_new(VERBS_AH, sizeof *ah);
    if (!ah)
        return verbs_fail_null(ENOMEM, "no memory for an address handle");
    err = verbs_fault_alloc(verbs_own(pd->context)->faults, VERBS_FAULT_OF_AH);
    if (!err)
        err = -nornic_ah_create(verbs_pd_of(pd)->nornic, &av, &ah->nornic);
    if (err) {
        verbs_object_free(VERBS_AH, ah);
        return verbs_fail_null(err, "the address handle was refused: GID %u cannot reach that address",
                               av.sgid_index);
    }
    ah->pd = verbs_pd_of(pd)->nornic;
    ah->base = (struct ibv_ah){
        .context = pd->context, .pd = pd, .handle = verbs_object_number(VERBS_AH, ah, pd->context)};
    return &ah->base;
}

/* A send names its handle until it has left, which may be after its completion; libibverbs knows no such
 * thing. So what is still named is freed later: by the next handle that goes, or with the protection
 * domain. */
int ibv_destroy_ah(struct ibv_ah *ah)
{
    int err = verbs_object_claim(VERBS_AH, ah);
    if (err || verbs_is_inherited(ah->context))
        return err;
    struct verbs_context_own *own = verbs_own(ah->context);
    struct ibv_pd *pd = ah->pd;
    pthread_mutex_lock(&own->lock);
    LIST_INSERT_HEAD(&own->spent_ahs, verbs_ah_of(ah), entry);
    pthread_mutex_unlock(&own->lock);
    verbs_sweep_ahs(pd);
    return 0;
}

void verbs_sweep_ahs(struct ibv_pd *pd)
{
    struct verbs_context_own *own = verbs_own(pd->context);
    struct nornic_pd *nornic = verbs_pd_of(pd)->nornic;
    struct verbs_ah *ah, *next;
    pthread_mutex_lock(&own->lock);
    for (ah = LIST_FIRST(&own->spent_ahs); ah; ah = next) {
        next = LIST_NEXT(ah, entry);
        if (ah->pd != nornic || nornic_ah_destroy(nornic, ah->nornic) != 0)
            continue;
        LIST_REMOVE(ah, entry);
        verbs_object_free(VERBS_AH, ah);
    }
    pthread_mutex_unlock(&own->lock);
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
                        struct ibv_ah_attr *ah_attr)
{
    struct nornic_av av;
    struct nornic_wc of_nornic;
    if (port_num != VERBS_PORT_NUM || !(wc->wc_flags & IBV_WC_GRH)) {
        verbs_fail(EINVAL, "there is no way back: port %u, or no GRH", port_num);
        return -EINVAL;
    }
    verbs_wc_back(wc, grh, &of_nornic);
    int err = nornic_av_from_wc(verbs_own(context)->dev, &of_nornic, grh, &av);
    if (err) {
        verbs_fail(-err, "the datagram's address is none of this device");
        return err;
    }
    verbs_ah_attr_of(&av, ah_attr);
    return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                     uint8_t port_num)
{
    struct ibv_ah_attr attr;
    return ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) ? NULL : ibv_create_ah(pd, &attr);
}

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
                                uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
    struct nornic_av av;
    struct nornic_gid gid;
    int err = -verbs_av_of(verbs_own(context), attr, &av);
    if (err)
        return err;
    err = -nornic_dev_query_gid(verbs_own(context)->dev, av.sgid_index, &gid);
    if (err)
        return verbs_fail(err, "there is no GID %u", av.sgid_index);
    if (nornic_addr_is_multicast(&av.dgid))
        av.dst_mac = nornic_addr_mcast_mac(&av.dgid);
    memcpy(eth_mac, av.dst_mac.b, ETHERNET_LL_SIZE);
    if (vid)
        *vid = gid.vlan_id ? gid.vlan_id : 0xffff;
    return 0;
}
