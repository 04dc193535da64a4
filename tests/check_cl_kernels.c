/* SPDX-License-Identifier: MIT */
/* The device layer's modules and kernels: what is compiled, what a launch checks, what kernels print, kernels among
 * arrays. */
#include "cl_help.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* ---- modules -------------------------------------------------------------------------------- */

START_TEST(a_module_is_put_together_of_constants_files_and_texts)
{
    static const char path[] = "check_cl_module.cl";
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("int twice(int v) { return 2 * v; }\n", file);
    fclose(file);
    const imgpar_cl_source source = {
        .struct_size = sizeof source,
        .constants = (const char *const[]){ "OFFSET=100", "FAST", "T=int", NULL },
        .files = (const char *const[]){ path, NULL },
        .texts =
            (const char *const[]){
                "#if FAST != 1 || !defined(IMGPAR_CL)\n#error\n#endif\n", "constant int table[2] = { 5, 7 };",
                "kernel void k(global T *a) { int i = get_global_id(0); a[i] = twice(i) + OFFSET + table[i & 1]; }\n"
                "kernel void other(global T *a) { a[0] = SIGN 1; }",
                NULL },
        .options = "-DSIGN=-",
    };
    imgpar_cl_module *m, *again;
    imgpar_cl_kernel *k;
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    OK(imgpar_cl_module_new(ctx, &source, &m));
    imgpar_context_counters(ctx, &before);
    OK(imgpar_cl_module_new(ctx, &source, &again)); /* compiled once */
    imgpar_context_counters(ctx, &after);
    ck_assert_uint_eq(after.programs_built + after.programs_loaded, before.programs_built + before.programs_loaded);
    ck_assert_str_eq(imgpar_cl_module_kernels(m), "k;other");
    imgpar_cl_module_release(again);
    OK(imgpar_cl_kernel_new(m, "k", &k));
    FAILS(imgpar_cl_kernel_new(m, "kk", &(imgpar_cl_kernel *){ NULL }), IMGPAR_E_ARGUMENT,
          "the module has no kernel \"kk\"; it has: k;other");
    imgpar_cl_module_release(m);
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(8, 4));
    int32_t got[8];
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 8 }), IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b)), NULL));
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(got[i], 2 * i + 100 + (i & 1 ? 7 : 5));
    imgpar_cl_kernel_release(k);
    imgpar_cl_buffer_release(b);
    unlink(path);
}
END_TEST

START_TEST(wrong_modules_are_refused)
{
    imgpar_cl_module *m = NULL;
    imgpar_cl_source source = { .struct_size = sizeof source };
    FAILS(imgpar_cl_module_new(ctx, &source, &m), IMGPAR_E_ARGUMENT, "there are neither files nor texts");
    FAILS(imgpar_cl_module_new(ctx, NULL, &m), IMGPAR_E_ARGUMENT, "the source is NULL");
    FAILS(imgpar_cl_module_from_text(NULL, "", &m), IMGPAR_E_ARGUMENT, "the context is NULL");
    FAILS(imgpar_cl_module_from_text(ctx, "", NULL), IMGPAR_E_ARGUMENT, "out is NULL");
    FAILS(imgpar_cl_module_from_text(ctx, "\n\nkernel void k() { x = 1; }", &m), IMGPAR_E_COMPILE, "text 1");
    ck_assert_ptr_nonnull(strstr(imgpar_cl_message(), "CL_BUILD_PROGRAM_FAILURE"));
    source.texts = (const char *const[]){ "kernel void k() { }", NULL };
    source.constants = (const char *const[]){ "1X=3", NULL };
    FAILS(imgpar_cl_module_new(ctx, &source, &m), IMGPAR_E_ARGUMENT, "constant \"1X=3\" is not NAME or NAME=VALUE");
    source.constants = NULL;
    source.files = (const char *const[]){ "no/such/file.cl", NULL };
    FAILS(imgpar_cl_module_new(ctx, &source, &m), IMGPAR_E_IO, "no/such/file.cl: No such file or directory");
    source.struct_size = 1;
    FAILS(imgpar_cl_module_new(ctx, &source, &m), IMGPAR_E_ARGUMENT, "struct_size of source is not set");
    ck_assert_ptr_null(m);
    imgpar_cl_kernel *k;
    FAILS(imgpar_cl_kernel_new(NULL, "k", &k), IMGPAR_E_ARGUMENT, "the module is NULL");
    ck_assert_str_eq(imgpar_cl_module_kernels(NULL), "");
}
END_TEST

/* ---- launches ----------------------------------------------------------------------------------- */

typedef struct particle {
    float x, y;
    int32_t kind;
} particle;

static const char many[] = "typedef struct { float x, y; int kind; } particle;\n"
                           "kernel void sum(global const int *a, global int *out, local int *part, uint n, float by, "
                           "particle p, float4 v, uchar small)\n"
                           "{\n"
                           "    int i = get_local_id(0), k = get_global_id(0);\n"
                           "    part[i] = k < n ? a[k] : 0;\n"
                           "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                           "    for (int half_of = get_local_size(0) / 2; half_of > 0; half_of /= 2) {\n"
                           "        if (i < half_of) part[i] += part[i + half_of];\n"
                           "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                           "    }\n"
                           "    if (i == 0) out[get_group_id(0)] = part[0] + (int)by + p.kind + (int)v.w + small;\n"
                           "}\n"
                           "kernel __attribute__((reqd_work_group_size(8, 2, 1))) void ids(global int *out)\n"
                           "{\n"
                           "    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
                           "    out[(z * get_global_size(1) + y) * get_global_size(0) + x] = x + 100 * y + 10000 * z;\n"
                           "}\n"
                           "kernel void offset_of(global int *out) { out[get_global_id(0)] = get_global_offset(0); }\n";

START_TEST(arguments_of_every_kind_arrive)
{
    imgpar_cl_kernel *k = new_kernel(many, "sum");
    imgpar_cl_kernel_info info = { .struct_size = sizeof info };
    OK(imgpar_cl_kernel_get_info(k, &info));
    ck_assert_uint_eq(info.n_args, 8);
    ck_assert_uint_gt(info.max_work_group, 0);
    ck_assert_uint_eq(info.required_local[0], 0);
    imgpar_cl_buffer *a = new_buffer(IMGPAR_CL_IN, imgpar_cl_vector(100, 4)),
                     *out = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(4, 4));
    int32_t data[100], got[4], want[4] = { 0 };
    const particle p = { 1, 2, 1000 };
    const float v[4] = { 0, 0, 0, 20000 };
    for (int i = 0; i < 100; i++) {
        data[i] = i * i;
        want[i / 32] += i * i;
    }
    OK(imgpar_cl_write(queue, a, NULL, data, NULL));
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 128 }, .local = { 32 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(a), imgpar_cl_arg_buffer(out), imgpar_cl_arg_local(32 * 4),
                                       imgpar_cl_arg_int(100), imgpar_cl_arg_real(7.5),
                                       imgpar_cl_arg_struct(&p, sizeof p), imgpar_cl_arg_struct(v, sizeof v),
                                       imgpar_cl_arg_int(255)),
                        NULL));
    OK(imgpar_cl_read(queue, out, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    for (int g = 0; g < 4; g++)
        ck_assert_int_eq(got[g], want[g] + 7 + 1000 + 20000 + 255);
    imgpar_cl_buffer_release(a);
    imgpar_cl_buffer_release(out);
    imgpar_cl_kernel_release(k);
}
END_TEST

START_TEST(wrong_arguments_are_refused_before_the_launch)
{
    imgpar_cl_kernel *k = new_kernel(many, "sum");
    imgpar_cl_buffer *in = new_buffer(IMGPAR_CL_IN, imgpar_cl_vector(64, 4)),
                     *out = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(64, 4));
    const particle p = { 0 };
    const float v[4] = { 0 };
    const imgpar_cl_arg good[8] = { imgpar_cl_arg_buffer(in),
                                    imgpar_cl_arg_buffer(out),
                                    imgpar_cl_arg_local(256),
                                    imgpar_cl_arg_int(64),
                                    imgpar_cl_arg_real(1),
                                    imgpar_cl_arg_struct(&p, sizeof p),
                                    imgpar_cl_arg_struct(v, sizeof v),
                                    imgpar_cl_arg_int(0) };
    const uint64_t too_much = imgpar_context_device(ctx)->local_bytes;
    const struct {
        int at;
        imgpar_cl_arg arg;
        imgpar_status st;
        const char *text;
    } wrong[] = {
        { 0, imgpar_cl_arg_buffer(out), IMGPAR_E_ARGUMENT,
          "sum: argument 0 (int* a) is const; the buffer is IMGPAR_CL_OUT" },
        { 1, imgpar_cl_arg_buffer(in), IMGPAR_E_ARGUMENT,
          "sum: argument 1 (int* out) is written; the buffer is IMGPAR_CL_IN" },
        { 1, imgpar_cl_arg_buffer(NULL), IMGPAR_E_ARGUMENT, "argument 1 (int* out) is a buffer that is NULL" },
        { 1, imgpar_cl_arg_int(1), IMGPAR_E_ARGUMENT, "argument 1 (int* out) is not a number" },
        { 2, imgpar_cl_arg_buffer(out), IMGPAR_E_ARGUMENT,
          "argument 2 (int* part) is not a global or constant pointer" },
        { 2, imgpar_cl_arg_local(0), IMGPAR_E_ARGUMENT, "local memory of 0 bytes" },
        { 2, imgpar_cl_arg_local(too_much + 1), IMGPAR_E_LIMIT, "of local memory; the device has" },
        { 3, imgpar_cl_arg_local(4), IMGPAR_E_ARGUMENT, "argument 3 (uint n) is not a local pointer" },
        { 3, imgpar_cl_arg_int(-1), IMGPAR_E_ARGUMENT, "argument 3 (uint n) cannot hold -1" },
        { 3, imgpar_cl_arg_int(INT64_C(1) << 32), IMGPAR_E_ARGUMENT, "cannot hold 4294967296" },
        { 3, imgpar_cl_arg_real(1), IMGPAR_E_ARGUMENT, "argument 3 (uint n) is an integer; a real number was given" },
        { 4, imgpar_cl_arg_struct(v, 8), IMGPAR_E_ARGUMENT,
          "argument 4 (float by) has 4 bytes; a struct of 8 was given" },
        { 5, imgpar_cl_arg_int(1), IMGPAR_E_ARGUMENT, "argument 5 (particle p) is not a number" },
        { 5, imgpar_cl_arg_struct(NULL, 12), IMGPAR_E_ARGUMENT, "is a struct that is NULL or empty" },
        { 6, imgpar_cl_arg_struct(v, 12), IMGPAR_E_ARGUMENT,
          "argument 6 (float4 v) has 16 bytes; a struct of 12 was given" },
        { 7, imgpar_cl_arg_int(256), IMGPAR_E_ARGUMENT, "argument 7 (uchar small) cannot hold 256" },
        { 0, imgpar_cl_arg_input(0), IMGPAR_E_ARGUMENT, "which only imgpar_cl_apply() has" },
        { 0, { 0 }, IMGPAR_E_ARGUMENT, "was not made by a function of imgpar_cl.h" },
    };
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        imgpar_cl_arg args[8];
        memcpy(args, good, sizeof args);
        args[wrong[n].at] = wrong[n].arg;
        FAILS(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 64 }), args, 8, NULL), wrong[n].st, wrong[n].text);
    }
    FAILS(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 64 }), good, 7, NULL), IMGPAR_E_ARGUMENT,
          "sum: has 8 parameters; 7 arguments were given");
    FAILS(imgpar_cl_launch(queue, k, NULL, good, 8, NULL), IMGPAR_E_ARGUMENT, "work is NULL");
    FAILS(imgpar_cl_launch(queue, NULL, NULL, good, 8, NULL), IMGPAR_E_ARGUMENT, "the kernel is NULL");
    FAILS(imgpar_cl_launch(NULL, k, NULL, good, 8, NULL), IMGPAR_E_ARGUMENT, "the queue is NULL");
    imgpar_counters c = { .struct_size = sizeof c };
    imgpar_context_counters(ctx, &c);
    ck_assert_uint_eq(c.kernels, 0);
    imgpar_cl_buffer_release(in);
    imgpar_cl_buffer_release(out);
    imgpar_cl_kernel_release(k);
}
END_TEST

START_TEST(groups_are_checked_and_chosen)
{
    imgpar_cl_kernel *free_one = new_kernel(many, "offset_of"), *ids = new_kernel(many, "ids");
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(16 * 6 * 3, 4));
    const imgpar_cl_arg arg = imgpar_cl_arg_buffer(b);
    imgpar_cl_kernel_info info = { .struct_size = sizeof info };
    int32_t got[16 * 6 * 3];
    OK(imgpar_cl_kernel_get_info(ids, &info));
    ck_assert_uint_eq(info.required_local[0], 8);
    ck_assert_uint_eq(info.required_local[1], 2);
    OK(imgpar_cl_launch(queue, ids, IMGPAR_CL_WORK(.global = { 16, 6, 3 }), &arg, 1, NULL));
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 6; y++)
            for (int x = 0; x < 16; x++)
                ck_assert_int_eq(got[(z * 6 + y) * 16 + x], x + 100 * y + 10000 * z);
    /* 7: groups of one */
    OK(imgpar_cl_launch(queue, free_one, IMGPAR_CL_WORK(.global = { 7 }, .offset = { 3 }), &arg, 1, NULL));
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_int_eq(got[2], 2);
    ck_assert_int_eq(got[3], 3);
    ck_assert_int_eq(got[9], 3);
    ck_assert_int_eq(got[10], 10);
    FAILS(imgpar_cl_launch(queue, ids, IMGPAR_CL_WORK(.global = { 16, 6 }, .local = { 16, 1 }), &arg, 1, NULL),
          IMGPAR_E_ARGUMENT, "ids: work.local[0]=16; the kernel requires 8");
    FAILS(imgpar_cl_launch(queue, ids, IMGPAR_CL_WORK(.global = { 12, 6 }), &arg, 1, NULL), IMGPAR_E_ARGUMENT,
          "work.local[0]=8 does not divide work.global[0]=12");
    FAILS(imgpar_cl_launch(queue, free_one, IMGPAR_CL_WORK(.global = { 10 }, .local = { 4 }), &arg, 1, NULL),
          IMGPAR_E_ARGUMENT, "work.local[0]=4 does not divide work.global[0]=10");
    FAILS(imgpar_cl_launch(queue, free_one, IMGPAR_CL_WORK(.global = { 10, 2 }, .local = { 5 }), &arg, 1, NULL),
          IMGPAR_E_ARGUMENT, "work.local[1] is 0 and others are not");
    size_t large = imgpar_context_device(ctx)->max_work_group * 2;
    FAILS(imgpar_cl_launch(queue, free_one, IMGPAR_CL_WORK(.global = { large }, .local = { large }), &arg, 1, NULL),
          IMGPAR_E_LIMIT, "is over");
    FAILS(imgpar_cl_launch(queue, free_one, IMGPAR_CL_WORK(.global = { 0 }), &arg, 1, NULL), IMGPAR_E_ARGUMENT,
          "work.global[0] is 0");
    FAILS(imgpar_cl_launch(queue, free_one, IMGPAR_CL_WORK(.global = { 1 }, .offset = { SIZE_MAX }), &arg, 1, NULL),
          IMGPAR_E_LIMIT, "work.offset[0]=18446744073709551615 + global[0]=1 is more than can be counted");
    FAILS(imgpar_cl_launch(queue, free_one, &(imgpar_cl_work){ 0 }, &arg, 1, NULL), IMGPAR_E_ARGUMENT,
          "struct_size of work is not set");
    imgpar_cl_buffer_release(b);
    imgpar_cl_kernel_release(free_one);
    imgpar_cl_kernel_release(ids);
}
END_TEST

START_TEST(work_is_divided_so_that_every_element_has_an_item)
{
    imgpar_cl_kernel *k = new_kernel(many, "offset_of");
    static const size_t sizes[][3] = {
        { 1, 0, 0 }, { 1000003, 0, 0 }, { 640, 480, 3 }, { 3, 5000, 1 }, { 17, 13, 11 }
    };
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        static const size_t asked[][3] = { { 0 }, { 1 }, { 4, 2, 1 } };
        for (size_t p = 0; p < 3; p++) {
            size_t per_item[3] = { asked[p][0], asked[p][1], asked[p][2] };
            imgpar_cl_work w = { .struct_size = sizeof w };
            OK(imgpar_cl_divide(k, sizes[n], per_item, &w));
            size_t group = 1;
            for (int d = 0; d < 3; d++) {
                size_t e = sizes[n][d] ? sizes[n][d] : 1;
                ck_assert_uint_ge(w.global[d] * per_item[d], e);
                ck_assert_uint_eq(w.global[d] % w.local[d], 0);
                ck_assert_uint_lt((w.global[d] - w.local[d]) * per_item[d], e); /* no group is without an element */
                if (asked[p][0]) ck_assert_uint_eq(per_item[d], asked[p][d] ? asked[p][d] : 1);
                group *= w.local[d];
            }
            ck_assert_uint_le(group, imgpar_context_device(ctx)->max_work_group);
        }
    }
    imgpar_cl_work w = { .struct_size = sizeof w };
    size_t one[3] = { 1, 1, 1 };
    FAILS(imgpar_cl_divide(k, (size_t[3]){ 0 }, one, &w), IMGPAR_E_ARGUMENT, "elements[0] is 0");
    FAILS(imgpar_cl_divide(k, (size_t[3]){ SIZE_MAX, 2 }, one, &w), IMGPAR_E_LIMIT,
          "more elements than can be counted");
    FAILS(imgpar_cl_divide(k, NULL, one, &w), IMGPAR_E_ARGUMENT, "elements is NULL");
    imgpar_cl_kernel_release(k);
}
END_TEST

START_TEST(doubles_work_where_the_device_has_them)
{
    imgpar_cl_module *m;
    static const char text[] = "kernel void k(global double *a, double by) { a[get_global_id(0)] *= by; }";
    if (!imgpar_context_device(ctx)->has_f64) {
        FAILS(imgpar_cl_module_from_text(ctx, text, &m), IMGPAR_E_COMPILE, "double");
        return;
    }
    imgpar_cl_kernel *k = new_kernel(text, "k");
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(2, 8));
    double data[2] = { 1, 1e300 };
    OK(imgpar_cl_write(queue, b, NULL, data, NULL));
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 2 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_real(0.1)), NULL));
    OK(imgpar_cl_read(queue, b, NULL, data, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert(data[0] == 0.1 && data[1] == 1e300 * 0.1);
    imgpar_cl_buffer_release(b);
    imgpar_cl_kernel_release(k);
}
END_TEST

/* ---- what stands before a module ------------------------------------------------------------------ */

static void append(void *user, const char *text) { strncat(user, text, 1000); }

START_TEST(kernels_print_to_the_callback)
{
    char printed[4000] = "";
    const imgpar_cl_queue_options options = { .struct_size = sizeof options, .on_print = append, .user = printed };
    imgpar_cl_queue *q;
    OK(imgpar_cl_queue_new(ctx, &options, &q));
    imgpar_cl_kernel *k = new_kernel(
        "int helper(int v, IMGPAR_REPORT) { imgpar_printf(\"helper %d\\n\", v); return v; }\n"
        "kernel void k(int a, float f, IMGPAR_REPORT)\n"
        "{\n"
        "    helper(a, imgpar_report);\n"
        "    imgpar_printf(\"plain 100%%\\n\");\n"
        "    imgpar_printf(\"%d %u %x %5.2f|%-4d|%c %ld\\n\", a, 4000000000u, 255, f, (short)-7, 'x', -5000000000L);\n"
        "    imgpar_printf(\"%e %d\\n\", f, (uchar)200);\n"
        "}",
        "k");
    OK(imgpar_cl_launch(q, k, IMGPAR_CL_WORK(.global = { 1 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_int(-3), imgpar_cl_arg_real(2.5)), NULL));
    OK(imgpar_cl_finish(q));
    ck_assert_str_eq(printed, "helper -3\nplain 100%\n-3 4000000000 ff  2.50|-7  |x -5000000000\n2.500000e+00 200\n");
    imgpar_cl_kernel_release(k);
    k = new_kernel("kernel void k(IMGPAR_REPORT) { imgpar_printf(\"a line of some length, and a number: %d\\n\", 1); }",
                   "k");
    printed[0] = '\0';
    OK(imgpar_cl_launch(q, k, IMGPAR_CL_WORK(.global = { 64 }), NULL, 0, NULL));
    OK(imgpar_cl_finish(q));
    ck_assert_uint_eq(strlen(printed), 64 * strlen("a line of some length, and a number: 1\n"));
    imgpar_cl_kernel_release(k);
    imgpar_cl_queue_release(q);
}
END_TEST

typedef struct printing {
    pthread_t thread;
    int n;
} printing;

static void note_print(void *user, const char *text)
{
    printing *p = user;
    ck_assert(pthread_equal(p->thread, pthread_self()));
    ck_assert_str_eq(text, "1\n");
    p->n++;
}

typedef struct finishing {
    imgpar_cl_queue *queue;
    printing *seen;
} finishing;

static void *finish(void *user)
{
    const finishing *f = user;
    f->seen->thread = pthread_self();
    OK(imgpar_cl_finish(f->queue));
    return NULL;
}

/* Each text by itself, whoever launched; where nobody listens, none. */
START_TEST(what_is_printed_comes_from_the_thread_that_finishes)
{
    printing seen = { .n = 0 };
    const imgpar_cl_queue_options options = { .struct_size = sizeof options, .on_print = note_print, .user = &seen };
    imgpar_cl_kernel *k = new_kernel("kernel void k(IMGPAR_REPORT) { imgpar_printf(\"%d\\n\", 1); }", "k");
    imgpar_cl_queue *q;
    pthread_t thread;
    OK(imgpar_cl_queue_new(ctx, &options, &q));
    OK(imgpar_cl_launch(q, k, IMGPAR_CL_WORK(.global = { 5 }), NULL, 0, NULL));
    finishing f = { q, &seen };
    ck_assert_int_eq(pthread_create(&thread, NULL, finish, &f), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(seen.n, 5);
    OK(imgpar_cl_finish(q)); /* they have been told */
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 5 }), NULL, 0, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_int_eq(seen.n, 5);
    imgpar_cl_kernel_release(k);
    imgpar_cl_queue_release(q);
}
END_TEST

static const char checking[] = "kernel void k(global const float *a, int n, int at, IMGPAR_REPORT)\n"
                               "{\n"
                               "    int i = get_global_id(0);\n"
                               "    imgpar_assert(n < 100);\n"
                               "    imgpar_check_finite(a[imgpar_check_index(i == 5 ? at : i, n)]);\n"
                               "}\n";

START_TEST(checks_fail_in_checked_mode_only)
{
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(16, 4));
    float data[16] = { 0 };
    OK(imgpar_cl_write(queue, b, NULL, data, NULL));
    imgpar_cl_kernel *k = new_kernel(checking, "k");
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 16 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_int(200), imgpar_cl_arg_int(0)), NULL));
    OK(imgpar_cl_finish(queue));
    imgpar_cl_kernel_release(k);
    ck_assert_int_eq(imgpar_context_set(ctx, "check", "1"), IMGPAR_OK);
    k = new_kernel(checking, "k");
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 16 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_int(16), imgpar_cl_arg_int(15)), NULL));
    OK(imgpar_cl_finish(queue));
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 16 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_int(16), imgpar_cl_arg_int(16)), NULL));
    FAILS(imgpar_cl_finish(queue), IMGPAR_E_CHECK,
          "k: text 1:5: index i == 5 ? at : i = 16 is not in 0 to 15 (work-item 5, 0, 0)");
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 1 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_int(100), imgpar_cl_arg_int(0)), NULL));
    FAILS(imgpar_cl_finish(queue), IMGPAR_E_CHECK, "k: text 1:4: assertion failed: n < 100 (work-item 0, 0, 0)");
    data[3] = INFINITY;
    OK(imgpar_cl_write(queue, b, NULL, data, NULL));
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 16 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_int(16), imgpar_cl_arg_int(0)), NULL));
    FAILS(imgpar_cl_finish(queue), IMGPAR_E_CHECK, "= inf is not finite (work-item 3, 0, 0)");
    imgpar_cl_kernel_release(k);
    imgpar_cl_buffer_release(b);
    ck_assert_int_eq(imgpar_context_set(ctx, "check", "2"), IMGPAR_E_ARGUMENT);
}
END_TEST

START_TEST(random_words_are_those_of_the_paper)
{
    imgpar_cl_kernel *k = new_kernel("kernel void k(global uint4 *a, ulong seed) { ulong i = get_global_id(0); "
                                     "a[i] = imgpar_random(seed, i); }",
                                     "k");
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(4, 16));
    uint32_t got[16];
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 4 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_int(0)), NULL));
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    /* counter 0, key 0: Random123's kat_vectors */
    static const uint32_t known[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 };
    ck_assert_mem_eq(got, known, sizeof known);
    imgpar_cl_buffer_release(b);
    imgpar_cl_kernel_release(k);
}
END_TEST

/* ---- among arrays ------------------------------------------------------------------------------------ */

static imgpar_status square_on_host(void *user, const void *const *inputs, void *result)
{
    ++*(int *)user;
    for (int i = 0; i < 12; i++)
        ((float *)result)[i] = ((const float *)inputs[0])[i] * ((const float *)inputs[0])[i];
    return IMGPAR_OK;
}

static imgpar_array *square_of(imgpar_array *a, imgpar_cl_kernel *k, int *n_host)
{
    const imgpar_cl_arg args[] = { imgpar_cl_arg_input(0), imgpar_cl_arg_result(), imgpar_cl_arg_int(12) };
    const imgpar_cl_node node = { .struct_size = sizeof node,
                                  .kernel = k,
                                  .inputs = &a,
                                  .n_inputs = 1,
                                  .dtype = IMGPAR_F32,
                                  .rank = 2,
                                  .shape = { 3, 4 },
                                  .args = args,
                                  .n_args = 3,
                                  .work = IMGPAR_CL_WORK(.global = { 16 }),
                                  .compute = n_host ? square_on_host : NULL,
                                  .user = n_host };
    return imgpar_cl_apply(ctx, &node);
}

static const char square[] = "kernel void square(global const float *a, global float *out, int n) { int i = "
                             "get_global_id(0); if (i < n) out[i] = a[i] * a[i]; }";

START_TEST(a_kernel_is_a_node_of_a_graph)
{
    const int64_t shape[] = { 3, 4 };
    float data[12], got[12];
    int n_host = 0;
    for (int i = 0; i < 12; i++)
        data[i] = (float)i;
    imgpar_cl_kernel *k = new_kernel(square, "square");
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, 2, shape, data);
    imgpar_array *more = imgpar_apply(ctx, "$1 + 1", &a, 1), *squared = square_of(more, k, &n_host);
    imgpar_array *out = imgpar_apply(ctx, "$1 * 2", &squared, 1);
    imgpar_cl_kernel_release(k); /* the node keeps it */
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    imgpar_context_counters(ctx, &before);
    ck_assert_msg(imgpar_array_read(out, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(out));
    imgpar_context_counters(ctx, &after);
    for (int i = 0; i < 12; i++)
        ck_assert_float_eq(got[i], 2 * (float)(i + 1) * (float)(i + 1));
    ck_assert_uint_eq(after.kernels - before.kernels, 3);
    bool shares = imgpar_context_device(ctx)->has_unified_memory;
    /* the result, and nothing between */
    ck_assert_uint_eq(after.bytes_downloaded - before.bytes_downloaded, shares ? 0 : sizeof got);
    double difference = 1;
    ck_assert_int_eq(imgpar_array_verify(out, &difference, NULL), IMGPAR_OK);
    ck_assert(difference == 0);
    ck_assert_int_eq(n_host, 1);
    char *text;
    ck_assert_int_eq(imgpar_array_explain(out, "text", &text), IMGPAR_OK);
    ck_assert_msg(strstr(text, "square"), "%s", text);
    imgpar_free(text);
    ck_assert_int_eq(imgpar_array_explain(out, "cl", &text), IMGPAR_OK);
    ck_assert_msg(strstr(text, "out[i] = a[i] * a[i]"), "%s", text);
    imgpar_free(text);
    imgpar_array_release(a);
    imgpar_array_release(more);
    imgpar_array_release(squared);
    imgpar_array_release(out);
}
END_TEST

START_TEST(a_kernel_may_make_an_array_of_nothing)
{
    imgpar_cl_kernel *k = new_kernel(
        "kernel void ramp(global float *out, float by) { int i = get_global_id(0); out[i] = i * by; }", "ramp");
    const imgpar_cl_arg args[] = { imgpar_cl_arg_result(), imgpar_cl_arg_real(0.5) };
    const imgpar_cl_node node = { .struct_size = sizeof node,
                                  .kernel = k,
                                  .dtype = IMGPAR_F32,
                                  .rank = 1,
                                  .shape = { 64 },
                                  .args = args,
                                  .n_args = 2,
                                  .work = IMGPAR_CL_WORK(.global = { 64 }) };
    imgpar_array *ramp = imgpar_cl_apply(ctx, &node), *same = imgpar_cl_apply(ctx, &node), *in[] = { ramp, same };
    imgpar_array *sum = imgpar_apply(ctx, "$1 + $2", in, 2);
    float got[64];
    ck_assert_msg(imgpar_array_read(sum, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(sum));
    for (int i = 0; i < 64; i++)
        ck_assert_float_eq(got[i], (float)i);
    imgpar_array_release(ramp);
    imgpar_array_release(same);
    imgpar_array_release(sum);
    imgpar_cl_kernel_release(k);
}
END_TEST

START_TEST(wrong_nodes_are_error_arrays)
{
    const int64_t shape[] = { 3, 4 };
    float data[12] = { 0 }, got[12];
    imgpar_cl_kernel *k = new_kernel(square, "square");
    imgpar_array *a = imgpar_array_from_data(ctx, IMGPAR_F32, 2, shape, data), *bad;
    imgpar_cl_arg args[] = { imgpar_cl_arg_input(0), imgpar_cl_arg_result(), imgpar_cl_arg_int(12) };
    imgpar_cl_node node = { .struct_size = sizeof node,
                            .kernel = k,
                            .inputs = &a,
                            .n_inputs = 1,
                            .dtype = IMGPAR_F32,
                            .rank = 2,
                            .shape = { 3, 4 },
                            .args = args,
                            .n_args = 3,
                            .work = IMGPAR_CL_WORK(.global = { 16 }) };
#define REFUSED(status, text)                                                                                       \
    bad = imgpar_cl_apply(ctx, &node);                                                                              \
    ck_assert_int_eq(imgpar_array_status(bad), status);                                                             \
    ck_assert_msg(strstr(imgpar_array_message(bad), text), "\"%s\" lacks \"%s\"", imgpar_array_message(bad), text); \
    imgpar_array_release(bad)
    node.n_inputs = 5;
    REFUSED(IMGPAR_E_LIMIT, "square: 5 inputs are over 4");
    node.n_inputs = 1;
    node.shape[1] = 0;
    REFUSED(IMGPAR_E_ARGUMENT, "square: shape[1]=0 is not 1 to");
    node.shape[1] = 4;
    args[0] = imgpar_cl_arg_input(1);
    REFUSED(IMGPAR_E_ARGUMENT, "argument 0 (float* a) is an input that there is not");
    args[0] = imgpar_cl_arg_result();
    REFUSED(IMGPAR_E_ARGUMENT, "argument 0 (float* a) is const; the result needs a pointer that is written");
    args[0] = imgpar_cl_arg_input(0);
    args[1] = imgpar_cl_arg_input(0);
    REFUSED(IMGPAR_E_ARGUMENT, "argument 1 (float* out) is written; an input needs a pointer to const");
    args[1] = imgpar_cl_arg_result();
    node.dtype = IMGPAR_COMPLEX64;
    REFUSED(IMGPAR_E_UNSUPPORTED, "square: dtype=complex64: kernels make real elements");
    node.dtype = IMGPAR_F32;
    imgpar_array *none = NULL, *error = imgpar_open(ctx, "no-such-file.png");
    node.inputs = &none;
    REFUSED(IMGPAR_E_ARGUMENT, "an input is NULL");
    node.inputs = &error;
    REFUSED(IMGPAR_E_IO, "no-such-file.png");
    node.inputs = &a;
    node.work = IMGPAR_CL_WORK(.global = { 0 });
    REFUSED(IMGPAR_E_ARGUMENT, "square: work.global[0] is 0");
    node.work = NULL;
    REFUSED(IMGPAR_E_ARGUMENT, "square: work is NULL");
    node.work = IMGPAR_CL_WORK(.global = { 16 });
    imgpar_array *good = imgpar_cl_apply(ctx, &node);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "ref"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_array_read(good, got, sizeof got), IMGPAR_E_UNSUPPORTED);
    ck_assert_str_eq(imgpar_array_message(good), "square: the reference interpreter has no function for it");
    node.kernel = NULL;
    REFUSED(IMGPAR_E_ARGUMENT, "the kernel is NULL");
    bad = imgpar_cl_apply(ctx, NULL);
    ck_assert_int_eq(imgpar_array_status(bad), IMGPAR_E_ARGUMENT);
    imgpar_array_release(bad);
    imgpar_array_release(good);
    imgpar_array_release(error);
    imgpar_array_release(a);
    imgpar_cl_kernel_release(k);
}
END_TEST

START_TEST(buffers_and_arrays_are_each_other)
{
    const int64_t shape[] = { 3, 4 }, wrong[] = { 3, 5 };
    float data[12], got[12];
    for (int i = 0; i < 12; i++)
        data[i] = (float)i;
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(12, 4)), *result;
    imgpar_cl_kernel *k = new_kernel(square, "square");
    OK(imgpar_cl_write(queue, b, NULL, data, NULL)); /* not waited for: the graph does */
    imgpar_array *bad = imgpar_cl_array(b, IMGPAR_F32, 2, wrong);
    ck_assert_int_eq(imgpar_array_status(bad), IMGPAR_E_SHAPE);
    ck_assert_str_eq(imgpar_array_message(bad), "array: the buffer has 48 bytes; the shape takes 60");
    imgpar_array_release(bad);
    imgpar_array *a = imgpar_cl_array(b, IMGPAR_F32, 2, shape), *out = imgpar_apply(ctx, "$1 + 0.5", &a, 1);
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    imgpar_context_counters(ctx, &before);
    OK(imgpar_cl_buffer_of(out, &result));
    imgpar_context_counters(ctx, &after);
    ck_assert_uint_eq(after.bytes_downloaded, before.bytes_downloaded);
    imgpar_cl_buffer *squared = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(12, 4));
    OK(imgpar_cl_launch(
        queue, k, IMGPAR_CL_WORK(.global = { 12 }),
        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(result), imgpar_cl_arg_buffer(squared), imgpar_cl_arg_int(12)), NULL));
    OK(imgpar_cl_read(queue, squared, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    for (int i = 0; i < 12; i++)
        ck_assert_float_eq(got[i], ((float)i + 0.5f) * ((float)i + 0.5f));
    FAILS(imgpar_cl_write(queue, b, NULL, data, NULL), IMGPAR_E_ARGUMENT,
          "the buffer is the value of an array and cannot be written");
    FAILS(imgpar_cl_fill(queue, result, NULL, data, NULL), IMGPAR_E_ARGUMENT, "cannot be written");
    imgpar_cl_buffer *of_error;
    imgpar_cl_layout padded = imgpar_cl_matrix(2, 4, 4); /* as many bytes as the shape takes, but not in one piece */
    padded.row_pitch_bytes = 24;
    imgpar_cl_buffer *rows = new_buffer(IMGPAR_CL_INOUT, padded);
    bad = imgpar_cl_array(rows, IMGPAR_F32, 2, shape);
    ck_assert_str_eq(imgpar_array_message(bad), "array: the rows of the buffer are padded: 32 bytes of elements in 48");
    imgpar_array_release(bad);
    imgpar_cl_buffer_release(rows);
    FAILS(imgpar_cl_buffer_of(NULL, &of_error), IMGPAR_E_ARGUMENT, "the array is NULL");
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "ref"), IMGPAR_OK); /* reads it back */
    ck_assert_int_eq(imgpar_array_read(out, got, sizeof got), IMGPAR_OK);
    ck_assert_float_eq(got[11], 11.5f);
    imgpar_array_release(a);
    imgpar_array_release(out);
    imgpar_cl_buffer_release(b);
    imgpar_cl_buffer_release(squared);
    imgpar_cl_kernel_release(k);
    bad = imgpar_open(ctx, "no-such-file.png");
    FAILS(imgpar_cl_buffer_of(bad, &of_error), IMGPAR_E_IO, "no-such-file.png");
    imgpar_array_release(bad);
    imgpar_array *empty = imgpar_apply(ctx, "zeros(shape=[0 3])", NULL, 0);
    FAILS(imgpar_cl_buffer_of(empty, &of_error), IMGPAR_E_ARGUMENT, "buffer_of");
    ck_assert_ptr_null(of_error);
    imgpar_array_release(empty);
    imgpar_cl_buffer_release(result);
}
END_TEST

/* ---- failures ------------------------------------------------------------------------------------------- */

static const char walk_text[] =
    "kernel void k(global const float *a, global float *out, int n, IMGPAR_REPORT)\n"
    "{ int i = get_global_id(0); if (i < n) out[i] = a[i] + 1; if (i == 0) imgpar_printf(\"x\"); }";

static imgpar_status walk_graph(imgpar_cl_kernel *k, imgpar_cl_buffer *a)
{
    const int64_t shape[] = { 16 };
    const imgpar_cl_arg args[] = { imgpar_cl_arg_input(0), imgpar_cl_arg_result(), imgpar_cl_arg_int(16) };
    imgpar_array *in = imgpar_cl_array(a, IMGPAR_F32, 1, shape);
    const imgpar_cl_node node = { .struct_size = sizeof node,
                                  .kernel = k,
                                  .inputs = &in,
                                  .n_inputs = 1,
                                  .dtype = IMGPAR_F32,
                                  .rank = 1,
                                  .shape = { 16 },
                                  .args = args,
                                  .n_args = 3,
                                  .work = IMGPAR_CL_WORK(.global = { 16 }) };
    imgpar_array *out = imgpar_cl_apply(ctx, &node);
    imgpar_cl_buffer *b = NULL;
    imgpar_status st = imgpar_cl_buffer_of(out, &b);
    imgpar_cl_buffer_release(b);
    imgpar_array_release(out);
    imgpar_array_release(in);
    return st;
}

/* A bit of everything; the first failure is returned, and nothing is left behind. */
static imgpar_status walk(void)
{
    float data[16] = { 0 };
    const imgpar_cl_layout l = imgpar_cl_vector(16, 4), odd = imgpar_cl_vector(5, 12);
    imgpar_cl_queue *q = NULL;
    imgpar_cl_module *m = NULL;
    imgpar_cl_kernel *k = NULL;
    imgpar_cl_buffer *a = NULL, *b = NULL, *w = NULL, *part = NULL, *five = NULL;
    imgpar_cl_event *e = NULL;
    char *profile = NULL;
    void *mapped;
    imgpar_cl_times times = { .struct_size = sizeof times };
    imgpar_status st = imgpar_cl_queue_new(ctx, NULL, &q);
    if (!st) st = imgpar_cl_module_from_text(ctx, walk_text, &m);
    if (!st) st = imgpar_cl_kernel_new(m, "k", &k);
    if (!st) st = imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &l, &a);
    if (!st) st = imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &l, &b);
    if (!st) st = imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &odd, &five);
    if (!st) st = imgpar_cl_buffer_wrap(ctx, IMGPAR_CL_INOUT, &l, data, NULL, NULL, &w);
    if (!st) st = imgpar_cl_buffer_part(b, 0, &l, &part);
    if (!st) st = imgpar_cl_write(q, a, NULL, data, IMGPAR_CL_ORDER(.event = &e));
    if (!st) st = imgpar_cl_fill(q, five, NULL, data, NULL);
    if (!st)
        st =
            imgpar_cl_launch(q, k, IMGPAR_CL_WORK(.global = { 16 }),
                             IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(a), imgpar_cl_arg_buffer(part), imgpar_cl_arg_int(16)),
                             IMGPAR_CL_ORDER(.after = &e, .n_after = 1));
    if (!st) st = imgpar_cl_copy(q, b, NULL, w, NULL, NULL);
    if (!st) st = imgpar_cl_map(q, w, 0, &mapped);
    if (!st) st = imgpar_cl_unmap(q, w, NULL);
    if (!st) st = imgpar_cl_event_times(e, &times);
    if (!st) st = imgpar_cl_finish(q);
    if (!st) st = imgpar_cl_profile_text(q, &profile);
    if (!st) st = walk_graph(k, a);
    imgpar_free(profile);
    imgpar_cl_event_release(e);
    imgpar_cl_buffer_release(a);
    imgpar_cl_buffer_release(part);
    imgpar_cl_buffer_release(b);
    imgpar_cl_buffer_release(w);
    imgpar_cl_buffer_release(five);
    imgpar_cl_kernel_release(k);
    imgpar_cl_module_release(m);
    imgpar_cl_queue_release(q);
    return st;
}

START_TEST(each_step_may_fail_without_a_leak) { walk_with_failures(walk, faults[_i], 20); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("cl_kernels");
    TCase *t = tcase_create("cl_kernels");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_device, close_device);
    tcase_add_test(t, a_module_is_put_together_of_constants_files_and_texts);
    tcase_add_test(t, wrong_modules_are_refused);
    tcase_add_test(t, arguments_of_every_kind_arrive);
    tcase_add_test(t, wrong_arguments_are_refused_before_the_launch);
    tcase_add_test(t, groups_are_checked_and_chosen);
    tcase_add_test(t, work_is_divided_so_that_every_element_has_an_item);
    tcase_add_test(t, doubles_work_where_the_device_has_them);
    tcase_add_test(t, kernels_print_to_the_callback);
    tcase_add_test(t, what_is_printed_comes_from_the_thread_that_finishes);
    tcase_add_test(t, checks_fail_in_checked_mode_only);
    tcase_add_test(t, random_words_are_those_of_the_paper);
    tcase_add_test(t, a_kernel_is_a_node_of_a_graph);
    tcase_add_test(t, a_kernel_may_make_an_array_of_nothing);
    tcase_add_test(t, wrong_nodes_are_error_arrays);
    tcase_add_test(t, buffers_and_arrays_are_each_other);
    tcase_add_loop_test(t, each_step_may_fail_without_a_leak, 0, sizeof faults / sizeof *faults);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
