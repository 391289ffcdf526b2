/* SPDX-License-Identifier: BSD-2-Clause */
/* Why something failed, as one plain sentence that names the value and the remedy. */
#ifndef NORNIC_ERROR_H
#define NORNIC_ERROR_H

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS
struct nornic_error {
    char text[320];
};

NORNIC_END_DECLS

#endif
