/* SPDX-License-Identifier: BSD-2-Clause */
/* TLS over nornic's sockets, as it is over the kernel's: SMCR-SEC-05. */
#include <criterion/criterion.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/sock/lab.h"
#include "test/sock/same.h"

#define PORT        5000
#define TOTAL_BYTES 1000000

/* What the two sides have before they part, and what they found. */
struct board {
    struct lab *lab;
    int version;
    EVP_PKEY *key;
    X509 *certificate;
    volatile int ready, smcr, verified, version_seen, came_back, ended;
};

/* --- OpenSSL's reading and writing by our calls --- */

static int bio_write(BIO *bio, const char *bytes, int len)
{
    return (int)nornic_write((int)(intptr_t)BIO_get_data(bio), bytes, (size_t)len);
}

static int bio_read(BIO *bio, char *bytes, int len)
{
    return (int)nornic_read((int)(intptr_t)BIO_get_data(bio), bytes, (size_t)len);
}

static long bio_ctrl(BIO *bio, int cmd, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return cmd == BIO_CTRL_FLUSH;
}

static BIO *bio_of(int fd)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "nornic");
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_ctrl);
    BIO *bio = BIO_new(method);
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    return bio;
}

static void make_certificate(struct board *b)
{
    b->key = EVP_EC_gen("P-256");
    b->certificate = X509_new();
    X509_set_version(b->certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(b->certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(b->certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(b->certificate), 3600);
    X509_set_pubkey(b->certificate, b->key);
    X509_NAME *name = X509_get_subject_name(b->certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"nornic.example", -1, -1, 0);
    X509_set_issuer_name(b->certificate, name);
    cr_assert_gt(X509_sign(b->certificate, b->key, EVP_sha256()), 0);
}

static int fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    ERR_print_errors_fp(stderr);
    return 9;
}

static bool write_all(SSL *ssl, const uint8_t *bytes, int total)
{
    for (int sent = 0; sent < total; sent += 16000) {
        int n = total - sent < 16000 ? total - sent : 16000;
        if (SSL_write(ssl, bytes + sent, n) != n)
            return false;
    }
    return true;
}

static bool read_all(SSL *ssl, uint8_t *bytes, int total)
{
    int got = 0, n = 1;
    while (got < total && (n = SSL_read(ssl, bytes + got, total - got)) > 0)
        got += n;
    return got == total;
}

/* --- the two sides --- */

static SSL *ssl_on(SSL_CTX *ctx, int fd, int version)
{
    SSL_CTX_set_min_proto_version(ctx, version);
    SSL_CTX_set_max_proto_version(ctx, version);
    SSL *ssl = SSL_new(ctx);
    BIO *bio = bio_of(fd);
    SSL_set_bio(ssl, bio, bio);
    return ssl;
}

static int serve(void *ctx)
{
    struct board *b = ctx;
    struct sockaddr_in addr = lab_address(1, PORT);
    uint8_t *bytes = malloc(TOTAL_BYTES), c;
    lab_start(b->lab, 1, NULL);
    int l = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_bind(l, (struct sockaddr *)&addr, sizeof addr) != 0 || nornic_listen(l, 16) != 0)
        return 5;
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(tls, b->certificate);
    SSL_CTX_use_PrivateKey(tls, b->key);
    SSL *ssl = ssl_on(tls, fd, b->version);
    if (SSL_accept(ssl) != 1)
        return fail("SSL_accept");
    if (!read_all(ssl, bytes, TOTAL_BYTES) || !write_all(ssl, bytes, TOTAL_BYTES))
        return fail("the server's data");
    b->ended = SSL_read(ssl, &c, 1) == 0 && SSL_get_error(ssl, 0) == SSL_ERROR_ZERO_RETURN;
    SSL_shutdown(ssl);
    nornic_close(fd);
    nornic_close(l);
    return 0;
}

static int request(void *ctx)
{
    struct board *b = ctx;
    struct sockaddr_in addr = lab_address(1, PORT);
    struct nornic_socket_info info = {0};
    uint8_t *out = malloc(TOTAL_BYTES), *in = malloc(TOTAL_BYTES);
    lab_start(b->lab, 0, NULL);
    same_fill(out, TOTAL_BYTES, 0);
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
        return 6;
    nornic_socket_info(fd, &info);
    b->smcr = info.smcr;
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(tls), b->certificate);
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
    SSL *ssl = ssl_on(tls, fd, b->version);
    if (SSL_connect(ssl) != 1)
        return fail("SSL_connect");
    b->verified = SSL_get_verify_result(ssl) == X509_V_OK;
    b->version_seen = SSL_version(ssl);
    if (!write_all(ssl, out, TOTAL_BYTES) || !read_all(ssl, in, TOTAL_BYTES))
        return fail("the client's data");
    b->came_back = memcmp(in, out, TOTAL_BYTES) == 0;
    SSL_shutdown(ssl);
    if (SSL_shutdown(ssl) != 1)
        return fail("the server's close_notify");
    nornic_close(fd);
    return 0;
}

static void run(int version)
{
    struct lab lab;
    lab_open(&lab, 1);
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    b->lab = &lab;
    b->version = version;
    make_certificate(b);
    pid_t server = lab_fork(&lab, 1, serve, b);
    for (int i = 0; i < 2000 && !b->ready; i++)
        usleep(5000);
    pid_t client = lab_fork(&lab, 0, request, b);
    cr_expect_eq(lab_wait(client, 20), 0);
    cr_expect_eq(lab_wait(server, 20), 0);
    cr_expect_eq(b->smcr, 1, "TLS went over TCP");
    cr_expect_eq(b->verified, 1);
    cr_expect_eq(b->version_seen, version);
    cr_expect_eq(b->came_back, 1);
    cr_expect_eq(b->ended, 1, "no close_notify");
    X509_free(b->certificate);
    EVP_PKEY_free(b->key);
    lab_close(&lab);
}

/* covers: SMCR-SEC-05 */
Test(tls, SMCR_SEC_05_TLS_1_3_runs_over_SMC_R, .timeout = 60)
{
    run(TLS1_3_VERSION);
}

/* covers: SMCR-SEC-05 */
Test(tls, SMCR_SEC_05_TLS_1_2_runs_over_SMC_R, .timeout = 60)
{
    run(TLS1_2_VERSION);
}
