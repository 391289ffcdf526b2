/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic verify: recomputes the ICRC of every RoCE packet, and the CRC of every FPDU, in capture files. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/report/json.h"
#include "cli/option/option.h"
#include "cli/sandbox/sandbox.h"
#include "cli/verify/iwarp.h"
#include "cli/verify/strict.h"
#include "explain/packet/soundness.h"
#include "explain/packet/train.h"
#include "net/bytes.h"

/* A frame that is not as it should be. */
struct bad_frame {
    uint64_t number; /* from 1, as other programs count */
    enum roce_rx_verdict verdict;
    uint32_t expected, found;       /* DROP_ICRC: as roce_icrc() gives them */
    uint32_t len_bytes, wire_bytes; /* captured, and on the wire */
    bool is_only_checksum;          /* DROP_UDP: the ICRC is good */
};

struct tally {
    uint64_t frames; /* those that hold a train of packets count once */
    uint64_t packets;
    struct explain_sound_count sound;
    struct bad_frame *bad; /* icrc_bad + malformed + checksum_bad of them */
    size_t bad_cap;
    struct cli_verify_iwarp iwarp;
};

struct settings {
    bool json, strict, no_sandbox;
    struct cli_words files;
};

/* Progress of the counting, for a terminal. */
struct progress {
    const char *path;
    bool is_shown;     /* standard error is a terminal */
    bool is_on_screen; /* something stands in the line */
    uint64_t next_ns;
};

static uint64_t clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

static void progress_show(struct progress *p, uint64_t packets)
{
    const uint64_t every_ns = 200000000;
    if (!p->is_shown || packets % 4096 != 0)
        return;
    uint64_t now_ns = clock_ns();
    if (p->next_ns == 0)
        p->next_ns = now_ns + every_ns;
    if (now_ns < p->next_ns)
        return;
    p->next_ns = now_ns + every_ns;
    p->is_on_screen = true;
    fprintf(stderr, "\r\033[K%s: %" PRIu64 " packets ...", cli_plain(p->path), packets);
}

static void progress_clear(struct progress *p)
{
    if (p->is_on_screen)
        fputs("\r\033[K", stderr);
    p->is_on_screen = false;
}

static size_t bad_count(const struct tally *t)
{
    return (size_t)(t->sound.icrc_bad + t->sound.malformed + t->sound.checksum_bad);
}

/* Keeps the frame in the list; false when there is no memory for it. */
static bool add_bad(struct tally *t, const struct bad_frame *bad)
{
    size_t count = bad_count(t);
    if (count == t->bad_cap) {
        size_t cap = t->bad_cap ? 2 * t->bad_cap : 16;
        struct bad_frame *grown = reallocarray(t->bad, cap, sizeof *grown);
        if (!grown)
            return false;
        t->bad = grown;
        t->bad_cap = cap;
    }
    t->bad[count] = *bad;
    return true;
}

/* Returns the verdict for the line about a bad packet. */
static enum roce_rx_verdict verdict_of(const struct explain_packet *packet, enum explain_soundness is)
{
    if (is == EXPLAIN_SOUND_ICRC)
        return ROCE_RX_DROP_ICRC;
    return packet->cut.is_end ? ROCE_RX_DROP_SHORT : packet->verdict;
}

/* Judges one packet. False when there is no memory to remember a bad one. DF may be clear: the ICRC is the
 * question here, and it can be answered. */
static bool check_packet(struct tally *t, struct explain_packet *packet)
{
    enum explain_soundness soundness = explain_soundness_of(packet);
    t->packets++;
    if (soundness == EXPLAIN_SOUND_NOT_ROCE)
        return cli_verify_iwarp_take(&t->iwarp, packet);
    struct bad_frame bad = {
        .number = packet->number,
        .verdict = verdict_of(packet, soundness),
        .expected = packet->roce.icrc_expected,
        .found = packet->roce.icrc_found,
        .len_bytes = packet->len_bytes,
        .wire_bytes = packet->wire_bytes,
        .is_only_checksum = packet->checksum.is_only_udp,
    };
    if (soundness != EXPLAIN_SOUND_GOOD && !add_bad(t, &bad))
        return false;
    explain_sound_add(&t->sound, soundness);
    return true;
}

/* The four bytes as they travel, least significant first (ROCE-ICRC-3), as a dump shows them. */
static const char *icrc_hex(uint32_t icrc, char buf[9])
{
    uint8_t wire[4];
    put_le32(wire, icrc);
    snprintf(buf, 9, "%02x%02x%02x%02x", wire[0], wire[1], wire[2], wire[3]);
    return buf;
}

static const char *reason_of(const struct bad_frame *bad, char *buf, size_t size)
{
    if (bad->verdict == ROCE_RX_DROP_UDP && bad->is_only_checksum)
        return "wrong UDP checksum; its ICRC is good";
    if (bad->verdict == ROCE_RX_DROP_ICRC || bad->wire_bytes <= bad->len_bytes)
        return roce_rx_verdict_words(bad->verdict);
    snprintf(buf, size, "cut by a snap length: %" PRIu32 " of %" PRIu32 " bytes captured", bad->len_bytes,
             bad->wire_bytes);
    return buf;
}

static void print_counts(const char *what, const struct tally *t)
{
    printf("%s: %" PRIu64 " packets, %" PRIu64 " RoCE: ICRC good %" PRIu64 ", bad %" PRIu64
           ", malformed %" PRIu64,
           what, t->packets, t->sound.roce, t->sound.icrc_ok, t->sound.icrc_bad, t->sound.malformed);
    if (t->sound.checksum_bad)
        printf(", wrong UDP checksum %" PRIu64, t->sound.checksum_bad);
    putchar('\n');
}

static void print_text(const char *path, const struct tally *t)
{
    print_counts(cli_plain(path), t);
    for (size_t i = 0; i < bad_count(t); i++) {
        const struct bad_frame *bad = &t->bad[i];
        char reason[80], expected[9], found[9];
        printf("  frame %" PRIu64 ": %s", bad->number, reason_of(bad, reason, sizeof reason));
        if (bad->verdict == ROCE_RX_DROP_ICRC)
            printf(", expected %s, found %s", icrc_hex(bad->expected, expected), icrc_hex(bad->found, found));
        putchar('\n');
    }
    cli_verify_iwarp_print(&t->iwarp);
}

static json_object *json_of_bad(const struct bad_frame *bad)
{
    bool has_icrc = bad->verdict == ROCE_RX_DROP_ICRC;
    char reason[80], hex[9];
    json_object *o = json_object_new_object();
    json_object_object_add(o, "n", json_object_new_uint64(bad->number));
    json_object_object_add(o, "expected",
                           has_icrc ? json_object_new_string(icrc_hex(bad->expected, hex)) : NULL);
    json_object_object_add(o, "found", has_icrc ? json_object_new_string(icrc_hex(bad->found, hex)) : NULL);
    json_object_object_add(o, "reason", json_object_new_string(reason_of(bad, reason, sizeof reason)));
    return o;
}

/* One line. `error` (or NULL) says why the file could not be read to its end. */
static void print_json(const char *path, const struct tally *t, const struct cli_strict *strict,
                       const char *error)
{
    json_object *o = json_object_new_object(), *bad = json_object_new_array();
    json_object_object_add(o, "file", json_object_new_string(path));
    json_object_object_add(o, "packets", json_object_new_uint64(t->packets));
    json_object_object_add(o, "roce", json_object_new_uint64(t->sound.roce));
    json_object_object_add(o, "icrc_ok", json_object_new_uint64(t->sound.icrc_ok));
    json_object_object_add(o, "icrc_bad", json_object_new_uint64(t->sound.icrc_bad));
    json_object_object_add(o, "malformed", json_object_new_uint64(t->sound.malformed));
    for (size_t i = 0; i < bad_count(t); i++)
        json_object_array_add(bad, json_of_bad(&t->bad[i]));
    json_object_object_add(o, "bad_frames", bad);
    if (t->sound.cut)
        json_object_object_add(o, "cut", json_object_new_uint64(t->sound.cut));
    if (t->sound.checksum_bad)
        json_object_object_add(o, "udp_checksum_bad", json_object_new_uint64(t->sound.checksum_bad));
    cli_verify_iwarp_to_json(&t->iwarp, o);
    cli_strict_to_json(strict, o);
    if (error)
        json_object_object_add(o, "error", json_object_new_string(error));
    cli_json_print(o);
}

/* Judges the packets of one record. False: no memory. */
static bool check_record(struct tally *t, struct cli_strict *strict, const struct net_capture_record *record)
{
    struct explain_cutter cutter;
    struct explain_packet packet;
    bool has_room = true;
    explain_cutter_begin(&cutter, record, ++t->frames);
    while (has_room && explain_cutter_next(&cutter, &packet)) {
        struct explain_packet again =
            packet; /* each of the two notes its findings in a stream of TCP there */
        has_room = check_packet(t, &packet);
        cli_strict_take(strict, &again);
    }
    explain_cutter_end(&cutter);
    return has_room;
}

/* Reads to the end. 0, or -errno with a sentence in `why`; counts until then stay. */
static int read_capture(struct net_capture *capture, struct tally *t, struct cli_strict *strict,
                        struct progress *progress, struct nornic_error *why)
{
    struct net_capture_record record;
    int more;
    while ((more = net_capture_next(capture, &record, why)) > 0) {
        if (!check_record(t, strict, &record))
            return net_error_set(why, ENOMEM, "%s: no memory to remember %zu bad frames", progress->path,
                                 t->bad_cap);
        progress_show(progress, t->packets);
    }
    return more;
}

/* Reports on one file, adds its counts to `total`, and returns the exit status that it deserves. */
static int verify_file(const char *path, const struct settings *settings, struct tally *total)
{
    struct cli_strict strict = {0};
    struct tally t = {0};
    struct nornic_error why = {{0}};
    struct net_capture *capture;
    struct progress progress = {.path = path, .is_shown = isatty(STDERR_FILENO)};

    if (settings->strict && cli_strict_begin(&strict) != 0)
        return cli_fail("out of memory");
    int err = net_capture_open(path, &capture, &why);
    bool is_open = !err;
    if (is_open) {
        err = read_capture(capture, &t, &strict, &progress, &why);
        net_capture_close(capture);
    }
    progress_clear(&progress);
    if (settings->json) {
        print_json(path, &t, &strict, err < 0 ? why.text : NULL);
    } else if (is_open) {
        print_text(path, &t);
        cli_strict_print(&strict);
    }
    uint64_t violations = strict.count;
    cli_strict_end(&strict);
    total->packets += t.packets;
    explain_sound_sum(&total->sound, &t.sound);
    cli_verify_iwarp_add(&total->iwarp, &t.iwarp);
    uint64_t bad = bad_count(&t) + t.iwarp.bad_count + violations;
    cli_verify_iwarp_end(&t.iwarp);
    free(t.bad);
    if (err < 0)
        return cli_fail("%s", why.text);
    return bad ? CLI_NEGATIVE : CLI_OK;
}

/* --- the command --- */

#define AT(member) CLI_SETS(struct settings, member)

static const struct cli_option rows[] = {
    {"strict", 0, NULL,
     "also name every packet whose sender breaks a rule of the standard, with the requirement "
     "(docs/conformance-roce.md): payloads, padding, reserved fields, the order of opcodes and "
     "answers, MSNs, UDP ports. What Linux does otherwise, and may, is not named",
     AT(strict)},
    {"json", 'j', NULL,
     "one line of JSON a file: file, packets, roce, icrc_ok, icrc_bad, malformed, bad_frames (a list "
     "of n, expected, found, reason; expected and found are null for a malformed packet), cut (of "
     "malformed: by a snap length) and udp_checksum_bad (of icrc_ok) where they are not 0, with iwarp "
     "where there is any (connections, fpdus, crc_good, crc_bad, crc_off, crc_unseen, bad_fpdus), with "
     "--strict forgotten_flows, violation_count and violations (a list of n, rule, words), and error when "
     "the file could not be read to its end",
     AT(json)},
    CLI_SANDBOX_ROW(struct settings, no_sandbox),
    {NULL},
};

static int run(void *options)
{
    const struct settings *settings = options;
    struct tally total = {0};
    int status = CLI_OK;
    struct cli_sandbox sandbox;
    cli_sandbox_begin(&sandbox, CLI_SANDBOX_READER, settings->no_sandbox);
    for (unsigned i = 0; i < settings->files.count; i++)
        cli_sandbox_allow(&sandbox, settings->files.at[i], CLI_SANDBOX_READS);
    cli_sandbox_close(&sandbox);
    for (unsigned i = 0; i < settings->files.count; i++) {
        int file_status = verify_file(settings->files.at[i], settings, &total);
        status = file_status > status ? file_status : status;
    }
    if (!settings->json && settings->files.count > 1) {
        print_counts("all files", &total);
        cli_verify_iwarp_print(&total.iwarp);
    }
    return status;
}

const struct cli_command verify_command = {
    .name = "verify",
    .summary = "recompute the ICRC of RoCE packets and the CRC of iWARP in capture files",
    .usage = "verify [--strict] [--json] FILE...",
    .about =
        "Recomputes the Invariant CRC (ICRC) of every RoCE packet in capture files, and the CRC32c "
        "of every FPDU of "
        "iWARP.\n\n"
        "FILE is a pcap or pcapng file, packed with gzip or not, - is standard input. RoCE packets are "
        "those that reach UDP port 4791 over IPv4 or IPv6, and those of EtherType 0x8915 (RoCEv1), below "
        "any tags, on any link and in any tunnel that `nornic explain` reads. For each file it prints "
        "how many packets there are, how many of them are "
        "RoCE, how many ICRCs are good and bad, and how many are malformed: too broken, or cut too "
        "short by the capture, for their ICRC to be judged. A wrong UDP checksum, which the ICRC does not "
        "cover, is named where the ICRC is good. Each bad frame is named by its number in "
        "the file; ICRCs are shown as the four bytes on the wire. A frame that holds a train of "
        "packets, which had not been cut when it was captured, counts as the packets that it holds. "
        "Each packet counts by its own bytes, as often as the file has it, however soon an equal one "
        "follows. "
        "The TCP streams of iWARP are put together and followed from their MPA frames "
        "on; of their FPDUs it counts how many CRCs are good and bad, how many "
        "are not in use, as both ends agreed, and how many cannot be checked, as the capture cut them.",
    .groups = {{.rows = rows}},
    .operands =
        (const struct cli_operand[]){
            {.name = "FILE", .kind = CLI_FILE, .is_many = true, .offset = offsetof(struct settings, files)},
            {NULL}},
    .operands_missing = "name a capture file, or - for standard input",
    .examples = "Example:\n"
                "  $ tcpdump -i eth0 -w run.pcap udp port 4791\n"
                "  $ nornic verify run.pcap\n"
                "  run.pcap: 88 packets, 88 RoCE: ICRC good 87, bad 1, malformed 0\n"
                "    frame 17: ICRC mismatch, expected c5716294, found c5716295\n",
    .status = {"every RoCE packet and FPDU is good", "some are not", "a file could not be read"},
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
