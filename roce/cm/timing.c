/* SPDX-License-Identifier: BSD-2-Clause */
/* The times of connection management, and the codes that they travel as: ROCE-CM-33, CM-34. */
#include "roce/cm/id.h"

uint64_t roce_cm_code_ns(unsigned code)
{
    return UINT64_C(4096) << code;
}

/* Linux's cm_ack_timeout: the sum of two powers of two, rounded up unless it is nearly one of them. */
uint8_t roce_cm_ack_timeout(uint8_t packet_life_time, uint8_t ack_delay)
{
    unsigned t = packet_life_time + 1u;
    unsigned d = ack_delay;
    t = t >= d ? t + (d >= t - 1) : d + (t >= d - 1);
    return (uint8_t)(t < 31 ? t : 31);
}

uint64_t roce_cm_round_trip_ns(const struct roce_cm_config *config)
{
    return 2 * roce_cm_code_ns(config->packet_life_time) + roce_cm_code_ns(config->response_timeout);
}
