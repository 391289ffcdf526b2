/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/net/share_pair.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/bytes.h"
#include "roce/cm/mad.h"

static char path[] = "/tmp/nn-share-XXXXXX";

void share_dir_make(void)
{
    cr_assert_not_null(mkdtemp(path));
    cr_assert_eq(setenv("NORNIC_RUNTIME_DIR", path, 1), 0);
}

void share_dir_remove(void)
{
    cr_expect_eq(rmdir(path), 0, "nothing is left in %s", path);
}

int share_dir_clear(void)
{
    DIR *dir = opendir(path);
    int err = dir ? 0 : -errno;
    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.' && unlinkat(dirfd(dir), e->d_name, 0) != 0)
            err = -errno;
    if (dir)
        closedir(dir);
    return err;
}

const char *share_dir_path(void)
{
    return path;
}

struct nornic_addr share_addr(void)
{
    const uint8_t v4[4] = {127, (uint8_t)(1 + getpid() % 250), (uint8_t)(getpid() / 250 % 250), 1};
    return nornic_addr_from_v4(v4);
}

void share_packet(uint8_t *payload, uint32_t bytes, uint32_t qpn)
{
    memset(payload, 0, bytes);
    put_be24(payload + NET_SHARE_QPN_AT, qpn);
}

void share_mad(uint8_t *payload, uint8_t attr, uint64_t id)
{
    uint8_t mad[ROCE_MAD_BYTES] = {0};
    struct roce_cm_mad m = {.hdr = {.base_version = ROCE_MAD_BASE_VERSION,
                                    .mgmt_class = ROCE_MAD_CLASS_CM,
                                    .class_version = ROCE_MAD_CM_VERSION,
                                    .method = ROCE_MAD_METHOD_SEND,
                                    .attr_id = attr}};
    switch (attr) {
    case ROCE_CM_REQ:
        m.req.service_id = id;
        break;
    case ROCE_CM_SIDR_REQ:
        m.sidr_req.service_id = id;
        break;
    case ROCE_CM_SIDR_REP:
        m.sidr_rep.request_id = (uint32_t)id;
        break;
    case ROCE_CM_REP:
        m.rep.remote_comm_id = (uint32_t)id;
        break;
    case ROCE_CM_REJ:
        m.rej.remote_comm_id = (uint32_t)id;
        break;
    case ROCE_CM_DREQ:
        m.dreq.remote_comm_id = (uint32_t)id;
        break;
    default:
        cr_assert_fail("no such message");
    }
    roce_cm_mad_put(mad, &m);
    share_packet(payload, NET_SHARE_MAD_BYTES, 1);
    memcpy(payload + 20, mad, NET_SHARE_MAD_BYTES - 20);
}
