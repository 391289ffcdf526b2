/* SPDX-License-Identifier: BSD-2-Clause */
/* By what name a program of others that has devices open is found by `nornic stat` (docs/verbs.md). */
#ifndef NORNIC_HOST_SHOW_NAME_H
#define NORNIC_HOST_SHOW_NAME_H

/* The name of its abstract UNIX socket begins so; the process's number follows, which is for people: who
 * listens, the kernel says (SO_PEERCRED). */
#define HOST_SHOW_PREFIX "nornic-verbs-"

#endif
