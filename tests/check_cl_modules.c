/* SPDX-License-Identifier: MIT */
/* Modules as one handle: globals and constants that the host sets and reads, parameters told, launches by name. */
#include "cl_help.h"

#include <pthread.h>
#include <stdio.h>

static const char text[] =
    "typedef struct { float x; uchar kind; } rule;\n"
    "IMGPAR_CONSTANT(float, weights, 3);\n"
    "IMGPAR_GLOBAL(int, hits, 1);\n"
    "IMGPAR_GLOBAL(rule, rules, N);\n"
    "float weighed(float v, int k, IMGPAR_SYMBOL(weights)) { return v * weights[k]; }\n"
    "kernel void weigh(global float *a, int n, IMGPAR_SYMBOL(weights), IMGPAR_SYMBOL(hits), IMGPAR_REPORT)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    imgpar_check_index(i, n);\n"
    "    a[i] = weighed(a[i], i % 3, weights);\n"
    "    atomic_inc(hits);\n"
    "}\n"
    "kernel void rule_of(global float *a, IMGPAR_SYMBOL(rules))\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    a[i] = rules[i].x + rules[i].kind;\n"
    "    rules[i].x = -1;\n"
    "}\n"
    "kernel void args(global const float *a, constant int *b, local float *c, uchar d, float e, float4 f, rule g)\n"
    "{ c[0] = a[0] + b[0] + d + e + f.x + g.x; }\n";

static imgpar_cl_module *module_of(const char *more)
{
    const imgpar_cl_source source = { .struct_size = sizeof source,
                                      .constants = (const char *const[]){ "N=4", NULL },
                                      .texts = (const char *const[]){ text, more, NULL } };
    imgpar_cl_module *m;
    OK(imgpar_cl_module_new(ctx, &source, &m));
    return m;
}

static imgpar_cl_buffer *symbol_of(imgpar_cl_module *m, const char *name)
{
    imgpar_cl_buffer *b;
    OK(imgpar_cl_module_symbol(m, name, &b));
    return b;
}

START_TEST(a_module_lists_what_it_has)
{
    imgpar_cl_module *m = module_of(NULL), *plain;
    ck_assert_str_eq(imgpar_cl_module_kernels(m), "args;rule_of;weigh");
    ck_assert_str_eq(imgpar_cl_module_symbols(m), "hits;rules;weights");
    OK(imgpar_cl_module_from_text(ctx, "kernel void k() { }", &plain));
    ck_assert_str_eq(imgpar_cl_module_symbols(plain), "");
    ck_assert_str_eq(imgpar_cl_module_symbols(NULL), "");
    imgpar_cl_buffer *b = symbol_of(m, "rules");
    imgpar_cl_buffer_info info = { .struct_size = sizeof info };
    OK(imgpar_cl_buffer_get_info(b, &info));
    ck_assert_uint_eq(info.layout->extent[0], 4);
    ck_assert_uint_eq(info.layout->element_bytes, 8);
    ck_assert_int_eq(info.access, IMGPAR_CL_INOUT);
    imgpar_cl_buffer_release(b);
    b = symbol_of(m, "weights");
    OK(imgpar_cl_buffer_get_info(b, &info));
    ck_assert_int_eq(info.access, IMGPAR_CL_IN);
    imgpar_cl_buffer_release(b);
    FAILS(imgpar_cl_module_symbol(m, "hit", &b), IMGPAR_E_ARGUMENT,
          "module_symbol: the module has no global or constant \"hit\"; it has: hits;rules;weights");
    ck_assert_ptr_null(b);
    FAILS(imgpar_cl_module_symbol(plain, "hits", &b), IMGPAR_E_ARGUMENT, "it has: none");
    FAILS(imgpar_cl_module_symbol(NULL, "hits", &b), IMGPAR_E_ARGUMENT, "the module is NULL");
    FAILS(imgpar_cl_module_symbol(m, NULL, &b), IMGPAR_E_ARGUMENT, "the name is NULL");
    FAILS(imgpar_cl_module_symbol(m, "hits", NULL), IMGPAR_E_ARGUMENT, "out is NULL");
    imgpar_cl_module_release(plain);
    imgpar_cl_module_release(m);
}
END_TEST

static void weigh(imgpar_cl_module *m, imgpar_cl_buffer *a, size_t n)
{
    OK(imgpar_cl_module_launch(queue, m, "weigh", IMGPAR_CL_WORK(.global = { n }),
                               IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(a), imgpar_cl_arg_int((int64_t)n)), NULL));
}

START_TEST(symbols_are_set_and_read_between_launches)
{
    imgpar_cl_module *m = module_of(NULL);
    imgpar_cl_buffer *a = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(6, 4)), *weights = symbol_of(m, "weights"),
                     *hits = symbol_of(m, "hits");
    const float ones[6] = { 1, 1, 1, 1, 1, 1 }, first[3] = { 2, 3, 4 }, one = 10;
    float got[6], back[3];
    int32_t n_hits = -1;
    OK(imgpar_cl_write(queue, a, NULL, ones, NULL));
    OK(imgpar_cl_read(queue, hits, NULL, &n_hits, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_int_eq(n_hits, 0);
    weigh(m, a, 6); /* by zeros */
    OK(imgpar_cl_read(queue, a, NULL, got, NULL));
    OK(imgpar_cl_write(queue, a, NULL, ones, NULL));
    OK(imgpar_cl_write(queue, weights, NULL, first, NULL));
    weigh(m, a, 6);
    OK(imgpar_cl_write(queue, weights, IMGPAR_CL_REGION(.offset = { 1 }, .extent = { 1 }), &one, NULL));
    weigh(m, a, 6);
    OK(imgpar_cl_finish(queue));
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq(got[i], 0.0f);
    OK(imgpar_cl_read(queue, a, NULL, got, NULL));
    OK(imgpar_cl_read(queue, hits, NULL, &n_hits, NULL));
    OK(imgpar_cl_read(queue, weights, NULL, back, NULL));
    OK(imgpar_cl_finish(queue));
    static const float want[3] = { 4, 30, 16 };
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq(got[i], want[i % 3]);
    ck_assert_int_eq(n_hits, 18);
    ck_assert(back[0] == 2 && back[1] == 10 && back[2] == 4);
    imgpar_cl_module_release(m); /* the buffers live on */
    OK(imgpar_cl_read(queue, weights, NULL, back, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert(back[1] == 10);
    imgpar_cl_buffer_release(weights);
    imgpar_cl_buffer_release(hits);
    imgpar_cl_buffer_release(a);
}
END_TEST

/* Compiled once, yet each has memory of its own. */
START_TEST(modules_of_one_text_share_code_and_no_memory)
{
    imgpar_counters before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
    imgpar_cl_module *m[2] = { module_of(NULL), NULL };
    imgpar_context_counters(ctx, &before);
    m[1] = module_of(NULL);
    imgpar_context_counters(ctx, &after);
    ck_assert_uint_eq(after.programs_built + after.programs_loaded, before.programs_built + before.programs_loaded);
    struct {
        float x;
        unsigned char kind, rest[3];
    } rules[4] = { { 1.5f, 1, { 0 } }, { 2.5f, 2, { 0 } }, { 3.5f, 3, { 0 } }, { 4.5f, 4, { 0 } } }, back[4];
    imgpar_cl_buffer *r[2] = { symbol_of(m[0], "rules"), symbol_of(m[1], "rules") },
                     *a = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(4, 4));
    float got[2][4];
    OK(imgpar_cl_write(queue, r[0], NULL, rules, NULL));
    for (int k = 0; k < 2; k++) {
        OK(imgpar_cl_module_launch(queue, m[k], "rule_of", IMGPAR_CL_WORK(.global = { 4 }),
                                   IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(a)), NULL));
        OK(imgpar_cl_read(queue, a, NULL, got[k], NULL));
    }
    OK(imgpar_cl_read(queue, r[0], NULL, back, NULL));
    OK(imgpar_cl_finish(queue));
    for (int i = 0; i < 4; i++) {
        ck_assert_float_eq(got[0][i], rules[i].x + (float)rules[i].kind);
        ck_assert_float_eq(got[1][i], 0.0f);
        ck_assert(back[i].x == -1 && back[i].kind == rules[i].kind);
    }
    for (int k = 0; k < 2; k++) {
        imgpar_cl_buffer_release(r[k]);
        imgpar_cl_module_release(m[k]);
    }
    imgpar_cl_buffer_release(a);
}
END_TEST

START_TEST(parameters_are_told)
{
    imgpar_cl_module *m = module_of(NULL);
    imgpar_cl_kernel *k;
    static const struct {
        const char *name, *type;
        int kind, is_read_only, is_constant;
        size_t size_bytes;
    } want[] = {
        { "a", "float*", IMGPAR_CL_ARG_BUFFER, 1, 0, 0 }, { "b", "int*", IMGPAR_CL_ARG_BUFFER, 1, 1, 0 },
        { "c", "float*", IMGPAR_CL_ARG_LOCAL, 0, 0, 0 },  { "d", "uchar", IMGPAR_CL_ARG_INT, 0, 0, 1 },
        { "e", "float", IMGPAR_CL_ARG_REAL, 0, 0, 4 },    { "f", "float4", IMGPAR_CL_ARG_STRUCT, 0, 0, 16 },
        { "g", "rule", IMGPAR_CL_ARG_STRUCT, 0, 0, 0 },
    };
    imgpar_cl_arg_info info = { .struct_size = sizeof info };
    OK(imgpar_cl_kernel_new(m, "args", &k));
    for (unsigned i = 0; i < sizeof want / sizeof *want; i++) {
        OK(imgpar_cl_kernel_get_arg_info(k, i, &info));
        ck_assert_str_eq(info.name, want[i].name);
        ck_assert_str_eq(info.type, want[i].type);
        ck_assert_int_eq(info.kind, want[i].kind);
        ck_assert_int_eq(info.is_read_only, want[i].is_read_only);
        ck_assert_int_eq(info.is_constant, want[i].is_constant);
        ck_assert_uint_eq(info.size_bytes, want[i].size_bytes);
    }
    FAILS(imgpar_cl_kernel_get_arg_info(k, 7, &info), IMGPAR_E_ARGUMENT,
          "kernel_get_arg_info: args: has 7 parameters; there is no parameter 7");
    FAILS(imgpar_cl_kernel_get_arg_info(NULL, 0, &info), IMGPAR_E_ARGUMENT, "the kernel is NULL");
    FAILS(imgpar_cl_kernel_get_arg_info(k, 0, NULL), IMGPAR_E_ARGUMENT, "out is NULL");
    imgpar_cl_kernel_release(k);
    imgpar_cl_kernel_info of_kernel = { .struct_size = sizeof of_kernel };
    OK(imgpar_cl_kernel_new(m, "weigh", &k));
    OK(imgpar_cl_kernel_get_info(k, &of_kernel));
    ck_assert_uint_eq(of_kernel.n_args, 2);
    imgpar_cl_kernel_release(k);
    imgpar_cl_module_release(m);
}
END_TEST

START_TEST(wrong_declarations_are_refused)
{
    imgpar_cl_module *m = NULL;
    imgpar_cl_kernel *k = NULL;
    FAILS(imgpar_cl_module_from_text(ctx, "IMGPAR_GLOBAL(int, none, 1 - 1);", &m), IMGPAR_E_ARGUMENT,
          "module_new: none has 0 elements; a global has 1 or more");
    FAILS(imgpar_cl_module_from_text(ctx, "IMGPAR_CONSTANT(int, less, -2);", &m), IMGPAR_E_ARGUMENT,
          "module_new: less has -2 elements; a constant has 1 or more");
    FAILS(imgpar_cl_module_from_text(ctx, "IMGPAR_CONSTANT(int, much, 1 << 30);", &m), IMGPAR_E_LIMIT,
          "module_new: the constant much has 4294967296 bytes; the device has room for");
    FAILS(imgpar_cl_module_from_text(ctx, "IMGPAR_GLOBAL(long, vast, 1L << 50);", &m), IMGPAR_E_DEVICE_MEMORY,
          "module_new: the global vast of 1125899906842624 x 8 bytes: ");
    FAILS(imgpar_cl_module_from_text(ctx, "kernel void imgpar_k() { }", &m), IMGPAR_E_ARGUMENT,
          "module_new: imgpar_k: names that begin with imgpar_ are the library's");
    FAILS(imgpar_cl_module_from_text(ctx, "kernel void imgpar_global_w(global int *a) { }", &m), IMGPAR_E_ARGUMENT,
          "module_new: imgpar_global_w: names that begin with imgpar_ are the library's");
    ck_assert_ptr_null(m);
    OK(imgpar_cl_module_from_text(ctx,
                                  "IMGPAR_GLOBAL(int, hits, 1);\n"
                                  "kernel void k(IMGPAR_SYMBOL(hits), int n) { hits[0] = n; }",
                                  &m));
    FAILS(imgpar_cl_kernel_new(m, "k", &k), IMGPAR_E_ARGUMENT,
          "kernel_new: k: hits, which launches fill in, stands before n");
    FAILS(imgpar_cl_module_launch(queue, m, "k", IMGPAR_CL_WORK(.global = { 1 }), NULL, 0, NULL), IMGPAR_E_ARGUMENT,
          "hits, which launches fill in, stands before n");
    FAILS(imgpar_cl_module_launch(queue, m, "none", IMGPAR_CL_WORK(.global = { 1 }), NULL, 0, NULL), IMGPAR_E_ARGUMENT,
          "module_launch: the module has no kernel \"none\"; it has: k");
    FAILS(imgpar_cl_kernel_new(m, "imgpar_global_hits", &k), IMGPAR_E_ARGUMENT,
          "kernel_new: imgpar_global_hits: names that begin with imgpar_ are the library's");
    FAILS(imgpar_cl_module_launch(NULL, m, "k", NULL, NULL, 0, NULL), IMGPAR_E_ARGUMENT, "the queue is NULL");
    FAILS(imgpar_cl_module_launch(queue, NULL, "k", NULL, NULL, 0, NULL), IMGPAR_E_ARGUMENT, "the module is NULL");
    FAILS(imgpar_cl_module_launch(queue, m, NULL, NULL, NULL, 0, NULL), IMGPAR_E_ARGUMENT, "the name is NULL");
    imgpar_cl_module_release(m);
}
END_TEST

/* A name of n characters. */
static const char *long_name(int n, char name[400])
{
    memset(name, 'w', (size_t)n);
    name[n] = '\0';
    return name;
}

START_TEST(long_names_are_kept_whole)
{
    char name[400], source[2000];
    int32_t n_hits = 0;
    imgpar_cl_module *m = NULL;
    snprintf(source, sizeof source, "IMGPAR_GLOBAL(int, %s, 1);\nkernel void k(IMGPAR_SYMBOL(%s)) { *%s = 7; }",
             long_name(200, name), name, name);
    OK(imgpar_cl_module_from_text(ctx, source, &m));
    OK(imgpar_cl_module_launch(queue, m, "k", IMGPAR_CL_WORK(.global = { 1 }), NULL, 0, NULL));
    imgpar_cl_buffer *b = symbol_of(m, name);
    OK(imgpar_cl_read(queue, b, NULL, &n_hits, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_int_eq(n_hits, 7);
    imgpar_cl_buffer_release(b);
    imgpar_cl_module_release(m);
    snprintf(source, sizeof source, "IMGPAR_GLOBAL(int, %s, 1);", long_name(201, name));
    FAILS(imgpar_cl_module_from_text(ctx, source, &m), IMGPAR_E_LIMIT, "has 201 characters; at most 200 are kept");
}
END_TEST

START_TEST(names_of_symbols_are_reserved)
{
    static const struct {
        const char *params, *message;
    } rows[] = { { "global float *w",
                   "the parameter w (global float*) has the name of the module's global (global int*)" },
                 { "constant int *w", "the parameter w (constant int*) has the name of the module's global" } };
    imgpar_cl_kernel *same =
        new_kernel("IMGPAR_GLOBAL(int, w, 1);\nkernel void z(int n, global int *w) { w[0] = n; }", "z");
    const imgpar_cl_arg args[] = { imgpar_cl_arg_int(1), imgpar_cl_arg_int(2) };
    FAILS(imgpar_cl_launch(queue, same, IMGPAR_CL_WORK(.global = { 1 }), args, 2, NULL), IMGPAR_E_ARGUMENT,
          "z: has 1 parameters; 2 arguments were given (launches fill in w)");
    imgpar_cl_kernel_release(same);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char source[200];
        imgpar_cl_module *m;
        imgpar_cl_kernel *k;
        snprintf(source, sizeof source, "IMGPAR_GLOBAL(int, w, 1);\nkernel void k(%s) { }", rows[i].params);
        OK(imgpar_cl_module_from_text(ctx, source, &m));
        FAILS(imgpar_cl_kernel_new(m, "k", &k), IMGPAR_E_ARGUMENT, rows[i].message);
        imgpar_cl_module_release(m);
    }
}
END_TEST

/* More than fits a copy is set to 0 on the device, and a name may be a macro. */
START_TEST(large_globals_begin_with_zeros)
{
    enum { N = 300000 };
    imgpar_cl_module *m;
    int32_t *got = malloc(N * sizeof *got);
    for (int round = 0; round < 2; round++) { /* the second finds what the first left in the pool */
        OK(imgpar_cl_module_from_text(ctx,
                                      "#define NAME table\n"
                                      "IMGPAR_GLOBAL(int, NAME, 300000);\n"
                                      "kernel void k(IMGPAR_SYMBOL(NAME)) { NAME[get_global_id(0)] += 5; }",
                                      &m));
        OK(imgpar_cl_module_launch(queue, m, "k", IMGPAR_CL_WORK(.global = { N }), NULL, 0, NULL));
        imgpar_cl_buffer *b = symbol_of(m, "table");
        OK(imgpar_cl_read(queue, b, NULL, got, NULL));
        OK(imgpar_cl_finish(queue));
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(got[i], 5);
        imgpar_cl_buffer_release(b);
        imgpar_cl_module_release(m);
    }
    free(got);
}
END_TEST

START_TEST(own_types_may_begin_like_vectors)
{
    const float given[16] = { [15] = 3 };
    imgpar_cl_arg_info info = { .struct_size = sizeof info };
    imgpar_cl_kernel *k = new_kernel("typedef struct { float4 r[4]; } float4x4;\n"
                                     "kernel void k(float4x4 f, global float *o) { o[0] = f.r[3].w; }",
                                     "k");
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(1, 4));
    float got = 0;
    OK(imgpar_cl_kernel_get_arg_info(k, 0, &info));
    ck_assert_int_eq(info.kind, IMGPAR_CL_ARG_STRUCT);
    ck_assert_uint_eq(info.size_bytes, 0);
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 1 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_struct(given, sizeof given), imgpar_cl_arg_buffer(b)), NULL));
    OK(imgpar_cl_read(queue, b, NULL, &got, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_float_eq(got, 3.0f);
    imgpar_cl_buffer_release(b);
    imgpar_cl_kernel_release(k);
}
END_TEST

static const char of_node[] = "IMGPAR_CONSTANT(float, gain, 1);\n"
                              "IMGPAR_GLOBAL(int, hits, 1);\n"
                              "kernel void pure(global float *out, IMGPAR_SYMBOL(gain)) { out[get_global_id(0)] = "
                              "get_global_id(0) * gain[0]; }\n"
                              "kernel void counts(global float *out, IMGPAR_SYMBOL(hits)) { out[get_global_id(0)] = "
                              "atomic_inc(hits); }\n";

static imgpar_array *node_of(imgpar_cl_kernel *k)
{
    const imgpar_cl_arg args[] = { imgpar_cl_arg_result() };
    const imgpar_cl_node node = { .struct_size = sizeof node,
                                  .kernel = k,
                                  .dtype = IMGPAR_F32,
                                  .rank = 1,
                                  .shape = { 8 },
                                  .args = args,
                                  .n_args = 1,
                                  .work = IMGPAR_CL_WORK(.global = { 8 }) };
    return imgpar_cl_apply(ctx, &node);
}

START_TEST(nodes_read_constants_and_have_no_state)
{
    imgpar_cl_module *m;
    imgpar_cl_kernel *pure, *counts;
    const float gain = 2.5f;
    float got[8];
    OK(imgpar_cl_module_from_text(ctx, of_node, &m));
    OK(imgpar_cl_kernel_new(m, "pure", &pure));
    OK(imgpar_cl_kernel_new(m, "counts", &counts));
    imgpar_cl_buffer *b = symbol_of(m, "gain");
    OK(imgpar_cl_write(queue, b, NULL, &gain, NULL)); /* not waited for: the graph does */
    imgpar_array *a = node_of(pure), *bad = node_of(counts);
    imgpar_cl_buffer_release(b);
    imgpar_cl_kernel_release(pure);
    imgpar_cl_kernel_release(counts);
    imgpar_cl_module_release(m);
    ck_assert_msg(imgpar_array_read(a, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(a));
    for (int i = 0; i < 8; i++)
        ck_assert_float_eq(got[i], 2.5f * (float)i);
    ck_assert_int_eq(imgpar_array_status(bad), IMGPAR_E_UNSUPPORTED);
    ck_assert_str_eq(imgpar_array_message(bad), "counts: has the module's global hits; a node has no state");
    imgpar_array_release(a);
    imgpar_array_release(bad);
}
END_TEST

enum { THREADS = 4, LAUNCHES = 10 };

static void *launch_often(void *module)
{
    imgpar_cl_queue *q;
    imgpar_cl_buffer *a = new_buffer(IMGPAR_CL_INOUT, imgpar_cl_vector(8, 4));
    OK(imgpar_cl_queue_new(ctx, NULL, &q));
    for (int k = 0; k < LAUNCHES; k++)
        OK(imgpar_cl_module_launch(q, module, "weigh", IMGPAR_CL_WORK(.global = { 8 }),
                                   IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(a), imgpar_cl_arg_int(8)), NULL));
    OK(imgpar_cl_finish(q));
    imgpar_cl_queue_release(q);
    imgpar_cl_buffer_release(a);
    return NULL;
}

START_TEST(threads_share_a_module)
{
    pthread_t threads[THREADS];
    imgpar_cl_module *m = module_of(NULL);
    imgpar_cl_buffer *hits = symbol_of(m, "hits");
    int32_t n_hits = 0;
    for (int k = 0; k < THREADS; k++)
        ck_assert_int_eq(pthread_create(&threads[k], NULL, launch_often, m), 0);
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    OK(imgpar_cl_read(queue, hits, NULL, &n_hits, NULL));
    OK(imgpar_cl_finish(queue));
    ck_assert_int_eq(n_hits, THREADS * LAUNCHES * 8);
    imgpar_cl_buffer_release(hits);
    imgpar_cl_module_release(m);
}
END_TEST

/* ---- failures ---------------------------------------------------------------------------------- */

static const char walk_text[] =
    "IMGPAR_CONSTANT(float, gain, 4);\n"
    "IMGPAR_GLOBAL(int, hits, 1);\n"
    "kernel void k(global float *a, IMGPAR_SYMBOL(gain), IMGPAR_SYMBOL(hits), IMGPAR_GROUP)\n"
    "{ a[get_global_id(0)] = gain[0] + hits[0] + imgpar_work_group_count(1); }";

static imgpar_status walk(void)
{
    const float gain[4] = { 2, 0, 0, 0 };
    float got[4];
    const imgpar_cl_layout l = imgpar_cl_vector(4, 4);
    imgpar_cl_queue *q = NULL;
    imgpar_cl_module *m = NULL;
    imgpar_cl_buffer *a = NULL, *b = NULL;
    imgpar_cl_kernel *k = NULL;
    imgpar_cl_arg_info info = { .struct_size = sizeof info };
    imgpar_status st = imgpar_cl_queue_new(ctx, NULL, &q);
    if (!st) st = imgpar_cl_module_from_text(ctx, walk_text, &m);
    if (!st) st = imgpar_cl_module_symbol(m, "gain", &b);
    if (!st) st = imgpar_cl_buffer_new(ctx, IMGPAR_CL_INOUT, &l, &a);
    if (!st) st = imgpar_cl_write(q, b, NULL, gain, NULL);
    for (int n = 0; !st && n < 2; n++)
        st = imgpar_cl_module_launch(q, m, "k", IMGPAR_CL_WORK(.global = { 4 }, .local = { 2 }),
                                     IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(a)), NULL);
    if (!st) st = imgpar_cl_kernel_new(m, "k", &k);
    if (!st) st = imgpar_cl_kernel_get_arg_info(k, 0, &info);
    if (!st) st = imgpar_cl_read(q, a, NULL, got, NULL);
    const imgpar_status finished = q ? imgpar_cl_finish(q) : IMGPAR_OK;
    if (!st) st = finished;
    if (!st) ck_assert_float_eq(got[3], 4.0f);
    imgpar_cl_kernel_release(k);
    imgpar_cl_buffer_release(a);
    imgpar_cl_buffer_release(b);
    imgpar_cl_module_release(m);
    imgpar_cl_queue_release(q);
    return st;
}

START_TEST(each_step_may_fail_without_a_leak) { walk_with_failures(walk, faults[_i], 20); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("cl_modules");
    TCase *t = tcase_create("cl_modules");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_device, close_device);
    tcase_add_test(t, a_module_lists_what_it_has);
    tcase_add_test(t, symbols_are_set_and_read_between_launches);
    tcase_add_test(t, modules_of_one_text_share_code_and_no_memory);
    tcase_add_test(t, parameters_are_told);
    tcase_add_test(t, wrong_declarations_are_refused);
    tcase_add_test(t, long_names_are_kept_whole);
    tcase_add_test(t, names_of_symbols_are_reserved);
    tcase_add_test(t, large_globals_begin_with_zeros);
    tcase_add_test(t, own_types_may_begin_like_vectors);
    tcase_add_test(t, nodes_read_constants_and_have_no_state);
    tcase_add_test(t, threads_share_a_module);
    tcase_add_loop_test(t, each_step_may_fail_without_a_leak, 0, sizeof faults / sizeof *faults);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
