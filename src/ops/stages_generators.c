/* SPDX-License-Identifier: MIT */
/* Elements of arrays that are made from numbers: from their place, or from random words. */
#include "ops/box_muller.h"
#include "ops/philox.h"
#include "ops/poisson.h"
#include "ops/sobol.h"
#include "ops/view.h"

#include "base/alloc.h"
#include "base/dtype.h"

#include <math.h>

static ip_expr *binary(ip_lower *l, ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(l->ir, op, a, b); }
static ip_expr *u32(ip_lower *l, uint32_t v) { return ip_x_int(l->ir, IMGPAR_U32, v); }

static ip_expr *number(ip_lower *l, const char *param) { return ip_lower_number(l, param, l->node->type.dtype); }

static imgpar_dtype float_of(const ip_lower *l)
{
    return ip_dtype_part(l->node->type.dtype) == IMGPAR_F64 ? IMGPAR_F64 : IMGPAR_F32;
}

static ip_expr *free_param(ip_lower *l, imgpar_dtype dtype, double v)
{
    return ip_x_param(l->ir, dtype, v, -INFINITY, INFINITY);
}

/* ---- from the place ------------------------------------------------------------------------------- */

ip_stage *ip_stages_full(ip_lower *l) { return ip_lower_map(l, number(l, "value")); }
ip_stage *ip_stages_zeros(ip_lower *l) { return ip_lower_map(l, ip_lower_i32(l, 0)); }
ip_stage *ip_stages_ones(ip_lower *l) { return ip_lower_map(l, ip_lower_i32(l, 1)); }

ip_stage *ip_stages_eye(ip_lower *l)
{
    ip_expr *k = ip_x_param(l->ir, IMGPAR_I32, ip_param_number(l->node, "k"), -1e6, 1e6);
    ip_expr *on = binary(l, IP_X_EQ, ip_axis_coord(l, 1), binary(l, IP_X_ADD, ip_axis_coord(l, 0), k));
    return ip_lower_map(l, on);
}

ip_stage *ip_stages_indices(ip_lower *l)
{
    ip_error ignored = { .status = IMGPAR_OK };
    int axis = 0;
    ip_axis_param(l->node, l->node->type.rank, &axis, &ignored);
    return ip_lower_map(l, ip_axis_coord(l, axis));
}

static bool is_whole(double v) { return v == floor(v); }

ip_stage *ip_stages_arange(ip_lower *l)
{
    double from = ip_param_number(l->node, "from"), step = ip_param_number(l->node, "step");
    ip_expr *i = ip_axis_coord(l, 0);
    if (is_whole(from) && is_whole(step)) {
        ip_expr *at = binary(l, IP_X_MUL, ip_x_cast(l->ir, IMGPAR_I64, i), ip_x_param_i64(l->ir, (int64_t)step));
        return ip_lower_map(l, binary(l, IP_X_ADD, at, ip_x_param_i64(l->ir, (int64_t)from)));
    }
    imgpar_dtype f = float_of(l);
    return ip_lower_map(l, ip_x_fma(l->ir, ip_x_cast(l->ir, f, i), free_param(l, f, step), free_param(l, f, from)));
}

ip_stage *ip_stages_linspace(ip_lower *l)
{
    double from = ip_param_number(l->node, "from"), to = ip_param_number(l->node, "to");
    int64_t n = l->node->type.shape[0];
    imgpar_dtype f = float_of(l);
    ip_expr *i = ip_axis_coord(l, 0), *last = ip_x_param(l->ir, IMGPAR_I32, (double)(n - 1), 0, INT32_MAX);
    if (n <= 1) return ip_lower_map(l, free_param(l, f, from));
    ip_expr *at = ip_x_fma(l->ir, ip_x_cast(l->ir, f, i), free_param(l, f, (to - from) / (double)(n - 1)),
                           free_param(l, f, from));
    return ip_lower_map(l, ip_x_select(l->ir, binary(l, IP_X_EQ, i, last), free_param(l, f, to), at));
}

/* The numbers as dtype holds them, in a table of a dtype that holds those. */
static ip_stage *numbers_table(ip_lower *l, imgpar_dtype dtype, const ip_param *p)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    const int n = p->rows * p->cols;
    bool is_short = facts->size_bytes < 4 || dtype == IMGPAR_I32;
    imgpar_dtype held = facts->is_float ? float_of(l) : is_short ? IMGPAR_I32 : IMGPAR_F64;
    const unsigned step = ip_dtype(held)->size_bytes;
    unsigned char *values = ip_ir_alloc(l->ir, (size_t)n, step);
    for (int k = 0; values && k < n; k++) {
        unsigned char element[16];
        ip_store_number(dtype, element, p->numbers[k]);
        ip_store_number(held, values + (size_t)k * step, ip_load_number(dtype, element));
    }
    return values ? ip_stage_table(l->ir, held, n, values) : NULL;
}

ip_stage *ip_stages_numbers(ip_lower *l)
{
    const ip_param *p = ip_param_get(l->node, "values");
    ip_stage *table = numbers_table(l, l->node->type.dtype, p);
    bool is_matrix = l->node->type.rank == 2;
    ip_expr *at = ip_axis_coord(l, is_matrix);
    if (is_matrix) at = binary(l, IP_X_ADD, binary(l, IP_X_MUL, ip_axis_coord(l, 0), ip_lower_i32(l, p->cols)), at);
    return table ? ip_lower_map(l, ip_table_at(l->ir, table, at)) : NULL;
}

/* ---- random words ------------------------------------------------------------------------------------ */

/* The element's place in row-major order, u64 where 32 bits do not count the elements. */
static ip_expr *place(ip_lower *l)
{
    imgpar_dtype dtype = ip_type_count(&l->node->type) < 0xFFFFFFFFll ? IMGPAR_U32 : IMGPAR_U64;
    ip_expr *at = ip_x_int(l->ir, dtype, 0);
    const ip_type type = ip_type_folded(&l->node->type);
    for (int k = 0; k < type.rank; k++) {
        int dim = ip_type_axis_dim(&type, k);
        ip_expr *here = l->dims[dim] == 1 ? ip_lower_i32(l, 0) : ip_lower_coord(l, dim);
        at = binary(l, IP_X_MUL, at, ip_x_cast(l->ir, dtype, ip_extent(l, dim, type.shape[k])));
        at = binary(l, IP_X_ADD, at, ip_x_cast(l->ir, dtype, here));
    }
    return at;
}

static ip_expr *word_param(ip_lower *l, double v) { return ip_x_param(l->ir, IMGPAR_U32, v, 0, 4294967295.0); }

/* The four words of block place >> shift, place & (1 << shift) - 1 telling which part of them is the element's. Of
 * places of 32 bits *random is told what makes them, but for its body. */
static ip_expr *block_of(ip_lower *l, int shift, ip_expr *words[4], ip_random *random)
{
    ip_expr *at = place(l);
    imgpar_dtype dtype = at->dtype;
    ip_expr *block = binary(l, IP_X_SHR, at, ip_x_int(l->ir, dtype, shift));
    ip_expr *high = dtype == IMGPAR_U64
                        ? ip_x_cast(l->ir, IMGPAR_U32, binary(l, IP_X_SHR, block, ip_x_int(l->ir, dtype, 32)))
                        : u32(l, 0);
    ip_expr *const counter[4] = { ip_x_cast(l->ir, IMGPAR_U32, block), high,
                                  word_param(l, ip_param_number(l->node, "stream")), u32(l, 0) };
    double seed = ip_param_number(l->node, "seed"), upper = floor(seed / 0x1p32);
    ip_expr *const key[2] = { word_param(l, seed - upper * 0x1p32), word_param(l, upper) };
    ip_philox(l->ir, counter, key, words);
    ip_expr *const first = ip_lower_i32(l, 0), *const ends[4] = { NULL, NULL, first, first };
    ip_expr *row = dtype == IMGPAR_U32 ? ip_x_put_coords(l->ir, at, ends) : NULL;
    *random = (ip_random){ .row = row, .stream = counter[2], .key = { key[0], key[1] } };
    return ip_x_cast(l->ir, IMGPAR_U32, binary(l, IP_X_AND, at, ip_x_int(l->ir, dtype, (1 << shift) - 1)));
}

static ip_expr *pick(ip_lower *l, ip_expr *which, ip_expr *const v[], int n)
{
    ip_expr *chosen = v[n - 1];
    for (int k = n - 2; k >= 0; k--)
        chosen = ip_x_select(l->ir, binary(l, IP_X_EQ, which, u32(l, (uint32_t)k)), v[k], chosen);
    return chosen;
}

/* A word as a stage of its own, if it is known where words begin. */
static ip_expr *apart(ip_lower *l, ip_random random, ip_expr *word)
{
    static const char *const notes[] = { "random words", "first words of pairs", "second words of pairs" };
    ip_random *kept = random.row ? ip_ir_alloc(l->ir, 1, sizeof *kept) : NULL;
    ip_stage *s = kept ? ip_lower_stage_sized(l, l->dims, IMGPAR_U32, word, notes[random.pair]) : NULL;
    if (!s) return word;
    *kept = random;
    kept->body = s->body;
    s->random = kept;
    ip_expr *own[4];
    for (int k = 0; k < 4; k++)
        own[k] = ip_lower_coord(l, k);
    return ip_x_load(l->ir, s, own, IP_BORDER_NONE, NULL);
}

/* The word at the element's place. */
static ip_expr *own_word(ip_lower *l)
{
    ip_random random;
    ip_expr *words[4], *which = block_of(l, 2, words, &random);
    return apart(l, random, pick(l, which, words, 4));
}

static ip_expr *scaled(ip_lower *l, imgpar_dtype f, ip_expr *whole, double scale)
{
    return binary(l, IP_X_MUL, ip_x_cast(l->ir, f, whole), ip_x_float(l->ir, f, scale));
}

/* 53 bits of two words. */
static ip_expr *wide_word(ip_lower *l, ip_expr *a, ip_expr *b)
{
    ip_expr *high = ip_x_cast(l->ir, IMGPAR_U64, binary(l, IP_X_SHR, a, u32(l, 5)));
    ip_expr *low = ip_x_cast(l->ir, IMGPAR_U64, binary(l, IP_X_SHR, b, u32(l, 6)));
    return binary(l, IP_X_OR, binary(l, IP_X_SHL, high, ip_x_int(l->ir, IMGPAR_U64, 26)), low);
}

ip_stage *ip_stages_random(ip_lower *l)
{
    imgpar_dtype f = float_of(l);
    double lo = ip_param_number(l->node, "lo"), hi = ip_param_number(l->node, "hi");
    ip_expr *words[4], *u;
    if (f == IMGPAR_F32) {
        u = scaled(l, f, binary(l, IP_X_SHR, own_word(l), u32(l, 8)), 0x1p-24);
    } else {
        ip_expr *which = block_of(l, 1, words, &(ip_random){ 0 });
        ip_expr *const wide[2] = { wide_word(l, words[0], words[1]), wide_word(l, words[2], words[3]) };
        u = scaled(l, f, pick(l, which, wide, 2), 0x1p-53);
    }
    return ip_lower_map(l, ip_x_fma(l->ir, u, free_param(l, f, hi - lo), free_param(l, f, lo)));
}

ip_stage *ip_stages_randint(ip_lower *l)
{
    double lo = ip_param_number(l->node, "lo"), hi = ip_param_number(l->node, "hi");
    ip_expr *word = ip_x_cast(l->ir, IMGPAR_U64, own_word(l));
    ip_expr *span = ip_x_cast(l->ir, IMGPAR_U64, ip_x_param_i64(l->ir, (int64_t)(hi - lo)));
    ip_expr *up = binary(l, IP_X_SHR, binary(l, IP_X_MUL, word, span), ip_x_int(l->ir, IMGPAR_U64, 32));
    ip_expr *v = binary(l, IP_X_ADD, ip_x_cast(l->ir, IMGPAR_I64, up), ip_x_param_i64(l->ir, (int64_t)lo));
    return ip_lower_map(l, ip_x_cast(l->ir, l->node->type.dtype, v)); /* it is in range */
}

/* A number in (0, 1], f64, of 53 bits of two words. */
static ip_expr *above_0(ip_lower *l, ip_expr *a, ip_expr *b)
{
    return ip_x_fma(l->ir, ip_x_cast(l->ir, IMGPAR_F64, wide_word(l, a, b)), ip_x_float(l->ir, IMGPAR_F64, 0x1p-53),
                    ip_x_float(l->ir, IMGPAR_F64, 0x1p-54));
}

/* f64, by the device's functions: u in (0, 1], v in [0, 1]. */
static ip_expr *wide_normal(ip_lower *l)
{
    static const double pi = 3.14159265358979323846;
    ip_expr *words[4], *odd = block_of(l, 1, words, &(ip_random){ 0 }), *u = above_0(l, words[0], words[1]);
    ip_expr *v = scaled(l, IMGPAR_F64, wide_word(l, words[2], words[3]), 0x1p-53);
    ip_expr *log_u = ip_x_unary(l->ir, IP_X_LOG, u),
            *angle = binary(l, IP_X_MUL, v, ip_x_float(l->ir, IMGPAR_F64, 2 * pi));
    ip_expr *radius = ip_x_unary(l->ir, IP_X_SQRT, binary(l, IP_X_MUL, ip_x_float(l->ir, IMGPAR_F64, -2), log_u));
    ip_expr *turn = ip_x_select(l->ir, binary(l, IP_X_EQ, odd, u32(l, 0)), ip_x_unary(l->ir, IP_X_COS, angle),
                                ip_x_unary(l->ir, IP_X_SIN, angle));
    return binary(l, IP_X_MUL, radius, turn);
}

static ip_expr *short_normal(ip_lower *l)
{
    ip_random first, second;
    ip_expr *words[4], *which = block_of(l, 2, words, &first), *half = binary(l, IP_X_SHR, which, u32(l, 1));
    ip_expr *const firsts[2] = { words[0], words[2] }, *const seconds[2] = { words[1], words[3] };
    ip_expr *is_odd = binary(l, IP_X_NE, binary(l, IP_X_AND, which, u32(l, 1)), u32(l, 0));
    second = first;
    first.pair = 1;
    second.pair = 2;
    ip_expr *a = apart(l, first, pick(l, half, firsts, 2)), *b = apart(l, second, pick(l, half, seconds, 2));
    return ip_box_muller(l->ir, a, b, is_odd);
}

ip_stage *ip_stages_normal(ip_lower *l)
{
    imgpar_dtype f = float_of(l);
    ip_expr *z = f == IMGPAR_F64 ? wide_normal(l) : short_normal(l);
    return ip_lower_map(l, ip_x_fma(l->ir, z, free_param(l, f, ip_param_number(l->node, "sigma")),
                                    free_param(l, f, ip_param_number(l->node, "mean"))));
}

ip_stage *ip_stages_exponential(ip_lower *l)
{
    imgpar_dtype f = float_of(l);
    ip_expr *words[4], *log_u;
    if (f == IMGPAR_F32) {
        log_u = ip_log_of_word(l->ir, own_word(l));
    } else {
        ip_expr *which = block_of(l, 1, words, &(ip_random){ 0 });
        ip_expr *const u[2] = { above_0(l, words[0], words[1]), above_0(l, words[2], words[3]) };
        log_u = ip_x_unary(l->ir, IP_X_LOG, pick(l, which, u, 2));
    }
    return ip_lower_map(l, binary(l, IP_X_MUL, log_u, free_param(l, f, -ip_param_number(l->node, "scale"))));
}

/* How many of the table's n words are below the word, by halves; those behind the last are the largest there is. */
static ip_expr *count_below(ip_lower *l, const ip_poisson *p, ip_expr *word)
{
    int size = 1;
    while (size <= p->n)
        size *= 2;
    int32_t *words = ip_ir_alloc(l->ir, (size_t)size, sizeof *words);
    for (int k = 0; words && k < size; k++)
        words[k] = k < p->n ? p->words[k] : INT32_MAX;
    ip_stage *table = words ? ip_stage_table(l->ir, IMGPAR_I32, size, words) : NULL;
    ip_expr *count = ip_lower_i32(l, 0);
    for (int step = size / 2; table && step; step /= 2) {
        ip_expr *at = binary(l, IP_X_ADD, count, ip_lower_i32(l, step - 1));
        ip_expr *is_below = binary(l, IP_X_LT, ip_table_at(l->ir, table, at), word);
        ip_expr *more = ip_x_select(l->ir, is_below, ip_lower_i32(l, step), ip_lower_i32(l, 0));
        count = binary(l, IP_X_ADD, count, more);
    }
    return table ? count : NULL;
}

ip_stage *ip_stages_poisson(ip_lower *l)
{
    ip_poisson p;
    ip_error ignored = { .status = IMGPAR_OK };
    if (ip_poisson_of(ip_param_number(l->node, "mean"), &p, &ignored)) {
        l->ir->failed = true;
        return NULL;
    }
    ip_expr *word = binary(l, IP_X_XOR, own_word(l), u32(l, 1u << 31));
    ip_expr *count = count_below(l, &p, ip_x_cast(l->ir, IMGPAR_I32, word));
    ip_free(p.words);
    if (!count) return NULL;
    ip_expr *first = ip_x_param(l->ir, IMGPAR_I32, (double)p.first, 0, IP_POISSON_MOST);
    return ip_lower_map(l, ip_x_cast(l->ir, l->node->type.dtype, binary(l, IP_X_ADD, count, first)));
}

/* ---- Sobol's sequence ---------------------------------------------------------------------------------- */

/* A random word for each dimension. */
static ip_expr *shift_of(ip_lower *l, ip_expr *dimension)
{
    const double seed = ip_param_number(l->node, "seed"), upper = floor(seed / 0x1p32);
    ip_expr *const counter[4] = { ip_x_cast(l->ir, IMGPAR_U32, dimension), u32(l, 0), u32(l, 0), u32(l, 0) };
    ip_expr *const key[2] = { word_param(l, seed - upper * 0x1p32), word_param(l, upper) };
    ip_expr *words[4];
    ip_philox(l->ir, counter, key, words);
    return words[0];
}

/* The direction numbers of all dimensions, one behind the other. */
static ip_stage *directions(ip_lower *l, int dimensions)
{
    uint32_t *all = ip_ir_alloc(l->ir, (size_t)dimensions * IP_SOBOL_BITS, sizeof *all);
    for (int d = 0; all && d < dimensions; d++)
        ip_sobol_directions(d, all + (size_t)d * IP_SOBOL_BITS);
    return all ? ip_stage_table(l->ir, IMGPAR_I32, (int64_t)dimensions * IP_SOBOL_BITS, all) : NULL;
}

ip_stage *ip_stages_sobol(ip_lower *l)
{
    enum { NONE, SHIFT };
    const double skip = ip_param_number(l->node, "skip"), last = skip + (double)l->node->type.shape[0] - 1;
    ip_stage *table = directions(l, (int)l->node->type.shape[1]);
    if (!table) return NULL;
    ip_expr *i = ip_x_cast(l->ir, IMGPAR_U32, ip_axis_coord(l, 0)), *dimension = ip_axis_coord(l, 1);
    i = binary(l, IP_X_ADD, i, word_param(l, skip));
    ip_expr *gray = binary(l, IP_X_XOR, i, binary(l, IP_X_SHR, i, u32(l, 1)));
    ip_expr *from = binary(l, IP_X_MUL, dimension, ip_lower_i32(l, IP_SOBOL_BITS));
    const bool is_shifted = (int)ip_param_number(l->node, "scramble") == SHIFT;
    ip_expr *word = is_shifted ? shift_of(l, dimension) : u32(l, 0);
    for (int bit = 0; bit < IP_SOBOL_BITS && ldexp(1, bit) <= last; bit++) {
        ip_expr *number =
            ip_x_cast(l->ir, IMGPAR_U32, ip_table_at(l->ir, table, binary(l, IP_X_ADD, from, ip_lower_i32(l, bit))));
        ip_expr *is_set = binary(l, IP_X_NE, binary(l, IP_X_AND, gray, u32(l, 1u << bit)), u32(l, 0));
        word = binary(l, IP_X_XOR, word, ip_x_select(l->ir, is_set, number, u32(l, 0)));
    }
    imgpar_dtype f = float_of(l);
    return ip_lower_map(l, f == IMGPAR_F64 ? scaled(l, f, word, 0x1p-32)
                                           : scaled(l, f, binary(l, IP_X_SHR, word, u32(l, 8)), 0x1p-24));
}

/* What each byte of a Gray code adds to the points of each dimension: [dimensions][4 bytes][256]. */
static ip_stage *words_of_bytes(ip_lower *l)
{
    enum { BYTES = 4, VALUES = 256, ALL = IP_SOBOL_DIMENSIONS * BYTES * VALUES };
    uint32_t *all = ip_ir_alloc(l->ir, ALL, sizeof *all), directions[IP_SOBOL_BITS];
    for (int d = 0; all && d < IP_SOBOL_DIMENSIONS; d++) {
        ip_sobol_directions(d, directions);
        for (int k = 0; k < BYTES * VALUES; k++) {
            uint32_t *word = &all[d * BYTES * VALUES + k];
            *word = 0;
            for (int bit = 0; bit < 8; bit++)
                if (k % VALUES >> bit & 1) *word ^= directions[k / VALUES * 8 + bit];
        }
    }
    return all ? ip_stage_table(l->ir, IMGPAR_I32, ALL, all) : NULL;
}

/* Whether x is a whole number from 0 to most, which its dtype may be too narrow for. */
static ip_expr *is_within(ip_lower *l, ip_expr *x, int64_t most)
{
    ip_expr *not_below = binary(l, IP_X_LE, ip_x_int(l->ir, x->dtype, 0), x);
    if (ip_dtype(x->dtype)->maximum <= (double)most) return not_below;
    return binary(l, IP_X_AND, not_below, binary(l, IP_X_LE, x, ip_x_int(l->ir, x->dtype, most)));
}

static ip_expr *whole_in(ip_lower *l, int k)
{
    ip_expr *x = ip_lower_in(l, k);
    return ip_dtype(x->dtype)->size_bytes < 4 ? ip_x_cast(l->ir, IMGPAR_I32, x) : x;
}

ip_stage *ip_stages_sobol_at(ip_lower *l)
{
    ip_stage *table = words_of_bytes(l);
    if (!table) return NULL;
    ip_expr *index = whole_in(l, 0), *dimension = whole_in(l, 1);
    ip_expr *is_there =
        binary(l, IP_X_AND, is_within(l, index, UINT32_MAX), is_within(l, dimension, IP_SOBOL_DIMENSIONS - 1));
    ip_expr *i = ip_x_cast(l->ir, IMGPAR_U32, index), *gray = binary(l, IP_X_XOR, i, binary(l, IP_X_SHR, i, u32(l, 1)));
    ip_expr *d = ip_x_select(l->ir, is_there, ip_x_cast(l->ir, IMGPAR_I32, dimension), ip_lower_i32(l, 0));
    ip_expr *from = binary(l, IP_X_MUL, d, ip_lower_i32(l, 4 * 256)), *word = u32(l, 0);
    for (int byte = 0; byte < 4; byte++) {
        ip_expr *value = binary(l, IP_X_AND, binary(l, IP_X_SHR, gray, u32(l, 8 * (uint32_t)byte)), u32(l, 255));
        ip_expr *at = binary(l, IP_X_ADD, ip_x_cast(l->ir, IMGPAR_I32, value), ip_lower_i32(l, 256 * byte));
        at = binary(l, IP_X_ADD, from, at);
        word = binary(l, IP_X_XOR, word, ip_x_cast(l->ir, IMGPAR_U32, ip_table_at(l->ir, table, at)));
    }
    const imgpar_dtype f = float_of(l);
    ip_expr *point =
        f == IMGPAR_F64 ? scaled(l, f, word, 0x1p-32) : scaled(l, f, binary(l, IP_X_SHR, word, u32(l, 8)), 0x1p-24);
    return ip_lower_map(l, ip_x_select(l->ir, is_there, point, ip_x_float(l->ir, f, NAN)));
}
