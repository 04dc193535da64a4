/* SPDX-License-Identifier: MIT */
/* Pictures, numbers of a dtype, borders, and the options of a call. */
#include "oracle.h"

#include "ops/build.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool oracle_is_exact(void)
{
    volatile real v = 0x1p63L;
    v += 1;
    return v - 0x1p63L == 1;
}

/* ---- numbers of a dtype ------------------------------------------------------------------ */

static const struct {
    bool is_float;
    real low, high, full;
    int mantissa, least;
} dtypes[IMGPAR_N_DTYPES] = {
    [IMGPAR_U8] = { false, 0, 255, 255, 0, 0 },
    [IMGPAR_I8] = { false, -128, 127, 255, 0, 0 },
    [IMGPAR_U16] = { false, 0, 65535, 65535, 0, 0 },
    [IMGPAR_I16] = { false, -32768, 32767, 255, 0, 0 },
    [IMGPAR_U32] = { false, 0, 4294967295.0L, 255, 0, 0 },
    [IMGPAR_I32] = { false, -2147483648.0L, 2147483647.0L, 255, 0, 0 },
    [IMGPAR_U64] = { false, 0, 18446744073709551615.0L, 255, 0, 0 },
    [IMGPAR_I64] = { false, -9223372036854775808.0L, 9223372036854775807.0L, 255, 0, 0 },
    [IMGPAR_F16] = { true, -65504, 65504, 1, 11, -14 },
    [IMGPAR_F32] = { true, -FLT_MAX, FLT_MAX, 1, 24, -126 },
    [IMGPAR_F64] = { true, -DBL_MAX, DBL_MAX, 1, 53, -1022 },
    [IMGPAR_BOOL] = { false, 0, 1, 1, 0, 0 },
};

bool is_float(imgpar_dtype dtype) { return dtypes[dtype].is_float; }
real dtype_low(imgpar_dtype dtype) { return dtypes[dtype].low; }
real dtype_high(imgpar_dtype dtype) { return dtypes[dtype].high; }
real dtype_full(imgpar_dtype dtype) { return dtypes[dtype].full; }

real half_ulp(imgpar_dtype dtype, real v)
{
    int e;
    if (!is_float(dtype) || !isfinite(v)) return 0;
    frexpl(v, &e); /* |v| in [2^(e-1), 2^e) */
    e = v == 0 || e - 1 < dtypes[dtype].least ? dtypes[dtype].least : e - 1;
    return ldexpl(1, e - dtypes[dtype].mantissa);
}

real rounded(imgpar_dtype dtype, real v)
{
    if (is_float(dtype)) {
        if (!isfinite(v) || v == 0) return v;
        real step = 2 * half_ulp(dtype, v), r = rintl(v / step) * step; /* v / step: exact, a power of two */
        return fabsl(r) > dtypes[dtype].high ? copysignl(INFINITY, v) : r;
    }
    if (isnan(v)) return 0;
    return v <= dtype_low(dtype) ? dtype_low(dtype) : v >= dtype_high(dtype) ? dtype_high(dtype) : rintl(v);
}

/* ---- pictures ---------------------------------------------------------------------------- */

static void *memory(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p) abort();
    return p;
}

picture picture_new(imgpar_dtype dtype, int64_t h, int64_t w, int64_t c)
{
    picture p = { .dtype = dtype, .h = h, .w = w, .c = c, .is_data = dtype != IMGPAR_U8 && dtype != IMGPAR_U16 };
    p.v = memory((size_t)picture_count(&p), sizeof *p.v);
    p.slack = memory((size_t)picture_count(&p), sizeof *p.slack);
    return p;
}

picture picture_number(real value, bool is_fraction)
{
    bool fits = fabsl(value) < 0x1p31L && !is_fraction;
    picture p = picture_new(fits ? IMGPAR_I32 : is_fraction ? IMGPAR_F32 : IMGPAR_I64, 1, 1, 1);
    p.v[0] = value;
    p.is_number = p.is_data = true;
    p.is_fraction = is_fraction;
    return p;
}

picture picture_copy(const picture *p)
{
    picture copy = picture_new(p->dtype, p->h, p->w, p->c);
    memcpy(copy.v, p->v, (size_t)picture_count(p) * sizeof *p->v);
    copy.is_data = p->is_data;
    return copy;
}

void picture_free(picture *p)
{
    free(p->v);
    free(p->slack);
    *p = (picture){ .v = NULL };
}

int64_t picture_count(const picture *p) { return p->h * p->w * p->c; }
real *picture_at(const picture *p, int64_t y, int64_t x, int64_t c) { return &p->v[(y * p->w + x) * p->c + c]; }

real picture_spread(const picture *p, int64_t y, int64_t x, int64_t c)
{
    if (picture_count(p) == 1) return p->v[0];
    return *picture_at(p, y, x, p->c == 1 ? 0 : c);
}

bool picture_is_alpha(const picture *p, int64_t c) { return !p->is_data && (p->c == 2 || p->c == 4) && c == p->c - 1; }

real picture_white(const picture *p)
{
    bool is_picture = !p->is_number && !p->is_data && p->c <= 4;
    return is_picture && (p->dtype == IMGPAR_U8 || p->dtype == IMGPAR_U16) ? dtype_full(p->dtype) : 0;
}

/* The place 0..n-1 that place i beyond the edges stands for, found by walking; -1: the constant. */
static int64_t inside(int border, int64_t i, int64_t n)
{
    while (i < 0 || i >= n) {
        switch (border) {
        case IMGPAR_BORDER_REPLICATE: i = i < 0 ? 0 : n - 1; break;
        case IMGPAR_BORDER_REFLECT: i = i < 0 ? -1 - i : 2 * n - 1 - i; break;
        case IMGPAR_BORDER_REFLECT101: i = n == 1 ? 0 : i < 0 ? -i : 2 * n - 2 - i; break;
        case IMGPAR_BORDER_WRAP: i += i < 0 ? n : -n; break;
        default: return -1;
        }
    }
    return i;
}

real picture_read(const picture *p, int64_t y, int64_t x, int64_t c, int border, real cval)
{
    y = inside(border, y, p->h);
    x = inside(border, x, p->w);
    return y < 0 || x < 0 ? rounded(p->dtype, cval) : *picture_at(p, y, x, c);
}

/* ---- filling ----------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static real any_value(imgpar_dtype dtype, uint64_t *state)
{
    uint64_t r = next_random(state), pick = next_random(state) % 16;
    if (is_float(dtype)) {
        /* Mostly -1000..1000 with fractions; sometimes very small. Products stay finite in f16 for most. */
        real v = ((real)(r >> 11) / 0x1p53L - 0.5L) * (pick < 4 ? 2 : pick < 12 ? 40 : 2000);
        return pick == 15 ? rounded(dtype, v * 0x1p-13L) : pick == 14 ? rintl(v) : pick == 13 ? 0 : rounded(dtype, v);
    }
    real low = dtype_low(dtype), high = dtype_high(dtype);
    if (!oracle_is_exact() && high > 0x1p53L) {
        high = 0x1p53L;
        low = low < 0 ? -high : 0;
    }
    switch (pick) {
    case 0: return low;
    case 1: return high;
    case 2: return 0;
    case 3: return high - 1;
    case 4:
    case 5: return floorl(low / 2 + high / 2) + 0.0L;
    case 6:
    case 7:
    case 8: return (real)(r % 9) > high ? 1 : (real)(r % 9);
    default: {
        int bits = dtype == IMGPAR_BOOL ? 1 : (int)imgpar_dtype_size(dtype) * 8;
        if (high == 0x1p53L) bits = 53;
        return (real)(r >> (64 - bits)) + (low > -0x1p53L ? low : low == -0x1p53L ? 0 : low);
    }
    }
}

void picture_fill(picture *p, fill kind, unsigned seed)
{
    uint64_t state = 0x1234567u + 977u * (uint64_t)seed;
    real full = dtype_full(p->dtype), low = dtype_low(p->dtype);
    for (int64_t k = 0; k < picture_count(p); k++) {
        uint64_t r = next_random(&state);
        if (kind == FILL_SMALL) {
            p->v[k] = rounded(p->dtype, (real)(r % 17) - (low < 0 ? 8 : 0));
        } else if (kind == FILL_LEVELS) {
            real t = (real)(r >> 11) / 0x1p53L;
            p->v[k] = rounded(p->dtype, r % 8 == 0 ? 0 : r % 8 == 1 ? full : t * full);
        } else {
            p->v[k] = any_value(p->dtype, &state);
            if (kind == FILL_WILD && is_float(p->dtype) && r % 11 == 0)
                p->v[k] = r % 3 == 0 ? (real)NAN : r % 3 == 1 ? (real)INFINITY : -(real)INFINITY;
        }
    }
}

/* ---- elements in memory -------------------------------------------------------------------- */

static uint16_t half_bits(real v)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v)) return 0x7e00;
    if (isinf(v)) return sign | 0x7c00;
    if (fabsl(v) < 0x1p-14L) return (uint16_t)(sign | (unsigned)(fabsl(v) * 0x1p24L));
    int e;
    real m = frexpl(fabsl(v), &e); /* 0.5 <= m < 1 */
    return (uint16_t)(sign | (unsigned)(e + 14) << 10 | ((unsigned)(m * 2048) & 1023));
}

static real half_value(uint16_t bits)
{
    int e = bits >> 10 & 31, m = bits & 1023;
    real v = e == 31 ? (m ? (real)NAN : (real)INFINITY) : e == 0 ? ldexpl(m, -24) : ldexpl(m + 1024, e - 25);
    return bits & 0x8000 ? -v : v;
}

static void put(imgpar_dtype dtype, void *at, real v)
{
    switch (dtype) {
    case IMGPAR_U8:
    case IMGPAR_BOOL: *(uint8_t *)at = (uint8_t)v; break;
    case IMGPAR_I8: *(int8_t *)at = (int8_t)v; break;
    case IMGPAR_U16: *(uint16_t *)at = (uint16_t)v; break;
    case IMGPAR_I16: *(int16_t *)at = (int16_t)v; break;
    case IMGPAR_U32: *(uint32_t *)at = (uint32_t)v; break;
    case IMGPAR_I32: *(int32_t *)at = (int32_t)v; break;
    case IMGPAR_U64: *(uint64_t *)at = (uint64_t)v; break;
    case IMGPAR_I64: *(int64_t *)at = (int64_t)v; break;
    case IMGPAR_F16: *(uint16_t *)at = half_bits(v); break;
    case IMGPAR_F32: *(float *)at = (float)v; break;
    case IMGPAR_F64: *(double *)at = (double)v; break;
    default: abort();
    }
}

static real get(imgpar_dtype dtype, const void *at)
{
    switch (dtype) {
    case IMGPAR_U8:
    case IMGPAR_BOOL: return *(const uint8_t *)at;
    case IMGPAR_I8: return *(const int8_t *)at;
    case IMGPAR_U16: return *(const uint16_t *)at;
    case IMGPAR_I16: return *(const int16_t *)at;
    case IMGPAR_U32: return *(const uint32_t *)at;
    case IMGPAR_I32: return *(const int32_t *)at;
    case IMGPAR_U64: return *(const uint64_t *)at;
    case IMGPAR_I64: return *(const int64_t *)at;
    case IMGPAR_F16: return half_value(*(const uint16_t *)at);
    case IMGPAR_F32: return *(const float *)at;
    case IMGPAR_F64: return *(const double *)at;
    default: abort();
    }
}

size_t picture_size(const picture *p) { return (size_t)picture_count(p) * imgpar_dtype_size(p->dtype); }

void *picture_bytes(const picture *p)
{
    size_t size = imgpar_dtype_size(p->dtype);
    char *bytes = memory((size_t)picture_count(p), size);
    for (int64_t k = 0; k < picture_count(p); k++)
        put(p->dtype, bytes + (size_t)k * size, p->v[k]);
    return bytes;
}

imgpar_array *picture_array(imgpar_context *ctx, const picture *p)
{
    void *bytes = picture_bytes(p);
    int64_t shape[3] = { p->h, p->w, p->c };
    imgpar_array *a = imgpar_array_from_data(ctx, p->dtype, 3, shape, bytes);
    free(bytes);
    return a;
}

/* Whether got is one of the values that want admits. */
static bool admits(imgpar_dtype dtype, real want, real slack, real got)
{
    if (isnan(slack)) return true; /* the operation leaves it open */
    if (is_float(dtype)) {
        if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
        if (got == want || got == rounded(dtype, want)) return true;
        if (isinf(got) || isinf(want))
            return slack > 0 && isinf(rounded(dtype, want + copysignl(slack, want))) && signbit(got) == signbit(want);
        return fabsl(got - want) <= slack + half_ulp(dtype, want) * 1.001L;
    }
    if (slack == 0) return got == rounded(dtype, want);
    real low = dtype_low(dtype), high = dtype_high(dtype);
    real clamped = isnan(want) ? 0 : want < low ? low : want > high ? high : want;
    return fabsl(got - clamped) <= 0.5L + slack;
}

bool picture_compare(const picture *answer, const void *bytes, char *why)
{
    size_t size = imgpar_dtype_size(answer->dtype);
    for (int64_t k = 0; k < picture_count(answer); k++) {
        real got = get(answer->dtype, (const char *)bytes + (size_t)k * size);
        real slack = answer->slack ? answer->slack[k] : 0;
        if (admits(answer->dtype, answer->v[k], slack, got)) continue;
        snprintf(why, 256, "element %lld (y %lld, x %lld, c %lld) is %.12Lg, must be %.12Lg within %.3Lg", (long long)k,
                 (long long)(k / answer->c / answer->w), (long long)(k / answer->c % answer->w),
                 (long long)(k % answer->c), got, answer->v[k], slack);
        return false;
    }
    return true;
}

bool picture_same(const picture *answer, const void *a, const void *b)
{
    size_t size = imgpar_dtype_size(answer->dtype);
    if (memcmp(a, b, picture_size(answer)) == 0) return true;
    for (size_t k = 0; k < picture_size(answer); k += size) {
        const char *x = (const char *)a + k, *y = (const char *)b + k;
        if (memcmp(x, y, size) != 0 && !(isnan(get(answer->dtype, x)) && isnan(get(answer->dtype, y)))) return false;
    }
    return true;
}

/* ---- options ------------------------------------------------------------------------------- */

/* What stands after "name=", or NULL. */
static const char *find_option(const call *c, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = c->options; at && (at = strstr(at, name)); at += n)
        if ((at == c->options || at[-1] == ' ' || at[-1] == ',') && at[n] == '=') return at + n + 1;
    return NULL;
}

bool call_has_vector(const call *c, const char *name)
{
    const char *at = find_option(c, name);
    return at && *at == '[';
}

real call_number(const call *c, const char *name, real otherwise)
{
    const char *at = find_option(c, name);
    return at ? strtold(at, NULL) : otherwise;
}

bool call_is(const call *c, const char *name, const char *word, const char *otherwise)
{
    const char *at = find_option(c, name);
    if (!at) at = otherwise;
    size_t n = strcspn(at, ", ");
    return strlen(word) == n && memcmp(at, word, n) == 0;
}

int call_numbers(const call *c, const char *name, real numbers[CALL_MAX_NUMBERS], int *rows, int *cols)
{
    const char *at = find_option(c, name);
    int n = 0;
    *rows = 1;
    if (!at || *at != '[') abort();
    for (at++; *at && *at != ']';) {
        char *end;
        if (*at == ';') ++*rows;
        if (*at == ';' || *at == ' ') {
            at++;
            continue;
        }
        if (n == CALL_MAX_NUMBERS) abort();
        numbers[n++] = strtold(at, &end);
        if (end == at) abort();
        at = end;
    }
    *cols = n / *rows;
    return n;
}

int call_border(const call *c)
{
    static const char *const words[] = { "replicate", "reflect", "reflect101", "wrap", "constant" };
    for (int k = 0; k < 5; k++)
        if (call_is(c, "border", words[k], "replicate")) return k;
    abort();
}

/* ---- answers ------------------------------------------------------------------------------- */

oracle_fn oracle_find(const char *op)
{
    static const oracle_row *const tables[] = { oracle_levels,   oracle_functions, oracle_filters,
                                                oracle_geometry, oracle_arrays,    oracle_scans };
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const oracle_row *row = tables[t]; row->op; row++)
            if (strcmp(row->op, op) == 0) return row->answer;
    return NULL;
}

/* ---- alpha as coverage --------------------------------------------------------------------- */

/* What the table says of the operation; hidden ones, which are operators, are found by the library itself. */
static const char *rule_of(const call *c)
{
    const ip_op *op = ip_op_find(c->op);
    return op && op->info.alpha ? op->info.alpha : "";
}

/* The only picture of several channels keeps its alpha. */
static void keep_alpha(const call *c, picture *out)
{
    const picture *a = NULL;
    for (int k = 0; k < c->n_in; k++) {
        if (a && c->in[k]->c > 1) return;
        if (c->in[k]->c > 1) a = c->in[k];
    }
    for (int64_t k = 0; a && out->c == a->c && k < picture_count(out); k++)
        if (picture_is_alpha(a, k % a->c)) out->v[k] = a->v[k], out->slack[k] = 0;
}

/* Whether the call is the weighted mean of a picture whose colours count by their alpha. */
static bool weighs_by_alpha(const call *c)
{
    if (strncmp(rule_of(c), "weighs", 6) != 0 || call_is(c, "alpha", "channel", "coverage")) return false;
    if (!picture_is_alpha(c->in[0], c->in[0]->c - 1) ||
        call_is(c, "filter", "nearest", c->op[0] == 'a' ? "nearest" : "auto"))
        return false;
    for (int k = 1; k < c->n_in; k++)
        if (c->in[k]->c != 1) return false;
    return strcmp(c->op, "neighbours") != 0 || call_is(c, "fold", "mean", "mean");
}

/* The call on f64 elements beyond the edges of which is cval; truncate as the input's dtype has it. */
static call on_reals(const call *c, const picture *in, real cval, char *options, size_t size)
{
    const char *at = find_option(c, "cval");
    char given[1024];
    snprintf(given, sizeof given, "%s", c->options ? c->options : "");
    if (at) {
        size_t from = (size_t)(at - c->options), n = strcspn(at, ",");
        snprintf(given, sizeof given, "%.*s%.17Lg%s", (int)from, c->options, cval, at + n);
    }
    bool truncates = strstr(c->op, "blur") && strcmp(c->op, "boxblur") != 0 && !find_option(c, "truncate");
    snprintf(options, size, "%s%s%s", given, truncates ? (given[0] ? ", " : "") : "",
             !truncates                                ? ""
             : imgpar_dtype_size(c->in[0]->dtype) == 1 ? "truncate=3"
                                                       : "truncate=4");
    call changed = *c;
    changed.in[0] = in;
    changed.options = options[0] ? options : NULL;
    return changed;
}

/* gain is the sum of the weights; 0: not a mean. Without offset. */
static real gain_of(const call *c, oracle_fn answer)
{
    picture ones = picture_new(IMGPAR_F64, c->in[0]->h, c->in[0]->w, 1), sums;
    char options[1100];
    for (int64_t k = 0; k < picture_count(&ones); k++)
        ones.v[k] = 1;
    call of_ones = on_reals(c, &ones, 1, options, sizeof options);
    answer(&of_ones, &sums);
    real gain = sums.v[0] - call_number(c, "offset", 0);
    picture_free(&ones);
    picture_free(&sums);
    return fabsl(gain) < 1e-9L ? 0 : gain;
}

/* sum(w alpha colour) / sum(w alpha), by the row's own definition of the sums; out holds the answer by channels. */
static void weigh_by_alpha(const call *c, oracle_fn answer, picture *out)
{
    const picture *a = c->in[0];
    const real full = dtype_full(a->dtype), cval = rounded(a->dtype, call_number(c, "cval", 0)),
               offset = call_number(c, "offset", 0);
    const real gain = gain_of(c, answer);
    picture products = picture_new(IMGPAR_F64, a->h, a->w, a->c), alphas = picture_copy(&products), sums, weights;
    char options[2][1100];
    real largest = fabsl(cval);
    for (int64_t k = 0; k < picture_count(a); k++) {
        alphas.v[k] = a->v[k / a->c * a->c + a->c - 1];
        products.v[k] = a->v[k] * alphas.v[k];
        if (fabsl(a->v[k]) > largest) largest = fabsl(a->v[k]);
    }
    call of_products = on_reals(c, &products, cval * cval, options[0], sizeof options[0]);
    call of_alphas = on_reals(c, &alphas, cval, options[1], sizeof options[1]);
    answer(&of_products, &sums);
    answer(&of_alphas, &weights);
    for (int64_t k = 0; k < picture_count(out); k++) {
        real weight = (weights.v[k] - offset) / gain, sum = (sums.v[k] - offset) / gain;
        bool is_alpha = picture_is_alpha(a, k % a->c);
        if (gain <= 0) {
            if (is_alpha) out->v[k] = a->v[k], out->slack[k] = 0;
            continue;
        }
        if (is_alpha && (gain != 1 || offset != 0)) out->v[k] = weight;
        if (is_alpha) continue;
        real thin = full / fabsl(weight); /* how much rounding grows where little covers */
        real slack = out->slack[k] * (1 + thin) + fabsl(gain) * largest * 0x1p-16L * fmaxl(1, thin * 0x1p-6L);
        out->v[k] = weight > 0 ? sum / weight * gain + offset : 0;
        out->slack[k] = weight == 0 ? 0 : fabsl(weight) < full * 1e-6L ? INFINITY : slack;
    }
    picture_free(&products);
    picture_free(&alphas);
    picture_free(&sums);
    picture_free(&weights);
}

bool oracle_answer(const call *c, picture *out)
{
    oracle_fn answer = oracle_find(c->op);
    if (answer) answer(c, out);
    if (answer && weighs_by_alpha(c)) weigh_by_alpha(c, answer, out);
    if (answer && strncmp(rule_of(c), "stays", 5) == 0) keep_alpha(c, out);
    return answer != NULL;
}
