/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of a program of test/sock/same_*.h: the kernel's, or with NORNIC_CALLS nornic's. */
#ifndef NORNIC_TEST_SOCK_CALLS_H
#define NORNIC_TEST_SOCK_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "test/sock/same.h"

#ifdef NORNIC_CALLS
#include "sock/sock.h"
#define CALL(name) nornic_##name
#define PROGRAMS   same_nornic
#else
#define CALL(name) name
#define PROGRAMS   same_kernel
#endif

#endif
