/* SPDX-License-Identifier: BSD-2-Clause */
/* Stream sockets whose bytes travel by RDMA: an echo server and its client over SMC-R. The code is that of
 * TCP, with nornic_ before the calls; where the other end does not speak SMC-R it is TCP.
 *
 *     smc_echo server xdp:eth0 192.0.2.1        the address to listen at
 *     smc_echo client xdp:eth0 192.0.2.1        as root, for the BPF program that marks the SYN
 *
 *     cc smc_echo.c $(pkg-config --cflags --libs nornic) */
#include <arpa/inet.h>
#include <errno.h>
#include <nornic/nornic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT       7
#define DATA_BYTES (1 << 20)

static void die(const char *what, const char *why)
{
    fprintf(stderr, "smc_echo: %s: %s\n", what, why);
    exit(1);
}

static int check(int result, const char *what)
{
    if (result < 0)
        die(what, strerror(errno));
    return result;
}

/* All of it, or less at the end of the stream. */
static size_t receive(int fd, uint8_t *bytes, size_t len_bytes)
{
    size_t got = 0;
    ssize_t n = 1;
    while (n > 0 && got < len_bytes) {
        n = nornic_recv(fd, bytes + got, len_bytes - got, 0);
        got += (size_t)check((int)n, "recv");
    }
    return got;
}

static void send_all(int fd, const uint8_t *bytes, size_t len_bytes)
{
    for (size_t sent = 0; sent < len_bytes;)
        sent += (size_t)check((int)nornic_send(fd, bytes + sent, len_bytes - sent, 0), "send");
}

static const char *how(int fd)
{
    struct nornic_socket_info info;
    check(nornic_socket_info(fd, &info), "socket info");
    if (!info.smcr)
        fprintf(stderr, "smc_echo: by TCP: %s\n", info.reason);
    return info.smcr ? "SMC-R" : "TCP";
}

/* One client: sends back what comes, until it says that it is done. */
static void serve(const struct sockaddr_in *at)
{
    static uint8_t bytes[65536];
    const int yes = 1, listener = check(nornic_socket(AF_INET, SOCK_STREAM, 0), "socket");
    ssize_t n;
    check(nornic_setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), "SO_REUSEADDR");
    check(nornic_bind(listener, (const struct sockaddr *)at, sizeof *at), "bind");
    check(nornic_listen(listener, 1), "listen");
    printf("server: listening\n");
    fflush(stdout);
    const int fd = check(nornic_accept(listener, NULL, NULL), "accept");
    printf("server: a client over %s\n", how(fd));
    while ((n = check((int)nornic_recv(fd, bytes, sizeof bytes, 0), "recv")) > 0)
        send_all(fd, bytes, (size_t)n);
    check(nornic_close(fd), "close");
    check(nornic_close(listener), "close");
}

/* A megabyte there and back, in pieces of 64 KiB. */
static void ask(const struct sockaddr_in *to)
{
    static uint8_t sent[65536], received[sizeof sent];
    const int fd = check(nornic_socket(AF_INET, SOCK_STREAM, 0), "socket");
    check(nornic_connect(fd, (const struct sockaddr *)to, sizeof *to), "connect");
    printf("client: connected over %s\n", how(fd));
    for (unsigned piece = 0; piece < DATA_BYTES / sizeof sent; piece++) {
        for (unsigned i = 0; i < sizeof sent; i++)
            sent[i] = (uint8_t)(i * 31 + piece);
        send_all(fd, sent, sizeof sent);
        if (receive(fd, received, sizeof received) != sizeof sent || memcmp(sent, received, sizeof sent) != 0)
            die("echo", "what came back is not what was sent");
    }
    check(nornic_shutdown(fd, SHUT_WR), "shutdown");
    if (receive(fd, received, 1) != 0)
        die("echo", "more came back than was sent");
    check(nornic_close(fd), "close");
    printf("client: a megabyte came back as it was\n");
}

int main(int argc, char **argv)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const bool is_server = argc == 4 && !strcmp(argv[1], "server");
    const bool is_client = argc == 4 && !strcmp(argv[1], "client");
    struct nornic_error why = {.text = ""};
    if ((!is_server && !is_client) || inet_pton(AF_INET, argv[3], &addr.sin_addr) != 1)
        die("usage", "smc_echo server|client PORT ADDRESS");
    struct nornic_sockets_config config = {NORNIC_INIT(config), .ports = {{.port = argv[2]}}, .num_ports = 1};
    if (nornic_sockets_start(&config, &why))
        die("start", why.text);
    if (is_server)
        serve(&addr);
    else
        ask(&addr);
    if (nornic_sockets_stop(&why))
        die("stop", why.text);
    return 0;
}
