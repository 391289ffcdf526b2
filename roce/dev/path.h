/* SPDX-License-Identifier: BSD-2-Clause */
/* The path of a connected QP, and the alternate one that it may migrate to (IBA 17.2.8). Only in roce/. */
#ifndef NORNIC_ROCE_PATH_H
#define NORNIC_ROCE_PATH_H

#include "roce/qp/inner.h"

/* Values of nornic_qp_attr.path_mig_state. The MigReq bit of what is sent is 1 when migrated, 0 otherwise. */
enum roce_path_mig { ROCE_PATH_MIGRATED = 0, ROCE_PATH_REARM = 1, ROCE_PATH_ARMED = 2 };

/* Whether a modify may load an alternate path or change the migration state (ROCE-QP-33). */
bool roce_path_change_is_valid(const struct roce_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask);
/* Makes the headers of everything that the QP sends from attr.av, which is valid. */
void roce_path_make(struct roce_qp *qp);

/* The packet bears the addresses of the path; or, asking for migration, of the alternate one, which is armed
 * (ROCE-RX-15). */
bool roce_path_admits(const struct roce_qp *qp, const struct roce_pkt *pkt);
/* The P_Key of the path whose addresses the packet bears: ROCE-RX-17. */
uint16_t roce_path_pkey(const struct roce_qp *qp, const struct roce_pkt *pkt);
/* A packet that passed the checks of ROCE section 6: what its MigReq bit says is done. */
void roce_path_note_migreq(struct roce_qp *qp, const struct roce_pkt *pkt);
/* Moves to the alternate path and raises PATH_MIG. False: none is armed; or it cannot be used any more, which
 * raises PATH_MIG_ERR. */
bool roce_path_migrate(struct roce_qp *qp);

#endif
