/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic smc listen and smc connect over TCP, without a device: bytes both ways, their ends, and what is said
 * where it does not go. The listener is a process of its own; its words come through a pipe. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/smc/smc.h"
#include "test/support/json.h"
#include "line.h"

static char folder[64];
static const char *const names[] = {"to-server", "to-client", "at-server", "at-client", "trace"};

static const char *file(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/nn-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    for (size_t i = 0; i < array_len(names); i++)
        unlink(file(names[i]));
    rmdir(folder);
}

TestSuite(smc_connection, .init = make_folder, .fini = remove_folder, .timeout = 30);

/* Bytes of which no two files have the same. */
static void make_file(const char *name, size_t len_bytes, unsigned seed)
{
    FILE *f = fopen(file(name), "w");
    cr_assert_not_null(f);
    for (size_t i = 0; i < len_bytes; i++)
        putc((int)((i * 31 + (i >> 8) * 7 + seed) & 0xff), f);
    fclose(f);
}

static void expect_same(const char *one, const char *other, size_t len_bytes)
{
    FILE *a = fopen(file(one), "r"), *b = fopen(file(other), "r");
    cr_assert(a && b);
    size_t n = 0;
    int x, y;
    do {
        x = getc(a);
        y = getc(b);
        cr_assert_eq(x, y, "%s and %s differ at byte %zu", one, other, n);
        n += x != EOF;
    } while (x != EOF);
    cr_expect_eq(n, len_bytes);
    fclose(a);
    fclose(b);
}

/* --- a listener --- */

struct listener {
    pid_t pid;
    FILE *words;
    uint16_t port;
    char text[8192]; /* all that it said after it listened */
    int status;
};

static struct listener server;

static void run_listener(const char *line, int to)
{
    static struct smc_options options;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* where the test fails before it has ended this */
    dup2(to, STDOUT_FILENO);
    dup2(to, STDERR_FILENO);
    int status = line_parse(line, &options);
    if (status == CLI_OK)
        status = smc_session(&options);
    fflush(stdout);
    _exit(status);
}

/* Starts `smc listen` with these options on a free port of 127.0.0.1; returns when it listens. */
__attribute__((format(printf, 1, 2))) static void listen_with(const char *format, ...)
{
    char more[512], line[600], first[256] = "";
    int ends[2];
    va_list args;
    va_start(args, format);
    vsnprintf(more, sizeof more, format, args);
    va_end(args);
    snprintf(line, sizeof line, "smc listen 127.0.0.1:0 %s", more);
    cr_assert_eq(pipe(ends), 0);
    fflush(stdout);
    server.pid = fork();
    cr_assert_geq(server.pid, 0);
    if (server.pid == 0)
        run_listener(line, ends[1]);
    close(ends[1]);
    server.words = fdopen(ends[0], "r");
    cr_assert_not_null(fgets(first, sizeof first, server.words));
    const char *colon = strstr(first, "127.0.0.1:");
    cr_assert_not_null(colon, "%s", first);
    server.port = (uint16_t)atoi(colon + strlen("127.0.0.1:"));
    cr_assert_neq(server.port, 0, "%s", first);
}

/* Waits until it says that: what it has of a connection by then is in its file. */
static void listener_said(const char *words)
{
    char line[256];
    do
        cr_assert_not_null(fgets(line, sizeof line, server.words), "it never said '%s'", words);
    while (!strstr(line, words));
}

/* Waits for its end: the status. */
static int listener_ended(void)
{
    int status;
    server.text[fread(server.text, 1, sizeof server.text - 1, server.words)] = 0;
    fclose(server.words);
    cr_assert_eq(waitpid(server.pid, &status, 0), server.pid);
    cr_assert(WIFEXITED(status), "%s", server.text);
    return WEXITSTATUS(status);
}

__attribute__((format(printf, 1, 2))) static const struct line_result *connect_with(const char *format, ...)
{
    char more[512], line[600];
    va_list args;
    va_start(args, format);
    vsnprintf(more, sizeof more, format, args);
    va_end(args);
    snprintf(line, sizeof line, "smc connect %s 127.0.0.1 %u", more, server.port);
    return line_run(line);
}

static void expect_part(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "'%s' is not in: %s", part, text);
}

/* --- bytes --- */

Test(smc_connection, files_go_both_ways)
{
    static const size_t sizes[] = {0, 1, 262143, 262144, 262145, 3000000};
    for (size_t i = 0; i < array_len(sizes); i++) {
        size_t back_bytes = sizes[array_len(sizes) - 1 - i];
        make_file("to-server", sizes[i], 1);
        make_file("to-client", back_bytes, 2);
        listen_with("-i %s -o %s", file("to-client"), file("at-server"));
        const struct line_result *r = connect_with("-i %s -o %s", file("to-server"), file("at-client"));
        cr_expect_eq(r->status, CLI_OK, "%s", r->err);
        cr_expect_eq(listener_ended(), CLI_OK, "%s", server.text);
        expect_same("to-server", "at-server", sizes[i]);
        expect_same("to-client", "at-client", back_bytes);
    }
}

Test(smc_connection, without_a_file_what_comes_is_printed)
{
    make_file("to-client", 0, 0);
    FILE *f = fopen(file("to-client"), "w");
    fputs("hello\nand good bye", f);
    fclose(f);
    listen_with("-i %s", file("to-client"));
    make_file("to-server", 0, 0);
    const struct line_result *r = connect_with("-i %s -q", file("to-server"));
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_str_eq(r->out, "hello\nand good bye");
    cr_expect_str_empty(r->err, "a quiet one says nothing");
    cr_expect_eq(listener_ended(), CLI_OK);
}

/* -o alone: there is nothing to send, and standard input is not waited for. */
Test(smc_connection, one_direction_alone_ends)
{
    make_file("to-server", 70000, 3);
    listen_with("-o %s", file("at-server"));
    const struct line_result *r = connect_with("-i %s", file("to-server"));
    cr_expect_eq(r->status, CLI_OK, "%s", r->err);
    cr_expect_str_empty(r->out);
    cr_expect_eq(listener_ended(), CLI_OK);
    expect_same("to-server", "at-server", 70000);
}

/* --- words --- */

Test(smc_connection, how_the_bytes_travel_is_told_by_both)
{
    make_file("to-server", 2048, 4);
    listen_with("-o %s", file("at-server"));
    const struct line_result *r = connect_with("-i %s", file("to-server"));
    char line[256];
    snprintf(line, sizeof line,
             "to 127.0.0.1:%u: bytes travel by TCP, not by SMC-R: no --device was given\n"
             "sent 2.0 KiB (2048 bytes) in ",
             server.port);
    cr_expect_eq(strncmp(r->err, line, strlen(line)), 0, "%s", r->err);
    cr_expect_null(strstr(r->err, "received"), "nothing came: %s", r->err);
    listener_ended();
    expect_part(server.text, ": bytes travel by TCP, not by SMC-R: no --device was given\nreceived 2.0 KiB");
    cr_expect_eq(strncmp(server.text, "from 127.0.0.1:", 15), 0, "%s", server.text);
}

/* The sums of both ends are those of the files. */
Test(smc_connection, sums_agree_and_a_quiet_one_tells_them)
{
    make_file("to-server", 3, 0);
    FILE *f = fopen(file("to-server"), "w");
    fputs("abc", f);
    fclose(f);
    listen_with("-o %s --sum", file("at-server"));
    const struct line_result *r = connect_with("-i %s --sum -q", file("to-server"));
    static const char sum[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
    expect_part(r->err, "sha256 of what was sent: ");
    expect_part(r->err, sum);
    cr_expect_null(strstr(r->err, "travel"));
    listener_ended();
    expect_part(server.text, "sha256 of what was received: ");
    expect_part(server.text, sum);
}

static const char *text_of(struct json_object *o, const char *key)
{
    return json_object_get_string(json_member(o, key));
}

Test(smc_connection, for_scripts)
{
    make_file("to-server", 5000, 5);
    make_file("to-client", 0, 0);
    listen_with("-i %s -o %s --sum -j", file("to-client"), file("at-server"));
    const struct line_result *r = connect_with("-i %s -o %s --sum -j", file("to-server"), file("at-client"));
    cr_expect_eq(r->status, CLI_OK);
    cr_expect_str_empty(r->err);
    struct json_object *client = json_tokener_parse(r->out);
    cr_assert_not_null(client, "%s", r->out);
    cr_expect_eq(listener_ended(), CLI_OK);
    struct json_object *of_server = json_tokener_parse(server.text);
    cr_assert_not_null(of_server, "%s", server.text);
    cr_expect(json_object_get_boolean(json_member(client, "ok")));
    cr_expect_str_eq(text_of(client, "role"), "client");
    cr_expect_str_eq(text_of(of_server, "role"), "server");
    cr_expect_str_eq(text_of(client, "transport"), "tcp");
    cr_expect_str_eq(text_of(client, "reason"), "no --device was given");
    cr_expect_str_eq(text_of(client, "local"), text_of(of_server, "peer"));
    cr_expect_str_eq(text_of(client, "peer"), text_of(of_server, "local"));
    cr_expect_eq(json_object_get_int64(json_member(client, "sent_bytes")), 5000);
    cr_expect_eq(json_object_get_int64(json_member(client, "received_bytes")), 0);
    cr_expect_eq(json_object_get_int64(json_member(of_server, "sent_bytes")), 0);
    cr_expect_eq(json_object_get_int64(json_member(of_server, "received_bytes")), 5000);
    cr_expect_str_eq(text_of(client, "sent_sha256"), text_of(of_server, "received_sha256"));
    cr_expect_str_eq(text_of(client, "received_sha256"),
                     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "that of nothing");
    cr_expect_eq(json_object_array_length(json_member(client, "links")), 0);
    cr_expect_not(json_object_object_get_ex(client, "counters", NULL), "there is no device to count");
    json_object_put(client);
    json_object_put(of_server);
}

/* --- one after another --- */

Test(smc_connection, a_listener_that_is_kept_serves_until_it_is_stopped)
{
    listen_with("-k -o %s", file("at-server"));
    for (unsigned i = 1; i <= 3; i++) {
        make_file("to-server", 1000 / i, i);
        const struct line_result *r = connect_with("-q -i %s", file("to-server"));
        cr_expect_eq(r->status, CLI_OK, "connection %u: %s", i, r->err);
        listener_said("received "); /* the client knows only that the kernel there has it */
        expect_same("to-server", "at-server", 1000 / i);
    }
    kill(server.pid, SIGINT);
    cr_expect_eq(listener_ended(), CLI_OK, "Ctrl-C is how it ends: %s", server.text);
}

Test(smc_connection, one_that_is_not_kept_and_stopped_has_failed)
{
    listen_with("-o %s", file("at-server"));
    kill(server.pid, SIGTERM);
    cr_expect_eq(listener_ended(), CLI_NEGATIVE);
    cr_expect_str_eq(server.text, "nornic smc listen: stopped before a client came\n");
}

/* --- what does not go --- */

/* These are looked at before anybody is connected to: nobody listens at port 1. */
Test(smc_connection, files_that_cannot_be_opened)
{
    const struct line_result *r = line_run("smc connect -q -i /nonexistent/x 127.0.0.1 1");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_str_eq(r->err, "nornic smc connect: cannot read /nonexistent/x: No such file or directory\n");
    r = line_run("smc connect -q -o /nonexistent/x 127.0.0.1 1");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_str_eq(r->err, "nornic smc connect: cannot create /nonexistent/x: No such file or directory\n");
    r = line_run("smc connect -q -o /dev/null --require-smc 127.0.0.1 1");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_str_eq(r->err, "nornic smc connect: --require-smc needs a --device\n");
}

/* The other side sees an abort, and no end that it could take for that of a whole file. */
Test(smc_connection, a_disk_that_is_full)
{
    make_file("to-client", 1000, 0);
    listen_with("-i %s -o /dev/null", file("to-client"));
    const struct line_result *r = connect_with("-q -i /dev/zero -o /dev/full");
    cr_expect_eq(r->status, CLI_NEGATIVE);
    cr_expect_str_eq(r->err, "nornic smc connect: cannot write /dev/full: No space left on device\n");
    cr_expect_eq(listener_ended(), CLI_NEGATIVE);
    expect_part(server.text, "nornic smc listen: the connection broke: Connection reset by peer\n");
}

Test(smc_connection, nobody_listens)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* bound, so that nobody else takes the port meanwhile */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    char said[256];
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, len), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    server.port = ntohs(at.sin_port);
    const struct line_result *r = connect_with("-o %s", file("at-client"));
    cr_expect_eq(r->status, CLI_ERROR);
    snprintf(said, sizeof said,
             "nornic smc connect: cannot connect to 127.0.0.1 port %u: Connection refused; start the server "
             "there first\n",
             server.port);
    cr_expect_str_eq(r->err, said);
    close(fd);
}

Test(smc_connection, a_port_that_is_taken)
{
    char line[256], said[256];
    listen_with("-o %s", file("at-server"));
    snprintf(line, sizeof line, "smc listen -o /dev/null 127.0.0.1:%u", server.port);
    const struct line_result *r = line_run(line);
    cr_expect_eq(r->status, CLI_ERROR);
    snprintf(
        said, sizeof said,
        "nornic smc listen: cannot listen on 127.0.0.1 port %u: Address already in use; `ss -ltnp` shows "
        "by whom\n",
        server.port);
    cr_expect_str_eq(r->err, said);
    kill(server.pid, SIGINT);
    listener_ended();
}

Test(smc_connection, names_that_nobody_knows)
{
    const struct line_result *r = line_run("smc connect -o /dev/null 127.0.0.1 frobnication");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_str_eq(r->err,
                     "nornic smc connect: 'frobnication' is no port: give a number to 65535, or a name of "
                     "/etc/services\n");
    r = line_run("smc connect -o /dev/null -4 ::1 5000");
    cr_expect_eq(r->status, CLI_ERROR);
    expect_part(r->err, "cannot find ::1, port 5000: ");
    expect_part(r->err, "; check how it is written, or give the address\n");
}

Test(smc_connection, nothing_moves)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* the kernel accepts, and nobody reads */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, len), 0);
    cr_assert_eq(listen(fd, 4), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    server.port = ntohs(at.sin_port);
    const struct line_result *r = connect_with("-q -o %s --idle 50ms", file("at-client"));
    cr_expect_eq(r->status, CLI_NEGATIVE);
    cr_expect_str_eq(r->err, "nornic smc connect: nothing moved for 0.05 s (--idle waits longer)\n");
    /* all is sent, and never taken */
    make_file("to-server", 100000, 0);
    r = connect_with("-q -i %s -o %s --idle 50ms", file("to-server"), file("at-client"));
    cr_expect_eq(r->status, CLI_NEGATIVE);
    expect_part(r->err, "nothing moved for 0.05 s");
    close(fd);
}

Test(smc_connection, a_trace_that_cannot_be_kept)
{
    const struct line_result *r =
        line_run("smc connect -o /dev/null --trace /nonexistent/t -d packet:nnnone0 127.0.0.1 1");
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_str_eq(r->err, "nornic smc connect: cannot create /nonexistent/t: No such file or directory\n");
}
