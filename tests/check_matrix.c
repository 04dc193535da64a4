/* SPDX-License-Identifier: MIT */
/*
 * Every operation against independent answers, in every schedule: matrix.h says how,
 * matrix_rows.c which. The quick tier gives few programs to the device and
 * everything to the reference interpreter; IMGPAR_TEST_TIER=full gives it many.
 */
#include "matrix.h"

#include "ops/build.h"
#include "ops/row_functions.h"
#include "asserts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const border_words[] = { "replicate", "reflect", "reflect101", "wrap", "constant" };
static const char odd_sizes[] = "1x1 1x17 19x1 13x7 31x17 67x129";

/* ---- rows ---------------------------------------------------------------------------------- */

typedef struct combination {
    const matrix_row *row;
    int dtype_index, channels, border;
    device_use device;
} combination;

static void options_of(const combination *m, char *options, size_t size)
{
    const char *own = m->row->options ? m->row->options : "";
    snprintf(options, size, "%s", own);
    if (!m->row->has_border) return;
    size_t n = strlen(options);
    snprintf(options + n, size - n, "%sborder=%s%s", n ? ", " : "", border_words[m->border],
             m->border == IMGPAR_BORDER_CONSTANT ? ", cval=7" : "");
}

/* The operation through imgpar_op(), or through the language where a literal takes part. */
static imgpar_array *build(imgpar_context *ctx, const matrix_row *row, const call *c)
{
    imgpar_array *arrays[CALL_MAX_INPUTS], *result;
    char text[512];
    int n = snprintf(text, sizeof text, "%s(", c->op), n_arrays = 0;
    for (int k = 0; k < c->n_in; k++) {
        if (c->in[k]->is_number) {
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%.17Lg", k ? ", " : "", c->in[k]->v[0]);
        } else {
            arrays[n_arrays++] = picture_array(ctx, c->in[k]);
            n += snprintf(text + n, sizeof text - (size_t)n, "%s$%d", k ? ", " : "", n_arrays);
        }
    }
    snprintf(text + n, sizeof text - (size_t)n, "%s%s)", c->options[0] && c->n_in ? ", " : "", c->options);
    const char *rest = strstr(c->options, "border=");
    if (row->text) {
        const char *hole = strstr(row->text, "%s");
        snprintf(text, sizeof text, "%.*s%s%s%s", (int)(hole - row->text), row->text, rest ? ", " : "",
                 rest ? rest : "", hole + 2);
    }
    if (row->text || n_arrays < c->n_in || c->n_in == 0)
        result = imgpar_apply(ctx, text, arrays, (size_t)n_arrays);
    else
        result = imgpar_op(ctx, c->op, arrays, (size_t)n_arrays, c->options);
    for (int k = 0; k < n_arrays; k++)
        imgpar_array_release(arrays[k]);
    return result;
}

static void check_size(bench *b, const combination *m, int64_t w, int64_t h)
{
    char options[256], what[512];
    picture in[CALL_MAX_INPUTS], want;
    const ip_op *row = ip_op_find(m->row->op);
    imgpar_dtype dtype = list_dtype(m->row->dtypes, m->dtype_index);
    options_of(m, options, sizeof options);
    call c = { .op = m->row->op, .n_in = (int)strlen(m->row->inputs), .options = options };
    for (int k = 0; k < c.n_in; k++) {
        in[k] = matrix_input(m->row, m->row->inputs[k], dtype, h, w, m->channels, (unsigned)(k + 3 * m->channels));
        c.in[k] = &in[k];
    }
    snprintf(what, sizeof what, "%s(%s; %s) of %s %dx%dx%d", c.op, m->row->inputs, options, imgpar_dtype_name(dtype),
             (int)w, (int)h, m->channels);
    ck_assert_msg(row && oracle_answer(&c, &want), "no oracle for %s", c.op);
    bench_check(b, build(b->ctx, m->row, &c), &want, row->info.same_bytes, m->device, what);
    picture_free(&want);
    for (int k = 0; k < c.n_in; k++)
        picture_free(&in[k]);
}

static void check_sizes(bench *b, const combination *m)
{
    const char *sizes = m->row->sizes ? m->row->sizes : odd_sizes;
    char size[32];
    for (int k = 0; list_word(sizes, k, size); k++) {
        char *end;
        int64_t w = strtol(size, &end, 10), h = strtol(end + 1, NULL, 10);
        combination one = *m;
        if (m->row->device_size && strcmp(m->row->device_size, size) != 0) one.device = NO_DEVICE;
        if (w * h <= 1000 || m->device) check_size(b, &one, w, h);
    }
}

/* Each dtype meets one number of channels and one border on the device; the first of a row by pixels too. In the
 * full tier a row has its first two dtypes and others by turns, so that all rows together have all many times. */
static device_use use_of(const bench *b, const combination *m, int row)
{
    int d = m->dtype_index;
    bool has_dtype = d < m->row->n_quick || (b->is_full && (d < 2 || d % 7 == row % 7));
    int n_channels = (int)strlen(m->row->channels), channel_index = 0;
    while (m->row->channels[channel_index] - '0' != m->channels)
        channel_index++;
    bool meets =
        has_dtype && channel_index == (d + row) % n_channels && (!m->row->has_border || m->border == (d + row) % 5);
    return !meets ? NO_DEVICE : d == 0 ? DEVICE : DEVICE_ROWS;
}

START_TEST(an_operation_gives_the_same_in_every_schedule_and_what_its_definition_says)
{
    bench b;
    const matrix_row *row = &matrix_rows[_i];
    uint64_t n_on_device = 0;
    bench_open(&b);
    if (!b.is_full) b.turn = _i;
    for (int d = 0; d < list_length(row->dtypes); d++)
        for (const char *channels = row->channels; *channels; channels++)
            for (int border = 0; border < (row->has_border ? 5 : 1); border++) {
                combination m = { row, d, *channels - '0', border, NO_DEVICE };
                m.device = use_of(&b, &m, _i);
                n_on_device += m.device != NO_DEVICE;
                check_sizes(&b, &m);
            }
    ck_assert_msg(bench_programs(&b) <= 12 * n_on_device, "%s: %d programs for %d combinations: sizes cost programs",
                  row->op, (int)bench_programs(&b), (int)n_on_device);
    bench_close(&b);
}
END_TEST

/* ---- packs --------------------------------------------------------------------------------- */

static int n_members(const matrix_pack *pack)
{
    int n = 0;
    while (pack->members[n].op)
        n++;
    return n;
}

/* "y % 3 == 0 ? $1 + $2 : y % 3 == 1 ? $1 - $2 : $1 * $2" */
static void pack_text(const matrix_pack *pack, char *text, size_t size)
{
    int n = n_members(pack), at = 0;
    for (int k = 0; k + 1 < n; k++)
        at += snprintf(text + at, size - (size_t)at, "y %% %d == %d ? (%s) : ", n, k, pack->members[k].text);
    snprintf(text + at, size - (size_t)at, "(%s)", pack->members[n - 1].text);
}

/* Row y from member y % n. */
static picture pack_answer(const matrix_pack *pack, const picture in[2], bool *same_bytes)
{
    int n = n_members(pack);
    picture want = { .v = NULL };
    bool any_u64 = false;
    *same_bytes = true;
    for (int k = 0; k < n; k++) {
        const pack_member *m = &pack->members[k];
        picture number = picture_number(m->number, m->number != (real)(int64_t)m->number), one;
        const picture *last = m->number != 0 ? &number : &in[1];
        call c = { .op = m->op, .in = { &in[0], last }, .n_in = m->n_in, .options = m->options };
        const ip_op *row = ip_op_find(m->op);
        ck_assert_msg(row && oracle_answer(&c, &one), "no oracle for %s", m->op);
        *same_bytes = *same_bytes && row->info.same_bytes;
        if (k == 0) want = picture_new(one.dtype, one.h, one.w, one.c);
        any_u64 = any_u64 || one.dtype == IMGPAR_U64;
        want.dtype = oracle_meet(want.dtype, one.dtype); /* as what select chooses from does */
        for (int64_t i = 0; i < picture_count(&one); i++) {
            if (i / one.c / one.w % n != k) continue;
            want.v[i] = one.v[i];
            want.slack[i] = one.slack[i];
        }
        picture_free(&one);
        picture_free(&number);
    }
    for (int64_t i = 0; any_u64 && want.dtype == IMGPAR_I64 && i < picture_count(&want); i++)
        if (want.v[i] > (real)INT64_MAX) want.v[i] -= 0x1p64L;
    return want;
}

static void check_pack(bench *b, const matrix_pack *pack, int dtype_index, int64_t w, int64_t h, int channels,
                       device_use device)
{
    static char text[4096];
    char what[256];
    imgpar_dtype dtype = list_dtype(pack->dtypes, dtype_index);
    imgpar_dtype second = pack->seconds ? list_dtype(pack->seconds, dtype_index) : dtype;
    picture in[2] = { picture_new(dtype, h, w, channels), picture_new(second, h, w, channels) };
    bool same_bytes;
    picture_fill(&in[0], pack->fill, 1);
    picture_fill(&in[1], pack->fill, 2);
    picture want = pack_answer(pack, in, &same_bytes);
    pack_text(pack, text, sizeof text);
    imgpar_array *arrays[2] = { picture_array(b->ctx, &in[0]), picture_array(b->ctx, &in[1]) };
    snprintf(what, sizeof what, "pack %s of %s, %s %dx%dx%d", pack->name, imgpar_dtype_name(dtype),
             imgpar_dtype_name(second), (int)w, (int)h, channels);
    bench_check(b, imgpar_apply(b->ctx, text, arrays, 2), &want, same_bytes, device, what);
    for (int k = 0; k < 2; k++) {
        imgpar_array_release(arrays[k]);
        picture_free(&in[k]);
    }
    picture_free(&want);
}

START_TEST(functions_packed_into_one_kernel_give_what_their_definitions_say)
{
    bench b;
    const matrix_pack *pack = &matrix_packs[_i];
    bench_open(&b);
    if (!b.is_full) b.turn = _i;
    for (int d = 0; d < list_length(pack->dtypes); d++) {
        bool has_dtype = d < pack->n_quick || (b.is_full && d % 2 == _i % 2);
        device_use device = !has_dtype ? NO_DEVICE : d == 0 ? DEVICE_FUSED : DEVICE_ROWS;
        int channels = 1 + (d + _i) % 4;
        check_pack(&b, pack, d, 31, 47, channels, device);
        check_pack(&b, pack, d, 1, 29, channels, device);
        check_pack(&b, pack, d, 1, 1, channels, device);
    }
    bench_close(&b);
}
END_TEST

/* ---- what the language writes ------------------------------------------------------------------ */

typedef real (*place_fn)(int64_t y, int64_t x, int64_t c);
static real place_x(int64_t y, int64_t x, int64_t c) { return (void)y, (void)c, (real)x; }
static real place_all(int64_t y, int64_t x, int64_t c) { return (real)(x + 100 * y + 10000 * c); }
static real place_pattern(int64_t y, int64_t x, int64_t c) { return (void)c, (x / 4 + y / 4) % 2 ? 255 : 0; }
static real place_ramp(int64_t y, int64_t x, int64_t c) { return (void)y, (real)x * 0.5L - (real)c; }

START_TEST(coordinates_are_the_places_of_elements)
{
    static const struct {
        const char *text;
        imgpar_dtype dtype;
        int channels;
        place_fn fn;
    } makes[] = {
        { "make(%d, %d, x)", IMGPAR_I32, 1, place_x },
        { "make(%d, %d, x + 100 * y + 10000 * c, channels=3)", IMGPAR_I32, 3, place_all },
        { "make(%d, %d, cast((x div 4 + y div 4) %% 2 == 1 ? 255 : 0, u8))", IMGPAR_U8, 1, place_pattern },
        { "make(%d, %d, x * 0.5 - c, channels=4)", IMGPAR_F32, 4, place_ramp },
    };
    static const int sizes[][2] = { { 1, 1 }, { 1, 31 }, { 29, 1 }, { 13, 7 }, { 129, 67 } };
    bench b;
    char text[128];
    bench_open(&b);
    for (size_t k = 0; k < sizeof makes / sizeof *makes; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int w = sizes[s][0], h = sizes[s][1];
            picture want = picture_new(makes[k].dtype, h, w, makes[k].channels);
            for (int64_t i = 0; i < picture_count(&want); i++)
                want.v[i] = makes[k].fn(i / want.c / w, i / want.c % w, i % want.c);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(text, sizeof text, makes[k].text, w, h);
#pragma GCC diagnostic pop
            bench_check(&b, imgpar_apply(b.ctx, text, NULL, 0), &want, true, DEVICE_FUSED, text);
            picture_free(&want);
        }
    ck_assert_uint_le(bench_programs(&b), 4 * sizeof makes / sizeof *makes); /* rows, pixels, tiles, tiles of one row */
    bench_close(&b);
}
END_TEST

/* The four neighbours' mean, and what happens at the edges. */
static real neighbours(const picture *a, int64_t y, int64_t x, int64_t c, char rule)
{
    bool outside = y == 0 || x == 0 || y == a->h - 1 || x == a->w - 1;
    if (outside && rule == '9') return 9;
    if (outside && rule == 'k') return *picture_at(a, y, x, c);
    int border = rule == 'w' ? IMGPAR_BORDER_WRAP : IMGPAR_BORDER_REPLICATE;
    real sum = 0;
    for (int k = 0; k < 4; k++)
        sum += picture_read(a, y + (k == 0) - (k == 1), x + (k == 2) - (k == 3), c, border, 0);
    return sum / 4;
}

START_TEST(neighbour_reads_follow_the_rule_of_their_stencil)
{
    static const char reads[] = "($1[-1, 0] + $1[1, 0] + $1[0, -1] + $1[0, 1]) / 4";
    static const struct {
        const char *rest;
        char rule;
    } rules[] = {
        { "", 'r' },
        { ", border=wrap", 'w' },
        { ", outside=9", '9' },
        { ", outside=keep", 'k' },
    };
    static const int sizes[][2] = { { 1, 1 }, { 1, 31 }, { 13, 7 }, { 67, 129 } };
    bench b;
    char text[160];
    bench_open(&b);
    for (int k = 0; k < 4; k++)
        for (int s = 0; s < 4; s++) {
            picture a = picture_new(IMGPAR_U8, sizes[s][1], sizes[s][0], 3),
                    want = picture_new(IMGPAR_F32, a.h, a.w, 3);
            picture_fill(&a, FILL_ANY, 3);
            for (int64_t i = 0; i < picture_count(&a); i++)
                want.v[i] = neighbours(&a, i / 3 / a.w, i / 3 % a.w, i % 3, rules[k].rule);
            snprintf(text, sizeof text, "stencil(%s%s)", reads, rules[k].rest);
            imgpar_array *image = picture_array(b.ctx, &a);
            bench_check(&b, imgpar_apply(b.ctx, text, &image, 1), &want, true, DEVICE_FUSED, text);
            imgpar_array_release(image);
            picture_free(&a);
            picture_free(&want);
        }
    bench_close(&b);
}
END_TEST

/* Slices of a volume are images, each filtered by itself. */
START_TEST(a_volume_is_filtered_slice_by_slice)
{
    enum { D = 3, H = 17, W = 31 };
    bench b;
    bench_open(&b);
    picture all = picture_new(IMGPAR_U8, D * H, W, 3), wants = picture_new(IMGPAR_U8, D * H, W, 3);
    picture_fill(&all, FILL_ANY, 8);
    for (int d = 0; d < D; d++) {
        picture slice = picture_new(IMGPAR_U8, H, W, 3), want;
        memcpy(slice.v, picture_at(&all, d * H, 0, 0), (size_t)picture_count(&slice) * sizeof *slice.v);
        call c = { .op = "boxblur", .in = { &slice }, .n_in = 1, .options = "size=5, border=reflect" };
        ck_assert(oracle_answer(&c, &want));
        memcpy(picture_at(&wants, d * H, 0, 0), want.v, (size_t)picture_count(&slice) * sizeof *slice.v);
        picture_free(&slice);
        picture_free(&want);
    }
    void *bytes = picture_bytes(&all);
    imgpar_array *volume = imgpar_array_from_data(b.ctx, IMGPAR_U8, 4, (int64_t[]){ D, H, W, 3 }, bytes);
    wants.h = H; /* the shape that is checked is that of a slice */
    wants.c = 3 * D;
    imgpar_array *soft = imgpar_boxblur(volume, 5, IMGPAR_BORDER_REFLECT);
    bench_check(&b, soft, &wants, true, DEVICE, "boxblur of a volume");
    imgpar_array_release(volume);
    free(bytes);
    picture_free(&all);
    picture_free(&wants);
    bench_close(&b);
}
END_TEST

/* ---- nothing is forgotten -------------------------------------------------------------------- */

static bool is_in_a_row(const char *op)
{
    for (int k = 0; k < n_matrix_rows; k++)
        if (strcmp(matrix_rows[k].op, op) == 0) return true;
    for (int k = 0; k < n_matrix_packs; k++)
        for (int m = 0; matrix_packs[k].members[m].op; m++)
            if (strcmp(matrix_packs[k].members[m].op, op) == 0) return true;
    return false;
}

START_TEST(every_operation_has_an_oracle_and_a_row)
{
    char missing[1024] = "";
    size_t n = 0;
    for (size_t k = 0; k < imgpar_op_count(); k++) {
        const char *op = imgpar_op_get(k)->name;
        if (strcmp(op, "open") == 0 || strcmp(op, "font_mask") == 0) continue; /* files have tests of their own */
        /* So have arrays of any rank: check_views.c and others of its kind see that none is forgotten. */
        if (!oracle_find(op) &&
            strstr("array complex generator gather matrix measure selection transform", imgpar_op_get(k)->category))
            continue;
        /* check_gathers.c, check_scan_graph.c, check_regions.c */
        if (strcmp(op, "recomb") == 0 || strcmp(op, "wavefront") == 0 || strcmp(op, "reconstruct") == 0) continue;
        if (strcmp(op, "harmonic") == 0 || strcmp(op, "at3d") == 0) continue;
        if (ip_op_find(op)->expand == ip_expand_written) continue; /* check_written.c */
        bool has_oracle = oracle_find(op) != NULL;
        if (has_oracle && is_in_a_row(op)) continue;
        n += (size_t)snprintf(missing + n, n < sizeof missing ? sizeof missing - n : 0, "no %s for %s; ",
                              has_oracle ? "row" : "oracle", op);
        if (n >= sizeof missing) break;
    }
    ck_assert_msg(n == 0, "%s", missing);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("matrix");
    TCase *c = tcase_create("matrix");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, every_operation_has_an_oracle_and_a_row);
    tcase_add_loop_test(c, an_operation_gives_the_same_in_every_schedule_and_what_its_definition_says, 0,
                        n_matrix_rows);
    tcase_add_loop_test(c, functions_packed_into_one_kernel_give_what_their_definitions_say, 0, n_matrix_packs);
    tcase_add_test(c, coordinates_are_the_places_of_elements);
    tcase_add_test(c, neighbour_reads_follow_the_rule_of_their_stencil);
    tcase_add_test(c, a_volume_is_filtered_slice_by_slice);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
