/* SPDX-License-Identifier: MIT */
/*
 * NumPy's array files, versions 1.0, 2.0 and 3.0: a magic, a header that is the
 * text of a Python dict, the elements.
 *
 *     \x93NUMPY 1 0 <length> {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * The header's parser takes exactly that dict (its keys in any order) and
 * nothing else of Python. Objects, records and strings are refused by name:
 * reading an object array would run code.
 */
#include "io/codec.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <stdio.h>
#include <string.h>

enum { MAX_HEADER_BYTES = 1 << 20, MAX_DESCR = 40, ALIGNMENT = 64 };

typedef struct layout {
    imgpar_dtype dtype;
    bool is_swapped, is_fortran;
    int rank;
    uint64_t shape[IMGPAR_MAX_RANK];
    uint64_t n_elements;
    size_t data_at;
    const char *note; /* behind the dict, borrowed; NULL: nothing is there */
    size_t n_note;
} layout;

/* In NumPy's letters. */
static const char *const descr_of[IMGPAR_N_DTYPES] = {
    [IMGPAR_U8] = "u1",        [IMGPAR_I8] = "i1",          [IMGPAR_U16] = "u2", [IMGPAR_I16] = "i2",
    [IMGPAR_U32] = "u4",       [IMGPAR_I32] = "i4",         [IMGPAR_U64] = "u8", [IMGPAR_I64] = "i8",
    [IMGPAR_F16] = "f2",       [IMGPAR_F32] = "f4",         [IMGPAR_F64] = "f8", [IMGPAR_BOOL] = "b1",
    [IMGPAR_COMPLEX64] = "c8", [IMGPAR_COMPLEX128] = "c16",
};

bool ip_npy_sniff(const unsigned char *bytes, size_t n) { return n >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0; }

/* ---- the header's text ----------------------------------------------------------- */

typedef struct cursor {
    const char *at, *end;
    const ip_source *s;
    ip_error *err;
} cursor;

static imgpar_status bad_header(cursor *c, const char *what)
{
    return ip_fail(c->err, IMGPAR_E_CORRUPT, "%s: NPY: the header %s", c->s->name, what);
}

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
        c->at++;
}

/* Skips spaces, then takes the text if it comes next. */
static bool take(cursor *c, const char *text)
{
    size_t n = strlen(text);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0) return false;
    c->at += n;
    return true;
}

/* A quoted string without escapes; *text is borrowed. */
static bool take_string(cursor *c, const char **text, size_t *n)
{
    skip_space(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return false;
    const char *close = memchr(c->at + 1, *c->at, (size_t)(c->end - c->at - 1));
    if (!close) return false;
    *text = c->at + 1;
    *n = (size_t)(close - *text);
    c->at = close + 1;
    return true;
}

static imgpar_status refuse_descr(cursor *c, const char *text, size_t n)
{
    bool is_cut = n > MAX_DESCR;
    return ip_fail(c->err, IMGPAR_E_UNSUPPORTED, "%s: NPY: elements of type %.*s%s are not supported", c->s->name,
                   is_cut ? (int)MAX_DESCR : (int)n, text, is_cut ? "..." : "");
}

static imgpar_status parse_descr(cursor *c, layout *l)
{
    const char *text;
    size_t n;
    skip_space(c);
    if (c->at < c->end && (*c->at == '[' || *c->at == '('))
        return ip_fail(c->err, IMGPAR_E_UNSUPPORTED,
                       "%s: NPY: structured arrays (records of fields) are not supported; save each "
                       "field as an array of its own",
                       c->s->name);
    if (!take_string(c, &text, &n)) return bad_header(c, "has no text after 'descr'");
    for (int i = 0; i < IMGPAR_N_DTYPES && n >= 3 && text[0] && strchr("<>|=", text[0]); i++) {
        if (strlen(descr_of[i]) != n - 1 || memcmp(text + 1, descr_of[i], n - 1) != 0) continue;
        const bool is_big = text[0] == '>';
        const bool is_wide = imgpar_dtype_size((imgpar_dtype)i) > 1;
        if (is_wide && text[0] == '|') break; /* NumPy never says so: no byte order to trust */
        l->dtype = (imgpar_dtype)i;
        l->is_swapped = is_wide && text[0] != '=' && is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
        return IMGPAR_OK;
    }
    return refuse_descr(c, text, n);
}

static imgpar_status parse_shape(cursor *c, layout *l)
{
    if (!take(c, "(")) return bad_header(c, "has no tuple after 'shape'");
    for (l->rank = 0; !take(c, ")"); l->rank++) {
        uint64_t extent = 0;
        const char *start = c->at;
        for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
            if (__builtin_mul_overflow(extent, 10, &extent) ||
                __builtin_add_overflow(extent, (uint64_t)(*c->at - '0'), &extent))
                return bad_header(c, "has an extent that fits no integer");
        if (c->at == start) return bad_header(c, "has a shape that is not a tuple of numbers");
        if (l->rank == IMGPAR_MAX_RANK)
            return ip_fail(c->err, IMGPAR_E_UNSUPPORTED, "%s: NPY: more than %d dimensions are not supported",
                           c->s->name, IMGPAR_MAX_RANK);
        l->shape[l->rank] = extent;
        take(c, "L"); /* Python 2 */
        if (take(c, ",")) {
            skip_space(c);
        } else if (!take(c, ")")) {
            return bad_header(c, "has a shape that is not a tuple of numbers");
        } else {
            l->rank++;
            break;
        }
    }
    return IMGPAR_OK;
}

static imgpar_status parse_order(cursor *c, layout *l)
{
    l->is_fortran = take(c, "True");
    return l->is_fortran || take(c, "False") ? IMGPAR_OK
                                             : bad_header(c, "has neither True nor False for 'fortran_order'");
}

static imgpar_status parse_dict(cursor *c, layout *l)
{
    static const struct {
        const char *name;
        imgpar_status (*parse)(cursor *c, layout *l);
    } keys[] = { { "descr", parse_descr }, { "fortran_order", parse_order }, { "shape", parse_shape } };
    enum { N_KEYS = sizeof keys / sizeof *keys };
    bool has[N_KEYS] = { false };

    if (!take(c, "{")) return bad_header(c, "is not a dict");
    while (!take(c, "}")) {
        const char *name;
        size_t n, k = 0;
        if (!take_string(c, &name, &n) || !take(c, ":")) return bad_header(c, "is not a dict of names and values");
        while (k < N_KEYS && (strlen(keys[k].name) != n || memcmp(keys[k].name, name, n) != 0))
            k++;
        if (k == N_KEYS || has[k]) return bad_header(c, "has an unknown or a repeated key");
        has[k] = true;
        imgpar_status st = keys[k].parse(c, l);
        if (st) return st;
        if (!take(c, ",")) {
            if (!take(c, "}")) return bad_header(c, "is not a dict of names and values");
            break;
        }
    }
    skip_space(c);
    ip_header unused = { 0 };
    if (c->at != c->end) {
        l->note = c->at;
        l->n_note = (size_t)(c->end - c->at);
        if (!ip_exact_read_note(l->note, l->n_note, &unused)) return bad_header(c, "goes on after its dict");
    }
    return has[0] && has[1] && has[2] ? IMGPAR_OK : bad_header(c, "lacks 'descr', 'fortran_order' or 'shape'");
}

/* An array of one plane, row after row. */
static bool has_rows(const layout *l)
{
    const uint64_t last = l->rank > 0 ? l->shape[l->rank - 1] : 0;
    return !l->is_fortran && (l->rank == 2 || (l->rank == 3 && last >= 1 && last <= 4));
}

static imgpar_status check_limit(const ip_source *s, layout *l, ip_error *err)
{
    const uint64_t most = s->counts_held && has_rows(l) ? (uint64_t)1 << 48 : s->max_pixels;
    uint64_t n = 1, bound = 1; /* bound counts an extent of 0 as 1, so that [0, 2^60] is refused too */
    for (int i = 0; i < l->rank; i++) {
        n *= l->shape[i]; /* below bound */
        if (__builtin_mul_overflow(bound, l->shape[i] ? l->shape[i] : 1, &bound) || bound > most)
            return ip_fail(err, IMGPAR_E_LIMIT, "%s: NPY: more than the limit of %llu elements " IP_MAX_PIXELS_HINT,
                           s->name, (unsigned long long)s->max_pixels);
    }
    l->n_elements = n;
    return IMGPAR_OK;
}

static imgpar_status parse_layout(const ip_source *s, layout *l, ip_error *err)
{
    const unsigned char *p = s->bytes;
    cursor c = { .s = s, .err = err };
    if (s->n < 12) return bad_header(&c, "ends early");
    const int major = p[6], minor = p[7];
    if (major < 1 || major > 3 || minor != 0)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: NPY: version %d.%d is not supported", s->name, major, minor);
    const size_t at = major == 1 ? 10 : 12;
    const size_t n = (size_t)p[8] | (size_t)p[9] << 8 | (major == 1 ? 0 : (size_t)p[10] << 16 | (size_t)p[11] << 24);
    if (n > MAX_HEADER_BYTES) return bad_header(&c, "is longer than any array needs");
    if (n > s->n - at) return bad_header(&c, "ends early");
    c.at = (const char *)p + at;
    c.end = c.at + n;
    l->data_at = at + n;
    imgpar_status st = parse_dict(&c, l);
    return st ? st : check_limit(s, l, err);
}

/* ---- elements --------------------------------------------------------------------- */

static imgpar_space space_of(const layout *l)
{
    const uint64_t last = l->rank == 2 ? 1 : l->rank >= 3 ? l->shape[l->rank - 1] : 0;
    if ((l->dtype != IMGPAR_U8 && l->dtype != IMGPAR_U16) || l->rank > 4 || last < 1 || last > 4)
        return IMGPAR_SPACE_DATA;
    return last <= 2 ? IMGPAR_SPACE_GRAY : IMGPAR_SPACE_SRGB;
}

/* What space_of() will say of pixels that are written. */
static imgpar_space space_of_pixels(const ip_pixels *p)
{
    layout l = { .dtype = p->dtype, .rank = p->rank };
    for (int i = 0; i < p->rank; i++)
        l.shape[i] = (uint64_t)p->shape[i];
    return space_of(&l);
}

static void fill_header(const layout *l, ip_header *h)
{
    *h = (ip_header){ .format = IP_FORMAT_NPY, .dtype = l->dtype, .space = space_of(l), .orientation = 1 };
    h->rank = l->rank ? l->rank : 1;
    for (int i = 0; i < h->rank; i++)
        h->shape[i] = l->rank ? (int64_t)l->shape[i] : 1;
    if (l->note) ip_exact_read_note(l->note, l->n_note, h);
    h->has_rows = has_rows(l);
}

static void swap_elements(unsigned char *p, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++, p += size)
        for (size_t a = 0, b = size - 1; a < b; a++, b--) {
            unsigned char t = p[a];
            p[a] = p[b];
            p[b] = t;
        }
}

/*
 * Column-major to row-major: walks the result in its order, the position in src
 * moving by each axis' stride. Elements beyond n_bytes are left as they are.
 */
static imgpar_status reorder(const ip_source *s, const layout *l, unsigned char *dst, size_t n_bytes, ip_error *err)
{
    enum { N_A_POLL = 1 << 16 };
    const unsigned char *src = s->bytes + l->data_at;
    const size_t size = imgpar_dtype_size(l->dtype);
    size_t stride[IMGPAR_MAX_RANK], index[IMGPAR_MAX_RANK] = { 0 }, from = 0;
    for (int i = 0; i < l->rank; i++)
        stride[i] = i ? stride[i - 1] * (size_t)l->shape[i - 1] : size;
    for (size_t i = 0; i < l->n_elements; i++) {
        if (from + size <= n_bytes) memcpy(dst + i * size, src + from, size);
        if (i % N_A_POLL == 0) {
            imgpar_status st = ip_source_poll(s, (double)i / (double)l->n_elements, err);
            if (st) return st;
        }
        for (int d = l->rank - 1; d >= 0; d--) {
            from += stride[d];
            if (++index[d] < l->shape[d]) break;
            from -= stride[d] * index[d];
            index[d] = 0;
        }
    }
    return IMGPAR_OK;
}

/* What is missing, or too much, of `needed` bytes. */
static imgpar_status check_end(const ip_source *s, uint64_t n, uint64_t needed, ip_error *err)
{
    char text[96];
    if (n == needed) return IMGPAR_OK;
    if (n < needed)
        snprintf(text, sizeof text, "the data ends after %llu of %llu bytes", (unsigned long long)n,
                 (unsigned long long)needed);
    else
        snprintf(text, sizeof text, "%llu bytes follow the data", (unsigned long long)(n - needed));
    return ip_source_damaged(s, n < needed ? IP_DAMAGE_MISSING : IP_DAMAGE_WARNING, "NPY", text, err);
}

/* Elements as they are here. */
static void make_native(const layout *l, unsigned char *p, size_t n)
{
    const size_t size = imgpar_dtype_size(ip_dtype_part(l->dtype)); /* each part by itself */
    if (l->is_swapped) swap_elements(p, n / size, size);
    for (size_t i = 0; l->dtype == IMGPAR_BOOL && i < n; i++)
        p[i] = p[i] != 0;
}

static imgpar_status read_elements(const ip_source *s, const layout *l, ip_image *image, ip_error *err)
{
    const size_t size = imgpar_dtype_size(l->dtype), needed = image->size_bytes;
    size_t n = s->n - l->data_at;
    imgpar_status st = ip_source_poll(s, 0, err);
    if (!st) st = check_end(s, n, needed, err);
    if (st) return st;
    if (n > needed) n = needed;

    unsigned char *pixels = image->pixels;
    n -= n % size;
    const bool is_reordered = l->is_fortran && l->rank > 1;
    if (is_reordered) st = reorder(s, l, pixels, n, err);
    for (size_t at = 0; !st && at < needed; at += IP_PIECE_BYTES) {
        const size_t piece = needed - at < IP_PIECE_BYTES ? needed - at : IP_PIECE_BYTES;
        if (!is_reordered && at < n) memcpy(pixels + at, s->bytes + l->data_at + at, n - at < piece ? n - at : piece);
        make_native(l, pixels + at, piece);
        st = ip_source_poll(s, (double)(at + piece) / (double)needed, err);
    }
    return st;
}

imgpar_status ip_npy_read(const ip_source *s, ip_header *header, ip_image *image, ip_error *err)
{
    layout l = { 0 };
    imgpar_status st = parse_layout(s, &l, err);
    if (st) return st;
    fill_header(&l, header);
    /* far from 2^64: n_elements is below max_pixels */
    header->end_bytes = l.data_at + l.n_elements * imgpar_dtype_size(l.dtype);
    if (!image) return IMGPAR_OK;
    image->header = *header;
    st = ip_image_alloc(s, image, err);
    return st ? st : read_elements(s, &l, image, err);
}

/* ---- by rows --------------------------------------------------------------------------------- */

typedef struct row_state {
    const ip_source *s;
    layout l;
    size_t row_bytes;
    uint64_t at;
} row_state;

static imgpar_status open_rows(const ip_source *s, ip_header *header, void **state, ip_error *err)
{
    layout l = { 0 };
    imgpar_status st = parse_layout(s, &l, err);
    if (st) return st;
    fill_header(&l, header);
    const uint64_t needed = l.n_elements * imgpar_dtype_size(l.dtype);
    st = check_end(s, s->total - l.data_at, needed, err);
    if (st) return st;
    row_state *r = *state = ip_alloc(sizeof *r);
    if (!r) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
    *r = (row_state){ .s = s, .l = l, .at = l.data_at };
    r->row_bytes = l.shape[0] ? (size_t)(needed / l.shape[0]) : 0;
    return IMGPAR_OK;
}

static imgpar_status next_row(void *state, void *dst, ip_error *err)
{
    row_state *r = state;
    bool found = true;
    uint64_t n = r->at < r->s->total ? r->s->total - r->at : 0; /* what is missing was told, and is 0 */
    if (n < r->row_bytes) memset(dst, 0, r->row_bytes);
    n = n < r->row_bytes ? n - n % imgpar_dtype_size(r->l.dtype) : r->row_bytes;
    imgpar_status st = ip_source_poll(r->s, 0, err);
    if (!st && n > 0) st = ip_source_peek(r->s, r->at, dst, (size_t)n, &found, err);
    if (!st && !found) st = ip_fail(err, IMGPAR_E_IO, "%s: became shorter while it was read", r->s->name);
    r->at += r->row_bytes;
    make_native(&r->l, dst, r->row_bytes);
    return st;
}

const ip_row_codec ip_npy_rows = { open_rows, next_row, NULL, ip_free };

/* ---- writing --------------------------------------------------------------------------------- */

static imgpar_status append_polled(ip_sink *to, const void *bytes, size_t n, double done, const ip_poll *poll,
                                   ip_error *err)
{
    ip_str_append_n(&to->text, bytes, n);
    imgpar_status st = ip_sink_settle(to, err);
    if (!st && poll && poll->stop && poll->stop(poll->user, done))
        st = ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted while encoding npy");
    return st;
}

static imgpar_status append_rows(ip_sink *to, const ip_rows *rows, const ip_poll *poll, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (int64_t y = 0; y < rows->n && !st && !to->text.failed; y++) {
        const void *row = rows->row(rows->user, y);
        if (!row) return ip_fail(err, IMGPAR_E_INTERRUPTED, "interrupted while encoding npy");
        st = append_polled(to, row, rows->row_bytes, (double)y / (double)rows->n, poll, err);
        rows->done(rows->user, y + 1);
    }
    return st;
}

imgpar_status ip_npy_write(const ip_pixels *p, const ip_settings *settings, const ip_poll *poll, ip_sink *to,
                           ip_error *err)
{
    ip_str *out = &to->text;
    (void)settings;
    const size_t size = imgpar_dtype_size(p->dtype);
    const char order = size == 1 ? '|' : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
    ip_str text = IP_STR_INIT;
    size_t n = size;
    bool fits = p->rank >= 1 && p->rank <= IMGPAR_MAX_RANK;
    ip_str_printf(&text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, descr_of[p->dtype]);
    for (int i = 0; i < p->rank && fits; i++) {
        fits = p->shape[i] >= 0 && ip_mul_size(n, (size_t)p->shape[i], &n);
        ip_str_printf(&text, "%lld%s", (long long)p->shape[i], p->rank == 1 ? "," : i + 1 < p->rank ? ", " : "");
    }
    ip_str_append(&text, "), }");
    ip_exact_note(p, space_of_pixels(p), &text);
    while (!text.failed && (10 + text.length + 1) % ALIGNMENT)
        ip_str_putc(&text, ' ');
    ip_str_putc(&text, '\n');

    const char magic[10] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(text.length & 255), (char)(text.length >> 8)
    };
    ip_str_append_n(out, magic, sizeof magic);
    ip_str_append_n(out, ip_str_text(&text), text.length);
    out->failed = out->failed || text.failed;
    ip_str_free(&text);
    if (!fits) return ip_fail(err, IMGPAR_E_INTERNAL, "npy: the shape fits no memory");
    if (p->rows) return append_rows(to, p->rows, poll, err);
    imgpar_status st = IMGPAR_OK;
    for (size_t at = 0; at < n && !st && !out->failed; at += IP_PIECE_BYTES)
        st = append_polled(to, (const char *)p->pixels + at, n - at < IP_PIECE_BYTES ? n - at : IP_PIECE_BYTES,
                           (double)at / (double)n, poll, err);
    return st;
}
