/* SPDX-License-Identifier: BSD-2-Clause */
/* A server under `nornic run --smc` whose child gives up the service's user, for test/e2e/privileges.sh.
 *
 *     renounce serve PORT WAY HOST PORT   accepts A and B, forks, and has the child go WAY with B
 *     renounce look                       says what this process has of a service
 *
 * Threads of the child use B while it goes. Then the child looks what is left, accepts C, and connects
 * to HOST. The parent goes on with A. A line on standard output tells each thing that is wrong; "right" is
 * the only one where nothing is. The program ends by SIGALRM after LIMIT_S. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 50
#define NOBODY  65534
#define BULK    200000

extern char **environ;
static int num_wrong;

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    num_wrong++;
    printf("process %d, user %d: not so: %s (%s)\n", (int)getpid(), (int)geteuid(), what, strerror(errno));
    fflush(stdout);
}

/* --- what a process has of a service, as the kernel sees it --- */

static bool has_memory(void)
{
    char line[512];
    bool has = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        has |= strstr(line, "nornic-smc") != NULL;
    if (maps)
        fclose(maps);
    return has;
}

static bool is_loan(int fd)
{
    struct sockaddr_un name = {0};
    socklen_t len = sizeof name;
    return syscall(SYS_getpeername, fd, &name, &len) == 0 && name.sun_family == AF_UNIX &&
           strncmp(name.sun_path + 1, "nornic-smc/", 11) == 0;
}

static bool is_control(int fd)
{
    int type = 0;
    socklen_t len = sizeof type;
    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

static bool is_memory(int fd)
{
    char path[64], what[64] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, what, sizeof what - 1) > 0 && strstr(what, "nornic-smc");
}

static bool any_fd(bool (*is)(int))
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    bool any = false;
    while (dir && (entry = readdir(dir)))
        any |= entry->d_name[0] != '.' && is(atoi(entry->d_name));
    if (dir)
        closedir(dir);
    return any;
}

static void expect_nothing(void)
{
    expect(!has_memory(), "no memory of the service");
    expect(!any_fd(is_memory), "no descriptor of the memory");
    expect(!any_fd(is_control), "no connection to the service");
    expect(!any_fd(is_loan), "no loan");
}

static bool is_plain_tcp(int fd)
{
    int domain = 0;
    socklen_t len = sizeof domain;
    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_INET;
}

/* --- ways to be another user, or not --- */

static void *set_in_thread(void *unused)
{
    (void)unused;
    expect(setuid(NOBODY) == 0, "setuid() by a thread");
    return NULL;
}

static int limit_descriptors(rlim_t soft)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return -1;
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

static int set_without_library(void)
{
#ifdef __x86_64__
    long rc = SYS_setresuid;
    const long ids = NOBODY;
    __asm__ volatile("syscall" : "+a"(rc) : "D"(ids), "S"(ids), "d"(ids) : "rcx", "r11", "memory");
    return (int)rc;
#else
    return setresuid(NOBODY, NOBODY, NOBODY);
#endif
}

static int go_by_thread(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, set_in_thread, NULL) ? -1 : pthread_join(thread, NULL);
}

static int go(const char *way)
{
    if (!strcmp(way, "setuid"))
        return setuid(NOBODY);
    if (!strcmp(way, "setreuid"))
        return setreuid(NOBODY, NOBODY);
    if (!strcmp(way, "setresuid"))
        return setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY);
    if (!strcmp(way, "initgroups"))
        return initgroups("nobody", NOBODY) || setgid(NOBODY) || setuid(NOBODY);
    if (!strcmp(way, "steps")) /* first for a while, then for good */
        return seteuid(NOBODY) || seteuid(0) || setresuid(NOBODY, NOBODY, 0) || setuid(0) || setuid(NOBODY);
    if (!strcmp(way, "syscall_setuid"))
        return (int)syscall(SYS_setuid, NOBODY);
    if (!strcmp(way, "syscall_setresuid"))
        return (int)syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
    if (!strcmp(way, "no_library")) /* seen by the next call that makes a connection */
        return set_without_library() || close(socket(AF_INET, SOCK_STREAM, 0)) ||
               accept(-1, NULL, NULL) != -1;
    if (!strcmp(way, "thread"))
        return go_by_thread();
    if (!strcmp(way, "chroot"))
        return chroot("/proc/self/root") || chdir("/") || setuid(NOBODY);
    if (!strcmp(way, "namespace"))
        return unshare(CLONE_NEWUSER);
    /* these keep the user */
    if (!strcmp(way, "same"))
        return setuid(0) || setresuid(0, 0, 0) || setreuid(-1, -1);
    if (!strcmp(way, "seteuid"))
        return seteuid(NOBODY);
    if (!strcmp(way, "seteuid_and_back"))
        return seteuid(NOBODY) || seteuid(0);
    if (!strcmp(way, "effective_by_setresuid"))
        return setresuid(-1, NOBODY, -1);
    if (!strcmp(way, "effective_by_setreuid"))
        return setreuid(-1, NOBODY);
    if (!strcmp(way, "effective_by_syscall"))
        return (int)syscall(SYS_setresuid, -1, NOBODY, -1);
    if (!strcmp(way, "setfsuid"))
        return setfsuid(NOBODY) != 0;
    if (!strcmp(way, "setgid"))
        return setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY);
    if (!strcmp(way, "sandbox")) /* what it needs of the service it has to make now */
        return limit_descriptors(1) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!strcmp(way, "refused")) /* a call that fails changes nothing */
        return setuid((uid_t)-1) == 0;
    printf("no way '%s'\n", way);
    return -1;
}

static bool keeps(const char *way)
{
    const char *const ways[] = {"same",
                                "seteuid",
                                "seteuid_and_back",
                                "effective_by_setresuid",
                                "effective_by_setreuid",
                                "effective_by_syscall",
                                "setfsuid",
                                "setgid",
                                "sandbox",
                                "refused"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(way, ways[i]))
            return true;
    return false;
}

/* --- B, while its process goes --- */

static int conn_b;

static void *receive(void *unused)
{
    char byte;
    (void)unused;
    expect(recv(conn_b, &byte, 1, 0) < 0 && errno == ECONNRESET, "recv() that waits says ECONNRESET");
    return NULL;
}

static void *look(void *unused)
{
    struct pollfd one = {.fd = conn_b, .events = POLLIN};
    (void)unused;
    int n;
    while ((n = poll(&one, 1, -1)) < 0 && errno == EINTR)
        ; /* the C library tells each thread by a signal */
    expect(n == 1 && one.revents & POLLERR, "poll() that waits says POLLERR");
    return NULL;
}

static void *look_by_epoll(void *unused)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int epfd = epoll_create1(0);
    (void)unused;
    expect(epoll_ctl(epfd, EPOLL_CTL_ADD, conn_b, &event) == 0, "epoll_ctl()");
    int n;
    while ((n = epoll_wait(epfd, &event, 1, -1)) < 0 && errno == EINTR)
        ;
    expect(n == 1 && event.events & EPOLLERR, "epoll_wait() says EPOLLERR");
    close(epfd);
    return NULL;
}

static void *write_on(void *unused)
{
    static const char bytes[30000];
    (void)unused;
    while (send(conn_b, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno == EAGAIN)
        sched_yield();
    expect(errno == ECONNRESET || errno == EPIPE, "send() says ECONNRESET or EPIPE");
    return NULL;
}

/* Echoes what comes until the end; how many bytes. */
static size_t echo(int fd)
{
    static char bytes[65536];
    size_t total = 0;
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        for (ssize_t put = 0, more; put < n; put += more) {
            more = send(fd, bytes + put, (size_t)(n - put), MSG_NOSIGNAL);
            if (more < 0)
                return total;
        }
        total += (size_t)n;
    }
    expect(n == 0, "an end in order");
    return total;
}

static void echo_some(int fd)
{
    char bytes[16];
    expect(recv(fd, bytes, 2, MSG_WAITALL) == 2 && send(fd, bytes, 2, 0) == 2, "two bytes and back");
}

/* --- the child --- */

static void ask(const char *host, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    char bytes[8] = "";
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    inet_pton(AF_INET, host, &to.sin_addr);
    expect(connect(fd, (struct sockaddr *)&to, sizeof to) == 0, "connect()");
    expect(send(fd, "plain", 5, 0) == 5 && recv(fd, bytes, 5, MSG_WAITALL) == 5, "five bytes and back");
    expect(!strcmp(bytes, "plain"), "the same bytes");
    expect(is_plain_tcp(fd), "what connect() made is TCP");
    close(fd);
}

/* By fork(), by exec(), and by posix_spawn(). */
static void look_in_children(void)
{
    const char *const args[] = {"renounce", "look", NULL};
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        num_wrong = 0;
        expect_nothing();
        if (num_wrong == 0)
            execv("/proc/self/exe", (char *const *)args);
        _exit(1);
    }
    expect(waitpid(pid, &status, 0) == pid && status == 0, "a child has nothing either");
    expect(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, (char *const *)args, environ) == 0,
           "posix_spawn()");
    expect(waitpid(pid, &status, 0) == pid && status == 0, "a program has nothing either");
}

static void after_loss(int listener, const char *host, int port)
{
    struct pollfd one = {.fd = conn_b, .events = POLLIN | POLLOUT};
    char byte;
    expect_nothing();
    expect(recv(conn_b, &byte, 1, 0) <= 0, "nothing comes from B");
    expect(send(conn_b, "x", 1, MSG_NOSIGNAL) < 0, "nothing goes to B");
    expect(poll(&one, 1, 0) == 1 && one.revents & (POLLERR | POLLHUP), "poll() sees the end of B");
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    expect(fd >= 0, "accept() of C");
    expect(echo(fd) == BULK, "all bytes of C");
    expect(is_plain_tcp(fd), "C is TCP");
    close(fd);
    ask(host, port);
    look_in_children();
    expect_nothing();
}

/* B goes on, and so does what is new. */
static void after_nothing(int listener)
{
    struct pollfd one = {.fd = conn_b, .events = POLLIN};
    expect(poll(&one, 1, 50) == 0, "poll() waits for B");
    expect(send(conn_b, "on", 2, 0) == 2, "B takes bytes");
    expect(limit_descriptors(1024) == 0, "setrlimit()");
    expect(is_loan(conn_b) && has_memory(), "B is lent still");
    expect(any_fd(is_control), "it has a connection to the service");
    int fd = accept(listener, NULL, NULL);
    expect(echo(fd) == BULK, "all bytes of C");
    close(fd);
}

static void act(int listener, const char *way, const char *host, int port)
{
    void *(*const uses[])(void *) = {receive, receive, look, look_by_epoll, write_on, write_on};
    pthread_t threads[sizeof uses / sizeof *uses];
    const bool is_alone = keeps(way) || !strcmp(way, "namespace"); /* which threads do not enter */
    const size_t num = is_alone ? 0 : sizeof uses / sizeof *uses;
    echo_some(conn_b);
    for (size_t i = 0; i < num; i++)
        expect(pthread_create(&threads[i], NULL, uses[i], NULL) == 0, "a thread");
    usleep(num > 0 ? 100000 : 0); /* most of them sleep; if not, it is right all the same */
    expect(go(way) == 0, way);
    for (size_t i = 0; i < num; i++)
        pthread_join(threads[i], NULL);
    if (keeps(way))
        after_nothing(listener);
    else
        after_loss(listener, host, port);
}

static int serve(int port, const char *way, const char *host, int their_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1, status = -1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 8) != 0)
        return 1;
    int conn_a = accept(listener, NULL, NULL);
    echo_some(conn_a);
    conn_b = accept(listener, NULL, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(LIMIT_S);
        act(listener, way, host, their_port);
        fflush(stdout);
        _exit(num_wrong > 0);
    }
    close(conn_b);
    expect(waitpid(pid, &status, 0) == pid && status == 0, "all is right in the child");
    expect(is_loan(conn_a) && has_memory(), "A is lent still");
    expect(echo(conn_a) == BULK, "all bytes of A");
    close(conn_a);
    if (num_wrong == 0)
        puts("right");
    return num_wrong > 0;
}

int main(int argc, char **argv)
{
    alarm(LIMIT_S);
    if (argc == 2 && !strcmp(argv[1], "look")) {
        expect_nothing();
        return num_wrong > 0;
    }
    return argc == 6 ? serve(atoi(argv[2]), argv[3], argv[4], atoi(argv[5])) : 2;
}
