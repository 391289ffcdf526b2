/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic for programs: RDMA without an RDMA adapter. This one header has everything that a program calls,
 * and docs/api.md is its guide. Engines for simulators, which bring their own clock and wires, are in
 * <nornic/engine.h>.
 *
 * Names begin with `nornic_`. A call that can fail returns 0 or -errno; where a person may have to know
 * why, there is a `struct nornic_error *why`, which may be NULL and gets one sentence. Objects are
 * opaque, made by `nornic_X_create()` or `_open()` and given back by `_destroy()` or `_close()`, in the
 * order in which they need each other: -EBUSY says that something still does. Any call may be made from
 * any thread. */
#ifndef NORNIC_NORNIC_H
#define NORNIC_NORNIC_H

#include "nornic/addr.h"
#include "nornic/cm.h"
#include "nornic/cq.h"
#include "nornic/decls.h"
#include "nornic/device.h"
#include "nornic/error.h"
#include "nornic/memory.h"
#include "nornic/qp.h"
#include "nornic/socket.h"
#include "nornic/srq.h"
#include "nornic/version.h"
#include "nornic/wc.h"
#include "nornic/wr.h"

#endif
