/* SPDX-License-Identifier: MIT */
#include "io/metadata.h"

#include "base/alloc.h"
#include "io/icc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the object -------------------------------------------------------------------------- */

ip_metadata *ip_metadata_new(ip_metadata *contents)
{
    ip_metadata *m = ip_alloc(sizeof *m);
    if (!m) {
        ip_metadata_clear(contents);
        return NULL;
    }
    m->colour = contents->colour;
    m->resolution = contents->resolution;
    m->exif = contents->exif;
    m->xmp = contents->xmp;
    m->xmp_extension = contents->xmp_extension;
    memcpy(m->xmp_digest, contents->xmp_digest, sizeof m->xmp_digest);
    m->iptc = contents->iptc;
    atomic_init(&m->refs, 1);
    memset(contents, 0, sizeof *contents);
    return m;
}

ip_metadata *ip_metadata_retain(ip_metadata *m)
{
    if (m) atomic_fetch_add(&m->refs, 1);
    return m;
}

void ip_metadata_release(ip_metadata *m)
{
    if (!m || atomic_fetch_sub(&m->refs, 1) != 1) return;
    ip_metadata_clear(m);
    ip_free(m);
}

void ip_metadata_clear(ip_metadata *contents)
{
    ip_free(contents->colour.icc.bytes);
    ip_free(contents->exif.bytes);
    ip_free(contents->xmp.bytes);
    ip_free(contents->xmp_extension.bytes);
    ip_free(contents->iptc.bytes);
    memset(contents, 0, sizeof *contents);
}

bool ip_blob_copy(ip_blob *blob, const void *bytes, size_t n)
{
    *blob = (ip_blob){ ip_alloc(n), n };
    if (blob->bytes)
        memcpy(blob->bytes, bytes, n);
    else
        blob->n = 0;
    return blob->bytes != NULL;
}

/* ---- colours ------------------------------------------------------------------------------- */

static bool is_near(uint32_t a, uint32_t b, uint32_t most) { return (a > b ? a - b : b - a) <= most; }

static const struct primaries {
    unsigned char cicp;
    const char *name;
    uint32_t xy[8];
} known_primaries[] = {
    { 1, "sRGB", { 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000 } },
    { 12, "Display P3", { 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000 } },
    { 9, "BT.2020", { 31270, 32900, 70800, 29200, 17000, 79700, 13100, 4600 } },
    { 0, "Adobe RGB", { 31270, 32900, 64000, 33000, 21000, 71000, 15000, 6000 } },
};
enum { N_PRIMARIES = sizeof known_primaries / sizeof *known_primaries };

static const struct primaries *find_primaries(const uint32_t xy[8])
{
    for (int k = 0; k < N_PRIMARIES; k++) {
        bool is_same = true;
        for (int i = 0; i < 8; i++)
            is_same = is_same && is_near(xy[i], known_primaries[k].xy[i], 500);
        if (is_same) return &known_primaries[k];
    }
    return NULL;
}

/* Encoded with sRGB's curve, or with the power of 1/2.2 that stands for it. */
static bool is_srgb_gamma(uint32_t gamma) { return is_near(gamma, 45455, 600); }

static void name_cicp(ip_colour *c)
{
    const char *primaries = NULL;
    const char *transfer = c->cicp[1] == 13 ? "" : c->cicp[1] == 16 ? " PQ" : c->cicp[1] == 18 ? " HLG" : NULL;
    for (int k = 0; k < N_PRIMARIES; k++)
        if (known_primaries[k].cicp && known_primaries[k].cicp == c->cicp[0]) primaries = known_primaries[k].name;
    c->is_srgb = c->cicp[0] == 1 && c->cicp[1] == 13;
    if (primaries && transfer)
        snprintf(c->name, sizeof c->name, "%s%s", primaries, transfer);
    else
        snprintf(c->name, sizeof c->name, "cICP %d/%d", c->cicp[0], c->cicp[1]);
}

static void name_gamma(ip_colour *c)
{
    const struct primaries *known = c->has_primaries ? find_primaries(c->primaries) : known_primaries;
    const bool is_plain = !c->has_gamma || is_srgb_gamma(c->gamma);
    char name[40];
    snprintf(name, sizeof name, "%s", known ? known->name : "other primaries");
    c->is_srgb = is_plain && known == known_primaries;
    if (is_plain)
        snprintf(c->name, sizeof c->name, "%s", name);
    else
        snprintf(c->name, sizeof c->name, "%s, gamma %.3g", name, 100000.0 / c->gamma);
}

/* Where a file tells several, what it tells best counts: in the order of the PNG specification. */
void ip_colour_settle(ip_colour *c)
{
    if (c->has_cicp) {
        name_cicp(c);
    } else if (c->icc.bytes) {
        ip_icc_name(c->icc.bytes, c->icc.n, c->name);
        c->is_srgb = ip_icc_is_srgb(c->icc.bytes, c->icc.n);
    } else if (!c->has_srgb && (c->has_gamma || c->has_primaries)) {
        name_gamma(c);
    } else {
        c->is_srgb = true;
        snprintf(c->name, sizeof c->name, "%s", c->has_srgb ? "sRGB" : "");
    }
}

/* Of the header what profiles are for; the rest of it tells when and by whom they were made. */
static bool same_icc(const ip_blob *a, const ip_blob *b)
{
    enum { KIND = 12, N_KIND = 12, BODY = 128 };
    return a->n == b->n && memcmp(a->bytes + KIND, b->bytes + KIND, N_KIND) == 0 &&
           memcmp(a->bytes + BODY, b->bytes + BODY, a->n - BODY) == 0;
}

bool ip_colour_same(const ip_colour *a, const ip_colour *b)
{
    if (a->is_srgb || b->is_srgb) return a->is_srgb == b->is_srgb;
    if (a->has_cicp || b->has_cicp) return a->has_cicp && b->has_cicp && memcmp(a->cicp, b->cicp, sizeof a->cicp) == 0;
    if (a->icc.bytes || b->icc.bytes) return a->icc.bytes && b->icc.bytes && same_icc(&a->icc, &b->icc);
    if (a->has_gamma != b->has_gamma || a->has_primaries != b->has_primaries) return false;
    return (!a->has_gamma || a->gamma == b->gamma) &&
           (!a->has_primaries || memcmp(a->primaries, b->primaries, sizeof a->primaries) == 0);
}

bool ip_colour_is_told(const ip_colour *c)
{
    return c->icc.bytes || c->has_srgb || c->has_gamma || c->has_primaries || c->has_cicp;
}

/* cICP: a profile for those with the curve of sRGB. */
static imgpar_status profile_of_cicp(const ip_colour *c, bool is_gray, ip_blob *icc, bool *is_made, ip_error *err)
{
    enum { SRGB_CURVE = 13 };
    for (int k = 0; k < N_PRIMARIES && c->cicp[1] == SRGB_CURVE; k++) {
        if (!known_primaries[k].cicp || known_primaries[k].cicp != c->cicp[0]) continue;
        *is_made = !is_gray;
        return is_gray ? IMGPAR_OK : ip_icc_make(0, known_primaries[k].xy, c->name, icc, err);
    }
    return ip_fail(err, IMGPAR_E_UNSUPPORTED,
                   "jpeg: the picture is tagged \"%s\", which no profile of a JPEG tells; png holds it", c->name);
}

imgpar_status ip_colour_profile(const ip_colour *c, bool is_gray, ip_blob *icc, bool *is_made, ip_error *err)
{
    *icc = (ip_blob){ NULL, 0 };
    *is_made = false;
    if (c->icc.bytes && c->is_icc_gray == is_gray) {
        *icc = c->icc;
        return IMGPAR_OK;
    }
    if (c->has_cicp) return c->is_srgb ? IMGPAR_OK : profile_of_cicp(c, is_gray, icc, is_made, err);
    const bool has_gamma = c->has_gamma && !is_srgb_gamma(c->gamma);
    const bool has_primaries = c->has_primaries && !is_gray && find_primaries(c->primaries) != known_primaries;
    if (c->has_srgb || (!has_gamma && !has_primaries)) return IMGPAR_OK;
    ip_colour tagged = *c;
    tagged.icc = (ip_blob){ NULL, 0 };
    ip_colour_settle(&tagged);
    *is_made = true;
    return ip_icc_make(c->has_gamma ? c->gamma : 0,
                       is_gray            ? NULL
                       : c->has_primaries ? c->primaries
                                          : known_primaries[0].xy,
                       tagged.name, icc, err);
}

const char *ip_metadata_colour_name(const ip_metadata *m, char *buf)
{
    if (m && m->colour.name[0])
        snprintf(buf, 96, "\"%s\"", m->colour.name);
    else
        snprintf(buf, 96, "none (taken for sRGB)");
    return buf;
}
