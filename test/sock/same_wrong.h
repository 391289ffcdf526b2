/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that a program should not make, and their errors: none may end the process. */
#include <limits.h>
#include <sys/mman.h>

#include "test/sock/same_common.h"

#define TOO_MANY 1025 /* buffers: one more than IOV_MAX */

/* Memory that is not there. */
static void *nowhere(void)
{
    static void *at;
    if (!at)
        at = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at;
}

static volatile int less_than_none = -1; /* which a compiler would see otherwise */

static void wrong_counts_client(struct same *s)
{
    static char c = 'c';
    static struct iovec many[TOO_MANY];
    int fd = reach_server(s);
    for (int i = 0; i < TOO_MANY; i++)
        many[i] = (struct iovec){.iov_base = &c, .iov_len = 1};
    struct msghdr msg = {.msg_iov = many, .msg_iovlen = TOO_MANY};
    same_say(s, "writev -1 %s", same_result(CALL(writev)(fd, many, less_than_none)));
    same_say(s, "readv -1 %s", same_result(CALL(readv)(fd, many, less_than_none)));
    same_say(s, "writev %s", same_result(CALL(writev)(fd, many, TOO_MANY)));
    same_say(s, "readv %s", same_result(CALL(readv)(fd, many, TOO_MANY)));
    same_say(s, "sendmsg %s", same_result(CALL(sendmsg)(fd, &msg, 0)));
    same_say(s, "recvmsg %s", same_result(CALL(recvmsg)(fd, &msg, 0)));
    msg.msg_iovlen = TOO_MANY - 1;
    same_say(s, "sendmsg %s", same_result(CALL(sendmsg)(fd, &msg, 0)));
    same_say(s, "writev 0 %s", same_result(CALL(writev)(fd, many, 0)));
    same_say(s, "readv 0 %s", same_result(CALL(readv)(fd, many, 0)));
    same_say(s, "write 0 %s", same_result(CALL(write)(fd, NULL, 0)));
    many[1].iov_len = (size_t)SSIZE_MAX + 1;
    same_say(s, "too long %s", same_result(CALL(writev)(fd, many, 2)));
    same_say(s, "too long %s", same_result(CALL(readv)(fd, many, 2)));
    same_step(s);
    CALL(close)(fd);
}

static void wrong_counts_server(struct same *s)
{
    char bytes[TOO_MANY];
    int fd = accept_one(s);
    same_say(s, "recv %zu", recv_all(fd, bytes, TOO_MANY - 1));
    same_step(s);
    CALL(close)(fd);
}

static void say_wrong_buffers(struct same *s, int fd, void *bad)
{
    struct iovec iov = {.iov_base = bad, .iov_len = 10};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1}, no_iov = {.msg_iov = bad, .msg_iovlen = 1};
    same_say(s, "send %s", same_result(CALL(send)(fd, bad, 10, 0)));
    same_say(s, "send long %s", same_result(CALL(send)(fd, bad, 500000, 0)));
    same_say(s, "write %s", same_result(CALL(write)(fd, bad, 1)));
    same_say(s, "writev %s", same_result(CALL(writev)(fd, &iov, 1)));
    same_say(s, "writev %s", same_result(CALL(writev)(fd, bad, 1)));
    same_say(s, "sendmsg %s", same_result(CALL(sendmsg)(fd, &msg, 0)));
    same_say(s, "sendmsg %s", same_result(CALL(sendmsg)(fd, &no_iov, 0)));
    same_say(s, "sendmsg %s", same_result(CALL(sendmsg)(fd, bad, 0)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, bad, 10, 0)));
    same_say(s, "peek %s", same_result(CALL(recv)(fd, bad, 10, MSG_PEEK)));
    same_say(s, "read %s", same_result(CALL(read)(fd, bad, 1)));
    same_say(s, "readv %s", same_result(CALL(readv)(fd, &iov, 1)));
    same_say(s, "readv %s", same_result(CALL(readv)(fd, bad, 1)));
    same_say(s, "recvmsg %s", same_result(CALL(recvmsg)(fd, &msg, 0)));
    same_say(s, "recvmsg %s", same_result(CALL(recvmsg)(fd, &no_iov, 0)));
    same_say(s, "recvmsg %s", same_result(CALL(recvmsg)(fd, bad, 0)));
}

static void say_wrong_places(struct same *s, int fd, void *bad)
{
    int value = 0;
    socklen_t len = sizeof value;
    same_say(s, "getsockopt %s", same_result(CALL(getsockopt)(fd, SOL_SOCKET, SO_ERROR, bad, &len)));
    same_say(s, "getsockopt %s", same_result(CALL(getsockopt)(fd, SOL_SOCKET, SO_ERROR, &value, bad)));
    same_say(s, "getsockopt %s", same_result(CALL(getsockopt)(fd, IPPROTO_TCP, TCP_NODELAY, bad, &len)));
    same_say(s, "getsockopt %s", same_result(CALL(getsockopt)(fd, IPPROTO_TCP, TCP_NODELAY, &value, bad)));
    same_say(s, "setsockopt %s", same_result(CALL(setsockopt)(fd, IPPROTO_TCP, TCP_NODELAY, bad, 4)));
    same_say(s, "FIONREAD %s", same_result(CALL(ioctl)(fd, FIONREAD, bad)));
    same_say(s, "SIOCATMARK %s", same_result(CALL(ioctl)(fd, SIOCATMARK, bad)));
    same_say(s, "getsockname %s", same_result(CALL(getsockname)(fd, bad, &len)));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which read the length themselves */
    same_say(s, "getpeername %s", same_result(CALL(getpeername)(fd, (struct sockaddr *)&value, bad)));
#endif
}

static void wrong_pointers_client(struct same *s)
{
    static const char constant[8192] = "constant";
    char text[16] = "";
    int fd = reach_server(s);
    same_step(s);
    await(fd, POLLIN);
    say_wrong_buffers(s, fd, NULL);
    say_wrong_buffers(s, fd, nowhere());
    say_wrong_places(s, fd, NULL);
    say_wrong_places(s, fd, nowhere());
    /* what may be read, but not written */
    same_say(s, "send %s", same_result(CALL(send)(fd, constant, 8, 0)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, (void *)constant, 8, 0)));
    /* nothing was lost by any of it */
    same_say(s, "recv %zu %s", recv_all(fd, text, 5), text);
    same_step(s);
    CALL(close)(fd);
}

static void wrong_pointers_server(struct same *s)
{
    char text[16] = "";
    int fd = accept_one(s);
    send_all(fd, "bytes", 5);
    same_step(s);
    same_say(s, "recv %zu %s", recv_all(fd, text, 8), text);
    same_step(s);
    CALL(close)(fd);
}
