/* SPDX-License-Identifier: BSD-2-Clause */
/* One frame of a capture, taken apart layer by layer. Every layer is a header with its field list
 * (net/field.h), from which texts, boxes, JSON and filters are made, so that they cannot disagree. */
#ifndef NORNIC_EXPLAIN_PACKET_PACKET_H
#define NORNIC_EXPLAIN_PACKET_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/packet/registry.h"
#include "net/pcap_file.h"
#include "roce/packet.h"

#define EXPLAIN_LAYERS_MAX 40

/* A header in a frame. Fields are read with net_bits_get() at `offset` + first bit. Of a message of the CM
 * or of SMC-R that the capture cut (a snap length), and of an FPDU of iWARP that goes on in the next segment
 * or behind a marker, the layer is shorter than its header, and only the fields before its end are there:
 * explain_layer_has(). All others are whole. */
struct explain_layer {
    const struct explain_layer_kind *kind;
    uint32_t offset;    /* from the first byte of the frame */
    uint16_t len_bytes; /* captured */
};

enum explain_kind {
    EXPLAIN_OTHER,   /* nothing that this program explains */
    EXPLAIN_ROCE,    /* reaches UDP/4791 or EtherType 0x8915, good or bad; in a tunnel too */
    EXPLAIN_CM,      /* a MAD for QP1 among these */
    EXPLAIN_SMC_TCP, /* TCP with the SMC-R option, or CLC messages in its payload */
    EXPLAIN_PAUSE,   /* flow control of the link: PAUSE or PFC */
    EXPLAIN_LLDP,    /* LLDP, in which DCBX settles flow control */
    EXPLAIN_IWARP,   /* TCP that bears iWARP, as the analysis finds: data, and the end of a stream */
};

/* The network that a packet is of: that of the innermost tunnel that it came in. The same addresses and QPNs
 * in another one are others. */
struct explain_network {
    enum explain_tunnel {
        EXPLAIN_TUNNEL_NONE,
        EXPLAIN_TUNNEL_VXLAN,
        EXPLAIN_TUNNEL_GENEVE,
        EXPLAIN_TUNNEL_GRE,
        EXPLAIN_TUNNEL_NVGRE,
        EXPLAIN_TUNNEL_ERSPAN,
        EXPLAIN_TUNNEL_IP,
    } tunnel;
    bool has_id;
    uint32_t id; /* VNI, GRE key, VSID, session */
};

/* The place of a packet in the frame that it was captured in, with others that had not been cut off:
 * explain/packet/train.h. All zero: it was captured alone. */
struct explain_train {
    uint32_t packet; /* from 1 */
    uint32_t of;
};

/* The parts of a packet that the capture cut off, as with a snap length. */
struct explain_cut {
    /* The end behind the headers. The packet is read as if the rest had come: lengths in `roce` are those
     * on the wire, `roce.payload` must not be read, and the ICRC is not known. */
    bool is_end;
    /* The frame is longer than a packet may be: a train (explain/packet/train.h), of which less was
     * captured than its first packet and the BTH behind that. Its content is not known. */
    bool is_train;
    /* The AtomicETH, the longest of all headers, or the last header, immediate data or an R_Key: the values
     * in `roce` are 0 then. */
    bool is_operand;
};

/* The checksums of a packet as evidence. */
struct explain_checksum {
    bool is_only_udp;  /* DROP_UDP for this checksum alone: the ICRC, which does not cover it, was judged */
    bool is_ip_absent; /* IPv4: 0, as hosts show it with NICs that fill it in; it was not judged */
    bool is_only_ip;   /* DROP_IP for this checksum alone: all else in `roce` is as if it were right */
};

struct explain_packet {
    uint64_t number;  /* of its frame: from 1, over all files */
    uint64_t time_ns; /* since 1970 */
    const uint8_t *frame;
    uint32_t len_bytes, wire_bytes; /* captured, and on the wire */
    enum net_link link;
    uint32_t interface; /* as in struct net_capture_record */
    struct explain_train train;
    enum explain_kind kind;
    struct explain_layer layers[EXPLAIN_LAYERS_MAX];
    unsigned layer_count;
    struct explain_network network;
    uint16_t ethertype; /* of the content of the link, behind all tags and tunnels; 0: not known */
    /* The begin of the datagram that was found to be RoCE: an IP header or GRH, and its layer. */
    uint32_t l3_offset;
    unsigned l3_layer;
    unsigned inner_layer; /* the first layer behind the innermost tunnel; 0: no tunnel */
    /* RoCE: the engine's own view, by the tolerant profile with RoCEv1 on. */
    enum roce_rx_verdict verdict;
    struct explain_cut cut;
    struct explain_checksum checksum;
    struct roce_pkt roce;
    /* The bytes that no layer covers: a message's data, as far as it was captured. */
    uint32_t payload_offset, payload_bytes;
    /* Of a RoCE packet: the begin of the ICRC, one past all that it covers, padding included. With
     * explain_has_icrc() its bytes are in the frame. */
    uint32_t icrc_offset;
};

/* Takes a record apart; pointers lead into it. Never fails: a broken or cut packet has fewer layers, and a
 * verdict that says why. */
void explain_dissect(struct explain_packet *packet, const struct net_capture_record *record, uint64_t number);

#define EXPLAIN_LAYER_BYTES_MAX 256 /* of every header */

/* The packet's layer of that kind, from number `from` on; NULL: it has none there. */
static inline const struct explain_layer *explain_layer_from(const struct explain_packet *packet,
                                                             unsigned from, enum explain_layer_id id)
{
    for (unsigned i = from; i < packet->layer_count; i++)
        if (packet->layers[i].kind->id == id)
            return &packet->layers[i];
    return NULL;
}

static inline bool explain_layer_is_whole(const struct explain_layer *layer)
{
    return layer->len_bytes == layer->kind->header->len_bytes;
}

/* Whether the capture holds all bits of the field; `layer` is of its header. */
static inline bool explain_layer_holds(const struct explain_layer *layer, const struct net_field *field)
{
    return field->first_bit + field->width_bits <= layer->len_bytes * 8u;
}

/* Returns the same by name; false too if the header has no such field. */
bool explain_layer_has(const struct explain_layer *layer, const char *field);

/* Returns the bytes of a layer for a decoder of its header. Of a cut one they are copied to `room`, with
 * zeros for the missing bytes: fields that explain_layer_has() denies are not to be used. */
const uint8_t *explain_layer_bytes(const struct explain_packet *packet, const struct explain_layer *layer,
                                   uint8_t room[EXPLAIN_LAYER_BYTES_MAX]);

/* The value of an integer field of the i-th layer, which holds it; 0 for a byte string. */
uint64_t explain_field_value(const struct explain_packet *packet, unsigned layer,
                             const struct net_field *field);

/* The text of a field's value: the word for it, or hex, or an address. `size` of at least 80 does for every
 * field but private data. Returns `text`. */
const char *explain_field_text(const struct explain_packet *packet, unsigned layer,
                               const struct net_field *field, char *text, size_t size);

/* The form of a field's value that no word stands for. */
enum explain_form {
    EXPLAIN_FORM_DECIMAL,
    EXPLAIN_FORM_HEX, /* with all digits of its width */
    EXPLAIN_FORM_MAC,
    EXPLAIN_FORM_IPV4,
    EXPLAIN_FORM_ADDR, /* 16 bytes; an IPv4-mapped one as IPv4 */
    EXPLAIN_FORM_BYTES,
    EXPLAIN_FORM_TEXT, /* ASCII, filled up with blanks; as bytes if it is not that */
};
enum explain_form explain_field_form(enum explain_layer_id layer, const struct net_field *field);

/* "VXLAN 42"; "" without a tunnel. Returns `text`. */
#define EXPLAIN_NETWORK_STR_SIZE 32
const char *explain_network_text(const struct explain_network *network, char *text, size_t size);
static inline bool explain_network_equal(const struct explain_network *a, const struct explain_network *b)
{
    return a->tunnel == b->tunnel && a->id == b->id;
}

/* Returns whether the packet comes as far as its ICRC: roce.icrc_found and icrc_expected mean something. */
bool explain_has_icrc(const struct explain_packet *packet);

/* An ICRC of struct roce_pkt, as its four bytes travel (least significant first, ROCE-ICRC-3) and as every
 * dump shows them: to be written in hex. */
static inline uint32_t explain_icrc_on_wire(uint32_t icrc)
{
    return __builtin_bswap32(icrc);
}

/* Returns the rule that governs a field ("ROCE-HDR-5", "IBA 9.2"); NULL if none is on record. */
const char *explain_field_rule(enum explain_layer_id layer, const struct net_field *field);

/* The same for a layer of a packet: RoCE's rules do not govern the Ethernet, IP and UDP headers of others,
 * nor those of a tunnel around it. */
const char *explain_packet_rule(const struct explain_packet *packet, unsigned layer,
                                const struct net_field *field);

/* Returns whether the parser refuses the packet for a field of its i-th layer. */
bool explain_field_offends(const struct explain_packet *packet, unsigned layer,
                           const struct net_field *field);

#endif
