/* SPDX-License-Identifier: BSD-2-Clause */
/* The version nodes of private names. A library of rdma-core's providers asks for the node of its own
 * release: IBVERBS_PRIVATE_34 serves rdma-core 34 to 56, 57 serves 57 and 58, 59 serves 59 to 63. Each node
 * holds every private name. Internal to verbs/. */
#ifndef NORNIC_VERBS_PRIVATE_H
#define NORNIC_VERBS_PRIVATE_H

/* VERBS_PRIVATE(DECLARATION, FUNCTION, NAME); declares FUNCTION and exports it as NAME in each node.
 * verbs/libibverbs.map declares the nodes and lists NAME in the first, which is the default. FUNCTION and
 * NAME have to differ: GNU ld drops a plain symbol beside versions of the same name. gcc keeps its attribute
 * through -flto; clang lacks it, and keeps the assembler's directive. */
#if defined __has_attribute
#if __has_attribute(symver)
#define VERBS_HAS_SYMVER 1
#endif
#endif

#ifdef VERBS_HAS_SYMVER
#define VERBS_PRIVATE(declaration, function, name)                                                \
    extern declaration                                                                            \
        __attribute__((symver(#name "@@IBVERBS_PRIVATE_34"), symver(#name "@IBVERBS_PRIVATE_57"), \
                       symver(#name "@IBVERBS_PRIVATE_59"), symver(#name "@IBVERBS_PRIVATE_64"),  \
                       symver(#name "@IBVERBS_PRIVATE_65")))
#else
#define VERBS_PRIVATE(declaration, function, name)                  \
    __asm__(".symver " #function "," #name "@@IBVERBS_PRIVATE_34\n" \
            ".symver " #function "," #name "@IBVERBS_PRIVATE_57\n"  \
            ".symver " #function "," #name "@IBVERBS_PRIVATE_59\n"  \
            ".symver " #function "," #name "@IBVERBS_PRIVATE_64\n"  \
            ".symver " #function "," #name "@IBVERBS_PRIVATE_65");  \
    extern declaration
#endif

#endif
