/* SPDX-License-Identifier: BSD-2-Clause */
/* What the headers for programs share: C linkage in C++, and the size that a config struct begins with.
 *
 * A config struct may get more members in a later version. Its first member, `struct_bytes`, says how
 * long the struct was when the program was compiled: the library takes what it has not got as zero, which
 * is always the default, and refuses with -E2BIG a longer one with a value in the part that it does not
 * know. 0 is refused with -EINVAL, so that forgetting it shows at once. The structs without it (work
 * requests, completions, attributes with a mask, addresses) keep their layout as long as the library's
 * soname is the same. */
#ifndef NORNIC_DECLS_H
#define NORNIC_DECLS_H

/* First in the initialiser of a config struct: `struct nornic_qp_config config = {NORNIC_INIT(config),
 * ...};`. In C++ before version 20: `nornic_qp_config config{}; config.struct_bytes = sizeof config;`. */
#define NORNIC_INIT(config) .struct_bytes = sizeof(config)

#ifdef __cplusplus
#define NORNIC_BEGIN_DECLS extern "C" {
#define NORNIC_END_DECLS   }
#else
#define NORNIC_BEGIN_DECLS
#define NORNIC_END_DECLS
#endif

#endif
