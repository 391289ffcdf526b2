/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/roce.h"

#define MTU_HEADROOM_BYTES 96 /* ROCE-INT-25: what connection managers leave for headers */

uint32_t roce_mtu_bytes(enum roce_mtu mtu)
{
    return mtu >= ROCE_MTU_256 && mtu <= ROCE_MTU_4096 ? 128u << mtu : 0; /* ROCE-HDR-24 */
}

enum roce_mtu roce_mtu_from_bytes(uint32_t bytes)
{
    for (int mtu = ROCE_MTU_256; mtu <= ROCE_MTU_4096; mtu++)
        if (roce_mtu_bytes((enum roce_mtu)mtu) == bytes)
            return (enum roce_mtu)mtu;
    return (enum roce_mtu)0;
}

enum roce_mtu roce_mtu_for_port(uint32_t port_mtu_bytes)
{
    int mtu = ROCE_MTU_4096;
    while (mtu > 0 && roce_mtu_bytes((enum roce_mtu)mtu) + MTU_HEADROOM_BYTES > port_mtu_bytes)
        mtu--;
    return (enum roce_mtu)mtu;
}
