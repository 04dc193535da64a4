/* SPDX-License-Identifier: MIT */
/* src/base: memory and faults, strings and numbers, hashes, element types, statuses. */
#include "base/alloc.h"
#include "base/colours.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/md5.h"
#include "base/status.h"
#include "base/str.h"
#include "asserts.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- colours --------------------------------------------------------------------- */

static const struct {
    const char *text;
    int r, g, b; /* r -1: none */
} colours[] = {
    { "black", 0, 0, 0 },
    { "white", 255, 255, 255 },
    { "Red", 255, 0, 0 },
    { "green", 0, 128, 0 },
    { "ORANGE", 255, 165, 0 },
    { "aliceblue", 240, 248, 255 },
    { "grey", 128, 128, 128 },
    { "gray", 128, 128, 128 },
    { "yellowgreen", 154, 205, 50 },
    { "rebeccapurple", 102, 51, 153 },
    { "#102030", 16, 32, 48 },
    { "#fA0", 255, 170, 0 },
    { "#ABCDEF", 171, 205, 239 },
    { "", -1, 0, 0 },
    { "#", -1, 0, 0 },
    { "#12", -1, 0, 0 },
    { "#12345", -1, 0, 0 },
    { "#1234567", -1, 0, 0 },
    { "#12345g", -1, 0, 0 },
    { "redd", -1, 0, 0 },
    { "re", -1, 0, 0 },
    { "transparent", -1, 0, 0 },
    { " red", -1, 0, 0 },
    { "102030", -1, 0, 0 },
    { "-#102", -1, 0, 0 },
};

START_TEST(colours_have_names)
{
    unsigned char rgb[3];
    const bool is_colour = ip_colour_read(colours[_i].text, strlen(colours[_i].text), rgb);
    ck_assert_msg(is_colour == (colours[_i].r >= 0), "%s", colours[_i].text);
    if (is_colour)
        ck_assert_msg(rgb[0] == colours[_i].r && rgb[1] == colours[_i].g && rgb[2] == colours[_i].b, "%s",
                      colours[_i].text);
    ck_assert(!ip_colour_read("tango", 4, rgb) && ip_colour_read("tanned", 3, rgb) && rgb[0] == 210);
    ck_assert(!ip_colour_read("#12\0", 4, rgb));
    unsigned char rgba[4];
    ck_assert(ip_colour_read_alpha("#10203040", 9, rgba) && rgba[0] == 16 && rgba[2] == 48 && rgba[3] == 64);
    ck_assert(ip_colour_read_alpha("#fA08", 5, rgba) && rgba[0] == 255 && rgba[1] == 170 && rgba[3] == 136);
    ck_assert(ip_colour_read_alpha("#fA0", 4, rgba) && rgba[1] == 170 && rgba[2] == 0 && rgba[3] == 255);
    ck_assert(ip_colour_read_alpha("tan", 3, rgba) && rgba[0] == 210 && rgba[3] == 255);
    ck_assert(!ip_colour_read_alpha("#12345", 6, rgba) && !ip_colour_read("#10203040", 9, rgb));
}
END_TEST

/* ---- memory ---------------------------------------------------------------------- */

START_TEST(sizes_that_overflow_give_null)
{
    size_t n;
    ck_assert(!ip_mul_size(SIZE_MAX / 2 + 1, 2, &n));
    ck_assert(ip_mul_size(SIZE_MAX, 1, &n) && n == SIZE_MAX);
    ck_assert_ptr_null(ip_alloc_array(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(ip_realloc_array(NULL, SIZE_MAX / 2, 3));
}
END_TEST

START_TEST(zero_bytes_give_a_pointer)
{
    void *a = ip_alloc(0), *b = ip_zalloc(0), *c = ip_realloc(ip_alloc(4), 0);
    ck_assert(a && b && c);
    ip_free(a);
    ip_free(b);
    ip_free(c);
    ip_free(NULL);
}
END_TEST

START_TEST(the_nth_call_fails_and_no_other)
{
    ip_fault_set(IP_FAULT_ALLOC, 2);
    void *a = ip_alloc(1), *b = ip_zalloc(1), *c = ip_alloc(1);
    ck_assert(a && !b && c);
    ck_assert_uint_eq(ip_fault_seen(IP_FAULT_ALLOC), 3);
    ck_assert(!ip_fault(IP_FAULT_FILE));
    ip_fault_set(IP_FAULT_ALLOC, 1);
    ck_assert_ptr_null(ip_strdup("x"));
    ip_fault_set(IP_FAULT_ALLOC, 0);
    ck_assert_uint_eq(ip_fault_seen(IP_FAULT_ALLOC), 0);
    ip_free(a);
    ip_free(c);
}
END_TEST

/* ---- strings ---------------------------------------------------------------------- */

START_TEST(a_string_grows)
{
    ip_str s = IP_STR_INIT;
    ck_assert_str_eq(ip_str_text(&s), "");
    for (int i = 0; i < 1000; i++)
        ip_str_printf(&s, "%d,", i % 10);
    ck_assert_uint_eq(s.length, 2000);
    ck_assert_uint_eq(strlen(s.text), 2000);
    ip_str_clear(&s);
    ip_str_append(&s, "ab");
    ip_str_putc(&s, 'c');
    ip_str_append_n(&s, "def", 1);
    char *text = ip_str_take(&s);
    ck_assert_str_eq(text, "abcd");
    ck_assert_ptr_null(s.text);
    ip_free(text);
    text = ip_str_take(&s);
    ck_assert_str_eq(text, "");
    ip_free(text);
}
END_TEST

START_TEST(a_string_out_of_memory_remembers)
{
    ip_str s = IP_STR_INIT;
    ip_str_append(&s, "kept");
    ip_fault_set(IP_FAULT_ALLOC, 1);
    ip_str_printf(&s, "%200d", 1);
    ip_fault_set(IP_FAULT_ALLOC, 0);
    ip_str_append(&s, "lost");
    ck_assert(s.failed);
    ck_assert_str_eq(ip_str_text(&s), "kept");
    ck_assert_ptr_null(ip_str_take(&s));
    ck_assert(!s.failed && !s.text);
}
END_TEST

static const struct {
    double value;
    const char *text;
} numbers[] = {
    { 0.3, "0.3" },
    { 1e20, "1e+20" },
    { 0, "0" },
    { -0.0, "-0" },
    { 5, "5" },
    { -1.5, "-1.5" },
    { 1.0 / 3, "0.3333333333333333" },
    { 0.1 + 0.2, "0.30000000000000004" },
    { INFINITY, "inf" },
    { -INFINITY, "-inf" },
    { NAN, "nan" },
    { -NAN, "nan" },
    { DBL_MAX, "1.7976931348623157e+308" },
    { DBL_MIN, "2.2250738585072014e-308" },
    { 0x1p-1074, "4.94065645841247e-324" },
    { 123456789012345678.0, "1.2345678901234568e+17" },
    { 65535, "65535" },
};

START_TEST(numbers_are_shortest_and_read_back)
{
    char buf[32];
    ck_assert_str_eq(ip_number_text(numbers[_i].value, buf), numbers[_i].text);
    char *end;
    double back = ip_parse_number(buf, &end);
    ck_assert(*end == '\0');
    ck_assert(isnan(numbers[_i].value) ? isnan(back) : back == numbers[_i].value);
}
END_TEST

START_TEST(random_doubles_read_back)
{
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        double value, back;
        char buf[32];
        state = ip_hash_u64(state, (uint64_t)i);
        memcpy(&value, &state, sizeof value);
        if (isnan(value)) continue;
        ck_assert_uint_lt(strlen(ip_number_text(value, buf)), 32);
        back = ip_parse_number(buf, NULL);
        ck_assert(memcmp(&back, &value, sizeof back) == 0);
    }
}
END_TEST

START_TEST(a_locale_with_commas_changes_nothing)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
    bool is_set = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !is_set; i++)
        is_set = setlocale(LC_ALL, names[i]) != NULL;
    char buf[32], *end;
    ck_assert_str_eq(ip_number_text(0.5, buf), "0.5"); /* without the locale installed this is all there is */
    ck_assert(ip_parse_number("2.5,", &end) == 2.5 && *end == ',');
    ip_error err = { 0 };
    ip_fail(&err, IMGPAR_E_ARGUMENT, "x=%g", 1.5);
    ck_assert_str_eq(err.message, "x=1.5");
    setlocale(LC_ALL, "C");
}
END_TEST

static const struct {
    const char *text, *json;
} json_cases[] = {
    { "", "\"\"" },
    { "a\"b\\c\n\t\x01", "\"a\\\"b\\\\c\\n\\t\\u0001\"" },
    { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
    { "\xff"
      "a\xc3",
      "\"\\ufffda\\ufffd\"" },
    { "\xc0\x80", "\"\\ufffd\\ufffd\"" },
    { "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },
    { "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
};

START_TEST(json_strings_are_escaped_and_valid)
{
    ip_str s = IP_STR_INIT;
    ip_str_json(&s, json_cases[_i].text);
    ck_assert_str_eq(ip_str_text(&s), json_cases[_i].json);
    ip_str_free(&s);
}
END_TEST

/* ---- hashes ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

START_TEST(hashes_of_different_input_differ)
{
    enum { N = 1 << 16 };
    uint64_t *h = malloc(N * sizeof *h);
    for (uint64_t i = 0; i < N; i++)
        h[i] = _i == 0   ? ip_hash_u64(0, i)
               : _i == 1 ? ip_hash_u64(i, 0)
               : _i == 2 ? ip_hash_bytes(7, &i, 8)
               : _i == 3 ? ip_hash128_bytes((ip_hash128){ 0, 0 }, &i, 3).a
                         : ip_hash128_bytes((ip_hash128){ 0, 0 }, &i, 3).b;
    qsort(h, N, sizeof *h, by_value);
    for (int i = 1; i < N; i++)
        ck_assert(h[i] != h[i - 1]);
    free(h);
}
END_TEST

START_TEST(hashes_see_length_seed_and_every_byte)
{
    unsigned char bytes[40] = { 0 };
    const uint64_t whole = ip_hash_bytes(0, bytes, sizeof bytes);
    for (size_t n = 0; n < sizeof bytes; n++) {
        ck_assert(ip_hash_bytes(0, bytes, n) != whole);
        bytes[n] = 1;
        ck_assert(ip_hash_bytes(0, bytes, sizeof bytes) != whole);
        bytes[n] = 0;
    }
    ck_assert(ip_hash_bytes(1, bytes, sizeof bytes) != whole);
    ck_assert(ip_hash_bytes(0, bytes, sizeof bytes) == whole);
    ck_assert(ip_hash_text(3, "abc") == ip_hash_bytes(3, "abc", 3));
    ip_hash128 zero = { 0, 0 }, a = ip_hash128_bytes(zero, "abc", 3), b = ip_hash128_bytes(zero, "abd", 3);
    ck_assert(a.a != b.a && a.b != b.b && a.a != a.b);
}
END_TEST

/* RFC 1321, A.5; and what ends where a block's number of bits begins (of n letters x, by md5sum). */
static const struct {
    const char *text, *digest;
} md5s[] = {
    { "", "d41d8cd98f00b204e9800998ecf8427e" },
    { "a", "0cc175b9c0f1b6a831c399e269772661" },
    { "abc", "900150983cd24fb0d6963f7d28e17f72" },
    { "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
    { "abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b" },
    { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f" },
    { "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
      "57edf4a22be3c955ac49da2e2107b67a" },
    { "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "04364420e25c512fd958a70738aa8f72" },
    { "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "668a72d5ba17f08e62dabcafad6db14b" },
    { "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "7dc2ca208106a2f703567bdff99d8981" },
    { "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "c1bb4f81d892b2d57947682aeb252456" },
};

START_TEST(md5_is_that_of_its_specification)
{
    unsigned char digest[IP_MD5_BYTES];
    char text[2 * IP_MD5_BYTES + 1];
    ip_md5(md5s[_i].text, strlen(md5s[_i].text), digest);
    for (int k = 0; k < IP_MD5_BYTES; k++)
        snprintf(text + 2 * k, 3, "%02x", digest[k]);
    ck_assert_str_eq(text, md5s[_i].digest);
}
END_TEST

/* ---- element types ------------------------------------------------------------------ */

START_TEST(dtypes_have_names_and_sizes)
{
    static const struct {
        const char *name;
        size_t size;
    } want[IMGPAR_N_DTYPES] = {
        { "u8", 1 },  { "i8", 1 },  { "u16", 2 }, { "i16", 2 }, { "u32", 4 },  { "i32", 4 },       { "u64", 8 },
        { "i64", 8 }, { "f16", 2 }, { "f32", 4 }, { "f64", 8 }, { "bool", 1 }, { "complex64", 8 }, { "complex128", 16 },
    };
    imgpar_dtype found;
    for (int i = 0; i < IMGPAR_N_DTYPES; i++) {
        ck_assert_str_eq(imgpar_dtype_name((imgpar_dtype)i), want[i].name);
        ck_assert_uint_eq(imgpar_dtype_size((imgpar_dtype)i), want[i].size);
        ck_assert(ip_dtype_find(want[i].name, &found) && found == (imgpar_dtype)i);
    }
    ck_assert_ptr_null(imgpar_dtype_name(IMGPAR_N_DTYPES));
    ck_assert_uint_eq(imgpar_dtype_size((imgpar_dtype)-1), 0);
    ck_assert(!ip_dtype_find("u9", &found));
}
END_TEST

/* An oracle apart from our code: the nearest of all halves, found by search, ties to the even one. */
static double half_value(unsigned h)
{
    unsigned e = h >> 10 & 31, m = h & 1023;
    double v = e == 0 ? ldexp(m, -24) : e == 31 ? (m ? NAN : INFINITY) : ldexp(1024 + m, (int)e - 25);
    return h & 0x8000 ? -v : v;
}

static unsigned nearest_half(double v)
{
    unsigned sign = signbit(v) ? 0x8000 : 0;
    double a = fabs(v);
    if (a >= 65520) return sign | 0x7c00;
    unsigned lo = 0, hi = 0x7bff;
    while (lo < hi) { /* the last half not above a */
        unsigned mid = (lo + hi + 1) / 2;
        if (half_value(mid) <= a)
            lo = mid;
        else
            hi = mid - 1;
    }
    double below = a - half_value(lo), above = (lo == 0x7bff ? 65536.0 : half_value(lo + 1)) - a;
    return sign | (below < above || (below == above && lo % 2 == 0) ? lo : lo + 1);
}

START_TEST(every_half_reads_and_writes_back)
{
    for (unsigned h = 0; h < 65536; h++) {
        float f = ip_float_from_half((uint16_t)h);
        if (isnan(half_value(h))) {
            ck_assert(isnan(f) && isnan(ip_float_from_half(ip_half_from_float(f))));
            continue;
        }
        ck_assert((double)f == half_value(h) && !signbit(f) == !(h & 0x8000));
        ck_assert_uint_eq(ip_half_from_float(f), h);
    }
}
END_TEST

START_TEST(halves_round_to_nearest_even)
{
    for (unsigned h = 0; h < 0x7c00; h++) {
        double a = half_value(h), b = h == 0x7bff ? 65536.0 : half_value(h + 1), middle = (a + b) / 2;
        const double values[] = { middle,
                                  nextafterf((float)middle, 0),
                                  nextafterf((float)middle, INFINITY),
                                  nextafter(middle, 0),
                                  nextafter(middle, INFINITY),
                                  a + (b - a) * 0.3,
                                  -middle };
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            uint16_t got;
            ip_store_number(IMGPAR_F16, &got, values[i]);
            ck_assert_uint_eq(got, nearest_half(values[i]));
            if ((double)(float)values[i] == values[i])
                ck_assert_uint_eq(ip_half_from_float((float)values[i]), nearest_half(values[i]));
        }
    }
}
END_TEST

static const struct {
    imgpar_dtype dtype;
    double value, stored;
} stores[] = {
    { IMGPAR_U8, 0.5, 0 },
    { IMGPAR_U8, 1.5, 2 },
    { IMGPAR_U8, 2.5, 2 },
    { IMGPAR_U8, 255.4, 255 },
    { IMGPAR_U8, 1e9, 255 },
    { IMGPAR_U8, -3, 0 },
    { IMGPAR_U8, NAN, 0 },
    { IMGPAR_I8, -128.6, -128 },
    { IMGPAR_I8, 127.5, 127 },
    { IMGPAR_I8, -2.5, -2 },
    { IMGPAR_U16, 70000, 65535 },
    { IMGPAR_I16, -40000, -32768 },
    { IMGPAR_U32, 1e10, 4294967295.0 },
    { IMGPAR_I32, -1e10, -2147483648.0 },
    { IMGPAR_I32, 2147483647.0, 2147483647.0 },
    { IMGPAR_U64, 1e30, 0x1p64 },
    { IMGPAR_U64, -1, 0 },
    { IMGPAR_U64, 0x1p63, 0x1p63 },
    { IMGPAR_I64, 1e30, 0x1p63 },
    { IMGPAR_I64, -1e30, -0x1p63 },
    { IMGPAR_I64, INFINITY, 0x1p63 },
    { IMGPAR_I64, NAN, 0 },
    { IMGPAR_F32, 0.5, 0.5 },
    { IMGPAR_F32, 1e300, INFINITY },
    { IMGPAR_F64, -1e300, -1e300 },
    { IMGPAR_F16, 65519, 65504 },
    { IMGPAR_F16, 65520, INFINITY },
    { IMGPAR_BOOL, 7, 1 },
    { IMGPAR_BOOL, -1, 0 },
    { IMGPAR_BOOL, NAN, 0 },
};

START_TEST(stored_numbers_round_and_saturate)
{
    unsigned char bytes[16] = { 0 };
    ip_store_number(stores[_i].dtype, bytes, stores[_i].value);
    ck_assert_msg(ip_load_number(stores[_i].dtype, bytes) == stores[_i].stored, "%s %g",
                  imgpar_dtype_name(stores[_i].dtype), stores[_i].value);
    ck_assert(bytes[imgpar_dtype_size(stores[_i].dtype)] == 0);
}
END_TEST

/* ---- statuses ------------------------------------------------------------------------ */

START_TEST(differences_of_64_bit_integers_are_exact)
{
    static const struct {
        imgpar_dtype dtype;
        uint64_t a, b;
        double want;
    } rows[] = {
        { IMGPAR_U64, UINT64_MAX, UINT64_MAX - 1, 1 },
        { IMGPAR_U64, 1ull << 53, (1ull << 53) + 1, 1 },
        { IMGPAR_U64, 0, UINT64_MAX, 18446744073709551615.0 },
        { IMGPAR_I64, INT64_MAX, INT64_MAX - 2, 2 },
        { IMGPAR_I64, (uint64_t)INT64_MIN, INT64_MAX, 18446744073709551615.0 },
        { IMGPAR_I64, (uint64_t)-3, 4, 7 },
        { IMGPAR_I64, 1ull << 62, 1ull << 62, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_double_eq(ip_number_difference(rows[i].dtype, &rows[i].a, &rows[i].b), rows[i].want);
        ck_assert_double_eq(ip_number_difference(rows[i].dtype, &rows[i].b, &rows[i].a), rows[i].want);
    }
    float nan = NAN, one = 1, infinite = INFINITY;
    ck_assert_double_eq(ip_number_difference(IMGPAR_F32, &nan, &nan), 0);
    ck_assert_double_eq(ip_number_difference(IMGPAR_F32, &nan, &one), INFINITY);
    ck_assert_double_eq(ip_number_difference(IMGPAR_F32, &infinite, &infinite), 0);
    ck_assert_double_eq(ip_number_difference(IMGPAR_U8, &(uint8_t){ 3 }, &(uint8_t){ 250 }), 247);
}
END_TEST

START_TEST(statuses_have_distinct_names)
{
    for (int i = IMGPAR_OK; i <= IMGPAR_E_CHECK; i++)
        for (int k = IMGPAR_OK; k < i; k++)
            ck_assert_str_ne(imgpar_status_name((imgpar_status)i), imgpar_status_name((imgpar_status)k));
    ck_assert_str_eq(imgpar_status_name(IMGPAR_E_SHAPE), "shape mismatch");
    ck_assert_str_eq(imgpar_status_name((imgpar_status)-1), "unknown status");
    ck_assert_ptr_nonnull(imgpar_version());
}
END_TEST

START_TEST(the_first_failure_is_kept)
{
    ip_error err = { 0 };
    ck_assert(ip_fail(&err, IMGPAR_E_SHAPE, "first %d", 1) == IMGPAR_E_SHAPE);
    ck_assert(ip_fail_memory(&err, "testing") == IMGPAR_E_HOST_MEMORY);
    ck_assert(err.status == IMGPAR_E_SHAPE);
    ck_assert_str_eq(err.message, "first 1");
    ck_assert(ip_fail(NULL, IMGPAR_E_IO, "x") == IMGPAR_E_IO);
    char text[3000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err = (ip_error){ 0 };
    ip_fail(&err, IMGPAR_E_IO, "%s", text);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
}
END_TEST

#define N(table) (int)(sizeof table / sizeof *table)

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *c = tcase_create("base");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, colours_have_names, 0, (int)(sizeof colours / sizeof *colours));
    tcase_add_test(c, sizes_that_overflow_give_null);
    tcase_add_test(c, zero_bytes_give_a_pointer);
    tcase_add_test(c, the_nth_call_fails_and_no_other);
    tcase_add_test(c, a_string_grows);
    tcase_add_test(c, a_string_out_of_memory_remembers);
    tcase_add_loop_test(c, numbers_are_shortest_and_read_back, 0, N(numbers));
    tcase_add_test(c, random_doubles_read_back);
    tcase_add_test(c, a_locale_with_commas_changes_nothing);
    tcase_add_loop_test(c, json_strings_are_escaped_and_valid, 0, N(json_cases));
    tcase_add_loop_test(c, hashes_of_different_input_differ, 0, 5);
    tcase_add_test(c, hashes_see_length_seed_and_every_byte);
    tcase_add_loop_test(c, md5_is_that_of_its_specification, 0, N(md5s));
    tcase_add_test(c, dtypes_have_names_and_sizes);
    tcase_add_test(c, every_half_reads_and_writes_back);
    tcase_add_test(c, halves_round_to_nearest_even);
    tcase_add_loop_test(c, stored_numbers_round_and_saturate, 0, N(stores));
    tcase_add_test(c, differences_of_64_bit_integers_are_exact);
    tcase_add_test(c, statuses_have_distinct_names);
    tcase_add_test(c, the_first_failure_is_kept);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
