/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/wc.h"

void verbs_wc_back(const struct ibv_wc *wc, const struct ibv_grh *grh, struct nornic_wc *out)
{
    /* The service level is what verbs_wc_sl() made of it; where a program has not kept it, the version stands
     * where an IPv6 header has its own. */
    bool is_v4 = wc->sl == 2 || (wc->sl == 0 && ((const uint8_t *)grh)[0] >> 4 != 6);
    *out = (struct nornic_wc){
        .wr_id = wc->wr_id,
        .qp_num = wc->qp_num,
        .wc_flags = wc->wc_flags,
        .src_qpn = wc->src_qp,
        .pkey_index = wc->pkey_index,
        .network = is_v4 ? NORNIC_NETWORK_IPV4 : NORNIC_NETWORK_IPV6,
    };
}
