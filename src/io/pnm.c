/* SPDX-License-Identifier: MIT */
/*
 * The portable anymaps P1-P6 (ASCII and binary bitmaps, graymaps, pixmaps) and
 * P7 (PAM). Samples are scaled to the whole range of u8, or of u16 where maxval
 * is above 255; a bitmap's 1 is black. Written are P5, P6, and P7 for alpha.
 */
#include "io/codec.h"

#include "base/alloc.h"

#include <string.h>

enum { MAX_LINE = 256 };

typedef struct map {
    const ip_source *s;
    ip_error *err;
    const unsigned char *at, *end;
    int kind; /* 1..7 */
    uint32_t width, height, depth, maxval;
    uint16_t *samples;      /* a row's */
    bool is_above, is_over; /* a sample was above maxval; the data ended */
} map;

static bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool ip_pnm_sniff(const unsigned char *bytes, size_t n)
{
    return n >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7' && (is_space(bytes[2]) || bytes[2] == '#');
}

static imgpar_status bad(map *m, const char *what)
{
    return ip_fail(m->err, IMGPAR_E_CORRUPT, "%s: PNM: %s", m->s->name, what);
}

/* ---- headers ---------------------------------------------------------------------- */

/* A comment runs from # to the end of its line. */
static void skip_space(map *m)
{
    for (bool is_comment = false; m->at < m->end; m->at++) {
        if (*m->at == '\n')
            is_comment = false;
        else if (*m->at == '#')
            is_comment = true;
        else if (!is_comment && !is_space(*m->at))
            return;
    }
}

static bool take_number(map *m, uint32_t *value)
{
    uint64_t v = 0;
    skip_space(m);
    const unsigned char *start = m->at;
    for (; m->at < m->end && *m->at >= '0' && *m->at <= '9'; m->at++)
        if ((v = v * 10 + (*m->at - '0')) > UINT32_MAX) return false;
    *value = (uint32_t)v;
    return m->at > start;
}

static imgpar_status read_pnm_header(map *m)
{
    const bool is_bitmap = m->kind == 1 || m->kind == 4, is_binary = m->kind >= 4;
    m->depth = m->kind == 3 || m->kind == 6 ? 3 : 1;
    m->maxval = 1;
    if (!take_number(m, &m->width) || !take_number(m, &m->height) || (!is_bitmap && !take_number(m, &m->maxval)))
        return bad(m, "its header is not the numbers it must be");
    if (!is_binary) /* the head of a file may end within a number */
        return m->at == m->end && m->s->n < m->s->total ? bad(m, "its header ends early") : IMGPAR_OK;
    /* One white-space byte, before which a comment may stand, ends the header. */
    if (m->at < m->end && *m->at == '#')
        while (m->at < m->end && *m->at != '\n')
            m->at++;
    if (m->at >= m->end || !is_space(*m->at)) return bad(m, "its header ends early");
    m->at++;
    return IMGPAR_OK;
}

/* The next line without its newline; false at the end of the data or when it is too long. */
static bool take_line(map *m, char line[MAX_LINE])
{
    const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!end) return false;
    size_t n = (size_t)(end - m->at);
    if (*m->at == '#') n = 0;
    if (n >= MAX_LINE) return false;
    memcpy(line, m->at, n);
    line[n] = '\0';
    m->at = end + 1;
    return true;
}

static imgpar_status read_pam_header(map *m)
{
    const struct {
        const char *name;
        uint32_t *value;
    } keys[] = {
        { "WIDTH", &m->width },
        { "HEIGHT", &m->height },
        { "DEPTH", &m->depth },
        { "MAXVAL", &m->maxval },
    };
    char line[MAX_LINE];
    while (take_line(m, line)) {
        size_t n = strcspn(line, " \t\r");
        if (n == 6 && memcmp(line, "ENDHDR", 6) == 0) return IMGPAR_OK;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            if (strlen(keys[k].name) != n || memcmp(line, keys[k].name, n) != 0) continue;
            map number = *m;
            number.at = (const unsigned char *)line + n;
            number.end = (const unsigned char *)line + strlen(line);
            if (!take_number(&number, keys[k].value)) return bad(m, "its header has a line without a number");
        }
    }
    return bad(m, "its header ends early");
}

/* Text has no place where a row begins. */
static bool has_rows(const map *m) { return m->kind >= 4; }

static imgpar_status read_header(map *m, ip_header *header)
{
    m->kind = m->at[1] - '0';
    m->at += 2;
    if (m->kind == 7) {
        char line[MAX_LINE];
        if (!take_line(m, line)) return bad(m, "its header ends early");
    }
    imgpar_status st = m->kind == 7 ? read_pam_header(m) : read_pnm_header(m);
    if (st) return st;
    if (m->width == 0 || m->height == 0 || m->depth == 0) return bad(m, "its header lacks a size, or has one of 0");
    if (m->maxval == 0) return bad(m, "its header lacks a maximum, or has one of 0");
    if (m->maxval > 65535) return bad(m, "its maximum is above 65535");
    if (m->depth > 4)
        return ip_fail(m->err, IMGPAR_E_UNSUPPORTED, "%s: PNM: %u channels are not supported, only 1-4", m->s->name,
                       m->depth);
    st = ip_source_check_size(m->s, m->width, m->height, has_rows(m), m->err);
    if (st) return st;
    ip_header_picture(header, IP_FORMAT_PNM, m->maxval > 255 ? IMGPAR_U16 : IMGPAR_U8, m->width, m->height,
                      (int)m->depth, 1);
    return IMGPAR_OK;
}

/* ---- samples ------------------------------------------------------------------------ */

/* How many samples of a row could be read, and whether one was above maxval. */
typedef struct row_result {
    uint32_t n;
    bool is_above;
} row_result;

static row_result read_text_row(map *m, uint16_t *row, uint32_t n)
{
    row_result r = { 0, false };
    for (; r.n < n; r.n++) {
        uint32_t v;
        if (m->kind == 1) { /* digits may stand together */
            skip_space(m);
            if (m->at >= m->end || (*m->at != '0' && *m->at != '1')) break;
            v = *m->at++ == '0';
        } else if (!take_number(m, &v)) {
            break;
        }
        if (v > m->maxval) r.is_above = true;
        row[r.n] = (uint16_t)(v > m->maxval ? m->maxval : v);
    }
    return r;
}

static row_result read_bit_row(map *m, uint16_t *row, uint32_t n)
{
    row_result r = { 0, false };
    const size_t row_bytes = (n + 7) / 8, have = (size_t)(m->end - m->at);
    for (; r.n < n && r.n / 8 < have; r.n++)
        row[r.n] = !(m->at[r.n / 8] >> (7 - r.n % 8) & 1);
    m->at += row_bytes < have ? row_bytes : have;
    return r;
}

static row_result read_binary_row(map *m, uint16_t *row, uint32_t n)
{
    row_result r = { 0, false };
    const size_t size = m->maxval > 255 ? 2 : 1, have = (size_t)(m->end - m->at) / size;
    for (; r.n < n && r.n < have; r.n++, m->at += size) {
        uint32_t v = size == 2 ? (uint32_t)m->at[0] << 8 | m->at[1] : m->at[0];
        if (v > m->maxval) r.is_above = true;
        row[r.n] = (uint16_t)(v > m->maxval ? m->maxval : v);
    }
    return r;
}

/* Scaled to the full range, halves rounded up. */
static void store_row(const map *m, const uint16_t *row, uint32_t n, unsigned char *dst)
{
    const uint32_t full = m->maxval > 255 ? 65535 : 255, half = m->maxval / 2;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = m->maxval == full ? row[i] : (row[i] * full + half) / m->maxval;
        uint16_t wide = (uint16_t)v;
        if (full == 255)
            dst[i] = (unsigned char)v;
        else
            memcpy(dst + 2 * (size_t)i, &wide, 2);
    }
}

static size_t row_bytes_of(const map *m) { return (size_t)m->width * m->depth * (m->maxval > 255 ? 2 : 1); }

/* The next row. Where the data end in it, what is missing is left as it is, and m->is_over. */
static imgpar_status read_row(map *m, unsigned char *dst)
{
    const uint32_t n = m->width * m->depth; /* at most 4,000,000 */
    row_result (*const read)(map *, uint16_t *, uint32_t) = m->kind <= 3   ? read_text_row
                                                            : m->kind == 4 ? read_bit_row
                                                                           : read_binary_row;
    if (m->kind >= 5 && m->maxval == 255 && (size_t)(m->end - m->at) >= n) { /* the file holds what we want */
        memcpy(dst, m->at, n);
        m->at += n;
        return IMGPAR_OK;
    }
    imgpar_status st = IMGPAR_OK;
    const row_result r = read(m, m->samples, n);
    store_row(m, m->samples, r.n, dst);
    if (r.is_above && !m->is_above) {
        m->is_above = true; /* told once */
        st = ip_source_damaged(m->s, IP_DAMAGE_READABLE, "PNM", "a sample is above the maximum", m->err);
    }
    if (st || r.n == n) return st;
    skip_space(m);
    m->is_over = true;
    return ip_source_damaged(m->s, IP_DAMAGE_MISSING, "PNM",
                             m->kind <= 3 && m->at < m->end ? "a sample is not a number" : "the data ends early",
                             m->err);
}

static imgpar_status make_samples(map *m)
{
    m->samples = ip_alloc_array((size_t)m->width * m->depth, sizeof *m->samples);
    if (m->samples) return IMGPAR_OK;
    return ip_fail(m->err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", m->s->name);
}

static imgpar_status read_rows(map *m, unsigned char *pixels)
{
    imgpar_status st = make_samples(m);
    for (uint32_t y = 0; y < m->height && !st && !m->is_over; y++) {
        st = read_row(m, pixels + y * row_bytes_of(m));
        if (!st && !m->is_over) st = ip_source_poll(m->s, (double)y / m->height, m->err);
    }
    ip_free(m->samples);
    return st;
}

/* Where the samples end, the header having been read; 0: text ends where it ends. */
static uint64_t end_of(const map *m)
{
    const uint64_t n = (uint64_t)m->width * m->depth,
                   row_bytes = m->kind == 4 ? (n + 7) / 8 : n * (m->maxval > 255 ? 2 : 1);
    return m->kind <= 3 ? 0 : (uint64_t)(m->at - m->s->bytes) + row_bytes * m->height;
}

static imgpar_status fill(map *m, ip_header *header)
{
    imgpar_status st = read_header(m, header);
    if (st) return st;
    header->end_bytes = end_of(m);
    header->has_rows = has_rows(m);
    return IMGPAR_OK;
}

/* Pictures may stand one behind another, as in a video. open() has room for one, and does not take it in silence. */
static imgpar_status check_is_last(const map *m, uint64_t end)
{
    unsigned char next[2];
    bool found;
    imgpar_status st = ip_source_peek(m->s, end, next, sizeof next, &found, m->err);
    if (st || !found || next[0] != 'P' || next[1] < '1' || next[1] > '7') return st;
    return ip_source_damaged(m->s, IP_DAMAGE_READABLE, "PNM",
                             "more pictures follow the first one; imgpar-run reads them as a video from standard input",
                             m->err);
}

imgpar_status ip_pnm_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err)
{
    map m = { .s = s, .err = err, .at = s->bytes, .end = s->bytes + s->n };
    imgpar_status st = fill(&m, header);
    if (st || !image) return st;
    image->header = *header;
    st = ip_image_alloc(s, image, err);
    if (!st) st = read_rows(&m, image->pixels);
    if (st) return st;
    skip_space(&m);
    return check_is_last(&m, has_rows(&m) ? header->end_bytes : (uint64_t)(m.at - s->bytes));
}

/* ---- by rows ------------------------------------------------------------------------- */

typedef struct row_state {
    map m;
    uint64_t at; /* of the file: the next row */
    size_t n;    /* bytes of a row there */
    unsigned char *row;
} row_state;

static void close_rows(void *state)
{
    row_state *r = state;
    ip_free(r->m.samples);
    ip_free(r->row);
    ip_free(r);
}

static imgpar_status open_rows(const ip_source *s, ip_header *header, void **state, ip_error *err)
{
    row_state *r = ip_zalloc(sizeof *r);
    if (!r) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
    r->m = (map){ .s = s, .err = err, .at = s->bytes, .end = s->bytes + s->n };
    imgpar_status st = fill(&r->m, header);
    if (!st) st = check_is_last(&r->m, header->end_bytes);
    if (!st) st = make_samples(&r->m);
    if (!st) {
        r->at = (uint64_t)(r->m.at - s->bytes);
        r->n = (size_t)((header->end_bytes - r->at) / r->m.height);
        r->row = ip_alloc(r->n);
        if (!r->row) st = ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
    }
    if (st)
        close_rows(r);
    else
        *state = r;
    return st;
}

static imgpar_status next_row(void *state, void *dst, ip_error *err)
{
    row_state *r = state;
    map *m = &r->m;
    bool found = true;
    const uint64_t left = r->at < m->s->total ? m->s->total - r->at : 0;
    const size_t n = left < r->n ? (size_t)left : r->n;
    imgpar_status st = m->is_over ? IMGPAR_OK : ip_source_poll(m->s, 0, err);
    if (!st && !m->is_over && n > 0) st = ip_source_peek(m->s, r->at, r->row, n, &found, err);
    if (!st && !found) st = ip_fail(err, IMGPAR_E_IO, "%s: became shorter while it was read", m->s->name);
    if (n < r->n || m->is_over) memset(dst, 0, row_bytes_of(m));
    if (st || m->is_over) return st;
    m->err = err;
    m->at = r->row;
    m->end = r->row + n;
    r->at += r->n;
    return read_row(m, dst);
}

const ip_row_codec ip_pnm_rows = { open_rows, next_row, NULL, close_rows };

/* ---- writing ------------------------------------------------------------------------- */

imgpar_status ip_pnm_write(const ip_pixels *pixels, const ip_settings *settings, const ip_poll *poll, ip_sink *to,
                           ip_error *err)
{
    ip_str *out = &to->text;
    static const char *const tuple_types[] = { "", "", "GRAYSCALE_ALPHA", "", "RGB_ALPHA" };
    ip_picture p;
    imgpar_status st = ip_picture_of(pixels, IP_FORMAT_PNM, settings->value[IP_SET_BITS], &p, err);
    if (st) return st;
    ip_picture_set_range(&p, settings);
    const int maxval = p.bits == 16 ? 65535 : 255;
    if (p.channels % 2 == 0)
        ip_str_printf(out, "P7\nWIDTH %zu\nHEIGHT %zu\nDEPTH %zu\nMAXVAL %d\nTUPLTYPE %s\nENDHDR\n", p.width, p.height,
                      p.channels, maxval, tuple_types[p.channels]);
    else
        ip_str_printf(out, "P%d\n%zu %zu\n%d\n", p.channels == 1 ? 5 : 6, p.width, p.height, maxval);

    const size_t row_bytes = ip_picture_row_bytes(&p);
    unsigned char *row = ip_alloc(row_bytes);
    if (!row) return ip_fail_memory(err, "encoding pnm");
    for (size_t y = 0; y < p.height && !st && !out->failed; y++) {
        if (!ip_picture_row(&p, y, row)) st = ip_picture_fail(&p, err);
        ip_picture_done(&p, y + 1);
        for (size_t i = 0; p.bits == 16 && i < row_bytes; i += 2) { /* the file is big-endian */
            uint16_t v;
            memcpy(&v, row + i, 2);
            row[i] = (unsigned char)(v >> 8);
            row[i + 1] = (unsigned char)v;
        }
        ip_str_append_n(out, (const char *)row, row_bytes);
        if (!st) st = ip_sink_settle(to, err);
        if (!st) st = ip_picture_poll(&p, poll, y, err);
    }
    ip_free(row);
    return st;
}
