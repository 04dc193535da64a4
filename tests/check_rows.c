/* SPDX-License-Identifier: MIT */
/*
 * Reading by rows (ip_row_reader) gives what decoding the whole gives: the same pixels, warnings and failures, of sound
 * and of damaged files, from memory and from files longer than their first bytes.
 */
#include "io_help.h"
#include "tier.h"

#include <unistd.h>

static const struct {
    const char *format, *settings;
    imgpar_dtype dtype;
    int width, height, channels;
    bool is_exact;
} encoded[] = {
    { "jpeg", NULL, IMGPAR_U8, 301, 203, 3, false },
    { "jpeg", "quality=100, subsample=444", IMGPAR_U8, 301, 203, 3, false },
    { "jpeg", "subsample=422", IMGPAR_U8, 64, 300, 3, false },
    { "jpeg", "quality=100", IMGPAR_U8, 401, 303, 1, false },
    { "png", NULL, IMGPAR_U8, 301, 203, 3, false },
    { "png", "level=1", IMGPAR_U16, 201, 203, 4, false },
    { "png", NULL, IMGPAR_U8, 401, 303, 1, false },
    { "png", NULL, IMGPAR_BOOL, 901, 803, 1, true },
    { "pnm", NULL, IMGPAR_U8, 301, 203, 3, false },
    { "pnm", NULL, IMGPAR_U16, 301, 203, 4, false },
    { "npy", NULL, IMGPAR_F32, 301, 103, 3, false },
    { "npy", NULL, IMGPAR_BOOL, 301, 403, 1, false },
    { "npy", NULL, IMGPAR_I64, 101, 103, 2, false },
};

/* Noise that a picture's samples may be. */
static blob blob_of(int i)
{
    const int64_t shape[] = { encoded[i].height, encoded[i].width, encoded[i].channels };
    const size_t n = (size_t)(shape[0] * shape[1] * shape[2]) * imgpar_dtype_size(encoded[i].dtype);
    unsigned char *bytes = malloc(n);
    uint64_t h = 1;
    for (size_t k = 0; k < n; k++) {
        h = h * 6364136223846793005u + 1442695040888963407u;
        bytes[k] = (unsigned char)(h >> 60 == 0 ? h >> 40 : (k / 700) & 255);
        if (encoded[i].dtype == IMGPAR_BOOL) bytes[k] = h >> 63;
    }
    ip_pixels pixels = { .dtype = encoded[i].dtype,
                         .rank = 3,
                         .shape = { shape[0], shape[1], shape[2] },
                         .white = encoded[i].dtype == IMGPAR_BOOL ? 1 : 0,
                         .is_mask = encoded[i].dtype == IMGPAR_BOOL,
                         .space = encoded[i].channels < 3 ? IMGPAR_SPACE_GRAY : IMGPAR_SPACE_SRGB,
                         .pixels = bytes,
                         .is_exact = encoded[i].is_exact };
    ip_format format;
    ck_assert(ip_format_find(encoded[i].format, &format));
    const blob b = encode(&pixels, format, encoded[i].settings);
    free(bytes);
    return b;
}

/* What reading gave. */
typedef struct outcome {
    imgpar_status status;
    ip_error err;
    ip_str warnings;
    unsigned char *pixels;
    size_t n;
} outcome;

static void outcome_free(outcome *o)
{
    ip_str_free(&o->warnings);
    ip_free(o->pixels);
}

static outcome read_whole(const blob *b, ip_fail_on fail_on)
{
    outcome o = { .warnings = IP_STR_INIT };
    const ip_read_options options = { .fail_on = fail_on, .warnings = &o.warnings };
    ip_image image;
    o.status = ip_io_decode(b->bytes, b->n, "x", &options, &image, &o.err);
    o.pixels = image.pixels;
    o.n = image.size_bytes;
    return o;
}

/* Some rows at a time. */
static imgpar_status read_all(ip_row_reader *r, outcome *o)
{
    const int64_t height = ip_row_reader_height(r);
    const size_t row_bytes = ip_row_reader_row_bytes(r);
    imgpar_status st = IMGPAR_OK;
    o->n = (size_t)height * row_bytes;
    o->pixels = ip_alloc(o->n);
    memset(o->pixels, 0xee, o->n);
    for (int64_t y = 0, n; y < height && !st; y += n) {
        n = height - y < 7 ? height - y : 7;
        st = ip_row_reader_read(r, n, o->pixels + (size_t)y * row_bytes, &o->err);
    }
    return st ? st : ip_row_reader_end(r, &o->err);
}

static outcome read_rows(const ip_row_input *in, ip_fail_on fail_on)
{
    outcome o = { .warnings = IP_STR_INIT };
    const ip_read_options options = { .fail_on = fail_on, .warnings = &o.warnings };
    ip_row_reader *r;
    o.status = ip_row_reader_open(in, &options, &r, &o.err);
    if (!o.status) o.status = read_all(r, &o);
    if (o.status && o.pixels) {
        ip_free(o.pixels);
        o.pixels = NULL;
        o.n = 0;
    }
    ip_row_reader_free(r);
    return o;
}

static void compare(const outcome *whole, const outcome *rows, const char *what)
{
    ck_assert_msg(whole->status == rows->status, "%s: %d %s, by rows %d %s", what, whole->status, whole->err.message,
                  rows->status, rows->err.message);
    ck_assert_str_eq(whole->err.message, rows->err.message);
    if (whole->status) return; /* what it warned of before differs */
    ck_assert_str_eq(ip_str_text(&whole->warnings), ip_str_text(&rows->warnings));
    ck_assert_uint_eq(whole->n, rows->n);
    ck_assert_msg(memcmp(whole->pixels, rows->pixels, rows->n) == 0, "%s: other pixels", what);
}

static void compare_all(const blob *b, const char *what)
{
    ip_header header;
    ip_error err = { 0 };
    if (ip_io_probe(b->bytes, b->n, "x", NULL, &header, &err) || !header.has_rows) return;
    for (ip_fail_on f = IP_FAIL_ON_NONE; f <= IP_FAIL_ON_WARNING; f++) {
        const ip_row_input in = { .bytes = b->bytes, .n = b->n, .name = "x" };
        outcome whole = read_whole(b, f), rows = read_rows(&in, f);
        compare(&whole, &rows, what);
        outcome_free(&whole);
        outcome_free(&rows);
    }
}

START_TEST(rows_are_those_of_the_whole_sound_or_damaged)
{
    enum { N_DAMAGES = 40 };
    blob b = blob_of(_i);
    char what[96];
    compare_all(&b, encoded[_i].format);
    for (int k = 1; k <= N_DAMAGES; k++) {
        blob cut = { b.bytes, b.n * (size_t)k / (N_DAMAGES + 1) };
        snprintf(what, sizeof what, "%s of %zu bytes, %zu left", encoded[_i].format, b.n, cut.n);
        compare_all(&cut, what);
        const size_t at = (b.n - 40) * (size_t)k / N_DAMAGES;
        snprintf(what, sizeof what, "%s of %zu bytes, byte %zu is other", encoded[_i].format, b.n, at);
        b.bytes[at] ^= 0x5a;
        compare_all(&b, what);
        b.bytes[at] ^= 0x5a;
    }
    blob_add(&b, "more", 4);
    compare_all(&b, "with more behind it");
    blob_free(&b);
}
END_TEST

/* The last row may be whole and what ends the stream behind it wrong. Of a byte one bit is, in the full tier three. */
START_TEST(rows_are_those_of_the_whole_whose_end_is_damaged)
{
    enum { N_END = 64 };
    blob b = blob_of(_i);
    char what[96];
    for (size_t at = b.n - N_END; at < b.n; at++)
        for (int bit = 0; bit < 8; bit += 3) {
            if (!test_tier_is_full() && at % 3 != (size_t)bit / 3) continue;
            snprintf(what, sizeof what, "%s of %zu bytes, byte %zu, bit %d", encoded[_i].format, b.n, at, bit);
            b.bytes[at] ^= (unsigned char)(1 << bit);
            compare_all(&b, what);
            b.bytes[at] ^= (unsigned char)(1 << bit);
        }
    blob_free(&b);
}
END_TEST

static void write_file(const char *path, const blob *b)
{
    FILE *f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(b->bytes, 1, b->n, f), b->n);
    fclose(f);
}

START_TEST(rows_of_a_file_come_behind_its_first_bytes)
{
    char path[] = "/tmp/imgpar-rows-XXXXXX";
    close(mkstemp(path));
    blob b = blob_of(_i);
    for (int k = 0; k < 6; k++) {
        ip_file file;
        ip_header header;
        ip_error err = { 0 };
        const blob cut = { b.bytes, k < 3 ? b.n : b.n - b.n / 9 * (size_t)(k - 2) };
        const ip_fail_on f = k % 3 == 0 ? IP_FAIL_ON_NONE : IP_FAIL_ON_ERROR;
        write_file(path, &cut);
        ck_assert_int_eq(ip_file_open(path, NULL, &file, &header, &err), IMGPAR_OK);
        ck_assert(header.has_rows);
        const ip_row_input in = { .file = &file };
        outcome rows = read_rows(&in, f), whole = { .warnings = IP_STR_INIT };
        const ip_read_options options = { .fail_on = f, .warnings = &whole.warnings };
        ip_image image;
        whole.status = ip_file_decode(&file, &options, &image, &whole.err);
        whole.pixels = image.pixels;
        whole.n = image.size_bytes;
        compare(&whole, &rows, path);
        outcome_free(&whole);
        outcome_free(&rows);
        ip_file_release(&file);
    }
    blob_free(&b);
    unlink(path);
}
END_TEST

START_TEST(a_file_that_changes_meanwhile_is_refused)
{
    char path[] = "/tmp/imgpar-rows-XXXXXX";
    close(mkstemp(path));
    blob b = blob_of(_i);
    write_file(path, &b);
    ip_file file;
    ip_header header;
    ip_error err = { 0 };
    ck_assert_int_eq(ip_file_open(path, NULL, &file, &header, &err), IMGPAR_OK);
    const ip_row_input in = { .file = &file };
    ip_row_reader *r;
    ck_assert_int_eq(ip_row_reader_open(&in, NULL, &r, &err), IMGPAR_OK);
    outcome o = { .warnings = IP_STR_INIT };
    const blob more = { b.bytes, b.n - 1 };
    usleep(20000); /* file systems' clocks are coarse */
    write_file(path, &more);
    ck_assert_int_ne(read_all(r, &o), IMGPAR_OK);
    outcome_free(&o);
    ip_row_reader_free(r);
    ck_assert_int_eq(ip_row_reader_open(&in, NULL, &r, &err), IMGPAR_E_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "changed since it was opened"));
    ip_file_release(&file);
    blob_free(&b);
    unlink(path);
}
END_TEST

START_TEST(every_failure_of_a_reader_is_told)
{
    const ip_fault_kind kind = _i % 2 ? IP_FAULT_ALLOC : IP_FAULT_FILE;
    char path[] = "/tmp/imgpar-rows-XXXXXX";
    close(mkstemp(path));
    blob b = blob_of(_i / 2);
    write_file(path, &b);
    ip_file file;
    ip_header header;
    ip_error err = { 0 };
    ck_assert_int_eq(ip_file_open(path, NULL, &file, &header, &err), IMGPAR_OK);
    const ip_row_input in = { .file = &file };
    bool is_done = false;
    for (unsigned long nth = 1; !is_done; nth++) {
        ip_fault_set(kind, nth);
        outcome o = { .warnings = IP_STR_INIT };
        ip_row_reader *r;
        o.status = ip_row_reader_open(&in, NULL, &r, &o.err);
        for (int64_t y = 0; !o.status && y < ip_row_reader_height(r); y++)
            o.status = ip_row_reader_read(r, 1, NULL, &o.err);
        if (!o.status) o.status = ip_row_reader_end(r, &o.err);
        ip_row_reader_free(r);
        is_done = ip_fault_seen(kind) < nth;
        ip_fault_set(kind, 0);
        const imgpar_status want = is_done ? IMGPAR_OK : kind == IP_FAULT_FILE ? IMGPAR_E_IO : IMGPAR_E_HOST_MEMORY;
        ck_assert_msg(o.status == want, "%lu: %s", nth, o.err.message);
        outcome_free(&o);
    }
    ip_file_release(&file);
    blob_free(&b);
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows");
    TCase *tc = tcase_create("rows");
    suite_add_tcase(suite, tc);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, rows_are_those_of_the_whole_sound_or_damaged, 0, N(encoded));
    tcase_add_loop_test(tc, rows_are_those_of_the_whole_whose_end_is_damaged, 0, N(encoded));
    tcase_add_loop_test(tc, rows_of_a_file_come_behind_its_first_bytes, 0, N(encoded));
    tcase_add_loop_test(tc, a_file_that_changes_meanwhile_is_refused, 0, N(encoded));
    tcase_add_loop_test(tc, every_failure_of_a_reader_is_told, 0, 2 * N(encoded));
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
