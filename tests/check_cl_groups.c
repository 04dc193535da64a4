/* SPDX-License-Identifier: MIT */
/* Votes, shuffles and reductions of work-groups and sub-groups, in groups of many sizes, against loops on the host. */
#include "cl_help.h"

#include <stdio.h>

enum { MOST = 256 };

/* Where there is a sub-group of the device's, its size is not ours to say: sizes and numbers are given to the host, the
 * rest is worked out from them. */
static const char text[] =
    "kernel void votes(global const int *a, global int *out, IMGPAR_GROUP)\n"
    "{\n"
    "    uint i = imgpar_work_group_local_id(), at = i + get_group_id(0) * imgpar_work_group_size();\n"
    "    global int *o = out + 12 * at;\n"
    "    o[0] = imgpar_work_group_any(a[at] > 0);\n"
    "    o[1] = imgpar_work_group_all(a[at] > 0);\n"
    "    o[2] = imgpar_work_group_count(a[at] > 0);\n"
    "    o[3] = imgpar_sub_group_any(a[at] > 0);\n"
    "    o[4] = imgpar_sub_group_all(a[at] > 0);\n"
    "    o[5] = imgpar_sub_group_count(a[at] > 0);\n"
    "    uint4 b = imgpar_sub_group_ballot(a[at] > 0);\n"
    "    o[6] = b.x;\n"
    "    o[7] = imgpar_sub_group_size();\n"
    "    o[8] = imgpar_sub_group_local_id();\n"
    "    o[9] = imgpar_sub_group_id();\n"
    "    o[10] = imgpar_num_sub_groups();\n"
    "    o[11] = imgpar_work_group_size();\n"
    "}\n"
    "#define MOVES(T) \\\n"
    "kernel void moves_##T(global const T *a, global T *out, int k, IMGPAR_GROUP) \\\n"
    "{ \\\n"
    "    uint i = imgpar_work_group_local_id(), at = i + get_group_id(0) * imgpar_work_group_size(); \\\n"
    "    global T *o = out + 16 * at; \\\n"
    "    T v = a[at]; \\\n"
    "    o[0] = imgpar_work_group_shuffle_up(v, k); \\\n"
    "    o[1] = imgpar_work_group_shuffle_down(v, k); \\\n"
    "    o[2] = imgpar_work_group_shuffle_xor(v, k); \\\n"
    "    o[3] = imgpar_work_group_broadcast(v, 0); \\\n"
    "    o[4] = imgpar_work_group_shuffle(v, imgpar_work_group_size() - 1 - i); \\\n"
    "    o[5] = imgpar_work_group_reduce_add(v); \\\n"
    "    o[6] = imgpar_work_group_reduce_min(v); \\\n"
    "    o[7] = imgpar_work_group_reduce_max(v); \\\n"
    "    o[8] = imgpar_sub_group_shuffle_up(v, k); \\\n"
    "    o[9] = imgpar_sub_group_shuffle_down(v, k); \\\n"
    "    o[10] = imgpar_sub_group_shuffle_xor(v, k); \\\n"
    "    o[11] = imgpar_sub_group_broadcast(v, 0); \\\n"
    "    o[12] = imgpar_sub_group_shuffle(v, imgpar_sub_group_size() - 1 - imgpar_sub_group_local_id()); \\\n"
    "    o[13] = imgpar_sub_group_reduce_add(v); \\\n"
    "    o[14] = imgpar_sub_group_reduce_min(v); \\\n"
    "    o[15] = imgpar_sub_group_reduce_max(v); \\\n"
    "}\n"
    "MOVES(int) MOVES(uint) MOVES(long) MOVES(ulong) MOVES(float)\n"
    "#if IMGPAR_HAS_F64\n"
    "MOVES(double)\n"
    "#endif\n";

/* Groups of so many work-items along x, y and z, two of them along x. Of other types than int: [2] and [6]. */
static const size_t shapes[][3] = { { 1, 1, 1 },  { 2, 1, 1 },   { 3, 1, 1 }, { 32, 1, 1 }, { 33, 1, 1 },
                                    { 64, 1, 1 }, { 100, 1, 1 }, { 7, 5, 1 }, { 4, 3, 5 },  { 256, 1, 1 } };

static size_t items_of(const size_t shape[3]) { return shape[0] * shape[1] * shape[2]; }

/* What the device says of itself may be more than it has for a kernel. */
static bool fits(imgpar_cl_module *m, const char *name, const size_t shape[3])
{
    imgpar_cl_kernel *k;
    imgpar_cl_kernel_info info = { .struct_size = sizeof info };
    OK(imgpar_cl_kernel_new(m, name, &k));
    OK(imgpar_cl_kernel_get_info(k, &info));
    imgpar_cl_kernel_release(k);
    return items_of(shape) <= info.max_work_group;
}

static imgpar_cl_module *module_of_text(void)
{
    imgpar_cl_module *m;
    OK(imgpar_cl_module_from_text(ctx, text, &m));
    return m;
}

/* Launches a kernel with in, out and more in two groups of a shape, and reads out. */
static void run(imgpar_cl_module *m, const char *name, const size_t shape[3], const void *in, size_t element_bytes,
                int per_item, const int *k, void *out)
{
    const size_t n = 2 * items_of(shape);
    imgpar_cl_buffer *a = new_buffer(IMGPAR_CL_IN, imgpar_cl_vector(n, element_bytes)),
                     *o = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(n * (size_t)per_item, element_bytes));
    const imgpar_cl_arg args[] = { imgpar_cl_arg_buffer(a), imgpar_cl_arg_buffer(o), imgpar_cl_arg_int(k ? *k : 0) };
    OK(imgpar_cl_write(queue, a, NULL, in, NULL));
    OK(imgpar_cl_module_launch(
        queue, m, name,
        IMGPAR_CL_WORK(.global = { 2 * shape[0], shape[1], shape[2] }, .local = { shape[0], shape[1], shape[2] }), args,
        k ? 3 : 2, NULL));
    OK(imgpar_cl_read(queue, o, NULL, out, NULL));
    OK(imgpar_cl_finish(queue));
    imgpar_cl_buffer_release(a);
    imgpar_cl_buffer_release(o);
}

/* The sub-group of each work-item: where it begins among those that have its id, in order of their local ids. */
typedef struct part {
    int size, lane, id, n_parts;
} part;

static part parts[2 * MOST];

/* The work-item of a group that is the lane of a part. */
static int item_of(size_t group, size_t n, int id, int lane)
{
    for (size_t i = 0; i < n; i++)
        if (parts[group * n + i].id == id && parts[group * n + i].lane == lane) return (int)(group * n + i);
    ck_abort_msg("no work-item is lane %d of sub-group %d", lane, id);
}

static void check_votes(imgpar_cl_module *m, const size_t shape[3], int which)
{
    static int32_t a[2 * MOST], out[2 * MOST][12];
    const size_t n = items_of(shape);
    for (size_t i = 0; i < 2 * n; i++) /* none, all, one, some */
        a[i] = which == 1 || (which == 2 && i == n - 1) || (which == 3 && i * 7 % 5 < 2);
    run(m, "votes", shape, a, 4, 12, NULL, out);
    for (size_t i = 0; i < 2 * n; i++)
        parts[i] = (part){ out[i][7], out[i][8], out[i][9], out[i][10] };
    for (size_t i = 0; i < 2 * n; i++) {
        const size_t group = i / n;
        const part *p = &parts[i];
        int count = 0, in_part = 0;
        uint32_t ballot = 0;
        for (size_t j = group * n; j < group * n + n; j++)
            count += a[j];
        for (int lane = 0; lane < p->size; lane++) {
            const int yes = a[item_of(group, n, p->id, lane)];
            in_part += yes;
            if (lane < 32) ballot |= (uint32_t)yes << lane;
        }
        ck_assert_int_eq(out[i][0], count > 0);
        ck_assert_int_eq(out[i][1], count == (int)n);
        ck_assert_int_eq(out[i][2], count);
        ck_assert_int_eq(out[i][3], in_part > 0);
        ck_assert_int_eq(out[i][4], in_part == p->size);
        ck_assert_int_eq(out[i][5], in_part);
        ck_assert_uint_eq((uint32_t)out[i][6], ballot);
        ck_assert_int_eq(out[i][11], (int)n);
        ck_assert_int_lt(p->id, p->n_parts);
    }
}

START_TEST(votes_count_every_work_item)
{
    imgpar_cl_module *m = module_of_text();
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int which = 0; which < 4 && fits(m, "votes", shapes[s]); which++)
            check_votes(m, shapes[s], which);
    imgpar_cl_module_release(m);
}
END_TEST

/* Numbers small enough that floats add them exactly. */
static double number(size_t i) { return (double)(i * 37 % 101) + 1; }

/* Those of a type as doubles, and back. */
static double element(const char *type, const void *data, size_t at)
{
    if (strcmp(type, "int") == 0) return ((const int32_t *)data)[at];
    if (strcmp(type, "uint") == 0) return ((const uint32_t *)data)[at];
    if (strcmp(type, "float") == 0) return (double)((const float *)data)[at];
    if (strcmp(type, "double") == 0) return ((const double *)data)[at];
    return (double)((const int64_t *)data)[at];
}

static void set_element(const char *type, void *data, size_t at, double v)
{
    if (strcmp(type, "int") == 0 || strcmp(type, "uint") == 0)
        ((int32_t *)data)[at] = (int32_t)v;
    else if (strcmp(type, "float") == 0)
        ((float *)data)[at] = (float)v;
    else if (strcmp(type, "double") == 0)
        ((double *)data)[at] = v;
    else
        ((int64_t *)data)[at] = (int64_t)v;
}

/* What lane `lane` of n numbers gets, of the eight that are asked for. */
static void expect_moves(const double *v, int n, int lane, int k, double want[8])
{
    const int from[] = { lane - k, lane + k, lane ^ k, 0, n - 1 - lane };
    for (int f = 0; f < 5; f++)
        want[f] = from[f] >= 0 && from[f] < n ? v[from[f]] : v[lane];
    want[5] = 0;
    want[6] = want[7] = v[0];
    for (int i = 0; i < n; i++) {
        want[5] += v[i];
        if (v[i] < want[6]) want[6] = v[i];
        if (v[i] > want[7]) want[7] = v[i];
    }
}

static void check_moves(imgpar_cl_module *m, const char *type, const size_t shape[3], int k)
{
    static int64_t a[2 * MOST], out[2 * MOST * 16];
    const size_t n = items_of(shape);
    const size_t bytes = strcmp(type, "int") == 0 || strcmp(type, "uint") == 0 || strcmp(type, "float") == 0 ? 4 : 8;
    char name[32];
    snprintf(name, sizeof name, "moves_%s", type);
    for (size_t i = 0; i < 2 * n; i++)
        set_element(type, a, i, number(i));
    check_votes(m, shape, 3); /* fills parts */
    run(m, name, shape, a, bytes, 16, &k, out);
    for (size_t i = 0; i < 2 * n; i++) {
        const size_t group = i / n;
        double v[MOST], want[16];
        for (size_t j = 0; j < n; j++)
            v[j] = number(group * n + j);
        expect_moves(v, (int)n, (int)(i % n), k, want);
        for (int lane = 0; lane < parts[i].size; lane++)
            v[lane] = number((size_t)item_of(group, n, parts[i].id, lane));
        expect_moves(v, parts[i].size, parts[i].lane, k, want + 8);
        for (size_t w = 0; w < 16; w++)
            ck_assert_msg(element(type, out, 16 * i + w) == want[w],
                          "%s, group of %zu, k=%d, work-item %zu, result %zu: %g is not %g", type, n, k, i, w,
                          element(type, out, 16 * i + w), want[w]);
    }
}

static const char *const types[] = { "int", "uint", "long", "ulong", "float", "double" };

START_TEST(shuffles_and_reductions_are_those_of_a_loop)
{
    imgpar_cl_module *m = module_of_text();
    const char *type = types[_i];
    bool is_there = strcmp(type, "double") != 0 || imgpar_context_device(ctx)->has_f64;
    for (size_t s = 0; is_there && s < sizeof shapes / sizeof *shapes; s++) {
        const bool is_int = strcmp(type, "int") == 0; /* drivers compile a kernel anew for each size of groups */
        if ((!is_int && s != 2 && s != 6) || !fits(m, "votes", shapes[s]) || !fits(m, "moves_int", shapes[s])) continue;
        for (int k = is_int ? 0 : 3; k < (is_int ? 64 : 4); k = 2 * k + 1)
            check_moves(m, type, shapes[s], k);
    }
    imgpar_cl_module_release(m);
}
END_TEST

/* With the other words, in a function, and after each other on the same memory. */
START_TEST(words_for_groups_and_reports_meet)
{
    imgpar_cl_kernel *k =
        new_kernel("int largest(int v, IMGPAR_GROUP) { return imgpar_work_group_reduce_max(v); }\n"
                   "kernel void k(global int *out, IMGPAR_REPORT, IMGPAR_GROUP)\n"
                   "{\n"
                   "    int v = get_local_id(0), sum = 0;\n"
                   "    for (int i = 0; i < 20; i++) {\n"
                   "        sum += imgpar_work_group_reduce_add(v + i) + largest(v, imgpar_group);\n"
                   "        sum += imgpar_work_group_count(v == i);\n"
                   "        sum += imgpar_work_group_broadcast(v, i % 5) - imgpar_work_group_shuffle(v, 4);\n"
                   "    }\n"
                   "    out[get_global_id(0)] = sum;\n"
                   "    if (imgpar_work_group_any(v == 4) && v == 0) imgpar_printf(\"%d\\n\", sum);\n"
                   "}",
                   "k");
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(10, 4));
    int32_t got[10], want = 0;
    for (int i = 0; i < 20; i++)
        want += 10 + 5 * i + 4 + (i < 5) + i % 5 - 4;
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 10 }, .local = { 5 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b)), NULL));
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(got[i], want);
    imgpar_cl_buffer_release(b);
    imgpar_cl_kernel_release(k);
}
END_TEST

START_TEST(local_memory_of_groups_is_counted)
{
    imgpar_cl_kernel *k = new_kernel("kernel void k(global uint *out, local uint *more, IMGPAR_GROUP)\n"
                                     "{ out[get_global_id(0)] = imgpar_work_group_count(1) + (more == 0); }",
                                     "k");
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(8, 4));
    const size_t there = imgpar_context_device(ctx)->local_bytes;
    const imgpar_cl_arg args[] = { imgpar_cl_arg_buffer(b), imgpar_cl_arg_local(there - 60) };
    FAILS(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 8 }, .local = { 8 }), args, 2, NULL), IMGPAR_E_LIMIT,
          "of local memory; the device has");
    imgpar_cl_buffer_release(b);
    imgpar_cl_kernel_release(k);
}
END_TEST

/* A group that the library chooses has room for what its work-items take. */
START_TEST(chosen_groups_fit_local_memory)
{
    imgpar_cl_kernel *k = new_kernel("kernel void k(global uint *out, local char *more, IMGPAR_GROUP)\n"
                                     "{\n"
                                     "    more[0] = 1;\n"
                                     "    out[get_global_id(0)] = imgpar_work_group_count(1);\n"
                                     "}",
                                     "k");
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_OUT, imgpar_cl_vector(64, 4));
    imgpar_cl_kernel_info info = { .struct_size = sizeof info };
    OK(imgpar_cl_kernel_get_info(k, &info));
    const size_t there = imgpar_context_device(ctx)->local_bytes - (size_t)info.local_bytes;
    uint32_t got[64];
    OK(imgpar_cl_launch(queue, k, IMGPAR_CL_WORK(.global = { 64 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_local(there - 70)), NULL));
    OK(imgpar_cl_read(queue, b, NULL, got, NULL));
    OK(imgpar_cl_finish(queue));
    for (int i = 0; i < 64; i++)
        ck_assert(got[i] >= 1 && got[i] <= 8);
    imgpar_cl_buffer_release(b);
    imgpar_cl_kernel_release(k);
}
END_TEST

START_TEST(a_kernel_with_groups_is_a_node)
{
    imgpar_cl_kernel *k =
        new_kernel("kernel void k(global float *out, IMGPAR_GROUP)\n"
                   "{ out[get_global_id(0)] = imgpar_work_group_reduce_add((float)get_local_id(0)); }",
                   "k");
    const imgpar_cl_arg args[] = { imgpar_cl_arg_result() };
    const imgpar_cl_node node = { .struct_size = sizeof node,
                                  .kernel = k,
                                  .dtype = IMGPAR_F32,
                                  .rank = 1,
                                  .shape = { 12 },
                                  .args = args,
                                  .n_args = 1,
                                  .work = IMGPAR_CL_WORK(.global = { 12 }, .local = { 6 }) };
    imgpar_array *a = imgpar_cl_apply(ctx, &node);
    float got[12];
    ck_assert_msg(imgpar_array_read(a, got, sizeof got) == IMGPAR_OK, "%s", imgpar_array_message(a));
    for (int i = 0; i < 12; i++)
        ck_assert_float_eq(got[i], 15.0f);
    imgpar_array_release(a);
    imgpar_cl_kernel_release(k);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cl_groups");
    TCase *t = tcase_create("cl_groups");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_device, close_device);
    tcase_add_test(t, votes_count_every_work_item);
    tcase_add_loop_test(t, shuffles_and_reductions_are_those_of_a_loop, 0, sizeof types / sizeof *types);
    tcase_add_test(t, words_for_groups_and_reports_meet);
    tcase_add_test(t, local_memory_of_groups_is_counted);
    tcase_add_test(t, chosen_groups_fit_local_memory);
    tcase_add_test(t, a_kernel_with_groups_is_a_node);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
