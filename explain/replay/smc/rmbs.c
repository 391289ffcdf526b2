/* SPDX-License-Identifier: BSD-2-Clause */
/* The peer's RMBs: each has a key and an address on every link of its group. The CLC message of a connection
 * tells of one link, CONFIRM RKEY, ADD LINK CONTINUATION and, in version 2, ADD LINK tell of the others. */
#include "explain/replay/smc/rmbs.h"

#include <errno.h>

#include "base/array.h"
#include "explain/replay/smc/keys.h"
#include "explain/replay/smc/who.h"
#include "net/bytes.h"

static int add(struct smcplay *s, unsigned id, const struct smcplay_link *link, uint32_t rkey, uint64_t va)
{
    struct smcplay_rmb *rmbs = array_room(s->rmbs, &s->rmb_cap, s->rmb_count + 1, sizeof *rmbs);
    if (!rmbs)
        return -ENOMEM;
    s->rmbs = rmbs;
    s->rmbs[s->rmb_count++] = (struct smcplay_rmb){.id = id, .link = link, .place = {rkey, va}};
    return 0;
}

/* The newest that has the key there: keys are used again. */
static const struct smcplay_rmb *find(const struct smcplay *s, const struct smcplay_link *link, uint32_t rkey)
{
    for (size_t i = s->rmb_count; i-- > 0;)
        if (s->rmbs[i].link == link && s->rmbs[i].place.rkey == rkey)
            return &s->rmbs[i];
    return NULL;
}

int smcplay_rmb_of(struct smcplay *s, const struct smcplay_link *link, uint32_t rkey, uint64_t va,
                   unsigned *id)
{
    const struct smcplay_rmb *known = find(s, link, rkey);
    if (known && known->place.va == va) {
        *id = known->id;
        return 0;
    }
    *id = (unsigned)s->rmb_count + 1;
    return add(s, *id, link, rkey, va);
}

static const struct smcplay_link *by_number(const struct smcplay *s, unsigned group, uint8_t number)
{
    for (unsigned i = s->link_count; i-- > 0;)
        if (s->links[i].group == group && s->links[i].number == number)
            return &s->links[i];
    return NULL;
}

/* Those of a message that names the links: `id`, or 0: the reference key before each says which RMB it is. */
static int learn_places(struct smcplay *s, const struct smcplay_link *via, const uint8_t *message,
                        unsigned id)
{
    unsigned count;
    const struct smcplay_key_place *at = smcplay_key_places(message, &count);
    int err = 0;
    for (unsigned i = 0; i < count && !err; i++) {
        uint32_t rkey = get_be32(message + at[i].rkey_at);
        const struct smcplay_link *link =
            at[i].link_at ? by_number(s, via->group, message[at[i].link_at]) : NULL;
        const struct smcplay_rmb *known = id ? NULL : find(s, via, get_be32(message + at[i].rkey_at - 4));
        if (rkey != 0 && link && (id || known))
            err = add(s, id ? id : known->id, link, rkey, get_be64(message + at[i].va_at));
    }
    return err;
}

/* Version 2 tells of the new link in the message that begins it. */
static int learn_rtokens(struct smcplay *s, const struct smcplay_link *via, const uint8_t *message)
{
    const struct smcplay_link *link = by_number(s, via->group, smcplay_add_link(message).link);
    int err = 0;
    for (unsigned i = 0; i < smcplay_rtokens(message) && link && !err; i++) {
        struct smcr_rtoken2 token = smcplay_rtoken(message, i);
        const struct smcplay_rmb *known = find(s, via, token.reference_rkey);
        if (known)
            err = add(s, known->id, link, token.rkey, token.va);
    }
    return err;
}

int smcplay_rmbs_learn(struct smcplay *s, const struct smcplay_link *via, const uint8_t *message)
{
    bool is_response = net_bits_get(message, SMCR_LLC_RESPONSE_BIT, 1);
    int err = 0;
    switch (smcplay_type(message)) {
    case SMCR_LLC_ADD_LINK:
        return smcr_llc_is_v2(message[0]) ? learn_rtokens(s, via, message) : 0;
    case SMCR_LLC_ADD_LINK_CONT:
        return learn_places(s, via, message, 0);
    case SMCR_LLC_CONFIRM_RKEY:
        if (!is_response)
            err = smcplay_rmb_of(s, via, get_be32(message + 5), get_be64(message + 9), &s->confirmed_rmb);
        return err || is_response ? err : learn_places(s, via, message, s->confirmed_rmb);
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        return is_response ? 0 : learn_places(s, via, message, s->confirmed_rmb);
    }
    return 0;
}

bool smcplay_place_of(const struct smcplay *s, const struct smcplay_conn *c, const struct smcplay_link *link,
                      struct smcplay_place *out)
{
    for (size_t i = s->rmb_count; i-- > 0;)
        if (s->rmbs[i].id == c->rmb && s->rmbs[i].link == link) {
            *out = s->rmbs[i].place;
            out->va += c->elem_at;
            return true;
        }
    return false;
}
