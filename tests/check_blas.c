/* SPDX-License-Identifier: MIT */
/*
 * The choice between our own kernels and CLBlast: what is measured, how often, by whom, what is kept, and what happens
 * where either fails. "Our own kernels" are a function of the test, which is as slow as the test wants it to be.
 */
#include "run/blas.h"
#include "run/clblast.h"
#include "run/device_impl.h"
#include "asserts.h"
#include "tier.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* CLBlast takes milliseconds for such a product on PoCL, which is much more than nothing and much less than SLOW_MS. */
enum { SIDE = 256, SLOW_MS = 500, ROUNDS = 4 };

static char folder[] = "/tmp/check_blas-XXXXXX";
static ip_device *device;
static float a[SIDE * SIDE], b[SIDE * SIDE], want[SIDE * SIDE];

static void open_device(void)
{
    ip_device *list[IP_MAX_DEVICES];
    size_t n;
    ck_assert_int_eq(ip_device_open(NULL, 0, list, &n, NULL), IMGPAR_OK);
    device = list[0];
}

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("IMGPAR_CACHE_DIR", folder, 1);
    open_device();
    for (int k = 0; k < SIDE * SIDE; k++) {
        a[k] = (float)(k % 7 - 3);
        b[k] = (float)(k % 5 - 2);
    }
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            want[y * SIDE + x] = 0;
            for (int k = 0; k < SIDE; k++) /* whole numbers: exact in any order */
                want[y * SIDE + x] += a[y * SIDE + k] * b[k * SIDE + x];
        }
}

static void tear_down(void)
{
    char command[64];
    ip_device_close(device);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- a product ----------------------------------------------------------------------------- */

static const ip_gemm gemm = {
    .dtype = IMGPAR_F32, .m = SIDE, .n = SIDE, .k = SIDE, .whole_m = SIDE, .count = { 1, 1 }
};

/* Stands for our own kernels, and does nothing but take its time where it is measured. It tells that the result is its
 * own by the first element, which it leaves at 1000. */
typedef struct own {
    ip_buffer *c;
    int slow_ms, fails_at; /* which call fails, from 1 on; 0: none */
    atomic_int n_measured, n_final;
} own;

static imgpar_status run_own(void *user, bool is_measured, ip_error *err)
{
    own *o = user;
    float out[SIDE * SIDE];
    int n = atomic_fetch_add(is_measured ? &o->n_measured : &o->n_final, 1) + 1;
    memcpy(out, want, sizeof out);
    out[0] = 1000;
    usleep((useconds_t)o->slow_ms * 1000);
    if (n == o->fails_at) return ip_fail(err, IMGPAR_E_INTERNAL, "as the test wants it");
    if (is_measured) return IMGPAR_OK; /* faster than anything that computes */
    return ip_buffer_write(o->c, 0, out, sizeof out, err);
}

typedef enum computed_by { BY_NOBODY, BY_OWN, BY_CLBLAST } computed_by;

/* Who computed what stands in c. */
static computed_by author_of(ip_buffer *c)
{
    float out[SIDE * SIDE];
    if (ip_buffer_read(c, 0, out, sizeof out, NULL) || memcmp(out + 1, want + 1, sizeof out - sizeof *out) != 0)
        return BY_NOBODY;
    return out[0] == want[0] ? BY_CLBLAST : out[0] == 1000 ? BY_OWN : BY_NOBODY;
}

static ip_buffer *buffer_of(const float *elements, size_t n)
{
    ip_buffer *buffer = NULL;
    if (ip_buffer_new(device, n * sizeof *elements, &buffer, NULL)) return NULL;
    if (!ip_buffer_write(buffer, 0, elements, n * sizeof *elements, NULL)) return buffer;
    ip_buffer_release(buffer);
    return NULL;
}

/* Computes a b, or with short_b what CLBlast refuses, since b is no whole matrix. Threads cannot use Check's
 * assertions. */
static imgpar_status multiply(ip_blas_mode mode, const ip_poll *poll, own *o, bool short_b, computed_by *author,
                              ip_error *err)
{
    const ip_poll none = { NULL, NULL };
    float empty[SIDE * SIDE];
    for (int k = 0; k < SIDE * SIDE; k++)
        empty[k] = NAN;
    ip_buffer *ba = buffer_of(a, SIDE * SIDE), *bb = buffer_of(b, short_b ? 16 : SIDE * SIDE),
              *bc = buffer_of(empty, SIDE * SIDE);
    o->c = bc;
    const ip_blas_job job = { .device = device,
                              .mode = mode,
                              .poll = poll ? poll : &none,
                              .gemm = &gemm,
                              .a = ba,
                              .b = bb,
                              .c = bc,
                              .own = run_own,
                              .user = o };
    imgpar_status st = ba && bb && bc ? ip_blas_run(&job, err) : IMGPAR_E_INTERNAL;
    *author = st ? BY_NOBODY : author_of(bc);
    ip_buffer_release(ba);
    ip_buffer_release(bb);
    ip_buffer_release(bc);
    return st;
}

static void expect(own *o, computed_by author, int n_measured, int n_final)
{
    computed_by found;
    ip_error err = { .status = IMGPAR_OK };
    imgpar_status st = multiply(IP_BLAS_AUTO, NULL, o, false, &found, &err);
    ck_assert_msg(st == IMGPAR_OK, "%s", err.message);
    ck_assert_int_eq(found, author);
    ck_assert_int_eq(o->n_measured, n_measured);
    ck_assert_int_eq(o->n_final, n_final);
}

static void expect_text(const char *start)
{
    char text[160];
    ip_blas_explain(IP_BLAS_AUTO, device, &gemm, text, sizeof text);
    ck_assert_msg(strncmp(text, start, strlen(start)) == 0, "\"%s\"", text);
}

/* ---- measuring ------------------------------------------------------------------------------- */

START_TEST(the_faster_one_is_found_once_and_kept_for_processes_to_come)
{
    own fast = { .slow_ms = 0 }, later = { .slow_ms = SLOW_MS };
    expect_text("computed by CLBlast where it takes less time, which the first run measures");
    expect(&fast, BY_OWN, ROUNDS, 1);
    expect(&fast, BY_OWN, ROUNDS, 2);
    expect_text("not computed by CLBlast, which took ");
    ip_device_close(device);
    open_device(); /* as another process would */
    expect_text("not computed by CLBlast, which took ");
    expect(&later, BY_OWN, 0, 1);
}
END_TEST

START_TEST(clblast_is_the_choice_where_our_own_kernels_are_slow)
{
    own slow = { .slow_ms = SLOW_MS }, later = { .slow_ms = 0 };
    expect(&slow, BY_CLBLAST, 2, 0); /* a round to have everything compiled, and one that takes long enough */
    expect_text("computed by CLBlast, which took ");
    ip_device_close(device);
    open_device();
    expect(&later, BY_CLBLAST, 0, 0);
}
END_TEST

START_TEST(what_is_set_is_not_measured)
{
    own o = { .slow_ms = 0 };
    computed_by author;
    ck_assert_int_eq(multiply(IP_BLAS_CLBLAST, NULL, &o, false, &author, NULL), IMGPAR_OK);
    ck_assert_int_eq(author, BY_CLBLAST);
    ck_assert_int_eq(o.n_measured + o.n_final, 0);
}
END_TEST

typedef struct worker {
    pthread_t thread;
    own *own;
    computed_by author;
    imgpar_status status;
} worker;

/* Each has an own of its own: only who measures calls it. */
static void *work(void *user)
{
    worker *w = user;
    w->status = multiply(IP_BLAS_AUTO, NULL, w->own, false, &w->author, NULL);
    return NULL;
}

START_TEST(one_thread_measures_and_the_others_wait)
{
    enum { N_THREADS = 4 };
    own owns[N_THREADS] = { 0 };
    worker workers[N_THREADS];
    int n_measured = 0, n_final = 0;
    for (int t = 0; t < N_THREADS; t++) {
        workers[t] = (worker){ .own = &owns[t] };
        ck_assert_int_eq(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < N_THREADS; t++)
        pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < N_THREADS; t++) {
        ck_assert_int_eq(workers[t].status, IMGPAR_OK);
        ck_assert_int_eq(workers[t].author, BY_OWN);
        n_measured += owns[t].n_measured;
        n_final += owns[t].n_final;
    }
    ck_assert_int_eq(n_measured, ROUNDS);
    ck_assert_int_eq(n_final, N_THREADS);
}
END_TEST

/* ---- failures --------------------------------------------------------------------------------- */

START_TEST(a_product_that_clblast_refuses_is_left_to_our_own_kernels)
{
    own o = { .slow_ms = 0 };
    computed_by author;
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_int_eq(multiply(IP_BLAS_AUTO, NULL, &o, true, &author, &err), IMGPAR_OK);
    ck_assert_int_eq(author, BY_OWN);
    expect_text("not computed by CLBlast, which failed");
    ck_assert_int_eq(multiply(IP_BLAS_CLBLAST, NULL, &o, true, &author, &err), IMGPAR_E_UNSUPPORTED);
    ck_assert_str_eq(err.message, "CLBlast's sgemm: CLBlast refuses it (-1010)");
    ip_device_close(device);
    open_device(); /* a failure is not kept */
    expect_text("computed by CLBlast where it takes less time, which the first run measures");
}
END_TEST

START_TEST(what_was_clblasts_is_our_own_once_it_fails)
{
    own slow = { .slow_ms = SLOW_MS }, o = { .slow_ms = 0 };
    computed_by author;
    expect(&slow, BY_CLBLAST, 2, 0);
    ck_assert_int_eq(multiply(IP_BLAS_AUTO, NULL, &o, true, &author, NULL), IMGPAR_OK);
    ck_assert_int_eq(author, BY_OWN);
    expect(&o, BY_OWN, 0, 2);
}
END_TEST

START_TEST(a_measurement_that_fails_is_made_by_the_next_one)
{
    own o = { .fails_at = 2 }, next = { .slow_ms = 0 };
    computed_by author;
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_int_eq(multiply(IP_BLAS_AUTO, NULL, &o, false, &author, &err), IMGPAR_E_INTERNAL);
    ck_assert_str_eq(err.message, "as the test wants it");
    expect(&next, BY_OWN, ROUNDS, 1);
}
END_TEST

static bool stop(void *user, double done)
{
    int *n = user;
    ck_assert(done > 0 && done < 1);
    return ++*n == 2;
}

START_TEST(somebody_who_polls_may_stop_it)
{
    own o = { .slow_ms = 0 };
    computed_by author;
    int n = 0, enough = 1;
    const ip_poll poll = { stop, &n }, at_once = { stop, &enough };
    ck_assert_int_eq(multiply(IP_BLAS_AUTO, &poll, &o, false, &author, NULL), IMGPAR_E_INTERRUPTED);
    ck_assert_int_eq(multiply(IP_BLAS_CLBLAST, &at_once, &o, false, &author, NULL), IMGPAR_E_INTERRUPTED);
    own next = { .slow_ms = 0 };
    expect(&next, BY_OWN, ROUNDS, 1);
}
END_TEST

static const ip_fault_kind faults[] = { IP_FAULT_CL, IP_FAULT_ALLOC };

START_TEST(each_step_may_fail_without_a_leak)
{
    own o = { .slow_ms = 0 };
    unsigned long n_failed = 0, n_calls = 0;
    computed_by author;
    for (unsigned long nth = 1; nth < 200; nth++) {
        ip_error err = { .status = IMGPAR_OK };
        ip_fault_set(faults[_i], nth);
        imgpar_status st = multiply(IP_BLAS_CLBLAST, NULL, &o, false, &author, &err);
        n_calls = ip_fault_seen(faults[_i]);
        ip_fault_set(faults[_i], 0);
        n_failed += st != IMGPAR_OK;
        ck_assert(st != IMGPAR_OK || author == BY_CLBLAST || n_calls >= nth); /* reading it back may be what fails */
        if (n_calls < nth) break;
    }
    ck_assert_uint_gt(n_failed, 2);
}
END_TEST

/* ---- pieces ------------------------------------------------------------------------------------ */

/* n numbers from -2 on, again and again. */
static float *numbers(size_t n, unsigned every)
{
    float *v = malloc(n * sizeof *v);
    ck_assert_ptr_nonnull(v);
    for (size_t k = 0; k < n; k++)
        v[k] = (float)(k % every) - 2;
    return v;
}

/* By its definition, against what CLBlast gives in pieces of that work. */
static void check_pieces(const ip_gemm *g, double piece_work)
{
    const int64_t m = g->m, n = g->n, k = g->k, products = g->count[0] * g->count[1];
    const int64_t of_a = g->a_first + (g->count[0] - 1) * g->a_next[0] + (g->count[1] - 1) * g->a_next[1] + m * k;
    const int64_t of_b = (g->count[0] - 1) * g->b_next[0] + (g->count[1] - 1) * g->b_next[1] + k * n;
    float *va = numbers((size_t)of_a, 7), *vb = numbers((size_t)of_b, 5), *got = numbers((size_t)(products * m * n), 3);
    own none = { .slow_ms = 0 };
    const ip_poll never = { NULL, NULL };
    const ip_blas_job job = { .device = device,
                              .mode = IP_BLAS_CLBLAST,
                              .poll = &never,
                              .gemm = g,
                              .a = buffer_of(va, (size_t)of_a),
                              .b = buffer_of(vb, (size_t)of_b),
                              .c = buffer_of(got, (size_t)(products * m * n)),
                              .own = run_own,
                              .user = &none };
    device->blas.piece_work = piece_work;
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_msg(ip_blas_run(&job, &err) == IMGPAR_OK, "%s", err.message);
    ck_assert_int_eq(ip_buffer_read(job.c, 0, got, (size_t)(products * m * n) * sizeof *got, NULL), IMGPAR_OK);
    for (int64_t at = 0; at < products * m * n; at++) {
        const int64_t x = at % n, y = at / n % m, inner = at / n / m % g->count[1], outer = at / n / m / g->count[1];
        const float *row = va + g->a_first + outer * g->a_next[0] + inner * g->a_next[1] + y * k;
        const float *column = vb + outer * g->b_next[0] + inner * g->b_next[1] + x;
        float sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += row[i] * column[i * n];
        ck_assert_msg(got[at] == sum, "product %d %d, row %d, column %d: %g, must be %g", (int)outer, (int)inner,
                      (int)y, (int)x, (double)got[at], (double)sum);
    }
    ip_buffer_release(job.a);
    ip_buffer_release(job.b);
    ip_buffer_release(job.c);
    free(va);
    free(vb);
    free(got);
}

START_TEST(pieces_of_a_product_make_it_whole)
{
    ip_gemm g = { .dtype = IMGPAR_F32, .m = 150, .n = 40, .k = 50, .whole_m = 150, .count = { 1, 1 }, .a_first = 70 };
    check_pieces(&g, 64 * 40 * 50); /* 64, 64 and 22 rows */
    g.count[0] = 2;
    g.a_next[0] = 150 * 50;
    check_pieces(&g, 64 * 40 * 50); /* the same b twice */
}
END_TEST

START_TEST(pieces_of_a_batch_make_it_whole)
{
    ip_gemm g = { .dtype = IMGPAR_F32,
                  .m = 20,
                  .n = 40,
                  .k = 33,
                  .whole_m = 20,
                  .count = { 2, 5 },
                  .a_next = { 0, 20 * 33 },
                  .b_next = { 5 * 33 * 40, 33 * 40 } };
    if (!test_tier_is_full()) return;   /* PoCL compiles CLBlast's batches for half a minute */
    check_pieces(&g, 2 * 20 * 40 * 33); /* 2, 2 and 1 of them */
}
END_TEST

/* ---- which products ------------------------------------------------------------------------------ */

START_TEST(clblast_has_no_part_in_what_it_cannot_count)
{
    ip_gemm g = gemm;
    ck_assert(ip_blas_may(IP_BLAS_CLBLAST, device, &g));
    ck_assert(!ip_blas_may(IP_BLAS_OWN, device, &g));
    ck_assert(!ip_blas_may(IP_BLAS_AUTO, device, &g)); /* little work */
    g.m = g.whole_m = g.k = 46341;                     /* 2^31 and some elements of a */
    ck_assert(!ip_blas_may(IP_BLAS_CLBLAST, device, &g));
    g.k = 46340;
    ck_assert(ip_blas_may(IP_BLAS_CLBLAST, device, &g));
    ck_assert(ip_blas_may(IP_BLAS_AUTO, device, &g) == (ip_device_facts_of(device)->kind == IP_DEVICE_GPU));
    g.count[1] = 2;
    ck_assert(!ip_blas_may(IP_BLAS_CLBLAST, device, &g));
}
END_TEST

int main(void)
{
    if (!ip_clblast_is_there()) return 77; /* skipped */
    Suite *suite = suite_create("blas");
    TCase *c = tcase_create("blas");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, the_faster_one_is_found_once_and_kept_for_processes_to_come);
    tcase_add_test(c, clblast_is_the_choice_where_our_own_kernels_are_slow);
    tcase_add_test(c, what_is_set_is_not_measured);
    tcase_add_test(c, one_thread_measures_and_the_others_wait);
    tcase_add_test(c, a_product_that_clblast_refuses_is_left_to_our_own_kernels);
    tcase_add_test(c, what_was_clblasts_is_our_own_once_it_fails);
    tcase_add_test(c, a_measurement_that_fails_is_made_by_the_next_one);
    tcase_add_test(c, somebody_who_polls_may_stop_it);
    tcase_add_loop_test(c, each_step_may_fail_without_a_leak, 0, 2);
    tcase_add_test(c, pieces_of_a_product_make_it_whole);
    tcase_add_test(c, pieces_of_a_batch_make_it_whole);
    tcase_add_test(c, clblast_has_no_part_in_what_it_cannot_count);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_FORK); /* the folder of the settings is made once */
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
