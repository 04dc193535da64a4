/* SPDX-License-Identifier: MIT */
/* What the verifier of plans refuses: a legal plan, damaged in one place at a time. No device is needed. */
#include "compile/passes.h"
#include "asserts.h"
#include "imgpar.h"
#include "imgpar_ops.h"
#include "run/context.h"

#include <stdlib.h>
#include <string.h>

static imgpar_context *ctx;
static imgpar_array *result;
static ip_plan *plan;

/* invert, then the two passes of a blur: one kernel, which keeps rows of one of them. */
static void set_up(void)
{
    static const uint8_t pixels[64 * 64 * 3];
    ck_assert_int_eq(imgpar_context_new("ref", &ctx), IMGPAR_OK);
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_U8, 3, (const int64_t[]){ 64, 64, 3 }, pixels);
    imgpar_array *b = imgpar_invert(a);
    result = imgpar_blur(b, 2, IMGPAR_BORDER_REPLICATE);
    ip_error err = { IMGPAR_OK, "" };
    const ip_compile_options options = ip_context_compile_options(ctx, NULL);
    ck_assert_msg(!ip_compile(&result, 1, &options, &plan, &err), "%s", err.message);
    ck_assert_int_eq(plan->n_kernels, 1);
    imgpar_array_release(b);
    imgpar_array_release(a);
}

static void tear_down(void)
{
    ip_plan_free(plan);
    imgpar_array_release(result);
    imgpar_context_release(ctx);
}

static void expect(bool has_rows, const char *complaint)
{
    ip_error err = { IMGPAR_OK, "" };
    imgpar_status st = ip_plan_verify(plan, has_rows, &err);
    if (!complaint) {
        ck_assert_msg(st == IMGPAR_OK, "%s", err.message);
        return;
    }
    ck_assert_int_eq(st, IMGPAR_E_INTERNAL);
    ck_assert_msg(strstr(err.message, complaint) != NULL, "%s", err.message);
}

static ip_placed *kept(void)
{
    ip_kernel *k = &plan->kernels[0];
    for (int i = 0; i < k->n_placed; i++)
        if (k->placed[i].place == IP_PLACE_LINE_BUFFER && k->placed[i].stage->kind == IP_STAGE_MAP &&
            !k->placed[i].is_copy)
            return &k->placed[i];
    ck_abort_msg("nothing is kept");
    return NULL;
}

START_TEST(what_is_legal_passes)
{
    expect(false, NULL);
    expect(true, NULL);
}
END_TEST

START_TEST(each_stage_is_stored_once_and_made_before_it_is_read)
{
    ip_kernel *k = &plan->kernels[0];
    const int n = k->n_outputs;
    k->n_outputs = 0;
    expect(false, "stores nothing");
    k->n_outputs = n;
    ip_kernel twice[2] = { *k, *k };
    ip_kernel *one = plan->kernels;
    plan->kernels = twice;
    plan->n_kernels = 2;
    expect(false, "is stored by two kernels");
    plan->kernels = one;
    plan->n_kernels = 1;
    ip_stage *output = k->outputs[0];
    k->outputs[0] = plan->ir->stages[0];
    expect(false, "is stored, but not computed");
    k->outputs[0] = output;
    expect(false, NULL);
}
END_TEST

/* Each damage makes a reader read what is not there. */
START_TEST(what_is_read_is_kept)
{
    ip_placed *p = kept(), saved = *p;
    const struct {
        size_t at;
        int by;
        const char *complaint;
    } damages[] = {
        { offsetof(ip_placed, lead), -1, "has not been made" },
        { offsetof(ip_placed, last_reader), -100, "is forgotten" },
        { offsetof(ip_placed, right), -1, "reads a column" },
        { offsetof(ip_placed, left), -1, "reads a column" },
    };
    for (size_t k = 0; k < sizeof damages / sizeof *damages; k++) {
        *(int *)((char *)p + damages[k].at) += damages[k].by;
        expect(false, damages[k].complaint);
        *p = saved;
    }
    p->rows = 0;
    expect(false, "keeps no rows");
    *p = saved;
    p->place = IP_PLACE_NONE;
    expect(false, "is not kept");
    *p = saved;
    expect(false, NULL);
}
END_TEST

START_TEST(rows_are_made_of_their_own_stage)
{
    ip_placed *p = kept(), saved = *p;
    ip_kernel *k = &plan->kernels[0];
    ip_segment segment = *p->row_of[IP_MASK_MIXED];
    p->row_of[IP_MASK_MIXED] = NULL;
    expect(true, "nothing makes its rows");
    p->row_of[IP_MASK_MIXED] = &segment;
    segment.within = NULL;
    expect(true, "has no body");
    segment.within = segment.body;
    segment.loop = IP_LOOP_RUNNING;
    expect(true, "no sums to carry along");
    segment.loop = IP_LOOP_SKIPS;
    expect(true, "nothing makes the blocks it skips");
    segment.loop = IP_LOOP_PLACES;
    expect(true, "nothing tells its places");
    segment.loop = IP_LOOP_INDICES;
    expect(true, "nothing tells its indices");
    segment.loop = IP_LOOP_LANES;
    expect(true, "has no lanes");
    segment.loop = IP_LOOP_STRIDED;
    expect(true, "moves no pixels");
    segment.loop = IP_LOOP_PIXELS;
    segment.cut = ip_x_coord(plan->ir, 2, 64);
    expect(true, "more than one column");
    *p = saved;
    k->n_scratch--;
    expect(true, "scratch memory");
    k->n_scratch++;
    expect(true, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tc = tcase_create("plan");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, what_is_legal_passes);
    tcase_add_test(tc, each_stage_is_stored_once_and_made_before_it_is_read);
    tcase_add_test(tc, what_is_read_is_kept);
    tcase_add_test(tc, rows_are_made_of_their_own_stage);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
