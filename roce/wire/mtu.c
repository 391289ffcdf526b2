/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/roce.h"

#define MTU_HEADROOM_BYTES 96 /* ROCE-INT-25: what connection managers leave for headers */

uint32_t nornic_mtu_bytes(enum nornic_mtu mtu)
{
    return mtu >= NORNIC_MTU_256 && mtu <= NORNIC_MTU_4096 ? 128u << mtu : 0; /* ROCE-HDR-24 */
}

enum nornic_mtu nornic_mtu_from_bytes(uint32_t bytes)
{
    for (int mtu = NORNIC_MTU_256; mtu <= NORNIC_MTU_4096; mtu++)
        if (nornic_mtu_bytes((enum nornic_mtu)mtu) == bytes)
            return (enum nornic_mtu)mtu;
    return (enum nornic_mtu)0;
}

enum nornic_mtu nornic_mtu_for_port(uint32_t port_mtu_bytes)
{
    int mtu = NORNIC_MTU_4096;
    while (mtu > 0 && nornic_mtu_bytes((enum nornic_mtu)mtu) + MTU_HEADROOM_BYTES > port_mtu_bytes)
        mtu--;
    return (enum nornic_mtu)mtu;
}
