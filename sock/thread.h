/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that makes progress while the application's threads do other things. Internal to sock/. */
#ifndef NORNIC_SOCK_THREAD_H
#define NORNIC_SOCK_THREAD_H

/* 0 or -errno. The stop waits for its end; not under the lock. */
int smcr_rt_start_thread(void);
void smcr_rt_stop_thread(void);

#endif
