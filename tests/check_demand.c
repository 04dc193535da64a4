/* SPDX-License-Identifier: MIT */
/*
 * Demand: which box of a source a box of a result needs. First of single index maps, against counting all elements of
 * random boxes; then of whole graphs, by the bytes that their kernels read and write.
 */
#include "asserts.h"
#include "held.h"
#include "ir/index_map.h"

#include <imgpar.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ------------------------------------------------------------------------- */

static uint64_t state = 1;

static int64_t between(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

/* ---- maps ------------------------------------------------------------------------------------- */

static ip_ir *ir;

static void set_up(void) { ir = ip_ir_new(); }

static void tear_down(void)
{
    ck_assert(!ir->failed);
    ip_ir_free(ir);
}

/* Numbers of a map, each of which is written into the text or an argument by chance. */
typedef struct numbers {
    int64_t a, b, n;
} numbers;

static ip_expr *number(int64_t v)
{
    return between(0, 1) ? ip_x_int(ir, IMGPAR_I32, v) : ip_x_param(ir, IMGPAR_I32, (double)v, -1e9, 1e9);
}

static ip_expr *at(int axis) { return ip_x_coord(ir, axis, 30000); }
static ip_expr *bin(ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(ir, op, a, b); }
static ip_expr *least_and_most(ip_expr *x, int64_t n)
{
    return bin(IP_X_MIN, bin(IP_X_MAX, x, number(0)), number(n - 1));
}
static int64_t floor_div(int64_t a, int64_t b) { return (int64_t)floor((double)a / (double)b); }
static int64_t clamped(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/* x div b as views write it where b is an argument: a product and a shift. */
static ip_expr *quotient(ip_expr *x, int64_t by)
{
    int k = 0;
    while ((int64_t)1 << k < by)
        k++;
    int64_t power = (int64_t)1 << (31 + k), m = power / by + (power % by != 0);
    ip_expr *product = bin(IP_X_MUL, ip_x_cast(ir, IMGPAR_U64, x),
                           ip_x_cast(ir, IMGPAR_U64, ip_x_param(ir, IMGPAR_U32, (double)m, 0, 4294967295.0)));
    ip_expr *count = ip_x_cast(ir, IMGPAR_U64, ip_x_param(ir, IMGPAR_U32, 31 + k, 0, 63));
    return ip_x_cast(ir, IMGPAR_I32, bin(IP_X_SHR, product, count));
}

static ip_expr *make_offset(const numbers *k) { return bin(IP_X_ADD, at(2), number(k->a)); }
static int64_t at_offset(const numbers *k, int64_t y, int64_t x) { return (void)y, x + k->a; }

static ip_expr *make_affine(const numbers *k)
{
    return bin(IP_X_SUB, bin(IP_X_ADD, bin(IP_X_MUL, at(2), number(k->a)), bin(IP_X_MUL, at(1), number(k->b))),
               bin(IP_X_SUB, at(2), number(k->n)));
}
static int64_t at_affine(const numbers *k, int64_t y, int64_t x) { return k->a * x + k->b * y - (x - k->n); }

static ip_expr *make_flip(const numbers *k) { return bin(IP_X_SUB, number(k->a), at(2)); }
static int64_t at_flip(const numbers *k, int64_t y, int64_t x) { return (void)y, k->a - x; }

static ip_expr *make_divided(const numbers *k)
{
    return bin(IP_X_IDIV, bin(IP_X_ADD, at(2), number(k->a)), ip_x_int(ir, IMGPAR_I32, k->n));
}
static int64_t at_divided(const numbers *k, int64_t y, int64_t x) { return (void)y, floor_div(x + k->a, k->n); }

static ip_expr *make_quotient(const numbers *k) { return quotient(ip_x_cast(ir, IMGPAR_U32, at(2)), k->n); }
static int64_t at_quotient(const numbers *k, int64_t y, int64_t x) { return (void)y, x / k->n; }

static ip_expr *make_remainder(const numbers *k)
{
    return between(0, 1) ? bin(IP_X_SUB, at(2), bin(IP_X_MUL, quotient(at(2), k->n), number(k->n)))
                         : bin(IP_X_MOD, at(2), ip_x_int(ir, IMGPAR_I32, k->n));
}
static int64_t at_remainder(const numbers *k, int64_t y, int64_t x) { return (void)y, x % k->n; }

static ip_expr *make_circshift(const numbers *k)
{
    ip_expr *by = number(k->n / 3), *ends = number(k->n - k->n / 3);
    return bin(IP_X_ADD, at(2), ip_x_select(ir, bin(IP_X_LT, at(2), by), ends, ip_x_unary(ir, IP_X_NEG, by)));
}
static int64_t at_circshift(const numbers *k, int64_t y, int64_t x)
{
    int64_t by = k->n / 3;
    return (void)y, x < by ? x + k->n - by : x - by;
}

static ip_expr *make_pieces(const numbers *k)
{
    ip_expr *low = bin(IP_X_LT, at(2), number(k->n)), *high = bin(IP_X_LE, number(k->n + 3), at(2));
    return ip_x_select(ir, low, bin(IP_X_SUB, number(k->a), at(2)),
                       ip_x_select(ir, high, bin(IP_X_MUL, at(2), number(3)), number(k->b)));
}
static int64_t at_pieces(const numbers *k, int64_t y, int64_t x)
{
    return (void)y, x < k->n ? k->a - x : k->n + 3 <= x ? 3 * x : k->b;
}

static ip_expr *make_clamped(const numbers *k)
{
    return least_and_most(bin(IP_X_SUB, at(2), bin(IP_X_MUL, at(1), number(k->b))), k->n);
}
static int64_t at_clamped(const numbers *k, int64_t y, int64_t x) { return clamped(x - k->b * y, k->n); }

static ip_expr *make_shifted(const numbers *k) { return bin(IP_X_SHR, at(2), ip_x_int(ir, IMGPAR_I32, k->n % 4)); }
static int64_t at_shifted(const numbers *k, int64_t y, int64_t x) { return (void)y, x >> k->n % 4; }

/* at() of a scaled column: floor(x * n / 8 + b / 4), exact in f32. */
static ip_expr *make_scaled(const numbers *k)
{
    ip_expr *x = ip_x_cast(ir, IMGPAR_F32, at(2)), *by = ip_x_float(ir, IMGPAR_F32, (double)k->n / 8);
    ip_expr *sum = bin(IP_X_ADD, bin(IP_X_MUL, x, by), ip_x_param(ir, IMGPAR_F32, (double)k->b / 4, -1000, 1000));
    return ip_x_cast(ir, IMGPAR_I32, ip_x_unary(ir, IP_X_FLOOR, sum));
}
static int64_t at_scaled(const numbers *k, int64_t y, int64_t x)
{
    return (void)y, (int64_t)floor((double)x * (double)k->n / 8 + (double)k->b / 4);
}

static const struct family {
    const char *name;
    ip_expr *(*make)(const numbers *k);
    int64_t (*at)(const numbers *k, int64_t y, int64_t x);
    ip_map_kind kind;
} families[] = {
    { "an offset", make_offset, at_offset, IP_MAP_OFFSET },
    { "multiples of two coordinates", make_affine, at_affine, IP_MAP_AFFINE },
    { "a flip", make_flip, at_flip, IP_MAP_AFFINE },
    { "a floor division", make_divided, at_divided, IP_MAP_STEPS },
    { "a division by an argument", make_quotient, at_quotient, IP_MAP_STEPS },
    { "a remainder", make_remainder, at_remainder, IP_MAP_STEPS },
    { "a circular shift", make_circshift, at_circshift, IP_MAP_STEPS },
    { "pieces", make_pieces, at_pieces, IP_MAP_STEPS },
    { "a clamped skew", make_clamped, at_clamped, IP_MAP_STEPS },
    { "a shift of bits", make_shifted, at_shifted, IP_MAP_STEPS },
    { "a scaled column", make_scaled, at_scaled, IP_MAP_STEPS },
};
enum { N_FAMILIES = sizeof families / sizeof *families, TRIALS = 2000 };

START_TEST(an_interval_is_the_least_and_the_greatest_index_of_a_box)
{
    const struct family *f = &families[_i];
    for (int t = 0; t < TRIALS; t++) {
        numbers k = { between(-9, 9), between(-9, 9), between(2, 20) };
        if (k.a == 1 || k.a == 0) k.a = 2;
        if (k.b == 0) k.b = 1;
        ip_box box = { { { 0, 0 }, { between(0, 5), 0 }, { between(0, 40), 0 }, { 0, 0 } } };
        bool shifts = f->make == make_circshift; /* along a row of n columns */
        box.axis[1].hi = box.axis[1].lo + between(0, 6);
        box.axis[2].lo = shifts ? between(0, k.n - 1) : box.axis[2].lo;
        box.axis[2].hi = shifts ? between(box.axis[2].lo, k.n - 1) : box.axis[2].lo + between(0, 30);
        ip_span want = { INT64_MAX, INT64_MIN }, got;
        for (int64_t y = box.axis[1].lo; y <= box.axis[1].hi; y++)
            for (int64_t x = box.axis[2].lo; x <= box.axis[2].hi; x++) {
                int64_t i = f->at(&k, y, x);
                want.lo = i < want.lo ? i : want.lo;
                want.hi = i > want.hi ? i : want.hi;
            }
        ip_expr *index = f->make(&k);
        ck_assert_msg(ip_index_span(index, &box, &got), "%s is taken for a gather", f->name);
        ck_assert_msg(got.lo == want.lo && got.hi == want.hi,
                      "%s, a=%d b=%d n=%d of columns %d..%d: %d..%d instead of %d..%d", f->name, (int)k.a, (int)k.b,
                      (int)k.n, (int)box.axis[2].lo, (int)box.axis[2].hi, (int)got.lo, (int)got.hi, (int)want.lo,
                      (int)want.hi);
    }
}
END_TEST

START_TEST(index_maps_have_kinds)
{
    numbers k = { 3, -2, 7 };
    ck_assert_int_eq(ip_index_map_of(families[_i].make(&k)).kind, families[_i].kind);
}
END_TEST

/* Whether `map` gives what the family does at each place of the box. */
static bool gives(const struct family *f, const numbers *k, const ip_index_map *map, const ip_box *box)
{
    for (int64_t y = box->axis[1].lo; y <= box->axis[1].hi; y++)
        for (int64_t x = box->axis[2].lo; x <= box->axis[2].hi; x++)
            if (map->first + map->step[1] * y + map->step[2] * x != f->at(k, y, x)) return false;
    return map->first == map->last && map->step[0] == 0 && map->step[3] == 0;
}

START_TEST(a_sum_of_multiples_is_each_index_of_a_box)
{
    const struct family *f = &families[_i];
    int n_sums = 0;
    for (int t = 0; t < TRIALS; t++) {
        const numbers k = { between(-9, 9), between(-9, 9), between(2, 20) };
        const int64_t y = between(0, 5), x = between(0, 40);
        const ip_box box = { { { 0, 0 }, { y, y + between(0, 6) }, { x, x + between(0, 30) }, { 0, 0 } } };
        ip_index_map map;
        const bool is_sum = ip_index_affine(f->make(&k), &box, &map);
        ck_assert_msg(!is_sum || gives(f, &k, &map, &box), "%s, a=%d b=%d n=%d", f->name, (int)k.a, (int)k.b, (int)k.n);
        ck_assert(is_sum ? map.kind <= IP_MAP_AFFINE : map.kind == IP_MAP_GATHER);
        n_sums += is_sum;
    }
    if (f->kind <= IP_MAP_AFFINE) ck_assert_int_eq(n_sums, TRIALS);
    if (f->make == make_clamped) ck_assert(n_sums > 0 && n_sums < TRIALS);
}
END_TEST

START_TEST(a_border_rule_is_its_index_within_the_border_and_what_wraps_is_no_sum)
{
    ip_expr *index = bin(IP_X_SUB, at(2), number(3)), *large = bin(IP_X_MUL, at(2), number(100000));
    ip_expr *border = ip_x_border(ir, IMGPAR_BORDER_REFLECT, index, ip_x_param(ir, IMGPAR_I32, 10, 1, 1e9));
    ip_box box = { { { 0, 0 }, { 0, 0 }, { 3, 12 }, { 0, 0 } } };
    ip_index_map map;
    ck_assert(ip_index_affine(border, &box, &map));
    ck_assert_int_eq(map.kind, IP_MAP_OFFSET);
    ck_assert_int_eq(map.step[2], 1);
    ck_assert_int_eq(map.first, -3);
    box.axis[2].hi = 13;
    ck_assert(!ip_index_affine(border, &box, &map));
    box.axis[2].hi = 3;
    box.axis[2].lo = 2;
    ck_assert(!ip_index_affine(border, &box, &map));
    box.axis[2] = (ip_span){ 0, 21474 };
    ck_assert(ip_index_affine(large, &box, &map));
    box.axis[2].hi = 21475;
    ck_assert(!ip_index_affine(large, &box, &map));
}
END_TEST

START_TEST(what_is_read_at_places_that_are_read_is_a_gather)
{
    ip_stage *s = ip_stage_new(ir, IP_STAGE_SOURCE, IMGPAR_I32, (int64_t[]){ 1, 9, 9, 1 }, NULL);
    ip_expr *coords[4] = { at(0), at(1), at(2), at(3) };
    ip_expr *index = bin(IP_X_ADD, ip_x_load(ir, s, coords, IP_BORDER_NONE, NULL), at(2));
    const ip_box box = { { { 0, 0 }, { 0, 3 }, { 0, 3 }, { 0, 0 } } };
    ip_span span;
    ck_assert(!ip_index_span(index, &box, &span));
    ck_assert_int_eq(ip_index_map_of(index).kind, IP_MAP_GATHER);
}
END_TEST

/* ...aa|abcd|dd, ba|abcd|dc, cb|abcd|cb, cd|abcd|ab: DESIGN's table, by walking. */
static int64_t walked(int border, int64_t i, int64_t n)
{
    while ((i < 0 || i >= n) && border == IMGPAR_BORDER_WRAP)
        i += i < 0 ? n : -n;
    while ((i < 0 || i >= n) && border == IMGPAR_BORDER_REFLECT)
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
    while ((i < 0 || i >= n) && border == IMGPAR_BORDER_REFLECT101 && n > 1)
        i = i < 0 ? -i : 2 * n - 2 - i;
    return clamped(i, n);
}

START_TEST(a_border_keeps_intervals_exact)
{
    static const int borders[] = { IMGPAR_BORDER_REPLICATE, IMGPAR_BORDER_REFLECT, IMGPAR_BORDER_REFLECT101,
                                   IMGPAR_BORDER_WRAP, IMGPAR_BORDER_CONSTANT };
    for (int t = 0; t < TRIALS * 10; t++) {
        int border = borders[between(0, 4)];
        int64_t n = between(1, 12), lo = between(-40, 40), hi = lo + between(0, 30);
        ip_span want = { INT64_MAX, INT64_MIN }, got = ip_border_span(border, (ip_span){ lo, hi }, n);
        for (int64_t i = lo; i <= hi; i++) {
            int64_t j = walked(border, i, n);
            want.lo = j < want.lo ? j : want.lo;
            want.hi = j > want.hi ? j : want.hi;
        }
        ck_assert_msg(got.lo == want.lo && got.hi == want.hi, "border %d of %d..%d in %d: %d..%d instead of %d..%d",
                      border, (int)lo, (int)hi, (int)n, (int)got.lo, (int)got.hi, (int)want.lo, (int)want.hi);
    }
}
END_TEST

/* ---- graphs ---------------------------------------------------------------------------------- */

enum { WIDTH = 1600, HEIGHT = 1200 }; /* of $1 and $2, bytes */

/* A level of a pyramid. */
#define DOWN(A) "slice(convsep(" A ", [1 2 1], [1 2 1], scale=16), step=[2 2])"

/* What the kernels of a graph read and write, all together. A median of 3 x 3 needs a column and a row more on each
 * side. */
static const struct shape {
    const char *text;
    uint64_t read, written;
} shapes[] = {
    { "median($1, 3)", WIDTH *HEIGHT, WIDTH *HEIGHT },
    { "crop(median($1, 3), 100, 200, 300, 150)", 302 * 152, 300 * 150 },
    { "crop(median($1, 3), 0, 0, 300, 150)", 301 * 151, 300 * 150 },
    { "crop(blur($1, 2), 700, 900, 100, 80)", 112 * 92, 100 * 80 },
    { "slice(median($1, 3), [100 200], [400 800], step=[3 4])", 300 * 599 + 100 * 597,
      100 * 597 + 100 * 150 },                                                 /* no row that is left out */
    { "slice(median($1, 3), [0 200], step=[2 3])", WIDTH *HEIGHT, 600 * 467 }, /* of most columns in one kernel */
    { "slice(blur($1, 2), step=[2 2])", WIDTH *HEIGHT, 600 * 800 },
    /* two levels of a pyramid a kernel; the fifth has too few rows to keep whole ones */
    { DOWN(DOWN(DOWN(DOWN(DOWN("$1"))))), WIDTH *HEIGHT + 400 * 300 + 100 * 75 + 99 * 38,
      400 * 300 + 100 * 75 + 99 * 38 + 50 * 38 },
    { DOWN("blur(median($1, 3, border=reflect), 2)"), WIDTH *HEIGHT, 800 * 600 },
    /* a level that several read is kept, not the row that it leaves columns out of, whichever view reads it */
    { "a = " DOWN("$1") "\nb = " DOWN("a") "\na - resize(b, width(a), height(a), filter=nearest)",
      WIDTH *HEIGHT + 2 * 800 * 600 + 400 * 300, 800 * 600 + 400 * 300 + 4 * 800 * 600 },
    { "a = " DOWN("zip($1, $2)") "\nresize(" DOWN("a") ", 800, 600, filter=nearest) + slice(a, 0, 1, axis=2)",
      2 * (WIDTH * HEIGHT + 2 * 800 * 600 + 400 * 300), 2 * (800 * 600 + 400 * 300 + 4 * 800 * 600) },
    { "crop(reverse(median($1, 3), axis=1), 100, 200, 300, 150)", 302 * 152 + 300 * 150, 2 * 300 * 150 },
    { "crop(pad(median($1, 3), [10 20], [10 20], border=reflect), 0, 0, 50, 40)", 31 * 31 + 30 * 30,
      30 * 30 + 50 * 40 },
    { "crop(pad(median($1, 3), [10 20], [10 20], border=wrap), 0, 100, 20, 40)", 21 * 42 + 20 * 40, 2 * 20 * 40 },
    { "crop(circshift(median($1, 3), [100 50]), 200, 300, 60, 70)", 62 * 72 + 60 * 70, 2 * 60 * 70 },
    /* and one row of $2 */
    { "crop(concatenate(median($1, 3), $2, axis=0), 10, 20, 30, 40)", 32 * 42 + 30 * 40 + 30, 2 * 30 * 40 },
    { "crop(tile(median($1, 3), [2 2]), 1700, 1300, 60, 70)", 62 * 72 + 60 * 70, 2 * 60 * 70 },
    { "crop(repeat(median($1, 3), 2, axis=0), 100, 200, 300, 150)", 302 * 77 + 300 * 75, 300 * 75 + 300 * 150 },
    { "crop(repeat(median($1, 3), 3, axis=1), 100, 200, 300, 150)", 103 * 152 + 101 * 150, 101 * 150 + 300 * 150 },
    { "crop(transpose(median($1, 3)), 100, 200, 300, 150)", 152 * 302 + 150 * 300, 2 * 300 * 150 },
    { "crop(reshape(median($1, 3), [600 3200]), 0, 100, 3200, 50)", 1600 * 102 + 1600 * 100, 2 * 3200 * 50 },
    { "crop(resize(median($1, 3), 3200, 2400, filter=linear), 100, 200, 300, 150)", 1600 * 79, 300 * 150 },
    { "crop(at(median($1, 3), y * 0.5 + 10, x * 0.5 + 20, filter=nearest), 100, 200, 300, 150)", 153 * 78 + 151 * 76,
      151 * 76 + 300 * 150 },
    /* 16 sums of a row first, which fit 16 bits */
    { "slice(sum(median($1, 3), axis=1), 100, 164)", 1600 * 66 + 64 * 16 * 2, 64 * 16 * 2 + 64 * 8 },
    { "slice(cumsum(median($1, 3), axis=1), [100 0], [164 100])", 1600 * 66 + 1600 * 64 + 100 * 64 * 8,
      1600 * 64 + 1600 * 64 * 8 + 100 * 64 * 8 },
    { "crop(blur(median($1, 3), 2, border=wrap), 100, 200, 300, 150)", 1600 * 164 + 1600 * 162 + 300 * 150,
      1600 * 162 + 1600 * 150 + 300 * 150 }, /* kept rows wrap whole */
    { "crop(zip(median($1, 3), $2), 100, 200, 300, 150)", 302 * 152 + 300 * 150, 300 * 150 * 2 },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

typedef struct bench {
    imgpar_context *ctx;
    imgpar_array *image[2];
} bench;

static void open_bench(bench *b)
{
    const int64_t dims[2] = { HEIGHT, WIDTH };
    unsigned char *bytes = malloc((size_t)WIDTH * HEIGHT);
    ck_assert_ptr_nonnull(bytes);
    hold_driver();
    ck_assert_int_eq(imgpar_context_new(NULL, &b->ctx), IMGPAR_OK);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < WIDTH * HEIGHT; i++)
            bytes[i] = (unsigned char)between(0, 255);
        b->image[k] = imgpar_array_from_data(b->ctx, IMGPAR_U8, 2, dims, bytes);
    }
    free(bytes);
}

static void close_bench(bench *b)
{
    for (int k = 0; k < 2; k++)
        imgpar_array_release(b->image[k]);
    imgpar_context_release(b->ctx);
}

static imgpar_array *make(const bench *b, const char *text)
{
    imgpar_array *a = imgpar_apply(b->ctx, text, b->image, 2);
    ck_assert_msg(imgpar_array_status(a) == IMGPAR_OK, "%s: %s", text, imgpar_array_message(a));
    return a;
}

/* The sum of what follows a word in JSON. */
static uint64_t total(const char *json, const char *word)
{
    uint64_t sum = 0;
    for (const char *at = json; (at = strstr(at, word)); at += strlen(word))
        sum += strtoull(at + strlen(word), NULL, 10);
    return sum;
}

/* Kernels are those of a CPU; of devices without rows there are others, which need no more. */
START_TEST(explain_tells_the_bytes_that_a_graph_needs_and_makes)
{
    bench b;
    open_bench(&b);
    ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", "rows"), IMGPAR_OK);
    for (int k = 0; k < N_SHAPES; k++) {
        imgpar_array *a = make(&b, shapes[k].text);
        char *json = NULL;
        ck_assert_int_eq(imgpar_explain(&a, 1, "json", &json), IMGPAR_OK);
        uint64_t read = total(json, "\"bytes_read\": "), written = total(json, "\"bytes_written\": ");
        ck_assert_msg(read == shapes[k].read && written == shapes[k].written,
                      "%s reads %llu and writes %llu, not %llu and %llu:\n%s", shapes[k].text, (unsigned long long)read,
                      (unsigned long long)written, (unsigned long long)shapes[k].read,
                      (unsigned long long)shapes[k].written, json);
        imgpar_free(json);
        imgpar_array_release(a);
    }
    close_bench(&b);
}
END_TEST

/* All five levels are asked for: each is made of the one before and nothing else. */
START_TEST(a_pyramid_reads_and_writes_its_levels)
{
    enum { LEVELS = 5 };
    bench b;
    imgpar_array *levels[LEVELS];
    uint64_t needed = 0;
    char *json = NULL;
    open_bench(&b);
    ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", "rows"), IMGPAR_OK);
    for (int k = 0; k < LEVELS; k++) {
        imgpar_info info = { .struct_size = sizeof info };
        imgpar_array *above = k ? levels[k - 1] : b.image[0];
        levels[k] = imgpar_apply(b.ctx, DOWN("$1"), &above, 1);
        ck_assert_int_eq(imgpar_array_info(levels[k], &info), IMGPAR_OK);
        needed += info.size_bytes;
        ck_assert_int_eq(imgpar_array_info(above, &info), IMGPAR_OK);
        needed += info.size_bytes;
    }
    ck_assert_int_eq(imgpar_explain(levels, LEVELS, "json", &json), IMGPAR_OK);
    uint64_t moved = total(json, "\"bytes_read\": ") + total(json, "\"bytes_written\": ");
    ck_assert_msg(moved * 5 <= needed * 6, "%llu bytes where %llu are needed:\n%s", (unsigned long long)moved,
                  (unsigned long long)needed, json);
    imgpar_free(json);
    for (int k = 0; k < LEVELS; k++)
        imgpar_array_release(levels[k]);
    close_bench(&b);
}
END_TEST

START_TEST(counters_tell_the_same_and_the_interpreter_gives_the_same_bytes)
{
    bench b;
    open_bench(&b);
    bool is_cpu = strcmp(imgpar_context_device(b.ctx)->kind, "cpu") == 0;
    for (int k = 1; k < N_SHAPES && is_cpu; k += 3) {
        imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
        imgpar_info info = { .struct_size = sizeof info };
        imgpar_array *a = make(&b, shapes[k].text);
        ck_assert_int_eq(imgpar_array_info(a, &info), IMGPAR_OK);
        char *got = malloc(info.size_bytes), *want = malloc(info.size_bytes);
        ck_assert(got && want);
        imgpar_context_counters(b.ctx, &before);
        ck_assert_msg(imgpar_array_read(a, got, info.size_bytes) == IMGPAR_OK, "%s: %s", shapes[k].text,
                      imgpar_array_message(a));
        imgpar_context_counters(b.ctx, &after);
        ck_assert_uint_eq(after.bytes_read - before.bytes_read, shapes[k].read);
        ck_assert_uint_eq(after.bytes_written - before.bytes_written, shapes[k].written);
        ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", "ref"), IMGPAR_OK);
        ck_assert_msg(imgpar_array_read(a, want, info.size_bytes) == IMGPAR_OK, "%s: %s", shapes[k].text,
                      imgpar_array_message(a));
        ck_assert_int_eq(imgpar_context_set(b.ctx, "schedule", "auto"), IMGPAR_OK);
        ck_assert_msg(memcmp(got, want, info.size_bytes) == 0, "%s: the interpreter gives other bytes", shapes[k].text);
        free(got);
        free(want);
        imgpar_array_release(a);
    }
    close_bench(&b);
}
END_TEST

/* ---- everything ------------------------------------------------------------------------------ */

static void add_maps(Suite *s)
{
    TCase *c = tcase_create("maps");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, an_interval_is_the_least_and_the_greatest_index_of_a_box, 0, N_FAMILIES);
    tcase_add_loop_test(c, index_maps_have_kinds, 0, N_FAMILIES);
    tcase_add_loop_test(c, a_sum_of_multiples_is_each_index_of_a_box, 0, N_FAMILIES);
    tcase_add_test(c, a_border_rule_is_its_index_within_the_border_and_what_wraps_is_no_sum);
    tcase_add_test(c, what_is_read_at_places_that_are_read_is_a_gather);
    tcase_add_test(c, a_border_keeps_intervals_exact);
    suite_add_tcase(s, c);
}

int main(void)
{
    Suite *s = suite_create("demand");
    TCase *graphs = tcase_create("graphs");
    add_maps(s);
    tcase_set_timeout(graphs, 300);
    tcase_add_test(graphs, explain_tells_the_bytes_that_a_graph_needs_and_makes);
    tcase_add_test(graphs, a_pyramid_reads_and_writes_its_levels);
    tcase_add_test(graphs, counters_tell_the_same_and_the_interpreter_gives_the_same_bytes);
    suite_add_tcase(s, graphs);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
