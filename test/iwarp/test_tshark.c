/* SPDX-License-Identifier: BSD-2-Clause */
/* What a queue pair writes as tshark reads it: the set-up and every message of RDMAP and RFC 7306, one FPDU
 * a TCP segment, and each field that tshark knows of held against what was asked for. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "net/bytes.h"
#include "iwarp/wire/size.h"
#include "test/iwarp/world.h"

#define HEADERS_BYTES (14 + 20 + 20)
#define FRAME_MAX     (HEADERS_BYTES + 2048)
#define CELL_BYTES    64
#define ROWS_MAX      40

enum { TCP_SYN = 2, TCP_PSH_ACK = 24, TCP_ACK = 16, TCP_SYN_ACK = 18 };

static struct side ends[2]; /* the initiator, the responder */
static struct film {
    char path[64];
    pcap_t *pcap;
    pcap_dumper_t *out;
    uint32_t seq[2];
    long time_us;
} film;

/* All that tshark knows of these protocols but for names of groups, and the CRC, of which its text says
 * more. */
static const char *const fields[] = {
    "_ws.malformed",
    "iwarp_mpa.key.req",
    "iwarp_mpa.key.rep",
    "iwarp_mpa.marker_flag",
    "iwarp_mpa.crc_flag",
    "iwarp_mpa.rej_flag",
    "iwarp_mpa.res",
    "iwarp_mpa.rev",
    "iwarp_mpa.pdlength",
    "iwarp_mpa.privatedata",
    "iwarp_mpa.ulpdulength",
    "iwarp_mpa.pad",
    "iwarp_mpa.marker_res",
    "iwarp_mpa.marker_fpduptr",
    "iwarp_mpa.bad_length",
    "iwarp_ddp.tagged_flag",
    "iwarp_ddp.last_flag",
    "iwarp_ddp.rsvd",
    "iwarp_ddp.dv",
    "iwarp_ddp.rsvdulp",
    "iwarp_ddp.stag",
    "iwarp_ddp.tagged_offset",
    "iwarp_ddp.qn",
    "iwarp_ddp.msn",
    "iwarp_ddp.mo",
    "iwarp_rdma.version",
    "iwarp_rdma.rsv",
    "iwarp_rdma.opcode",
    "iwarp_rdma.reserved",
    "iwarp_rdma.inval_stag",
    "iwarp_rdma.sinkstag",
    "iwarp_rdma.sinkto",
    "iwarp_rdma.rdmardsz",
    "iwarp_rdma.srcstag",
    "iwarp_rdma.srcto",
    "iwarp_rdma.term_layer",
    "iwarp_rdma.term_etype_rdma",
    "iwarp_rdma.term_etype_ddp",
    "iwarp_rdma.term_etype_llp",
    "iwarp_rdma.term_etype",
    "iwarp_rdma.term_errcode_rdma",
    "iwarp_rdma.term_errcode_ddp_tagged",
    "iwarp_rdma.term_errcode_ddp_untagged",
    "iwarp_rdma.term_errcode",
    "iwarp_rdma.term_errcode_llp",
    "iwarp_rdma.term_hdrct_m",
    "iwarp_rdma.hdrct_d",
    "iwarp_rdma.hdrct_r",
    "iwarp_rdma.term_rsvd",
    "iwarp_rdma.term_ddp_seg_len",
    "iwarp_rdma.term_ddp_h",
    "iwarp_rdma.term_rdma_h",
    "iwarp_rdma.atomic.reserved",
    "iwarp_rdma.atomic.opcode",
    "iwarp_rdma.atomic.request_identifier",
    "iwarp_rdma.atomic.remote_stag",
    "iwarp_rdma.atomic.remote_tagged_offset",
    "iwarp_rdma.atomic.add_data",
    "iwarp_rdma.atomic.add_mask",
    "iwarp_rdma.atomic.swap_data",
    "iwarp_rdma.atomic.swap_mask",
    "iwarp_rdma.atomic.compare_data",
    "iwarp_rdma.atomic.compare_mask",
    "iwarp_rdma.atomic.original_request_identifier",
    "iwarp_rdma.atomic.original_remote_data_value",
};

/* What tshark says of each frame that has data: a cell a field. */
static char cells[ROWS_MAX][array_len(fields)][CELL_BYTES];
static unsigned row_count, row; /* and which of them comes next */

static void remove_film(void)
{
    unlink(film.path);
}

TestSuite(tshark, .fini = remove_film, .timeout = 120);

/* --- the capture --- */

static void write_segment(int side, uint8_t flags, const uint8_t *data, uint32_t len)
{
    uint8_t frame[FRAME_MAX] = {0}, *p = put_be16(frame + 12, 0x0800);
    p = put_be16(p, 0x4500);
    p = put_be16(p, (uint16_t)(40 + len));
    p = put_be32(p, 0);
    p = put_be32(p, 0x40060000); /* TTL, TCP, no checksum */
    p = put_be32(p, 0x0a000001 + (uint32_t)side);
    p = put_be32(p, 0x0a000002 - (uint32_t)side);
    p = put_be16(p, side ? 5000 : 4000);
    p = put_be16(p, side ? 4000 : 5000);
    p = put_be32(p, film.seq[side]);
    p = put_be32(p, film.seq[!side]);
    p = put_be16(p, (uint16_t)(0x5000 | flags));
    p = put_be16(p, 0xffff);
    p = put_be32(p, 0);
    cr_assert_leq(HEADERS_BYTES + len, FRAME_MAX);
    if (len)
        memcpy(p, data, len);
    const struct pcap_pkthdr head = {
        .ts = {1, film.time_us += 1000}, .caplen = HEADERS_BYTES + len, .len = HEADERS_BYTES + len};
    pcap_dump((u_char *)film.out, &head, frame);
    film.seq[side] += len + (flags & TCP_SYN ? 1 : 0);
}

static void open_film(void)
{
    snprintf(film.path, sizeof film.path, "/tmp/nornic-iwarp-XXXXXX");
    int fd = mkstemp(film.path);
    cr_assert_geq(fd, 0);
    film.pcap = pcap_open_dead(DLT_EN10MB, 65535);
    film.out = pcap_dump_fopen(film.pcap, fdopen(fd, "wb"));
    cr_assert_not_null(film.out);
    film.seq[0] = 1000;
    film.seq[1] = 2000;
    write_segment(0, TCP_SYN, NULL, 0);
    write_segment(1, TCP_SYN_ACK, NULL, 0);
    write_segment(0, TCP_ACK, NULL, 0);
}

/* All that a side has to say now goes to the other, an FPDU a segment; with markers one is all there is. */
static bool carry(int from)
{
    static uint8_t bytes[IWARP_BATCH_BYTES];
    uint32_t count, len = 0;
    bool is_frame = ends[from].qp->setup.out_sent < ends[from].qp->setup.out_bytes;
    const struct iwarp_piece *pieces = iwarp_qp_output(ends[from].qp, &count, 0);
    for (uint32_t i = 0; i < count; len += pieces[i++].len_bytes)
        memcpy(bytes + len, pieces[i].bytes, pieces[i].len_bytes);
    iwarp_qp_sent(ends[from].qp, len, 0);
    for (uint32_t at = 0, n; at < len; at += n) {
        n = is_frame || ends[from].qp->session.tx_markers ? len : iwarp_fpdu_bytes(get_be16(bytes + at));
        write_segment(from, TCP_PSH_ACK, bytes + at, n);
        iwarp_qp_input(ends[!from].qp, bytes + at, n);
    }
    if (ends[!from].qp->setup.state == IWARP_SETUP_REQUESTED)
        cr_assert_eq(iwarp_qp_accept(ends[!from].qp, "yes", 3), 0);
    return len != 0;
}

static void carry_all(void)
{
    while (carry(0) || carry(1))
        ;
}

static void begin(const struct iwarp_setup_config *one, const struct iwarp_setup_config *other)
{
    for (int i = 0; i < 2; i++)
        side_make(&ends[i], 1 + (uint64_t)i, NULL);
    open_film();
    cr_assert_eq(iwarp_qp_connect(ends[0].qp, one, "please", 6, 0), 0);
    cr_assert_eq(iwarp_qp_listen(ends[1].qp, other, 0), 0);
    for (int i = 0; i < 2; i++)
        iwarp_qp_set_emss(ends[i].qp, 1448);
    carry_all();
}

/* --- what tshark says --- */

static FILE *ask_tshark(const char *options)
{
    char command[8192];
    int len = snprintf(
        command, sizeof command,
        "tshark -n -r %s -o tcp.try_heuristic_first:TRUE --disable-protocol rpcordma -Y 'tcp.len > 0' "
        "%s 2>/dev/null",
        film.path, options);
    cr_assert_lt(len, (int)sizeof command);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    return pipe;
}

static void read_cells(void)
{
    char options[6144] = "-T fields -E separator='|'", line[4096];
    for (size_t i = 0; i < array_len(fields); i++)
        snprintf(options + strlen(options), sizeof options - strlen(options), " -e %s", fields[i]);
    FILE *pipe = ask_tshark(options);
    for (; fgets(line, sizeof line, pipe); row_count++) {
        char *rest = line, *cell;
        line[strcspn(line, "\n")] = '\0';
        cr_assert_lt(row_count, ROWS_MAX);
        for (size_t i = 0; (cell = strsep(&rest, "|")); i++) {
            cr_assert_lt(i, array_len(fields));
            bool is_word = !strcmp(cell, "True") || !strcmp(cell, "False"); /* of a newer tshark */
            snprintf(cells[row_count][i], CELL_BYTES, "%s", is_word ? (*cell == 'T' ? "1" : "0") : cell);
        }
    }
    cr_assert_eq(pclose(pipe), 0);
}

/* Every FPDU has a CRC, and all of them are good. */
static void expect_good_crcs(unsigned fpdus)
{
    char line[4096];
    unsigned good = 0, all = 0;
    FILE *pipe = ask_tshark("-V");
    while (fgets(line, sizeof line, pipe)) {
        all += strstr(line, "CRC check: ") != NULL;
        good += strstr(line, "(Good CRC32)") != NULL;
    }
    cr_assert_eq(pclose(pipe), 0);
    cr_expect(good == fpdus && all == fpdus, "%u of %u CRCs are good, of %u FPDUs", good, all, fpdus);
}

static void end(unsigned fpdus)
{
    pcap_dump_close(film.out);
    pcap_close(film.pcap);
    read_cells();
    expect_good_crcs(fpdus);
}

static void finish(void)
{
    cr_expect_eq(row, row_count, "tshark has %u frames more", row_count - row);
    for (int i = 0; i < 2; i++)
        side_free(&ends[i]);
}

/* The cell of this row is what the format says. It is empty from now on. */
__attribute__((format(printf, 2, 3))) static void has(const char *field, const char *format, ...)
{
    char wanted[CELL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(wanted, sizeof wanted, format, args);
    va_end(args);
    size_t i = 0;
    while (i < array_len(fields) && strcmp(fields[i], field) != 0)
        i++;
    cr_assert_lt(i, array_len(fields), "%s", field);
    cr_expect_str_eq(cells[row][i], wanted, "frame %u: %s is %s, not %s", row, field, cells[row][i], wanted);
    cells[row][i][0] = '\0';
}

/* Nothing else is said of this row: to the next. */
static void next(void)
{
    for (size_t i = 0; i < array_len(fields); i++)
        cr_expect_str_empty(cells[row][i], "frame %u: %s is %s", row, fields[i], cells[row][i]);
    row++;
}

static void has_frame(const char *key, bool wants_markers, const char *private_data)
{
    has(key, "%s",
        strstr(key, "req") ? "4d504120494420526571204672616d65" : "4d504120494420526570204672616d65");
    has("iwarp_mpa.marker_flag", "%d", wants_markers);
    has("iwarp_mpa.crc_flag", "1");
    has("iwarp_mpa.rej_flag", "0");
    has("iwarp_mpa.res", "0x10"); /* S, which tshark does not know */
    has("iwarp_mpa.rev", "2");
    has("iwarp_mpa.pdlength", "%zu", strlen(private_data) / 2);
    has("iwarp_mpa.privatedata", "%s", private_data);
    next();
}

static void has_control(uint32_t ulpdu_bytes, bool is_tagged, bool is_last, unsigned opcode)
{
    static const char pads[] = "000000";
    uint32_t pad = iwarp_pad_bytes(ulpdu_bytes);
    has("iwarp_mpa.ulpdulength", "%u", ulpdu_bytes);
    has("iwarp_mpa.pad", "%.*s", 2 * (int)pad, pads);
    has("iwarp_ddp.tagged_flag", "%d", is_tagged);
    has("iwarp_ddp.last_flag", "%d", is_last);
    has("iwarp_ddp.rsvd", "0x00");
    has("iwarp_ddp.dv", "1");
    has("iwarp_rdma.version", "1");
    has("iwarp_rdma.rsv", "0x00");
    has("iwarp_rdma.opcode", "0x%02x", opcode);
}

static void has_tagged(uint32_t payload_bytes, bool is_last, unsigned opcode, uint32_t stag, uint64_t to)
{
    has_control(14 + payload_bytes, true, is_last, opcode);
    has("iwarp_ddp.stag", "0x%08x", stag);
    has("iwarp_ddp.tagged_offset", "0x%016" PRIx64, to);
    next();
}

static void has_untagged(uint32_t payload_bytes, bool is_last, unsigned opcode, uint32_t qn, uint32_t msn,
                         uint32_t mo, uint32_t inv_stag)
{
    has_control(18 + payload_bytes, false, is_last, opcode);
    has("iwarp_ddp.rsvdulp", "%02x%08x", 0x40 | opcode, inv_stag);
    has("iwarp_ddp.qn", "%u", qn);
    has("iwarp_ddp.msn", "%u", msn);
    has("iwarp_ddp.mo", "%u", mo);
    if (inv_stag)
        has("iwarp_rdma.inval_stag", "%u", inv_stag);
    else if (opcode < IWARP_OP_IMM)
        has("iwarp_rdma.reserved", "00000000");
}

/* --- the streams --- */

static uint64_t addr(int i, uint32_t offset)
{
    return (uintptr_t)(ends[i].memory + offset);
}

static bool lacks_tshark(void)
{
    return system("command -v tshark >/dev/null 2>&1") != 0;
}

static uint32_t make_key(struct rdma_mr **fast)
{
    cr_assert_eq(rdma_mr_alloc_fast(ends[1].pd, 4096, fast), 0);
    const struct rdma_fast_reg reg = {
        .key = (*fast)->rkey, .addr = ends[1].memory, .len_bytes = 64, .access = ALL_RIGHTS};
    cr_assert_eq(rdma_mr_fast_reg(ends[1].domain, ends[1].pd, &reg), 0);
    return reg.key;
}

static void post(enum nornic_wr_opcode opcode, uint32_t flags, uint32_t len_bytes, uint32_t key)
{
    const struct nornic_sge sge = side_sge(&ends[0], 0, len_bytes);
    side_post_wr(&ends[0], &(struct nornic_send_wr){.opcode = opcode,
                                                    .send_flags = flags,
                                                    .sg_list = &sge,
                                                    .num_sge = 1,
                                                    .imm_data = 0x01020304,
                                                    .remote_addr = addr(1, 512),
                                                    .rkey = key,
                                                    .invalidate_rkey = key,
                                                    .compare_add = 1001,
                                                    .compare_mask = 0x8000000080000000,
                                                    .swap = 2002,
                                                    .swap_mask = 0xffff});
    carry_all();
}

static void has_sends(uint32_t first_key, uint32_t second_key)
{
    has_untagged(1424, false, 3, 0, 1, 0, 0);
    next();
    has_untagged(276, true, 3, 0, 1, 1424, 0);
    next();
    has_untagged(1, true, 4, 0, 2, 0, first_key);
    next();
    has_untagged(2, true, 5, 0, 3, 0, 0);
    next();
    has_untagged(3, true, 6, 0, 4, 0, second_key);
    next();
}

static void has_atomic(uint32_t msn, unsigned opcode)
{
    has_untagged(52, true, 10, 1, msn, 0, 0);
    has("iwarp_rdma.atomic.reserved", "0");
    has("iwarp_rdma.atomic.opcode", "%u", opcode);
    has("iwarp_rdma.atomic.request_identifier", "%u", msn);
    has("iwarp_rdma.atomic.remote_stag", "%u", ends[1].mr->rkey);
    has("iwarp_rdma.atomic.remote_tagged_offset", "%" PRIu64, addr(1, 512));
}

static void has_original(uint32_t request, uint32_t msn, uint64_t original)
{
    has_untagged(12, true, 11, 3, msn, 0, 0);
    has("iwarp_rdma.atomic.original_request_identifier", "%u", request);
    has("iwarp_rdma.atomic.original_remote_data_value", "%" PRIu64, original);
    next();
}

static void has_read_request(uint32_t msn, uint32_t len_bytes, uint32_t stag)
{
    has_untagged(28, true, 1, 1, msn, 0, 0);
    has("iwarp_rdma.sinkstag", "0x%08x", ends[0].mr->lkey);
    has("iwarp_rdma.sinkto", "0x%016" PRIx64, addr(0, 0));
    has("iwarp_rdma.rdmardsz", "%u", len_bytes);
    has("iwarp_rdma.srcstag", "0x%08x", stag);
    has("iwarp_rdma.srcto", "0x%016" PRIx64, addr(1, 512));
    next();
}

/* The control, and behind it what was refused: of an untagged header tshark shows 14 octets as that of DDP,
 * the rest with what follows. */
static void has_terminate(uint32_t msn)
{
    has_untagged(4 + 2 + 18 + 28, true, 7, 2, 1, 0, 0);
    has("iwarp_rdma.term_layer", "0x00");
    has("iwarp_rdma.term_etype_rdma", "0x01");
    has("iwarp_rdma.term_errcode_rdma", "0x00");
    has("iwarp_rdma.term_hdrct_m", "1");
    has("iwarp_rdma.hdrct_d", "1");
    has("iwarp_rdma.hdrct_r", "1");
    has("iwarp_rdma.term_rsvd", "0x0000");
    has("iwarp_rdma.term_ddp_seg_len", "%04x", 18 + 28);
    has("iwarp_rdma.term_ddp_h", "4141%08x%08x%08x", 0, 1, msn);
    has("iwarp_rdma.term_rdma_h", "%08x%08x%016" PRIx64 "%08x%08x%08x", 0, ends[0].mr->lkey, addr(0, 0), 11,
        ends[1].mr->rkey ^ 0x10000, (uint32_t)(addr(1, 512) >> 32));
    next();
}

/* covers: IWARP-GEN-01, IWARP-MPA-01, IWARP-FPDU-07, IWARP-DDP-03, IWARP-DDP-05, IWARP-RDMAP-09 */
/* covers: IWARP-RDMAP-31, IWARP-VERB-05, IWARP-ATOM-10 */
/* covers: IWARP-CM-41 */
Test(tshark, every_message_and_each_of_its_fields)
{
    const struct iwarp_setup_config config = {.ird = 3, .ord = 4};
    struct rdma_mr *fast[2];
    if (lacks_tshark())
        cr_skip("tshark is not installed");
    begin(&config, &config);
    const uint32_t keys[] = {make_key(&fast[0]), make_key(&fast[1])}, key = ends[1].mr->rkey;
    for (uint64_t i = 0; i < 6; i++)
        side_post_recv(&ends[1], i, 4096, 2000);
    const uint64_t word = 40;
    post(NORNIC_WR_SEND, 0, 1700, 0);
    post(NORNIC_WR_SEND_WITH_INV, 0, 1, keys[0]);
    post(NORNIC_WR_SEND, NORNIC_SEND_SOLICITED, 2, 0);
    post(NORNIC_WR_SEND_WITH_INV, NORNIC_SEND_SOLICITED, 3, keys[1]);
    post(NORNIC_WR_RDMA_WRITE, 0, 9, key);
    post(NORNIC_WR_RDMA_WRITE_WITH_IMM, 0, 10, key);
    post(NORNIC_WR_RDMA_WRITE_WITH_IMM, NORNIC_SEND_SOLICITED, 0, key);
    post(NORNIC_WR_RDMA_READ, 0, 11, key);
    memcpy(ends[1].memory + 512, &word, 8);
    post(NORNIC_WR_ATOMIC_FETCH_AND_ADD, 0, 8, key);
    post(NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD, 0, 8, key);
    post(NORNIC_WR_ATOMIC_CMP_AND_SWP, 0, 8, key);
    post(NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP, 0, 8, key);
    post(NORNIC_WR_RDMA_READ, 0, 11, key ^ 0x10000);
    end(1 + 5 + 1 + 4 + 2 + 8 + 2);

    has_frame("iwarp_mpa.key.req", false, "8003c004706c65617365"); /* A, IRD 3; C, D, ORD 4; "please" */
    has_frame("iwarp_mpa.key.rep", false, "80038003796573");       /* A, IRD 3; C, ORD 3; "yes" */
    has_tagged(0, true, 0, 1, 0);                                  /* the RTR */
    has_sends(keys[0], keys[1]);
    has_tagged(9, true, 0, key, addr(1, 512));
    has_tagged(10, true, 0, key, addr(1, 512));
    has_untagged(8, true, 8, 0, 5, 0, 0);
    next();
    has_tagged(0, true, 0, key, addr(1, 512));
    has_untagged(8, true, 9, 0, 6, 0, 0);
    next();
    has_read_request(1, 11, key);
    has_tagged(11, true, 2, ends[0].mr->lkey, addr(0, 0));
    for (uint32_t i = 0; i < 2; i++) {
        has_atomic(2 + i, 0);
        has("iwarp_rdma.atomic.add_data", "1001");
        has("iwarp_rdma.atomic.add_mask", "0x%016" PRIx64, i ? 0x8000000080000000 : 0);
        has("iwarp_rdma.atomic.compare_data", "0");
        has("iwarp_rdma.atomic.compare_mask", "0xffffffffffffffff");
        next();
        has_original(2 + i, 1 + i, 40 + 1001 * i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        has_atomic(4 + i, 2);
        has("iwarp_rdma.atomic.swap_data", "2002");
        has("iwarp_rdma.atomic.swap_mask", "0x%016" PRIx64, i ? 0xffff : UINT64_MAX);
        has("iwarp_rdma.atomic.compare_data", "1001");
        has("iwarp_rdma.atomic.compare_mask", "0x%016" PRIx64, i ? 0x8000000080000000 : UINT64_MAX);
        next();
        has_original(4 + i, 3 + i, 40 + 2002);
    }
    has_read_request(6, 11, key ^ 0x10000);
    has_terminate(6);
    for (int i = 0; i < 2; i++)
        rdma_mr_dereg(fast[i]);
    finish();
}

/* The responder wants markers: one leads the first FPDU, the next stands 512 octets on, inside the second.
 * covers: IWARP-MPA-04, IWARP-MARK-01, IWARP-MARK-02, IWARP-MARK-03 */
/* covers: IWARP-CM-41 */
Test(tshark, markers)
{
    const struct iwarp_setup_config config = {.ird = 3, .ord = 4},
                                    wants = {.ird = 3, .ord = 4, .wants_markers = true};
    if (lacks_tshark())
        cr_skip("tshark is not installed");
    begin(&config, &wants);
    post(NORNIC_WR_RDMA_WRITE, 0, 700, ends[1].mr->rkey);
    end(2);
    has_frame("iwarp_mpa.key.req", false, "8003c004706c65617365");
    has_frame("iwarp_mpa.key.rep", true, "80038003796573");
    has("iwarp_mpa.marker_res", "0x0000");
    has("iwarp_mpa.marker_fpduptr", "0");
    has_tagged(0, true, 0, 1, 0);
    has("iwarp_mpa.marker_res", "0x0000");
    has("iwarp_mpa.marker_fpduptr", "%u", 512 - (4 + 20));
    has_tagged(700, true, 0, ends[1].mr->rkey, addr(1, 512));
    finish();
}
