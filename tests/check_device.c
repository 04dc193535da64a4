/* SPDX-License-Identifier: MIT */
/*
 * The device layer on whatever OpenCL device is there (PoCL in our tests): choosing,
 * memory, programs, launches, and what happens when each of their steps fails.
 *
 * One file, though long: every test needs the same few helpers, and each is a page.
 *
 * Runs itself again with another environment where that is the thing to be tested:
 * check_device CHILD-NAME.
 */
#include "run/device_impl.h"
#include "run/needed.h"
#include "run/shaders.h"

#include "base/str.h"
#include "asserts.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char double_source[] =
    "__kernel void twice(__global int *a) { size_t i = get_global_id(0); a[i] = 2 * a[i]; }\n"
    "__kernel void sum(__global const int *a, __global const int *b, __global int *c)\n"
    "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n";

/* The one device that selector means. */
static imgpar_status open_one(const char *selector, uint64_t limit_bytes, ip_device **out, ip_error *err)
{
    ip_device *list[IP_MAX_DEVICES] = { NULL };
    size_t n;
    imgpar_status st = ip_device_open(selector, limit_bytes, list, &n, err);
    *out = list[0];
    return !st && n != 1 ? IMGPAR_E_INTERNAL : st;
}

static ip_device *open_any(uint64_t limit_bytes)
{
    ip_device *device;
    ip_error err = { .status = IMGPAR_OK };
    imgpar_status st = open_one(NULL, limit_bytes, &device, &err);
    ck_assert_msg(st == IMGPAR_OK, "%s", err.message);
    return device;
}

static ip_buffer *new_buffer(ip_device *device, size_t n)
{
    ip_buffer *buffer;
    ip_error err = { .status = IMGPAR_OK };
    imgpar_status st = ip_buffer_new(device, n, &buffer, &err);
    ck_assert_msg(st == IMGPAR_OK, "%s", err.message);
    return buffer;
}

static ip_program *get_program(ip_device *device, const char *source, bool *built)
{
    ip_program *program;
    ip_error err = { .status = IMGPAR_OK };
    imgpar_status st = ip_program_get(device, source, NULL, &program, built, &err);
    ck_assert_msg(st == IMGPAR_OK, "%s", err.message);
    return program;
}

static ip_device_counters counters(ip_device *device)
{
    ip_device_counters c;
    ip_device_counters_get(device, &c);
    return c;
}

/* ---- choosing ----------------------------------------------------------------------- */

START_TEST(devices_are_listed_with_facts)
{
    imgpar_device **list;
    size_t n;
    ck_assert_int_eq(ip_device_enumerate(&list, &n, NULL), IMGPAR_OK);
    ck_assert_uint_gt(n, 0);
    for (size_t i = 0; i < n; i++) {
        ck_assert_str_ne(list[i]->name, "");
        ck_assert_str_ne(list[i]->platform, "");
        ck_assert_int_eq(strncmp(list[i]->version, "OpenCL ", 7), 0);
        ck_assert_int_eq(strncmp(list[i]->selector, list[i]->kind, strlen(list[i]->kind)), 0);
        ck_assert_uint_gt(list[i]->compute_units, 0);
        ck_assert_uint_gt(list[i]->global_bytes, 0);
        ck_assert_uint_gt(list[i]->max_alloc_bytes, 0);
        ck_assert_uint_gt(list[i]->max_work_group, 0);
        ck_assert_str_ne(list[i]->vendor, "");
        ck_assert_msg(list[i]->address_bits == 32 || list[i]->address_bits == 64, "%u", list[i]->address_bits);
        ck_assert_uint_ge(list[i]->max_work_items[0], 1);
        ck_assert_uint_ge(list[i]->constant_bytes, 64 << 10); /* what OpenCL 1.2 asks of a device, and below */
        ck_assert_uint_ge(list[i]->max_constant_args, 8);
        ck_assert_uint_ge(list[i]->max_parameter_bytes, 1024);
        ck_assert_uint_gt(list[i]->buffer_align_bytes, 0);
        ck_assert_uint_ge(list[i]->type_align_bytes, 64);
        ck_assert_int_eq(list[i]->is_available, 1);
        ck_assert_int_eq(list[i]->has_compiler, 1);
        ck_assert_int_eq(list[i]->has_f64, strstr(list[i]->extensions, "cl_khr_fp64") != NULL);
        ip_device_info_clear(list[i]);
    }
    ip_free(list);
}
END_TEST

START_TEST(every_listed_selector_opens_its_device)
{
    imgpar_device **list;
    size_t n;
    ck_assert_int_eq(ip_device_enumerate(&list, &n, NULL), IMGPAR_OK);
    for (size_t i = 0; i < n; i++) {
        ip_device *device;
        ck_assert_int_eq(open_one(list[i]->selector, 0, &device, NULL), IMGPAR_OK);
        const ip_device_facts *facts = ip_device_facts_of(device);
        ck_assert_str_eq(facts->info.name, list[i]->name);
        ck_assert_str_eq(facts->info.selector, list[i]->selector);
        ck_assert_uint_gt(facts->work_items_per_launch, 0);
        ck_assert_uint_gt(facts->local_size, 0);
        ip_device_close(device);
        ip_device_info_clear(list[i]);
    }
    ip_free(list);
}
END_TEST

START_TEST(part_of_a_name_in_any_case_selects)
{
    ip_device *first = open_any(0), *device;
    char part[64], *p = part;
    snprintf(part, sizeof part, "%s", ip_device_facts_of(first)->info.platform);
    part[5] = '\0';
    for (; *p; p++)
        *p = (char)(*p ^ (*p >= 'A' ? 0x20 : 0));
    ck_assert_int_eq(open_one(part, 0, &device, NULL), IMGPAR_OK);
    ip_device_close(device);
    ck_assert_int_eq(open_one("", 0, &device, NULL), IMGPAR_OK); /* as NULL */
    ip_device_close(device);
    ip_device_close(first);
}
END_TEST

START_TEST(the_best_device_is_there_whatever_the_environment_names)
{
    imgpar_context *context;
    setenv("IMGPAR_DEVICE", "no such device", 1); /* each test has a process of its own */
    ck_assert_int_eq(imgpar_context_new(NULL, &context), IMGPAR_E_NO_DEVICE);
    ck_assert_int_eq(imgpar_context_new("best", &context), IMGPAR_OK);
    ck_assert_str_ne(imgpar_context_device(context)->kind, "ref");
    imgpar_context_release(context);
}
END_TEST

/* PoCL reads its library of built-in functions once for each CL context: src/run/device.c, Note [Shared contexts]. */
START_TEST(devices_of_pocl_that_are_open_at_once_share_a_context)
{
    ip_device *first = open_any(0), *second = open_any(0), *third;
    if (first->facts.is_pocl) {
        ck_assert_ptr_eq(first->context, second->context);
        ck_assert_ptr_ne(first->queue, second->queue);
    }
    ip_buffer *kept = new_buffer(first, 1000);
    ck_assert_uint_eq(counters(second).bytes_held, 0);
    ip_device_close(first); /* and what is left of it is the buffer */
    third = open_any(0);
    if (third->facts.is_pocl) ck_assert_ptr_eq(third->context, second->context);
    ip_device_close(second);
    ip_buffer_release(kept);
    bool built;
    ip_program_release(get_program(third, double_source, &built));
    ip_device_close(third);
}
END_TEST

static const char *const missing[] = { "gpu:77", "cpu:99999999999999999999", "no such name", "cpu:x", "cpu:" };

START_TEST(a_missing_device_is_one_clear_line)
{
    imgpar_device **list;
    size_t n;
    ip_device *device = (ip_device *)&n;
    ip_error err = { .status = IMGPAR_OK };
    ip_str expected = IP_STR_INIT;
    ck_assert_int_eq(ip_device_enumerate(&list, &n, NULL), IMGPAR_OK);
    ip_str_printf(&expected, "device \"%s\": no such device; there are: ", missing[_i]);
    for (size_t i = 0; i < n; i++) {
        ip_str_printf(&expected, "%s%s (%s)", i ? ", " : "", list[i]->selector, list[i]->name);
        ip_device_info_clear(list[i]);
    }
    ip_free(list);
    ck_assert_int_eq(open_one(missing[_i], 0, &device, &err), IMGPAR_E_NO_DEVICE);
    ck_assert_ptr_null(device);
    ck_assert_str_eq(err.message, ip_str_text(&expected));
    ip_str_free(&expected);
}
END_TEST

/* ---- in another environment ----------------------------------------------------------- */

static int child_without_platform(void)
{
    imgpar_device **list;
    size_t n = 7;
    ip_device *device;
    ip_error err = { .status = IMGPAR_OK };
    if (ip_device_enumerate(&list, &n, &err) != IMGPAR_OK || n != 0 || err.status) return 10;
    ip_free(list);
    if (open_one("gpu", 0, &device, &err) != IMGPAR_E_NO_DEVICE || device) return 11;
    if (strcmp(err.message, "device \"gpu\": no such device; there is no OpenCL device")) return 12;
    err.status = IMGPAR_OK;
    if (open_one(NULL, 0, &device, &err) != IMGPAR_E_NO_DEVICE || device) return 13;
    return strcmp(err.message, "there is no OpenCL device") ? 14 : 0;
}

static int child_without_cache(void)
{
    ip_device *device;
    ip_error err = { .status = IMGPAR_OK };
    imgpar_context *ctx;
    static const char why[] = "POCL_CACHE_DIR=/dev/null/kcache cannot be written, and PoCL has no device without it";
    if (open_one("cpu", 0, &device, &err) != IMGPAR_E_NO_DEVICE || device || !strstr(err.message, why)) return 30;
    if (imgpar_context_new(NULL, &ctx) || !strstr(imgpar_context_notice(ctx), why)) return 31;
    imgpar_context_release(ctx);
    return 0;
}

static int child_opens(void)
{
    ip_device *device;
    ip_error err = { .status = IMGPAR_OK };
    if (open_one("cpu", 0, &device, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 20;
    }
    const char *folder = getenv("POCL_CACHE_DIR");
    struct stat s;
    bool is_private =
        folder && lstat(folder, &s) == 0 && S_ISDIR(s.st_mode) && (s.st_mode & 0777) == 0700 && s.st_uid == geteuid();
    ip_device_close(device);
    return is_private ? 0 : 21;
}

/* Runs this program with one argument and some variables ("NAME=value", or "NAME" to unset); its exit status. */
static const char *this_program; /* this one, to be run again */

static int run_child(const char *name, const char *const *environment)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        for (; *environment; environment++) {
            const char *equals = strchr(*environment, '=');
            char key[64];
            snprintf(key, sizeof key, "%.*s", (int)(equals ? equals - *environment : 60), *environment);
            if (equals)
                setenv(key, equals + 1, 1);
            else
                unsetenv(key);
        }
        execl(this_program, this_program, name, (char *)NULL);
        _exit(99);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(without_a_platform_there_are_no_devices)
{
    const char *const environment[] = { "OCL_ICD_VENDORS=/nonexistent", NULL };
    ck_assert_int_eq(run_child("without-platform", environment), 0);
}
END_TEST

START_TEST(an_unusable_home_gives_pocl_a_private_folder)
{
    char folder[] = "/tmp/check_device-XXXXXX", variable[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(variable, sizeof variable, "TMPDIR=%s", folder);
    const char *const homeless[] = { "HOME=/dev/null", "XDG_CACHE_HOME", "POCL_CACHE_DIR", variable, NULL };
    const char *const no_home[] = { "HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR", variable, NULL };
    const char *const bad_xdg[] = { "XDG_CACHE_HOME=/dev/null", "POCL_CACHE_DIR", variable, NULL };
    ck_assert_int_eq(run_child("opens", homeless), 0);
    ck_assert_int_eq(run_child("opens", no_home), 0);
    ck_assert_int_eq(run_child("opens", bad_xdg), 0);

    char ours[128]; /* a folder of that name that others may write to is not used */
    snprintf(ours, sizeof ours, "%s/imgpar-%lu", folder, (unsigned long)geteuid());
    ck_assert_int_eq(chmod(ours, 0777), 0);
    ck_assert_int_eq(run_child("opens", homeless), 0);

    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(a_file_or_a_lost_link_in_place_of_the_cache_folder_gives_pocl_a_private_folder)
{
    char folder[] = "/tmp/check_device-XXXXXX", file[64], tmp[64], command[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "POCL_CACHE_DIR=%s/file", folder);
    snprintf(tmp, sizeof tmp, "TMPDIR=%s", folder);
    FILE *f = fopen(strchr(file, '=') + 1, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fclose(f), 0);
    const char *const environment[] = { file, tmp, NULL };
    ck_assert_int_eq(run_child("opens", environment), 0);
    ck_assert_int_eq(unlink(strchr(file, '=') + 1), 0); /* a link to nowhere, which PoCL takes for a folder */
    ck_assert_int_eq(symlink("/dev/null/nowhere", strchr(file, '=') + 1), 0);
    ck_assert_int_eq(run_child("opens", environment), 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(a_cache_folder_that_cannot_be_written_is_told_as_that)
{
    const char *const environment[] = { "POCL_CACHE_DIR=/dev/null/kcache", "IMGPAR_DEVICE", NULL };
    /* another driver needs no folder */
    if (ip_env("OCL_ICD_VENDORS") && !strstr(ip_env("OCL_ICD_VENDORS"), "pocl")) return;
    ck_assert_int_eq(run_child("without-cache", environment), 0);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------ */

START_TEST(a_buffer_gives_back_what_was_written)
{
    ip_device *device = open_any(0);
    ip_buffer *buffer = new_buffer(device, 1000);
    unsigned char in[1000], out[1000] = { 0 };
    ip_error err = { .status = IMGPAR_OK };
    for (int i = 0; i < 1000; i++)
        in[i] = (unsigned char)(i * 7);
    ck_assert_uint_eq(ip_buffer_size(buffer), 1000);
    ck_assert_int_eq(ip_buffer_write(buffer, 0, in, 1000, NULL), IMGPAR_OK);
    ck_assert_int_eq(ip_buffer_read(buffer, 10, out + 10, 990, NULL), IMGPAR_OK);
    ck_assert_mem_eq(in + 10, out + 10, 990);
    ck_assert_int_eq(ip_buffer_read(buffer, 1000, out, 0, NULL), IMGPAR_OK);
    ck_assert_int_eq(ip_buffer_read(buffer, 1, out, 1000, &err), IMGPAR_E_INTERNAL);
    ck_assert_str_eq(err.message, "copy of 1000 bytes at 1 goes beyond a buffer of 1000");
    ck_assert_int_eq(ip_buffer_write(buffer, SIZE_MAX, in, 2, NULL), IMGPAR_E_INTERNAL);
    ck_assert_uint_eq(counters(device).bytes_uploaded, 1000);
    ck_assert_uint_eq(counters(device).bytes_downloaded, 990);
    ip_buffer_release(buffer);
    ip_buffer_release(NULL);
    ip_device_close(device);
    ip_device_close(NULL);
}
END_TEST

START_TEST(a_released_buffer_is_reused_by_best_fit)
{
    ip_device *device = open_any(0);
    ip_buffer *large = new_buffer(device, 100000), *small = new_buffer(device, 80000), *zero;
    cl_mem small_mem = small->mem, large_mem = large->mem;
    ip_buffer_retain(small);
    ip_buffer_release(small);
    ip_buffer_release(small);
    ip_buffer_release(large);
    ck_assert_uint_eq(counters(device).buffers_made, 2);

    ip_buffer *a = new_buffer(device, 78000), *b = new_buffer(device, 79000), *c = new_buffer(device, 60000);
    ck_assert_ptr_eq(a->mem, small_mem);
    ck_assert_ptr_eq(b->mem, large_mem); /* 1.3 times the size */
    ck_assert_uint_eq(counters(device).buffers_made, 3);
    ip_buffer_release(b);
    ip_buffer *d = new_buffer(device, 50000); /* 100000 is over 1.5 times the size */
    ck_assert_ptr_ne(d->mem, large_mem);
    ck_assert_uint_eq(counters(device).buffers_made, 4);
    zero = new_buffer(device, 0);
    ip_buffer_release(zero);
    ip_buffer_release(a);
    ip_buffer_release(c);
    ip_buffer_release(d);
    ip_device_trim(device);
    ck_assert_uint_eq(counters(device).bytes_held, 0);
    ck_assert_uint_gt(counters(device).bytes_peak, 290000);
    ip_device_close(device);
}
END_TEST

START_TEST(the_budget_is_kept)
{
    ip_device *device = open_any(1000000);
    ip_buffer *a = new_buffer(device, 600000), *b = NULL;
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_uint_lt(ip_device_budget_left(device), 400001);
    ck_assert_int_eq(ip_buffer_new(device, 500000, &b, &err), IMGPAR_E_DEVICE_MEMORY);
    ck_assert_ptr_null(b);
    char expected[200];
    snprintf(expected, sizeof expected,
             "a buffer of 500000 bytes is over what is left of the memory limit: %llu of 1000000 bytes",
             (unsigned long long)ip_device_budget_left(device));
    ck_assert_str_eq(err.message, expected);
    ip_buffer_release(a);
    ck_assert_uint_eq(ip_device_budget_left(device), 1000000);

    b = new_buffer(device, 1000000); /* the idle one makes room; the class would be over the budget */
    ck_assert_uint_eq(counters(device).bytes_held, 1000000);
    ck_assert_uint_eq(ip_device_budget_left(device), 0);
    ip_buffer_release(b);
    ck_assert_int_eq(ip_buffer_new(device, 1000001, &b, NULL), IMGPAR_E_DEVICE_MEMORY);
    ck_assert_int_eq(ip_buffer_new(device, SIZE_MAX, &b, NULL), IMGPAR_E_DEVICE_MEMORY);
    ck_assert_uint_le(counters(device).bytes_peak, 1000000);

    a = new_buffer(device, 600000);
    ip_device_limit(device, 400000); /* below what is in use: nothing is left, not less than nothing */
    ck_assert_uint_eq(ip_device_budget_left(device), 0);
    err.status = IMGPAR_OK;
    ck_assert_int_eq(ip_buffer_new(device, 1000, &b, &err), IMGPAR_E_DEVICE_MEMORY);
    ck_assert_str_eq(err.message, "a buffer of 1000 bytes is over what is left of the memory limit: 0 of 400000 bytes");
    ip_buffer_release(a);
    ip_device_close(device);
}
END_TEST

START_TEST(idle_buffers_hold_at_most_half_of_the_budget)
{
    ip_device *device = open_any(1000000);
    ip_buffer *list[9];
    for (int i = 0; i < 9; i++)
        list[i] = new_buffer(device, 102400);
    cl_mem newest = list[8]->mem;
    for (int i = 0; i < 9; i++)
        ip_buffer_release(list[i]);
    ck_assert_uint_le(counters(device).bytes_held, 500000);
    ck_assert_uint_gt(counters(device).bytes_held, 390000);
    list[0] = new_buffer(device, 102400); /* what is freed is what was idle longest */
    ck_assert_ptr_eq(list[0]->mem, newest);
    ip_buffer_release(list[0]);
    ip_device_close(device);
}
END_TEST

START_TEST(a_buffer_may_outlive_the_closed_device)
{
    ip_device *device = open_any(0);
    ip_buffer *buffer = new_buffer(device, 4), *idle = new_buffer(device, 4);
    ip_program *program = get_program(device, double_source, NULL);
    ip_buffer_release(idle);
    ip_device_close(device);
    int value = 42, back = 0;
    ck_assert_int_eq(ip_buffer_write(buffer, 0, &value, 4, NULL), IMGPAR_OK);
    ck_assert_int_eq(ip_buffer_read(buffer, 0, &back, 4, NULL), IMGPAR_OK);
    ck_assert_int_eq(back, 42);
    ip_buffer_release(buffer);
    ip_program_release(program);
}
END_TEST

/* ---- programs and launches --------------------------------------------------------------- */

static imgpar_status launch_twice(ip_device *device, ip_program *program, ip_buffer *buffer, uint64_t *start,
                                  uint64_t *end, ip_error *err)
{
    ip_launch launch = { .program = program,
                         .kernel = "twice",
                         .buffers = &buffer,
                         .n_buffers = 1,
                         .dims = 1,
                         .global = { 64 },
                         .local = { 16 } };
    return ip_device_launch(device, &launch, start, end, err);
}

START_TEST(a_launch_computes_and_is_timed)
{
    ip_device *device = open_any(0);
    ip_program *program = get_program(device, double_source, NULL);
    ip_buffer *buffers[3];
    int values[64], back[64];
    uint64_t start = 0, end = 0;
    for (int i = 0; i < 64; i++)
        values[i] = i - 30;
    for (int i = 0; i < 3; i++)
        buffers[i] = new_buffer(device, sizeof values);
    ck_assert_int_eq(ip_buffer_write(buffers[0], 0, values, sizeof values, NULL), IMGPAR_OK);
    ck_assert_int_eq(ip_buffer_write(buffers[1], 0, values, sizeof values, NULL), IMGPAR_OK);
    ck_assert_int_eq(launch_twice(device, program, buffers[0], &start, &end, NULL), IMGPAR_OK);
    ck_assert_uint_gt(start, 0);
    ck_assert_uint_ge(end, start);
    ip_launch launch = { .program = program,
                         .kernel = "sum",
                         .buffers = buffers,
                         .n_buffers = 3,
                         .dims = 1,
                         .global = { 64 },
                         .local = { 16 } };
    ck_assert_int_eq(ip_device_launch(device, &launch, NULL, NULL, NULL), IMGPAR_OK);
    ck_assert_int_eq(ip_device_finish(device, NULL), IMGPAR_OK);
    ck_assert_int_eq(ip_buffer_read(buffers[2], 0, back, sizeof back, NULL), IMGPAR_OK);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(back[i], 3 * (i - 30));
    ck_assert_uint_eq(counters(device).launches, 2);
    for (int i = 0; i < 3; i++)
        ip_buffer_release(buffers[i]);
    ip_program_release(program);
    ip_device_close(device);
}
END_TEST

/* llvmpipe's work-items leave their loops after 65,535 iterations. */
START_TEST(a_loop_that_the_device_would_end_is_refused)
{
    static const int64_t steps[] = { 65535, 70000 };
    char text[96];
    imgpar_context *ctx;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    const bool ends_loops = strstr(imgpar_context_device(ctx)->platform, "rusticl") != NULL;
    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text, "maxval(iterate(make(4, 4, 0.5), %lld, _ + 1, until=_ > 1e9))",
                 (long long)steps[k]);
        imgpar_array *a = imgpar_apply(ctx, text, NULL, 0);
        float got = 0;
        const imgpar_status st = imgpar_array_read(a, &got, sizeof got);
        if (ends_loops && k == 1) {
            ck_assert_int_eq(st, IMGPAR_E_UNSUPPORTED);
            ck_assert_ptr_nonnull(strstr(imgpar_array_message(a), "70000 steps"));
        } else {
            ck_assert_msg(st == IMGPAR_OK && got == (float)steps[k] + 0.5f, "%s: %.9g", text, (double)got);
        }
        imgpar_array_release(a);
    }
    imgpar_context_release(ctx);
}
END_TEST

START_TEST(a_wrong_launch_is_refused)
{
    ip_device *device = open_any(0);
    ip_program *program = get_program(device, double_source, NULL);
    ip_buffer *buffer = new_buffer(device, 256);
    ip_launch launch = { .program = program,
                         .kernel = "thrice",
                         .buffers = &buffer,
                         .n_buffers = 1,
                         .dims = 1,
                         .global = { 64 },
                         .local = { 16 } };
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_int_eq(ip_device_launch(device, &launch, NULL, NULL, &err), IMGPAR_E_INTERNAL);
    ck_assert_str_eq(err.message, "clCreateKernel: CL_INVALID_KERNEL_NAME (-46): thrice");
    launch.kernel = "twice";
    launch.local[0] = 17;
    err.status = IMGPAR_OK;
    ck_assert_int_eq(ip_device_launch(device, &launch, NULL, NULL, &err), IMGPAR_E_INTERNAL);
    ck_assert_str_eq(err.message, "twice: global size is not a multiple of the local size");
    ip_buffer_release(buffer);
    ip_program_release(program);
    ip_device_close(device);
}
END_TEST

/* A device whose programs are in memory only, so that it is told when the compiler ran. */
static ip_device *open_in_memory(void)
{
    ip_device *device = open_any(0);
    device->keeps_programs_on_disk = false;
    return device;
}

START_TEST(a_program_is_built_once)
{
    ip_device *device = open_in_memory();
    bool built;
    ip_program *a = get_program(device, double_source, &built), *b, *c;
    ck_assert(built);
    b = get_program(device, double_source, &built);
    ck_assert(!built);
    ck_assert_ptr_eq(a, b);
    ck_assert_int_eq(ip_program_get(device, double_source, "-DX=1", &c, &built, NULL), IMGPAR_OK);
    ck_assert(built);
    ck_assert_ptr_ne(a, c);
    ip_program_release(a);
    ip_program_release(b);
    ip_program_release(c);
    a = get_program(device, double_source, &built);
    ck_assert(!built);
    ip_program_release(a);
    ip_program_release(NULL);
    ck_assert_uint_eq(counters(device).builds, 2);
    ip_device_close(device);
}
END_TEST

/* Runs a kernel "k" of one work-item, which writes n ints, in a text that begins as those of the library do. */
static void run_for_ints(ip_device *device, const char *source, int *out, size_t n)
{
    ip_str text = IP_STR_INIT;
    ip_str_append(&text, ip_shader_text("helpers"));
    ip_str_append(&text, source);
    ip_program *program = get_program(device, ip_str_text(&text), NULL);
    ip_buffer *buffer = new_buffer(device, n * sizeof *out);
    ip_launch launch = { .program = program,
                         .kernel = "k",
                         .buffers = &buffer,
                         .n_buffers = 1,
                         .dims = 1,
                         .global = { 1 },
                         .local = { 1 } };
    ck_assert_int_eq(ip_device_launch(device, &launch, NULL, NULL, NULL), IMGPAR_OK);
    ck_assert_int_eq(ip_device_finish(device, NULL), IMGPAR_OK);
    ck_assert_int_eq(ip_buffer_read(buffer, 0, out, n * sizeof *out, NULL), IMGPAR_OK);
    ip_buffer_release(buffer);
    ip_program_release(program);
    ip_str_free(&text);
}

/* Each call means the overload of its arguments' type, whoever declares it (run/cache.c, Note [Declarations]); the
 * second program calls what shaders/builtins.cl does not declare, after which nothing is declared. The numbers are
 * worked out by hand. */
START_TEST(calls_of_built_in_functions_mean_their_overloads)
{
    ip_device *device = open_in_memory();
    if (!ip_device_facts_of(device)->declares_builtins) { /* its driver's own declarations are not ours to test */
        ip_device_close(device);
        return;
    }
    static const int wanted[] = { 200, 7, 128, 255, -128, 0, 3, 2, 15, 3, 255, -3, 4, 60, 1, 9 };
    int got[sizeof wanted / sizeof *wanted], crossed;
    run_for_ints(device,
                 "__kernel void k(__global int *a) {\n"
                 "    uchar2 m = max((uchar2)(200, 3), (uchar2)(100, 7));\n"
                 "    a[0] = m.x; a[1] = m.y;\n"
                 "    a[2] = abs((char)-128);\n"
                 "    a[3] = add_sat((uchar)250, (uchar)9);\n"
                 "    a[4] = sub_sat((char)-100, (char)100);\n"
                 "    a[5] = convert_uint_sat(-1.5f);\n"
                 "    a[6] = mul_hi(0x80000000u, 6u);\n"
                 "    a[7] = select(1, 2, -1);\n"
                 "    a[8] = clz((ushort)1);\n"
                 "    a[9] = popcount((uchar)0x61);\n"
                 "    a[10] = convert_uchar_sat(300);\n"
                 "    a[11] = (int)floor(-2.5f);\n"
                 "    a[12] = convert_int_sat_rte(4.5f);\n"
                 "    int n[6] = { 0, 0, 0, 10, 20, 30 };\n"
                 "    int3 v = vload3(1, n);\n"
                 "    a[13] = v.x + v.y + v.z;\n"
                 "    a[14] = isnan(as_float(0x7fc00000)) && any((int2)(0, -1)) && !all((int2)(0, -1));\n"
                 "    a[15] = clamp((short4)(99), (short)0, (short)9).w;\n"
                 "}\n",
                 got, sizeof wanted / sizeof *wanted);
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
        ck_assert_msg(got[k] == wanted[k], "a[%zu] is %d, not %d", k, got[k], wanted[k]);
    unsetenv("IMGPAR_BUILTINS"); /* each test has a process of its own */
    ck_assert(!device->needs_header);
    run_for_ints(device,
                 "__kernel void k(__global int *a) {\n"
                 "    a[0] = (int)dot(cross((float3)(1, 2, 3), (float3)(4, 5, 6)), (float3)(1, 10, 100));\n"
                 "}\n",
                 &crossed, 1);
    ck_assert_int_eq(crossed, -3 + 60 - 300);
    ck_assert(device->needs_header == device->facts.declares_builtins);
    ip_device_close(device);
}
END_TEST

/* Sections are kept that something behind them names, that of a name's beginning too, and what those name. */
START_TEST(programs_hold_what_they_name)
{
    char *text = ip_needed_text("begins\n"
                                "/*: fa */\nint fa(void);\n"
                                "/*: fb fc_* */\nint fb(short8 v) { return fa() + rotate(v.s0, 2); }\n"
                                "/*: fd fc */\nint fd(float4 v) { return clz(v); }\n"
                                "/*:*/\nint fe(int x2, int r16) { return fc_8(abs(r16)) * 3; }\n"
                                "/*: fe fa */\nint last;\n");
    ck_assert_ptr_nonnull(text);
    static const char *const held[] = { "\nbegins\n",
                                        "\nint fa(",
                                        "\nint fb(",
                                        "\nint fe(",
                                        ", abs)\n",
                                        ", rotate)\n",
                                        "#define IP_OF_8(x) x\n",
                                        "#define IP_OF_4(x)\n",
                                        "#define IP_OF_2(x)\n",
                                        "#define IP_OF_16(x)\n",
                                        "#define IP_OF_3(x)\n" };
    static const char *const left_out[] = { "int fd(", "int last", ", clz)", ", add_sat)", "\nIP_FLOATS_ONE(" };
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        ck_assert_msg(strstr(text, held[i]), "%s is missing", held[i]);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        ck_assert_msg(!strstr(text, left_out[i]), "%s stands there", left_out[i]);
    ip_free(text);
    static const char *const vectors[] = { "as_uint4(x)", "convert_int4_rte(x)", "vload4(0, x)", "double4 x",
                                           "T##4 x" };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        text = ip_needed_text(vectors[i]);
        ck_assert(text && strstr(text, "#define IP_OF_4(x) x\n") && strstr(text, "#define IP_OF_16(x)\n"));
        ip_free(text);
    }
}
END_TEST

START_TEST(the_message_of_a_failed_build_has_the_log)
{
    ip_device *device = open_any(0);
    ip_program *program;
    ip_error err = { .status = IMGPAR_OK };
    bool built;
    for (int i = 0; i < 2; i++) { /* a failure is not remembered */
        err.status = IMGPAR_OK;
        ck_assert_int_eq(ip_program_get(device, "__kernel void k(__global int *a) { a[0] = nonsense; }", NULL, &program,
                                        &built, &err),
                         IMGPAR_E_COMPILE);
        ck_assert_ptr_null(program);
        ck_assert(built);
        ck_assert_ptr_nonnull(strstr(err.message, "clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11): "));
        ck_assert_ptr_nonnull(strstr(err.message, "nonsense"));
    }
    ck_assert_uint_eq(counters(device).builds, 2);
    ip_str s = IP_STR_INIT; /* a log too long for the message */
    ip_str_append(&s, "__kernel void k(__global int *a) {");
    for (int i = 0; i < 40; i++)
        ip_str_printf(&s, " a[%d] = nonsense%d;\n", i, i);
    ip_str_append(&s, "}\n");
    err.status = IMGPAR_OK;
    ck_assert_int_eq(ip_program_get(device, ip_str_text(&s), NULL, &program, NULL, &err), IMGPAR_E_COMPILE);
    ck_assert_uint_lt(strlen(err.message), 700);
    ck_assert_str_eq(err.message + strlen(err.message) - 4, " ...");
    ip_str_free(&s);
    ip_device_close(device);
}
END_TEST

START_TEST(the_cache_keeps_the_programs_used_last)
{
    ip_device *device = open_in_memory();
    ip_program *first = get_program(device, "__kernel void k0(void) {}", NULL), *program;
    bool built;
    ip_program *held = get_program(device, "__kernel void k1(void) {}", NULL);
    ip_program_release(first);
    for (int i = 0; i < 256; i++) { /* listed as built, without code: building them would take minutes */
        ip_program *filler = ip_zalloc(sizeof *filler);
        filler->device = device;
        filler->identity = ip_strdup("");
        filler->state = IP_BUILD_DONE;
        filler->is_listed = true;
        filler->next = device->cache.programs;
        device->cache.programs = filler;
        device->cache.n++;
    }
    program = get_program(device, "__kernel void k2(void) {}", &built);
    ck_assert(built);
    ip_program_release(program);
    program = get_program(device, "__kernel void k1(void) {}", &built);
    ck_assert(!built); /* it was held */
    ip_program_release(program);
    program = get_program(device, "__kernel void k0(void) {}", &built);
    ck_assert(built); /* it was the one to go */
    ip_program_release(program);
    ip_program_release(held);
    ip_device_close(device);
}
END_TEST

/* ---- the cache on disk --------------------------------------------------------------------- */

static char cache_folder[] = "/tmp/check_device-XXXXXX";

/* A device that keeps its programs in our folder, as one whose driver does not would. */
static ip_device *open_storing(void)
{
    ip_device *device = open_any(0);
    device->keeps_programs_on_disk = true;
    device->keeps_few_kernels = false;
    return device;
}

/* Gets the program on a device of its own; whether the compiler ran. */
static bool builds_anew(void)
{
    ip_device *device = open_storing();
    bool built;
    ip_program *program = get_program(device, double_source, &built);
    ip_buffer *buffer = new_buffer(device, 256);
    int values[64], back[64];
    for (int i = 0; i < 64; i++)
        values[i] = i;
    ck_assert_int_eq(ip_buffer_write(buffer, 0, values, sizeof values, NULL), IMGPAR_OK);
    ck_assert_int_eq(launch_twice(device, program, buffer, NULL, NULL, NULL), IMGPAR_OK);
    ck_assert_int_eq(ip_buffer_read(buffer, 0, back, sizeof back, NULL), IMGPAR_OK);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(back[i], 2 * i);
    ip_buffer_release(buffer);
    ip_program_release(program);
    ip_device_close(device);
    return built;
}

/* The one file in folder into path; the number of files. */
static int only_file(const char *folder, char *path, int n)
{
    DIR *dir = opendir(folder);
    int count = 0;
    if (!dir) return 0;
    for (struct dirent *d; (d = readdir(dir));) {
        if (d->d_name[0] == '.' && (d->d_name[1] == '\0' || d->d_name[1] == '.')) continue;
        ck_assert_int_lt(snprintf(path, (size_t)n, "%s/%s", folder, d->d_name), n);
        count++;
    }
    closedir(dir);
    return count;
}

static void damage(const char *path, long at, bool truncated)
{
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    if (truncated) {
        ck_assert_int_eq(ftruncate(fileno(f), at), 0);
    } else {
        ck_assert_int_eq(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
        int c = fgetc(f);
        ck_assert_int_eq(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
        fputc(c ^ 1, f);
    }
    fclose(f);
}

/* Kernels that two boxes in a row become on a new context. */
static int kernels_of_two_boxes(void)
{
    imgpar_context *ctx;
    char *text;
    int n = 0;
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    imgpar_array *a = imgpar_apply(ctx, "boxblur(boxblur(make(64, 64, x)))", NULL, 0);
    ck_assert_int_eq(imgpar_explain(&a, 1, "json", &text), IMGPAR_OK);
    for (const char *p = text; (p = strstr(p, "\"schedule\"")); p++)
        n++;
    imgpar_free(text);
    imgpar_array_release(a);
    imgpar_context_release(ctx);
    return n;
}

START_TEST(what_was_tuned_holds_for_the_contexts_to_come)
{
    char path[512], command[128];
    imgpar_context *ctx;
    ck_assert_ptr_nonnull(mkdtemp(cache_folder));
    setenv("IMGPAR_CACHE_DIR", cache_folder, 1);
    const int fused = kernels_of_two_boxes();
    ck_assert_int_eq(imgpar_context_new(NULL, &ctx), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(ctx, "max_stages", "0"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "max_stages", "33"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "vector_bytes", "48"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "strip_bytes", "many"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "strip_bytes", "32K"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_set(ctx, "stream_bytes", "0"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "stream_bytes", "2G"), IMGPAR_E_ARGUMENT);
    ck_assert_int_eq(imgpar_context_set(ctx, "stream_bytes", "1M"), IMGPAR_OK);

    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "pixels"), IMGPAR_OK); /* which keeps no neighbours */
    ck_assert_int_eq(imgpar_context_keep_tuning(ctx), IMGPAR_OK);
    ck_assert_int_gt(kernels_of_two_boxes(), fused);
    ck_assert_int_eq(imgpar_context_set(ctx, "schedule", "ref"), IMGPAR_OK);
    ck_assert_int_eq(imgpar_context_keep_tuning(ctx), IMGPAR_OK); /* as auto */
    ck_assert_int_eq(kernels_of_two_boxes(), fused);

    ck_assert_int_eq(imgpar_context_set(ctx, "max_stages", "1"), IMGPAR_OK);
    ck_assert_int_eq(kernels_of_two_boxes(), fused); /* it is this context's alone */

    ck_assert_int_eq(imgpar_context_keep_tuning(ctx), IMGPAR_OK);
    ck_assert_int_gt(kernels_of_two_boxes(), fused);
    ck_assert_int_eq(only_file(cache_folder, path, sizeof path), 1);
    damage(path, -1, false);
    ck_assert_int_eq(kernels_of_two_boxes(), fused);
    setenv("IMGPAR_CACHE", "0", 1);
    ck_assert_int_eq(imgpar_context_keep_tuning(ctx), IMGPAR_E_IO);
    unsetenv("IMGPAR_CACHE");
    imgpar_context_release(ctx);
    snprintf(command, sizeof command, "rm -rf %s", cache_folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(a_stored_program_is_not_built_again)
{
    char folder[64], path[512], command[128];
    struct stat s;
    ck_assert_ptr_nonnull(mkdtemp(cache_folder));
    snprintf(folder, sizeof folder, "%s/deep/er", cache_folder);
    setenv("IMGPAR_CACHE_DIR", folder, 1);

    ck_assert(builds_anew());
    ck_assert_int_eq(only_file(folder, path, sizeof path), 1);
    ck_assert_int_eq(stat(folder, &s), 0);
    ck_assert_uint_eq(s.st_mode & 0777, 0700);
    ck_assert_int_eq(stat(path, &s), 0);
    ck_assert_uint_eq(s.st_mode & 0777, 0600);
    ck_assert(!builds_anew());

    static const struct {
        long at;
        bool truncated;
    } damages[] = {
        { 0, false },  { 20, false },  { 40, false }, { 60, false },
        { -1, false }, { 1000, true }, { 10, true },  { 0, true },
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        damage(path, damages[i].at, damages[i].truncated);
        ck_assert_msg(builds_anew(), "damage %zu was not seen", i);
        ck_assert(!builds_anew()); /* mended */
        ck_assert_int_eq(only_file(folder, path, sizeof path), 1);
    }
    ck_assert_int_eq(chmod(path, 0622), 0); /* a file that others may write */
    ck_assert(builds_anew());
    ck_assert(!builds_anew());

    char elsewhere[64]; /* a link */
    snprintf(elsewhere, sizeof elsewhere, "%s/moved", cache_folder);
    ck_assert_int_eq(rename(path, elsewhere), 0);
    ck_assert_int_eq(symlink(elsewhere, path), 0);
    ck_assert(builds_anew());
    ck_assert(!builds_anew());

    setenv("IMGPAR_CACHE", "0", 1);
    ck_assert(builds_anew());
    unsetenv("IMGPAR_CACHE");
    ck_assert_int_eq(chmod(folder, 0777), 0); /* a folder that others may write */
    ck_assert(builds_anew());
    ck_assert_int_eq(chmod(folder, 0700), 0);
    ck_assert(!builds_anew());

    snprintf(command, sizeof command, "rm -rf %s", cache_folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(no_kernel_is_compiled_only_to_be_kept)
{
    char path[512], command[128];
    bool built;
    ip_device *device = open_storing();
    device->keeps_few_kernels = true;
    ck_assert_ptr_nonnull(mkdtemp(cache_folder));
    setenv("IMGPAR_CACHE_DIR", cache_folder, 1);
    ip_program_release(get_program(device,
                                   "__kernel void k(__global int *a) { a[0] = 1; }\n"
                                   "__kernel void l(__global int *a) { a[0] = 2; }\n"
                                   "__kernel void m(__global int *a) { a[0] = 3; }",
                                   &built));
    ck_assert_int_eq(only_file(cache_folder, path, sizeof path), 0);
    ip_program_release(get_program(device, "__kernel void k(__global int *a) { a[0] = 1; }", &built));
    ck_assert_int_eq(only_file(cache_folder, path, sizeof path), 1);
    ip_device_close(device);
    snprintf(command, sizeof command, "rm -rf %s", cache_folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(the_folder_of_programs_is_bounded)
{
    char folder[] = "/tmp/check_device-XXXXXX", path[64], command[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("IMGPAR_CACHE_DIR", folder, 1);
    for (int i = 0; i < 4000; i++) {
        snprintf(path, sizeof path, "%s/%032d.bin", folder, i);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        ck_assert_int_ge(fd, 0);
        close(fd);
    }
    ck_assert(builds_anew());
    ck_assert_int_eq(only_file(folder, path, sizeof path), 3001);
    ck_assert(!builds_anew());
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------- */

enum { N_THREADS = 4 };

typedef struct worker {
    pthread_t thread;
    ip_device *device;
    int n_built, n_wrong;
} worker;

/* Threads cannot use Check's assertions. */
static void *work(void *user)
{
    worker *w = user;
    for (int round = 0; round < 20; round++) {
        ip_program *program = NULL;
        ip_buffer *buffer = NULL;
        int values[64], back[64];
        bool built = false;
        for (int i = 0; i < 64; i++)
            values[i] = i + round;
        imgpar_status st = ip_program_get(w->device, double_source, NULL, &program, &built, NULL);
        if (!st) st = ip_buffer_new(w->device, 256 + 64 * (size_t)round, &buffer, NULL);
        if (!st) st = ip_buffer_write(buffer, 0, values, sizeof values, NULL);
        if (!st) st = launch_twice(w->device, program, buffer, NULL, NULL, NULL);
        if (!st) st = ip_buffer_read(buffer, 0, back, sizeof back, NULL);
        for (int i = 0; !st && i < 64; i++)
            w->n_wrong += back[i] != 2 * (i + round);
        w->n_wrong += st != IMGPAR_OK;
        w->n_built += built;
        ip_buffer_release(buffer);
        ip_program_release(program);
    }
    return NULL;
}

START_TEST(threads_share_one_build_and_one_pool)
{
    worker workers[N_THREADS];
    ip_device *device = open_in_memory();
    int n_built = 0;
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){ .device = device };
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        ck_assert_int_eq(workers[i].n_wrong, 0);
        n_built += workers[i].n_built;
    }
    ck_assert_int_eq(n_built, 1);
    ck_assert_uint_eq(counters(device).builds, 1);
    ip_device_close(device);
}
END_TEST

static void *fail_to_build(void *user)
{
    worker *w = user;
    ip_program *program;
    ip_error err = { .status = IMGPAR_OK };
    bool built;
    imgpar_status st = ip_program_get(w->device, "__kernel void k(void) { wrong; }", NULL, &program, &built, &err);
    w->n_wrong = st != IMGPAR_E_COMPILE || !strstr(err.message, "wrong");
    w->n_built = built;
    return NULL;
}

START_TEST(threads_share_a_failed_build)
{
    worker workers[N_THREADS];
    ip_device *device = open_any(0);
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){ .device = device };
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, fail_to_build, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        ck_assert_int_eq(workers[i].n_wrong, 0);
    }
    ip_device_close(device);
}
END_TEST

/* ---- every step fails once ------------------------------------------------------------------------ */

/* All the layer does, once. What it took is given back on every path. */
static imgpar_status do_everything(ip_error *err)
{
    ip_device *device = NULL;
    ip_program *program = NULL;
    ip_buffer *buffer = NULL, *large = NULL;
    imgpar_device **list = NULL;
    int values[64] = { 1 };
    uint64_t start, end;
    size_t n = 0;
    imgpar_status st = ip_device_enumerate(&list, &n, err);
    for (size_t i = 0; i < n; i++)
        ip_device_info_clear(list[i]);
    ip_free(list);
    if (!st) st = open_one("cpu", 1000000, &device, err);
    if (device) device->keeps_programs_on_disk = true, device->keeps_few_kernels = false;
    if (!st) st = ip_program_get(device, double_source, NULL, &program, NULL, err);
    if (!st) st = ip_buffer_new(device, 600000, &large, err);
    ip_buffer_release(large);
    large = NULL;
    if (!st) st = ip_buffer_new(device, 900000, &large, err); /* over the budget before the first is freed */
    if (!st) st = ip_buffer_new(device, 256, &buffer, err);
    if (!st) st = ip_buffer_write(buffer, 0, values, sizeof values, err);
    if (!st) st = launch_twice(device, program, buffer, &start, &end, err);
    if (!st) st = launch_twice(device, program, buffer, NULL, NULL, err);
    if (!st) st = ip_device_finish(device, err);
    if (!st) st = ip_buffer_read(buffer, 0, values, sizeof values, err);
    if (!st) ck_assert_int_eq(values[0], 4);
    ip_buffer_release(buffer);
    ip_buffer_release(large);
    ip_program_release(program);
    ip_device_close(device);
    return st;
}

static const ip_fault_kind faults[] = { IP_FAULT_CL, IP_FAULT_ALLOC, IP_FAULT_FILE };

START_TEST(each_step_may_fail_without_a_leak)
{
    char folder[] = "/tmp/check_device-XXXXXX", command[128];
    unsigned long n_failed = 0, n_calls = 0;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("IMGPAR_CACHE_DIR", folder, 1);
    for (unsigned long nth = 1; nth < 1000; nth++) {
        ip_error err = { .status = IMGPAR_OK };
        if (nth % 2) ck_assert_int_eq(system("rm -f $IMGPAR_CACHE_DIR/*"), 0); /* built, then loaded */
        ip_fault_set(faults[_i], nth);
        imgpar_status st = do_everything(&err);
        n_calls = ip_fault_seen(faults[_i]);
        ip_fault_set(faults[_i], 0);
        ck_assert_int_eq(st, err.status);
        ck_assert_msg(st == IMGPAR_OK || err.message[0], "call %lu failed without a message", nth);
        n_failed += st != IMGPAR_OK;
        if (n_calls < nth) break;
    }
    ck_assert_uint_gt(n_calls, 3);
    if (faults[_i] == IP_FAULT_FILE)
        ck_assert_uint_eq(n_failed, 0); /* a cache is not worth a failure */
    else
        ck_assert_uint_gt(n_failed, n_calls / 3);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* ---- error codes ------------------------------------------------------------------------------------ */

START_TEST(codes_have_their_names)
{
    ip_error err = { .status = IMGPAR_OK };
    ck_assert_str_eq(ip_cl_error_name(CL_SUCCESS), "CL_SUCCESS");
    ck_assert_str_eq(ip_cl_error_name(-5), "CL_OUT_OF_RESOURCES");
    ck_assert_str_eq(ip_cl_error_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    ck_assert_str_eq(ip_cl_error_name(-9999), "unknown OpenCL error");
    ck_assert_int_eq(ip_cl_fail(&err, CL_MEM_OBJECT_ALLOCATION_FAILURE, "clCreateBuffer", NULL),
                     IMGPAR_E_DEVICE_MEMORY);
    ck_assert_str_eq(err.message, "clCreateBuffer: CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
}
END_TEST

int main(int argc, char **argv)
{
    this_program = argv[0];
    if (argc > 1 && strcmp(argv[1], "without-platform") == 0) return child_without_platform();
    if (argc > 1 && strcmp(argv[1], "without-cache") == 0) return child_without_cache();
    if (argc > 1 && strcmp(argv[1], "opens") == 0) return child_opens();

    Suite *suite = suite_create("device");
    TCase *t = tcase_create("device");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, codes_have_their_names);
    tcase_add_test(t, devices_are_listed_with_facts);
    tcase_add_test(t, every_listed_selector_opens_its_device);
    tcase_add_test(t, part_of_a_name_in_any_case_selects);
    tcase_add_test(t, the_best_device_is_there_whatever_the_environment_names);
    tcase_add_test(t, devices_of_pocl_that_are_open_at_once_share_a_context);
    tcase_add_loop_test(t, a_missing_device_is_one_clear_line, 0, sizeof missing / sizeof *missing);
    tcase_add_test(t, without_a_platform_there_are_no_devices);
    tcase_add_test(t, an_unusable_home_gives_pocl_a_private_folder);
    tcase_add_test(t, a_file_or_a_lost_link_in_place_of_the_cache_folder_gives_pocl_a_private_folder);
    tcase_add_test(t, a_cache_folder_that_cannot_be_written_is_told_as_that);
    tcase_add_test(t, a_buffer_gives_back_what_was_written);
    tcase_add_test(t, a_released_buffer_is_reused_by_best_fit);
    tcase_add_test(t, the_budget_is_kept);
    tcase_add_test(t, idle_buffers_hold_at_most_half_of_the_budget);
    tcase_add_test(t, a_buffer_may_outlive_the_closed_device);
    tcase_add_test(t, a_launch_computes_and_is_timed);
    tcase_add_test(t, a_loop_that_the_device_would_end_is_refused);
    tcase_add_test(t, a_wrong_launch_is_refused);
    tcase_add_test(t, a_program_is_built_once);
    tcase_add_test(t, programs_hold_what_they_name);
    tcase_add_test(t, calls_of_built_in_functions_mean_their_overloads);
    tcase_add_test(t, the_message_of_a_failed_build_has_the_log);
    tcase_add_test(t, the_cache_keeps_the_programs_used_last);
    tcase_add_test(t, what_was_tuned_holds_for_the_contexts_to_come);
    tcase_add_test(t, a_stored_program_is_not_built_again);
    tcase_add_test(t, the_folder_of_programs_is_bounded);
    tcase_add_test(t, no_kernel_is_compiled_only_to_be_kept);
    tcase_add_test(t, threads_share_one_build_and_one_pool);
    tcase_add_test(t, threads_share_a_failed_build);
    tcase_add_loop_test(t, each_step_may_fail_without_a_leak, 0, sizeof faults / sizeof *faults);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_FORK); /* the environment is set, and folders are made once */
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
