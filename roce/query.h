/* SPDX-License-Identifier: BSD-2-Clause */
/* What a device and its port offer: ROCE sections 14 and 18. */
#ifndef NORNIC_ROCE_QUERY_H
#define NORNIC_ROCE_QUERY_H

#include "nornic/decls.h"
#include "roce/roce.h"

NORNIC_BEGIN_DECLS

/* What holds for the device as long as it lives, and what its port is now. */
void roce_dev_query(const struct roce_dev *dev, struct nornic_dev_attr *out);
void roce_dev_query_port(const struct roce_dev *dev, struct nornic_port_attr *out);

NORNIC_END_DECLS

#endif
