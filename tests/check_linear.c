/* SPDX-License-Identifier: MIT */
/* Linear forms: what is found of a sum, in whatever order and dtype it is written, and that it is the same value. */
#include "ir/linear.h"
#include "ir/stage.h"
#include "asserts.h"

#include <stdlib.h>

static ip_ir *ir;
static ip_stage *bytes, *shorts, *longs; /* u8, u16, i64 */
static ip_linear form;

static ip_stage *source(imgpar_dtype dtype)
{
    return ip_stage_new(ir, IP_STAGE_SOURCE, dtype, (const int64_t[4]){ 1, 9, 99, 1 }, NULL);
}

static void set_up(void)
{
    ir = ip_ir_new();
    bytes = source(IMGPAR_U8);
    shorts = source(IMGPAR_U16);
    longs = source(IMGPAR_I64);
}

static void tear_down(void)
{
    ck_assert(!ir->failed);
    ip_ir_free(ir);
}

static ip_expr *number(imgpar_dtype dtype, int64_t v) { return ip_x_int(ir, dtype, v); }
static ip_expr *i32(int64_t v) { return number(IMGPAR_I32, v); }
static ip_expr *bin(ip_xop op, ip_expr *a, ip_expr *b) { return ip_x_binary(ir, op, a, b); }
static ip_expr *add(ip_expr *a, ip_expr *b) { return bin(IP_X_ADD, a, b); }
static ip_expr *mul(ip_expr *a, ip_expr *b) { return bin(IP_X_MUL, a, b); }
static ip_expr *wide(ip_expr *x) { return ip_x_cast(ir, IMGPAR_I32, x); }
static ip_expr *argument(int64_t v) { return ip_x_param(ir, IMGPAR_I32, (double)v, 0, INT16_MAX); }

/* The element `by` columns beside the own one. */
static ip_expr *beside(ip_stage *s, int by)
{
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_coord(ir, k, s->dims[k]);
    at[2] = add(at[2], i32(by));
    return ip_x_load(ir, s, at, IMGPAR_BORDER_REPLICATE, NULL);
}

static ip_expr *byte(int by) { return beside(bytes, by); }

START_TEST(a_rounded_sum_is_told_with_all_its_parts)
{
    ip_expr *w = argument(300), *start = argument(512), *shift = argument(10), *offset = argument(7);
    ip_expr *sum = add(add(mul(wide(byte(-1)), w), mul(i32(500), wide(byte(1)))), start);
    ck_assert(ip_linear_of(ir, ip_x_saturate(ir, IMGPAR_U8, add(bin(IP_X_SHR, sum, shift), offset)), &form));
    ck_assert_int_eq(form.n_terms, 2);
    ck_assert_ptr_eq(form.terms[0].weight, w);
    ck_assert_ptr_eq(form.terms[0].load[0], byte(-1));
    ck_assert_ptr_eq(form.terms[1].weight, i32(500));
    ck_assert_ptr_eq(form.terms[1].load[0], byte(1));
    ck_assert_ptr_eq(form.start, start);
    ck_assert_ptr_eq(form.shift, shift);
    ck_assert_ptr_eq(form.offset, offset);
    ck_assert_ptr_null(form.divisor);
    ck_assert(form.saturates && form.wide == IMGPAR_I32 && form.dtype == IMGPAR_U8);
    ck_assert(!ip_linear_is_sum(&form));
}
END_TEST

START_TEST(the_order_of_a_sum_and_where_it_is_widened_are_nothing_to_it)
{
    ip_expr *narrow = add(ip_x_cast(ir, IMGPAR_U16, byte(1)), ip_x_cast(ir, IMGPAR_U16, byte(2)));
    ip_expr *sums[] = { add(wide(byte(0)), wide(narrow)), add(add(wide(byte(0)), wide(byte(1))), wide(byte(2))),
                        add(wide(byte(0)), add(wide(byte(1)), wide(byte(2)))) };
    for (size_t n = 0; n < sizeof sums / sizeof *sums; n++) {
        ck_assert(ip_linear_of(ir, sums[n], &form) && ip_linear_is_sum(&form));
        ck_assert_int_eq(form.n_terms, 3);
        for (int k = 0; k < 3; k++)
            ck_assert_ptr_eq(form.terms[k].load[0], byte(k));
    }
}
END_TEST

START_TEST(what_may_wrap_before_it_is_widened_is_no_part_of_the_sum)
{
    ip_expr *fits = ip_x_cast(ir, IMGPAR_U16, byte(0)), *any = beside(shorts, 0);
    ck_assert(ip_linear_of(ir, add(wide(add(fits, any)), i32(0)), &form));
    ck_assert(ip_linear_of(ir, add(wide(add(fits, any)), wide(byte(3))), &form));
    ck_assert_int_eq(form.n_terms, 2);
    ck_assert_int_eq(form.terms[0].n_loads, 0);
    ck_assert(ip_linear_of(ir, add(wide(mul(any, number(IMGPAR_U16, 2))), wide(byte(3))), &form));
    ck_assert_ptr_null(form.terms[0].weight);
    ck_assert_int_eq(form.terms[0].n_loads, 0);
    ck_assert(ip_linear_of(ir, add(add(any, fits), any), &form)); /* in the sum's own dtype all of it wraps alike */
    ck_assert_int_eq(form.n_terms, 3);
}
END_TEST

START_TEST(two_loads_may_share_a_weight)
{
    ip_expr *w = argument(9), *pair = add(ip_x_cast(ir, IMGPAR_U16, byte(-1)), ip_x_cast(ir, IMGPAR_U16, byte(1)));
    ip_expr *forms[] = { mul(wide(pair), w), mul(add(wide(byte(-1)), wide(byte(1))), w) };
    for (size_t n = 0; n < 2; n++) {
        ck_assert(ip_linear_of(ir, forms[n], &form));
        ck_assert_int_eq(form.n_terms, 1);
        ck_assert_int_eq(form.terms[0].n_loads, 2);
        ck_assert_ptr_eq(form.terms[0].load[0], byte(-1));
        ck_assert_ptr_eq(form.terms[0].load[1], byte(1));
        ck_assert_double_eq(form.terms[0].value->hi, 510);
    }
}
END_TEST

START_TEST(a_mean_has_a_divisor)
{
    ip_expr *sum = add(add(beside(shorts, 0), beside(shorts, 1)), number(IMGPAR_U16, 1));
    ck_assert(ip_linear_of(ir, bin(IP_X_IDIV, sum, number(IMGPAR_U16, 2)), &form));
    ck_assert(form.divisor && form.divisor->i == 2 && form.start && form.start->i == 1 && !form.saturates);
    ck_assert_int_eq(form.n_terms, 2);
    ck_assert(ip_linear_of(ir, bin(IP_X_IDIV, sum, beside(shorts, 2)), &form)); /* by something else it is one value */
    ck_assert_ptr_null(form.divisor);
    ck_assert_int_eq(form.n_terms, 1);
    ck_assert_int_eq(form.terms[0].n_loads, 0);
}
END_TEST

static ip_expr *tap_value(ip_ir *of, ip_expr *ty, ip_expr *tx, void *user)
{
    (void)ty, (void)user;
    ip_expr *at[4];
    for (int k = 0; k < 4; k++)
        at[k] = ip_x_coord(of, k, bytes->dims[k]);
    at[2] = add(at[2], tx);
    return mul(wide(ip_x_load(of, bytes, at, IMGPAR_BORDER_REPLICATE, NULL)), tx);
}

START_TEST(a_large_window_is_one_term)
{
    ip_expr *start = argument(3), *window = ip_x_window(ir, IP_FOLD_SUM, 1, 99, tap_value, NULL, NULL);
    ck_assert(ip_linear_of(ir, add(window, start), &form));
    ck_assert_int_eq(form.n_terms, 1);
    ck_assert_ptr_eq(form.terms[0].window, window);
    ck_assert_int_eq(form.terms[0].weight->op, IP_X_TAP);
    ck_assert_int_eq(form.terms[0].n_loads, 1);
    ck_assert_ptr_eq(form.start, start);
}
END_TEST

START_TEST(an_element_of_a_table_is_a_weight)
{
    ip_stage *table = ip_stage_table(ir, IMGPAR_I32, 4, (const int32_t[4]){ 1, 2, 3, 4 });
    ip_expr *w = ip_table_at(ir, table, ip_x_coord(ir, 2, 4));
    for (int k = 0; k < 2; k++) {
        ck_assert(ip_linear_of(ir, k == 0 ? mul(w, wide(byte(0))) : mul(wide(byte(0)), w), &form));
        ck_assert_ptr_eq(form.terms[0].weight, w);
        ck_assert_ptr_eq(form.terms[0].load[0], byte(0));
    }
}
END_TEST

START_TEST(what_is_cut_or_too_long_has_no_form)
{
    ip_expr *sum = wide(byte(0));
    ck_assert(!ip_linear_of(ir, bin(IP_X_LT, sum, i32(3)), &form));
    ck_assert(!ip_linear_of(ir, ip_x_cast(ir, IMGPAR_U8, wide(beside(shorts, 0))), &form));
    ck_assert(!ip_linear_of(ir, wide(beside(longs, 0)), &form));
    for (int k = 1; k < IP_LINEAR_TERMS; k++)
        sum = add(sum, wide(byte(k)));
    ck_assert(ip_linear_of(ir, sum, &form) && ip_linear_is_sum(&form));
    ck_assert(!ip_linear_of(ir, add(sum, wide(byte(-1))), &form));
    for (int k = 0; k < 64; k++) /* 2^64 of them */
        sum = add(sum, sum);
    ck_assert(!ip_linear_of(ir, sum, &form));
}
END_TEST

/* ---- the same value ---------------------------------------------------------------------------------- */

static unsigned seed;
static unsigned any(unsigned n) { return (seed = seed * 1664525 + 1013904223) / 65536 % n; }

/* A sum of that many products, of which some are narrow and some pairs. */
static ip_expr *any_sum(int n)
{
    static const imgpar_dtype dtypes[] = { IMGPAR_U16, IMGPAR_I16, IMGPAR_I32 };
    if (n > 1) {
        int left = 1 + (int)any((unsigned)n - 1);
        return add(any_sum(left), any_sum(n - left));
    }
    imgpar_dtype dtype = dtypes[any(3)];
    ip_expr *x = ip_x_cast(ir, dtype, beside(any(2) ? bytes : shorts, (int)any(9) - 4));
    if (any(2)) x = add(x, ip_x_cast(ir, dtype, byte((int)any(9) - 4)));
    if (any(4) == 0) x = ip_x_cast(ir, dtype, argument(any(9)));
    x = any(2) ? mul(x, number(dtype, any(300))) : x;
    return wide(x);
}

/* With numbers for loads and arguments all of it is a number. */
static ip_expr *put_numbers(ip_ir *of, ip_expr *x, void *user)
{
    (void)user;
    if (x->op == IP_X_PARAM) return ip_x_int(of, x->dtype, x->i);
    int64_t level = (int64_t)x->id * 7919 % 256 * (x->dtype == IMGPAR_U16 ? 257 : 1);
    return x->op == IP_X_LOAD ? ip_x_int(of, x->dtype, level) : x;
}

static ip_expr *value_of(ip_expr *x) { return ip_x_map(ir, x, put_numbers, NULL); }

static ip_expr *value_of_form(void)
{
    ip_expr *sum = form.start ? value_of(form.start) : number(form.wide, 0);
    for (int k = 0; k < form.n_terms; k++) {
        const ip_linear_term *t = &form.terms[k];
        ip_expr *value = t->n_loads ? number(form.wide, 0) : ip_x_cast(ir, form.wide, value_of(t->value));
        for (int n = 0; n < t->n_loads; n++)
            value = add(value, ip_x_cast(ir, form.wide, value_of(t->load[n])));
        sum = add(sum, t->weight ? mul(value, ip_x_cast(ir, form.wide, value_of(t->weight))) : value);
    }
    return sum;
}

static void expect_the_same(ip_expr *sum)
{
    ip_expr *x = ip_x_saturate(ir, IMGPAR_U8, add(bin(IP_X_SHR, sum, argument(3)), argument(any(99))));
    ck_assert(ip_linear_of(ir, x, &form));
    ip_expr *made = value_of_form();
    if (form.shift) made = bin(IP_X_SHR, made, value_of(form.shift));
    if (form.offset) made = add(made, value_of(form.offset));
    made = form.saturates ? ip_x_saturate(ir, form.dtype, made) : ip_x_cast(ir, form.dtype, made);
    ck_assert_ptr_eq(made, value_of(x));
    ck_assert(ip_linear_of(ir, sum, &form));
    made = ip_x_cast(ir, form.dtype, value_of_form());
    ck_assert_int_eq(made->op, IP_X_CONST);
    ck_assert_ptr_eq(made, value_of(sum));
}

START_TEST(the_form_is_the_same_value)
{
    for (seed = 0; seed < 2000;) {
        unsigned next = seed + 1;
        expect_the_same(any_sum(1 + (int)any(6)));
        seed = next;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("linear");
    TCase *tc = tcase_create("linear");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_rounded_sum_is_told_with_all_its_parts);
    tcase_add_test(tc, the_order_of_a_sum_and_where_it_is_widened_are_nothing_to_it);
    tcase_add_test(tc, what_may_wrap_before_it_is_widened_is_no_part_of_the_sum);
    tcase_add_test(tc, two_loads_may_share_a_weight);
    tcase_add_test(tc, a_mean_has_a_divisor);
    tcase_add_test(tc, a_large_window_is_one_term);
    tcase_add_test(tc, an_element_of_a_table_is_a_weight);
    tcase_add_test(tc, what_is_cut_or_too_long_has_no_form);
    tcase_add_test(tc, the_form_is_the_same_value);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
