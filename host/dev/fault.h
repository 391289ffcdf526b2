/* SPDX-License-Identifier: BSD-2-Clause */
/* Handlers of SIGSEGV and SIGBUS, for memory of programs that is gone (base/guard.h). Internal to host/.
 */
#ifndef NORNIC_HOST_FAULT_H
#define NORNIC_HOST_FAULT_H

/* Puts the handlers in front of those of the program, unless they are there. A signal that belongs to no
 * guard goes to the handler that the program had installed before, or has the default's effect. Called
 * when a device is opened and when memory is registered, since a program may have installed a handler
 * meanwhile. Any thread. */
void host_fault_install(void);

/* Lets the calling thread take both signals: the kernel ends a process whose thread faults while the
 * signal is blocked. The first call of a thread costs a system call, others a comparison. Called before
 * each round. */
void host_fault_admit(void);

#endif
