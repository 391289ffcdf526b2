/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv4 identification of a packet that came over a UDP socket, for who writes it down. */
#ifndef NORNIC_ROCE_IP_ID_RESTORE_H
#define NORNIC_ROCE_IP_ID_RESTORE_H

#include <stdint.h>

/* Gives a RoCEv2 packet over IPv4 whose ICRC is wrong the identification with which it is right, and the IPv4
 * checksum that follows. A packet for which there is none, and every other frame, stays as it is. Whether
 * such a packet is to be believed is for others to say (roce/wire/ip_id.h). */
void roce_ip_id_restore(uint8_t *frame, uint32_t len_bytes);

#endif
