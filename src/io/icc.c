/* SPDX-License-Identifier: MIT */
#include "io/icc.h"

#include "base/alloc.h"
#include "base/integers.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

enum {
    HEADER_BYTES = 128,
    TAG_BYTES = 12, /* of a row of the table of tags: signature, offset, size */
    MAX_TAGS = 1024,
    N_CURVE = 1024 /* entries of a curve that is written */
};

static uint32_t get16(const unsigned char *p) { return (uint32_t)p[0] << 8 | p[1]; }
static double get_fixed(const unsigned char *p) { return (double)(int32_t)ip_get32(p) / 65536; }

static void put16(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)(v >> 8);
    p[1] = (unsigned char)v;
}

static void put32(unsigned char *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v);
}

static void put_fixed(unsigned char *p, double v) { put32(p, (uint32_t)(int32_t)lround(v * 65536)); }

/* ---- reading ---------------------------------------------------------------------------- */

bool ip_icc_is_whole(const unsigned char *icc, size_t n)
{
    if (n < HEADER_BYTES + 4 || ip_get32(icc) != n || memcmp(icc + 36, "acsp", 4) != 0) return false;
    const uint32_t n_tags = ip_get32(icc + HEADER_BYTES);
    if (n_tags > MAX_TAGS || n_tags * TAG_BYTES > n - HEADER_BYTES - 4) return false;
    for (uint32_t k = 0; k < n_tags; k++) {
        const unsigned char *tag = icc + HEADER_BYTES + 4 + k * TAG_BYTES;
        const uint32_t offset = ip_get32(tag + 4), size = ip_get32(tag + 8);
        if (offset > n || size > n - offset) return false;
    }
    return true;
}

bool ip_icc_check(const unsigned char *icc, size_t n, bool *is_gray)
{
    if (!ip_icc_is_whole(icc, n)) return false;
    *is_gray = memcmp(icc + 16, "GRAY", 4) == 0;
    return *is_gray || memcmp(icc + 16, "RGB ", 4) == 0;
}

/* The data of a tag of a checked profile, NULL where it has none or one shorter than `least`. */
static const unsigned char *find_tag(const unsigned char *icc, const char *signature, size_t least, size_t *n)
{
    const uint32_t n_tags = ip_get32(icc + HEADER_BYTES);
    for (uint32_t k = 0; k < n_tags; k++) {
        const unsigned char *tag = icc + HEADER_BYTES + 4 + k * TAG_BYTES;
        if (memcmp(tag, signature, 4) != 0) continue;
        *n = ip_get32(tag + 8);
        return *n < least ? NULL : icc + ip_get32(tag + 4);
    }
    return NULL;
}

/* A UTF-16 unit as printable UTF-8; what is outside the basic plane becomes '?'. */
static void append_unit(ip_str *s, uint32_t unit)
{
    if (unit < 0x20 || unit == 0x7f || (unit >= 0x80 && unit < 0xa0) || (unit >= 0xd800 && unit < 0xe000)) unit = '?';
    if (unit < 0x80) {
        ip_str_putc(s, (char)unit);
    } else if (unit < 0x800) {
        ip_str_putc(s, (char)(0xc0 | unit >> 6));
        ip_str_putc(s, (char)(0x80 | (unit & 63)));
    } else {
        ip_str_putc(s, (char)(0xe0 | unit >> 12));
        ip_str_putc(s, (char)(0x80 | (unit >> 6 & 63)));
        ip_str_putc(s, (char)(0x80 | (unit & 63)));
    }
}

/* Version 2 has ASCII behind its length, version 4 the first of its translations in UTF-16. */
static void append_description(ip_str *s, const unsigned char *tag, size_t n)
{
    enum { MOST = 60 };
    if (memcmp(tag, "desc", 4) == 0) {
        for (size_t k = 12, end = n; k < end && tag[k] && s->length < MOST; k++)
            append_unit(s, tag[k] < 0x80 ? tag[k] : '?');
    } else if (memcmp(tag, "mluc", 4) == 0 && n >= 28 && ip_get32(tag + 8) > 0) {
        const uint32_t length = ip_get32(tag + 20), offset = ip_get32(tag + 24);
        if (offset > n || length > n - offset) return;
        for (uint32_t k = 0; k + 1 < length && s->length < MOST; k += 2)
            if (get16(tag + offset + k)) append_unit(s, get16(tag + offset + k));
    }
}

void ip_icc_name(const unsigned char *icc, size_t n, char name[64])
{
    ip_str s = IP_STR_INIT;
    const unsigned char *tag = find_tag(icc, "desc", 12, &n);
    if (tag) append_description(&s, tag, n);
    const size_t length = s.failed ? 0 : s.length;
    memcpy(name, length ? s.text : "unnamed profile", length ? length + 1 : sizeof "unnamed profile");
    ip_str_free(&s);
}

/* The value of sRGB's curve: light for a number of 0 to 1. */
static double srgb_light(double v) { return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4); }

/* The five kinds of parametric curves; p: their parameters g a b c d e f. */
static double parametric(uint32_t kind, const double p[7], double v)
{
    const double g = p[0], a = p[1], b = p[2], c = p[3], d = p[4], e = p[5], f = p[6];
    switch (kind) {
    case 0: return pow(v, g);
    case 1: return v >= -b / a ? pow(a * v + b, g) : 0;
    case 2: return v >= -b / a ? pow(a * v + b, g) + c : c;
    case 3: return v >= d ? pow(a * v + b, g) : c * v;
    default: return v >= d ? pow(a * v + b, g) + e : c * v + f;
    }
}

/* The light that a curve of type curv or para gives; false where it is neither. */
static bool curve_light(const unsigned char *tag, size_t n, double v, double *light)
{
    static const size_t n_params[] = { 1, 3, 4, 5, 7 };
    if (memcmp(tag, "curv", 4) == 0) {
        const uint32_t count = ip_get32(tag + 8);
        if (count > (n - 12) / 2) return false;
        if (count < 2) {
            *light = count ? pow(v, get16(tag + 12) / 256.0) : v;
            return true;
        }
        const double at = v * (count - 1);
        const uint32_t low = at >= count - 1 ? count - 2 : (uint32_t)at;
        const double y0 = get16(tag + 12 + 2 * (size_t)low), y1 = get16(tag + 14 + 2 * (size_t)low);
        *light = (y0 + (y1 - y0) * (at - low)) / 65535;
        return true;
    }
    const uint32_t kind = get16(tag + 8);
    double p[7] = { 0 };
    if (memcmp(tag, "para", 4) != 0 || kind > 4 || (n - 12) / 4 < n_params[kind]) return false;
    for (size_t k = 0; k < n_params[kind]; k++)
        p[k] = get_fixed(tag + 12 + 4 * k);
    *light = parametric(kind, p, v);
    return true;
}

static bool is_srgb_curve(const unsigned char *icc, const char *signature)
{
    size_t n;
    const unsigned char *tag = find_tag(icc, signature, 12, &n);
    for (int k = 1; tag && k < 16; k++) {
        double light;
        if (!curve_light(tag, n, k / 16.0, &light) || !(fabs(light - srgb_light(k / 16.0)) < 0.01)) return false;
    }
    return tag != NULL;
}

bool ip_icc_is_srgb(const unsigned char *icc, size_t n)
{
    static const struct {
        const char *colorant, *curve;
        double xyz[3];
    } rows[] = {
        /* IEC 61966-2-1, adapted to D50 */
        { "rXYZ", "rTRC", { 0.4361, 0.2225, 0.0139 } },
        { "gXYZ", "gTRC", { 0.3851, 0.7169, 0.0971 } },
        { "bXYZ", "bTRC", { 0.1431, 0.0606, 0.7141 } },
    };
    if (memcmp(icc + 16, "GRAY", 4) == 0) return is_srgb_curve(icc, "kTRC");
    if (find_tag(icc, "A2B0", 0, &n)) return false; /* a table, which counts before the matrix */
    for (int k = 0; k < 3; k++) {
        const unsigned char *tag = find_tag(icc, rows[k].colorant, 20, &n);
        for (int i = 0; tag && i < 3; i++)
            if (!(fabs(get_fixed(tag + 8 + 4 * i) - rows[k].xyz[i]) < 0.01)) return false;
        if (!tag || !is_srgb_curve(icc, rows[k].curve)) return false;
    }
    return true;
}

/* ---- making ------------------------------------------------------------------------------ */

typedef struct matrix {
    double m[3][3];
} matrix;

static matrix product(const matrix *a, const matrix *b)
{
    matrix r;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r.m[i][j] = a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j] + a->m[i][2] * b->m[2][j];
    return r;
}

/* Cramer's rule; false where there is no inverse. */
static bool invert(const matrix *a, matrix *r)
{
    double det = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            r->m[j][i] = a->m[i1][j1] * a->m[i2][j2] - a->m[i1][j2] * a->m[i2][j1];
        }
    for (int j = 0; j < 3; j++)
        det += a->m[0][j] * r->m[j][0];
    for (int i = 0; i < 9; i++)
        r->m[i / 3][i % 3] /= det;
    return fabs(det) > 1e-6;
}

static void apply(const matrix *a, const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = a->m[i][0] * v[0] + a->m[i][1] * v[1] + a->m[i][2] * v[2];
}

/* The XYZ of x, y and light 1; false where y is 0. */
static bool xyz_of(const uint32_t xy[2], double xyz[3])
{
    const double x = xy[0] / 100000.0, y = xy[1] / 100000.0;
    xyz[0] = x / y;
    xyz[1] = 1;
    xyz[2] = (1 - x - y) / y;
    return xy[1] > 0;
}

/* From numbers of light in red, green and blue to XYZ under D50: columns are the colorants of the profile. */
static bool colorants(const uint32_t primaries[8], matrix *out)
{
    static const matrix bradford = {
        { { 0.8951, 0.2664, -0.1614 }, { -0.7502, 1.7135, 0.0367 }, { 0.0389, -0.0685, 1.0296 } }
    };
    static const double d50[3] = { 0.9642, 1, 0.8249 };
    double white[3], column[3], strength[3], from[3], to[3];
    matrix rgb, inverse, cones, adapt = { { { 0 } } };
    bool is_possible = xyz_of(primaries, white);
    for (int k = 0; k < 3; k++) {
        is_possible = is_possible && xyz_of(primaries + 2 + 2 * k, column);
        for (int i = 0; i < 3 && is_possible; i++)
            rgb.m[i][k] = column[i];
    }
    if (!is_possible || !invert(&rgb, &inverse)) return false;
    apply(&inverse, white, strength);
    for (int i = 0; i < 9; i++)
        rgb.m[i / 3][i % 3] *= strength[i % 3];
    apply(&bradford, white, from);
    apply(&bradford, d50, to);
    for (int k = 0; k < 3; k++) {
        if (!(from[k] > 1e-6)) return false;
        adapt.m[k][k] = to[k] / from[k];
    }
    invert(&bradford, &cones);
    adapt = product(&adapt, &bradford);
    adapt = product(&cones, &adapt);
    *out = product(&adapt, &rgb);
    for (int i = 0; i < 9; i++)
        if (!(fabs(out->m[i / 3][i % 3]) < 16)) return false;
    return true;
}

bool ip_icc_is_possible(const uint32_t primaries[8])
{
    matrix m;
    return colorants(primaries, &m);
}

/* A profile that is being written: tags are appended behind a table with room for n_tags. */
typedef struct builder {
    unsigned char *bytes;
    size_t n;
    uint32_t n_tags;
} builder;

/* A tag of size bytes, a multiple of 4, to be filled in. */
static unsigned char *add_tag(builder *b, const char *signature, const char *type, size_t size)
{
    unsigned char *row = b->bytes + HEADER_BYTES + 4 + b->n_tags++ * TAG_BYTES, *tag = b->bytes + b->n;
    memcpy(row, signature, 4);
    put32(row + 4, (uint32_t)b->n);
    put32(row + 8, (uint32_t)size);
    memcpy(tag, type, 4);
    b->n += size;
    return tag;
}

static void add_xyz(builder *b, const char *signature, double x, double y, double z)
{
    unsigned char *tag = add_tag(b, signature, "XYZ ", 20);
    put_fixed(tag + 8, x);
    put_fixed(tag + 12, y);
    put_fixed(tag + 16, z);
}

/* The curve from numbers to light; exponents of less than 256 are one number. */
static void add_curve(builder *b, const char *signature, uint32_t gamma)
{
    const double exponent = gamma ? 100000.0 / gamma : 0;
    if (gamma && exponent < 255) {
        unsigned char *tag = add_tag(b, signature, "curv", 16);
        put32(tag + 8, 1);
        put16(tag + 12, (uint32_t)lround(exponent * 256));
        return;
    }
    unsigned char *tag = add_tag(b, signature, "curv", 12 + 2 * N_CURVE);
    put32(tag + 8, N_CURVE);
    for (int k = 0; k < N_CURVE; k++) {
        const double v = k / (N_CURVE - 1.0);
        put16(tag + 12 + 2 * k, (uint32_t)lround(65535 * (gamma ? pow(v, exponent) : srgb_light(v))));
    }
}

static void add_texts(builder *b, const char *name)
{
    const size_t n = strlen(name) + 1;
    unsigned char *tag = add_tag(b, "desc", "desc", (12 + n + 78 + 3) / 4 * 4); /* 78: no translations */
    put32(tag + 8, (uint32_t)n);
    memcpy(tag + 12, name, n);
    static const char nobody[] = "no copyright, use freely";
    tag = add_tag(b, "cprt", "text", 8 + (sizeof nobody + 3) / 4 * 4);
    memcpy(tag + 8, nobody, sizeof nobody);
}

static void fill_header(builder *b, bool is_gray)
{
    /* the first of January 2000: equal profiles are equal bytes */
    static const unsigned char date[12] = { 7, 0xd0, 0, 1, 0, 1 };
    unsigned char *p = b->bytes;
    put32(p, (uint32_t)b->n);
    put32(p + 8, 0x02100000);
    memcpy(p + 12, "mntr", 4);
    memcpy(p + 16, is_gray ? "GRAY" : "RGB ", 4);
    memcpy(p + 20, "XYZ ", 4);
    memcpy(p + 24, date, sizeof date);
    memcpy(p + 36, "acsp", 4);
    put_fixed(p + 68, 0.9642);
    put_fixed(p + 72, 1);
    put_fixed(p + 76, 0.8249);
    put32(p + HEADER_BYTES, b->n_tags);
}

imgpar_status ip_icc_make(uint32_t gamma, const uint32_t primaries[8], const char *name, ip_blob *icc, ip_error *err)
{
    static const char *const letters[] = { "r", "g", "b" };
    const uint32_t n_tags = primaries ? 9 : 4;
    matrix m;
    if (primaries && !colorants(primaries, &m))
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "the chromaticities of \"%s\" span no colours", name);
    builder b = { .n = HEADER_BYTES + 4 + n_tags * TAG_BYTES };
    b.bytes = ip_zalloc(b.n + 1024 + (primaries ? 3 : 1) * (12 + 2 * N_CURVE));
    if (!b.bytes) return ip_fail_memory(err, "making a colour profile");
    add_texts(&b, name);
    add_xyz(&b, "wtpt", 0.9642, 1, 0.8249);
    for (int k = 0; primaries && k < 3; k++) {
        char signature[5] = "?XYZ", curve[5] = "?TRC";
        signature[0] = curve[0] = letters[k][0];
        add_xyz(&b, signature, m.m[0][k], m.m[1][k], m.m[2][k]);
        add_curve(&b, curve, gamma);
    }
    if (!primaries) add_curve(&b, "kTRC", gamma);
    fill_header(&b, !primaries);
    *icc = (ip_blob){ b.bytes, b.n };
    return IMGPAR_OK;
}
