/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash-1-3: one round for each word, three at the end. Aumasson and Bernstein, "SipHash: a fast
 * short-input PRF", 2012. */
#include "base/hash.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/random.h>

static struct {
    pthread_once_t once;
    uint64_t key[2];
} process = {.once = PTHREAD_ONCE_INIT};

static void draw(void)
{
    /* AT_RANDOM has 16 bytes that the kernel drew for this process: for a sandbox without getrandom(). */
    const void *drawn = (const void *)getauxval(AT_RANDOM); /* NOLINT(performance-no-int-to-ptr) */
    if (getrandom(process.key, sizeof process.key, GRND_NONBLOCK) != sizeof process.key && drawn)
        memcpy(process.key, drawn, sizeof process.key);
}

struct sip {
    uint64_t v[4];
};

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

/* One SipRound: additions, rotations and exclusive ors of the four words of the state. */
static void round_of(struct sip *s)
{
    s->v[0] += s->v[1];
    s->v[2] += s->v[3];
    s->v[1] = rotate(s->v[1], 13) ^ s->v[0];
    s->v[3] = rotate(s->v[3], 16) ^ s->v[2];
    s->v[0] = rotate(s->v[0], 32);
    s->v[2] += s->v[1];
    s->v[0] += s->v[3];
    s->v[1] = rotate(s->v[1], 17) ^ s->v[2];
    s->v[3] = rotate(s->v[3], 21) ^ s->v[0];
    s->v[2] = rotate(s->v[2], 32);
}

static struct sip begin(const uint64_t key[2])
{
    return (struct sip){{key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                         key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)}};
}

static void take(struct sip *s, uint64_t word)
{
    s->v[3] ^= word;
    round_of(s);
    s->v[0] ^= word;
}

static void take_bytes(struct sip *s, const uint8_t *bytes, size_t n, size_t before)
{
    uint64_t word, last = (uint64_t)(before + n) << 56;
    for (; n >= 8; n -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        take(s, word);
    }
    for (size_t i = 0; i < n; i++)
        last |= (uint64_t)bytes[i] << 8 * i;
    take(s, last);
}

static uint64_t end(struct sip *s)
{
    s->v[2] ^= 0xff;
    for (unsigned i = 0; i < 3; i++)
        round_of(s);
    return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

uint64_t hash_siphash13(const uint64_t key[2], const uint8_t *bytes, size_t n)
{
    struct sip s = begin(key);
    take_bytes(&s, bytes, n, 0);
    return end(&s);
}

uint64_t hash_keyed_bytes(uint64_t hash, const uint8_t *bytes, size_t n)
{
    pthread_once(&process.once, draw);
    struct sip s = begin(process.key);
    take(&s, hash);
    take_bytes(&s, bytes, n, sizeof hash);
    return end(&s);
}

uint64_t hash_keyed_word(uint64_t hash, uint64_t word)
{
    pthread_once(&process.once, draw);
    struct sip s = begin(process.key);
    take(&s, hash);
    take(&s, word);
    take_bytes(&s, NULL, 0, sizeof hash + sizeof word);
    return end(&s);
}
