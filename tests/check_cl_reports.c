/* SPDX-License-Identifier: MIT */
/* What kernels print: conversions, strings, many arguments, and what happens where there is no room. */
#include "cl_help.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static char printed[1 << 20];

static void append(void *user, const char *text)
{
    size_t n = strlen(printed);
    (void)user;
    snprintf(printed + n, sizeof printed - n, "%s", text);
}

static imgpar_cl_queue *printing_queue(size_t print_buffer_bytes)
{
    const imgpar_cl_queue_options options = { .struct_size = sizeof options,
                                              .on_print = append,
                                              .print_buffer_bytes = print_buffer_bytes };
    imgpar_cl_queue *q;
    OK(imgpar_cl_queue_new(ctx, &options, &q));
    printed[0] = '\0';
    return q;
}

/* What so many work-items of a kernel without arguments print. */
static const char *print_of(const char *text, size_t n, size_t print_buffer_bytes)
{
    imgpar_cl_queue *q = printing_queue(print_buffer_bytes);
    imgpar_cl_kernel *k = new_kernel(text, "k");
    OK(imgpar_cl_launch(q, k, IMGPAR_CL_WORK(.global = { n }), NULL, 0, NULL));
    OK(imgpar_cl_finish(q));
    imgpar_cl_kernel_release(k);
    imgpar_cl_queue_release(q);
    return printed;
}

START_TEST(strings_and_chars_are_printed)
{
    static const char text[] =
        "constant char name[] = \"a name\";\n"
        "constant char names[2][5] = { \"zero\", \"one\" };\n"
        "constant char empty[] = \"\";\n"
        "kernel void k(IMGPAR_REPORT)\n"
        "{\n"
        "    imgpar_printf(\"%s and %s|%8s|%-8s|%.3s|%s|\\n\", \"literal\", name, name, \"left\", \"cut off\", "
        "empty);\n"
        "    for (int i = 0; i < 2; i++) imgpar_printf(\"%s %c%c\\n\", names[i], name[0], 'b' + i);\n"
        "    imgpar_printf(\"%s\\n\", get_global_id(0) == 0 ? \"first\" : \"other\");\n"
        "    imgpar_printf(\"a long one: %s.\\n\", \"0123456789012345678901234567890123456789012345678901234567\");\n"
        "    imgpar_printf(\"%d%% of %s %s\\n\", 50, \"100%\", \"%d\");\n"
        "}";
    ck_assert_str_eq(print_of(text, 1, 0), "literal and a name|  a name|left    |cut||\n"
                                           "zero ab\none ac\nfirst\n"
                                           "a long one: 0123456789012345678901234567890123456789012345678901234567.\n"
                                           "50% of 100% %d\n");
}
END_TEST

START_TEST(bools_and_pointers_are_printed)
{
    static const char text[] = "constant char name[] = \"name\";\n"
                               "constant int table[2] = { 3, 4 };\n"
                               "kernel void k(global const float *a, local int *l, IMGPAR_REPORT)\n"
                               "{\n"
                               "    bool yes = get_global_id(0) == 0, no = !yes;\n"
                               "    int own[2] = { 1, 2 };\n"
                               "    imgpar_printf(\"%d %d %s %6s %c|\", yes, no, yes, no, yes ? 'y' : 'n');\n"
                               "    imgpar_printf(\"%p %p|\", a, a + 3);\n"
                               "    imgpar_printf(\"%p %d|\", (global void *)0, l == 0);\n"
                               "    imgpar_printf(\"%x %p %p %p %p\\n\", (int)sizeof own, l, own, table, name);\n"
                               "}";
    imgpar_cl_queue *q = printing_queue(0);
    imgpar_cl_kernel *k = new_kernel(text, "k");
    imgpar_cl_buffer *b = new_buffer(IMGPAR_CL_IN, imgpar_cl_vector(8, 4));
    unsigned long long at[2], others[4];
    int is_null, zero, n = 0;
    OK(imgpar_cl_launch(q, k, IMGPAR_CL_WORK(.global = { 1 }),
                        IMGPAR_CL_ARGS(imgpar_cl_arg_buffer(b), imgpar_cl_arg_local(16)), NULL));
    OK(imgpar_cl_finish(q));
    ck_assert_msg(strncmp(printed, "1 0 true  false y|0x", 20) == 0, "%s", printed);
    ck_assert_msg(sscanf(printed, "1 0 true  false y|0x%llx 0x%llx|%x %d|8 %llx %llx %llx %llx%n", at, at + 1,
                         (unsigned *)&zero, &is_null, others, others + 1, others + 2, others + 3, &n) == 8,
                  "%s", printed);
    ck_assert_uint_eq(at[1] - at[0], 12);
    ck_assert_int_eq(zero, 0);
    imgpar_cl_buffer_release(b);
    imgpar_cl_kernel_release(k);
    imgpar_cl_queue_release(q);
}
END_TEST

START_TEST(halves_are_printed_where_the_device_has_them)
{
    static const char text[] = "kernel void k(IMGPAR_REPORT)\n"
                               "{\n"
                               "#if IMGPAR_HAS_F16\n"
                               "    half h = (half)1.5f;\n"
                               "#else\n"
                               "    float h = 1.5f;\n"
                               "#endif\n"
                               "    imgpar_printf(\"%g %d\\n\", h, h);\n"
                               "}";
    ck_assert_str_eq(print_of(text, 1, 0), "1.5 1\n");
}
END_TEST

/* An argument of another type than the conversion's is told in its own. */
START_TEST(conversions_that_do_not_fit_are_no_harm)
{
    static const char text[] = "kernel void k(IMGPAR_REPORT)\n"
                               "{\n"
                               "    imgpar_printf(\"%s %s %s|%d|%q %d %5\\n\", 5, 2.5f, -7L, 3.9f);\n"
                               "    imgpar_printf(\"%.99s|%999999999d|\\n\", \"x\", 1);\n"
                               "    imgpar_printf(\"%f %g\\n\", 7, true);\n"
                               "}";
    ck_assert_str_eq(print_of(text, 1, 0), "5 2.5 -7|3|%q %d %5\nx|%999999999d|\n7.000000 1\n");
}
END_TEST

/* As C has them on a host whose int is 32 bits and whose long is 64. */
START_TEST(whole_numbers_are_as_wide_as_their_types)
{
    static const char text[] =
        "kernel void k(IMGPAR_REPORT)\n"
        "{\n"
        "    int one = get_global_id(0) + 1;\n"
        "    imgpar_printf(\"%u %x %o %X|\", -one, -one, -one, (short)-one);\n"
        "    imgpar_printf(\"%hhx %hhd %hd %hu %hhu|\", (char)-one, 299 + one, 65536 + one, -one, 256 + one);\n"
        "    imgpar_printf(\"%lu %lx %ld %d|\", (ulong)-1, (long)-1, (long)-1, (uint)-1);\n"
        "    imgpar_printf(\"%zu %jd %td %llu %#x %+d|\", sizeof(int), (long)-2, (long)3, 4ul, 255, 5);\n"
        "    imgpar_printf(\"%d %u %x\\n\", true, (uchar)200, (uchar)200);\n"
        "}";
    ck_assert_str_eq(print_of(text, 1, 0), "4294967295 ffffffff 37777777777 FFFFFFFF|ff 44 1 65535 1|"
                                           "18446744073709551615 ffffffffffffffff -1 -1|4 -2 3 4 0xff +5|1 200 c8\n");
}
END_TEST

START_TEST(widths_and_precisions_may_be_arguments)
{
    static const char text[] = "kernel void k(IMGPAR_REPORT)\n"
                               "{\n"
                               "    imgpar_printf(\"[%*d] [%-*d] [%*d] [%.*s] \", 5, 42, 4, 7, -4, 8, 2, \"abc\");\n"
                               "    imgpar_printf(\"[%0*.*f] [%.*f]\\n\", 8, 2, 3.14159f, -1, 0.5f);\n"
                               "    imgpar_printf(\"%q %d %v4f %d %*q %d\\n\", 1, 2, 3.0f, 4, 5, 6, 7);\n"
                               "}";
    ck_assert_str_eq(print_of(text, 1, 0), "[   42] [7   ] [8   ] [ab] [00003.14] [0.500000]\n%q 2 %v4f 4 %*q 7\n");
}
END_TEST

/* A constant without a 0 at its end, of which the format shows a few chars. */
START_TEST(of_a_text_no_more_is_read_than_is_shown)
{
    static const char text[] =
        "IMGPAR_CONSTANT(char, label, 1000);\n"
        "kernel void k(IMGPAR_SYMBOL(label), IMGPAR_REPORT)\n"
        "{\n"
        "    imgpar_printf(\"%d %% %5 [%.4s] [%.*s] [%-6.*s] [%.s]\\n\", 1, label, 3, label, 2, label, label);\n"
        "    imgpar_printf(\"[%.4s]\\n\", label);\n"
        "}";
    static const char long_one[] = "IMGPAR_CONSTANT(char, label, 1000);\n"
                                   "kernel void k(IMGPAR_SYMBOL(label), IMGPAR_REPORT)\n"
                                   "{ imgpar_printf(\"[%.2000s]\\n\", label); }";
    static const struct {
        const char *text, *want;
    } rows[] = { { text, "1 % %5 [aaaa] [aaa] [aa    ] []\n[aaaa]\n" }, { long_one, "[(no room)]\n" } };
    const char a = 'a';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        imgpar_cl_queue *q = printing_queue(i == 0 ? 480 : 256);
        imgpar_cl_module *m;
        imgpar_cl_buffer *b;
        OK(imgpar_cl_module_from_text(ctx, rows[i].text, &m));
        OK(imgpar_cl_module_symbol(m, "label", &b));
        OK(imgpar_cl_fill(q, b, NULL, &a, NULL));
        OK(imgpar_cl_module_launch(q, m, "k", IMGPAR_CL_WORK(.global = { 1 }), NULL, 0, NULL));
        OK(imgpar_cl_finish(q));
        ck_assert_str_eq(printed, rows[i].want);
        imgpar_cl_buffer_release(b);
        imgpar_cl_module_release(m);
        imgpar_cl_queue_release(q);
    }
}
END_TEST

/* n arguments, each its number, between brackets. */
static void check_n_arguments(int n)
{
    char text[4000] = "kernel void k(IMGPAR_REPORT) { imgpar_printf(\"[", want[2000] = "[";
    for (int k = 0; k < n; k++) {
        strcat(text, k % 10 == 3 ? "%s " : "%d ");
        snprintf(want + strlen(want), 16, "%d ", k);
    }
    strcat(text, "]\\n\"");
    for (int k = 0; k < n; k++)
        snprintf(text + strlen(text), 32, k % 10 == 3 ? ", \"%d\"" : k % 10 == 4 ? ", (int)(%d)" : ", %d", k);
    strcat(text, "); }");
    strcat(want, "]\n");
    ck_assert_str_eq(print_of(text, 1, 0), want);
}

START_TEST(any_number_of_arguments_is_printed)
{
    static const int counts[] = { 0, 1, 8, 9, 10, 11, 19, 20, 21, 64, 99, 100, 101, 119 };
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        check_n_arguments(counts[k]);
}
END_TEST

START_TEST(what_is_printed_is_an_expression_and_takes_expressions)
{
    static const char text[] = "kernel void k(IMGPAR_REPORT)\n"
                               "{\n"
                               "    int i = 1;\n"
                               "    i == 1 ? imgpar_printf(\"yes %d %d\\n\", i++, (int)(float)(short)(7)) : (void)0;\n"
                               "    imgpar_printf(\"%d \", i), imgpar_printf(\"%d\\n\", (int3)(4, 5, 6).y);\n"
                               "}";
    ck_assert_str_eq(print_of(text, 1, 0), "yes 1 7\n2 5\n");
}
END_TEST

static size_t count_lines(const char *text, const char *line)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, line)); at++)
        n++;
    return n;
}

static const char many[] = "kernel void k(IMGPAR_REPORT)\n"
                           "{ imgpar_printf(\"line %d\\n\", (int)get_global_id(0) * 0); }";

/* A record is 8 ints, 2 of "line %d\n", 3 of the argument: 52 bytes, and 16 stand before them all. */
START_TEST(texts_without_room_are_counted)
{
    static const struct {
        size_t bytes, n, shown;
    } rows[] = { { 256, 4, 4 },     { 256, 5, 4 },          { 16 + 10 * 52, 10, 10 }, { 16 + 10 * 52, 1000, 10 },
                 { 0, 5000, 1260 }, { 1 << 20, 5000, 5000 } };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char lost[200] = "";
        print_of(many, rows[k].n, rows[k].bytes);
        ck_assert_uint_eq(count_lines(printed, "line 0\n"), rows[k].shown);
        snprintf(lost, sizeof lost,
                 "(k: %zu more text%s did not fit in %zu bytes; raise imgpar_cl_queue_options.print_buffer_bytes)\n",
                 rows[k].n - rows[k].shown, rows[k].n - rows[k].shown == 1 ? "" : "s",
                 rows[k].bytes ? rows[k].bytes : 65536);
        ck_assert_str_eq(printed + 7 * rows[k].shown, rows[k].n == rows[k].shown ? "" : lost);
    }
}
END_TEST

/* Of a buffer that launches use again nothing old is read, and a string without room says so. */
START_TEST(old_texts_do_not_come_back)
{
    static const char long_one[] =
        "kernel void k(IMGPAR_REPORT)\n"
        "{\n"
        "    imgpar_printf(\"new\\n\");\n"
        "    imgpar_printf(\"0123456789012345678901234567890123456789012345678901234567890123"
        "0123456789012345678901234567890123456789012345678901234567890123"
        "0123456789012345678901234567890123456789012345678901234567890123%d\", 1);\n"
        "}";
    static const char string[] = "kernel void k(IMGPAR_REPORT)\n"
                                 "{\n"
                                 "    for (int i = 0; i < 4; i++) imgpar_printf(\"abcdefghijkl%.8s\\n\", "
                                 "\"0123456789012345678901234567890123456789\");\n"
                                 "}";
    print_of(many, 4, 256);
    print_of(long_one, 1, 256);
    ck_assert_str_eq(printed, "new\n(k: 1 more text did not fit in 256 bytes; "
                              "raise imgpar_cl_queue_options.print_buffer_bytes)\n");
    print_of(string, 1, 300);
    static const char want[] = "abcdefghijkl01234567\nabcdefghijkl01234567\nabcdefghijkl(no room)\n(k: 1 more";
    ck_assert_msg(strncmp(printed, want, strlen(want)) == 0, "%s", printed);
}
END_TEST

START_TEST(a_failed_check_is_told_in_a_full_buffer)
{
    static const char text[] = "kernel void k(IMGPAR_REPORT)\n"
                               "{\n"
                               "    for (int i = 0; i < 100; i++) imgpar_printf(\"line %d\\n\", 0);\n"
                               "    imgpar_assert(get_global_id(0) != 0);\n"
                               "}";
    ck_assert_int_eq(imgpar_context_set(ctx, "check", "1"), IMGPAR_OK);
    imgpar_cl_queue *q = printing_queue(256);
    imgpar_cl_kernel *k = new_kernel(text, "k");
    OK(imgpar_cl_launch(q, k, IMGPAR_CL_WORK(.global = { 1 }), NULL, 0, NULL));
    FAILS(imgpar_cl_finish(q), IMGPAR_E_CHECK, "k: a check failed; there was no room to tell which");
    ck_assert_uint_eq(count_lines(printed, "line 0\n"), 4);
    imgpar_cl_kernel_release(k);
    imgpar_cl_queue_release(q);
}
END_TEST

/* A queue that nobody finishes gives reports that are over back: of 1000 of 1 MiB, far fewer are there at once. What
 * they tell stays, in its order. */
START_TEST(reports_that_are_over_take_no_memory)
{
    imgpar_counters c = { .struct_size = sizeof c };
    ck_assert_int_eq(imgpar_context_set(ctx, "check", "1"), IMGPAR_OK);
    imgpar_cl_queue *q = printing_queue(1 << 20);
    imgpar_cl_kernel *k = new_kernel("kernel void k(int n, IMGPAR_REPORT)\n"
                                     "{\n"
                                     "    if (n % 100 == 0) imgpar_printf(\"%d \", n);\n"
                                     "    imgpar_assert(n != 250 && n != 700);\n"
                                     "}",
                                     "k");
    imgpar_cl_event *e;
    for (int n = 0; n < 1000; n++) {
        OK(imgpar_cl_launch(q, k, IMGPAR_CL_WORK(.global = { 1 }), IMGPAR_CL_ARGS(imgpar_cl_arg_int(n)),
                            IMGPAR_CL_ORDER(.event = &e)));
        OK(imgpar_cl_wait(&e, 1));
        imgpar_cl_event_release(e);
    }
    imgpar_context_counters(ctx, &c);
    ck_assert_uint_lt(c.device_bytes_peak, 100 << 20);
    ck_assert_str_eq(printed, "");
    FAILS(imgpar_cl_finish(q), IMGPAR_E_CHECK, "assertion failed: n != 250 && n != 700");
    ck_assert_str_eq(printed, "0 100 200 300 400 500 600 700 800 900 ");
    imgpar_cl_kernel_release(k);
    imgpar_cl_queue_release(q);
}
END_TEST

static atomic_int n_inside, most_inside;

static void look_who_is_inside(void *user, const char *text)
{
    const struct timespec a_while = { .tv_nsec = 1000000 };
    int n = atomic_fetch_add(&n_inside, 1) + 1;
    (void)user;
    (void)text;
    if (n > most_inside) most_inside = n;
    nanosleep(&a_while, NULL);
    atomic_fetch_sub(&n_inside, 1);
}

static imgpar_cl_queue *blocking;

static void *launch_some(void *kernel)
{
    for (int k = 0; k < 10; k++)
        OK(imgpar_cl_launch(blocking, kernel, IMGPAR_CL_WORK(.global = { 2 }), NULL, 0, NULL));
    return NULL;
}

START_TEST(one_thread_at_a_time_prints)
{
    const imgpar_cl_queue_options options = { .struct_size = sizeof options,
                                              .blocks = 1,
                                              .on_print = look_who_is_inside };
    pthread_t threads[4];
    OK(imgpar_cl_queue_new(ctx, &options, &blocking));
    imgpar_cl_kernel *k = new_kernel(many, "k");
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, launch_some, k), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(most_inside, 1);
    imgpar_cl_kernel_release(k);
    imgpar_cl_queue_release(blocking);
}
END_TEST

START_TEST(wrong_sizes_are_refused)
{
    imgpar_cl_queue_options options = { .struct_size = sizeof options, .print_buffer_bytes = 255 };
    imgpar_cl_queue *q;
    FAILS(imgpar_cl_queue_new(ctx, &options, &q), IMGPAR_E_ARGUMENT,
          "queue_new: print_buffer_bytes=255 is not 256 to 2147483647");
    options.print_buffer_bytes = (size_t)1 << 31;
    FAILS(imgpar_cl_queue_new(ctx, &options, &q), IMGPAR_E_ARGUMENT, "print_buffer_bytes=2147483648 is not");
}
END_TEST

/* ---- failures ---------------------------------------------------------------------------------- */

static imgpar_status walk(void)
{
    static const char text[] = "kernel void k(IMGPAR_REPORT) { imgpar_printf(\"%s %s\\n\", \"a\", \"b\"); }";
    const imgpar_cl_queue_options options = { .struct_size = sizeof options,
                                              .on_print = append,
                                              .print_buffer_bytes = 1000 };
    imgpar_cl_queue *q = NULL;
    imgpar_cl_module *m = NULL;
    imgpar_cl_kernel *k = NULL;
    printed[0] = '\0';
    imgpar_status st = imgpar_cl_queue_new(ctx, &options, &q);
    if (!st) st = imgpar_cl_module_from_text(ctx, text, &m);
    if (!st) st = imgpar_cl_kernel_new(m, "k", &k);
    if (!st) st = imgpar_cl_launch(q, k, IMGPAR_CL_WORK(.global = { 1 }), NULL, 0, NULL);
    if (!st) st = imgpar_cl_finish(q);
    if (!st) ck_assert_str_eq(printed, "a b\n");
    imgpar_cl_kernel_release(k);
    imgpar_cl_module_release(m);
    imgpar_cl_queue_release(q);
    return st;
}

START_TEST(each_step_may_fail_without_a_leak) { walk_with_failures(walk, faults[_i], 10); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("cl_reports");
    TCase *t = tcase_create("cl_reports");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, open_device, close_device);
    tcase_add_test(t, strings_and_chars_are_printed);
    tcase_add_test(t, bools_and_pointers_are_printed);
    tcase_add_test(t, halves_are_printed_where_the_device_has_them);
    tcase_add_test(t, conversions_that_do_not_fit_are_no_harm);
    tcase_add_test(t, whole_numbers_are_as_wide_as_their_types);
    tcase_add_test(t, widths_and_precisions_may_be_arguments);
    tcase_add_test(t, of_a_text_no_more_is_read_than_is_shown);
    tcase_add_test(t, any_number_of_arguments_is_printed);
    tcase_add_test(t, what_is_printed_is_an_expression_and_takes_expressions);
    tcase_add_test(t, texts_without_room_are_counted);
    tcase_add_test(t, old_texts_do_not_come_back);
    tcase_add_test(t, a_failed_check_is_told_in_a_full_buffer);
    tcase_add_test(t, reports_that_are_over_take_no_memory);
    tcase_add_test(t, one_thread_at_a_time_prints);
    tcase_add_test(t, wrong_sizes_are_refused);
    tcase_add_loop_test(t, each_step_may_fail_without_a_leak, 0, sizeof faults / sizeof *faults);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
