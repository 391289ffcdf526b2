/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/qp/transport.h"

const struct roce_transport *roce_transport_of(enum nornic_qp_type type)
{
    switch (type) {
    case NORNIC_QPT_RC:
        return &roce_rc;
    case NORNIC_QPT_UC:
        return &roce_uc;
    case NORNIC_QPT_UD:
        return &roce_ud;
    case NORNIC_QPT_GSI:
        return &roce_gsi;
    case NORNIC_QPT_XRC_INI:
        return &roce_xrc_ini;
    case NORNIC_QPT_XRC_TGT:
        return &roce_xrc_tgt;
    }
    return NULL;
}
