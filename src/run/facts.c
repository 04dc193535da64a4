/* SPDX-License-Identifier: MIT */
/*
 * What is known of a device: what it says of itself, and what we know of its
 * kind. Everything that we know, and no driver tells, is in the tables below.
 */
#include "run/select.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

/* Order of classes when the user does not choose, and tuning. A discrete GPU comes before all of them. What differs
 * within a class (memory sizes, limits, extensions) is what the device says: ip_device_facts.
 *
 * items_per_unit: work-items of the rows schedule that keep a compute unit busy. A CPU runs one at a time on each, 8 of
 * them even out strips that take longer; a GPU hides memory latency behind hundreds. local_size: work-group size of the
 * pixels schedule. It is fixed because PoCL compiles a kernel anew for every one. group_width x group_height:
 * work-group of the tiles schedule. A row of it is what a GPU runs in step (32 or 64), so that it reads whole pieces of
 * rows and no bank of local memory twice; a limit of the device takes rows away first. most_items: of a larger such
 * group, which place_tiles.c takes where halos are dear. has_constant: the class has a cache for numbers that all
 * work-items read at once, which __constant asks for. lanes: numbers that a compute unit computes with at once, about,
 * for a first guess of the speed beside another device. */
static const struct class_row {
    const char *name;
    int rank;
    unsigned items_per_unit, local_size;
    int group_width, group_height, most_items;
    bool has_constant;
    double lanes;
} class_rows[] = {
    [IP_DEVICE_CPU] = { "cpu", 3, 8, 64, 16, 4, 256, false, 8 },
    [IP_DEVICE_GPU] = { "gpu", 2, 512, 128, 32, 8, 1024, true, 64 },
    [IP_DEVICE_ACCELERATOR] = { "accelerator", 4, 64, 64, 16, 4, 256, false, 8 },
    [IP_DEVICE_REF] = { "ref", 5, 1, 1, 1, 1, 1, false, 1 },
};

/* Platforms that are there for another purpose than to be fast: behind every other device. */
static const struct last_row {
    const char *platform;
    int64_t most_iterations; /* llvmpipe's work-items leave their loops after these: too few for rows */
    bool forgets;            /* it takes memory that was another buffer before for uninitialized: buffers are kept */
} last_rows[] = {
    { "rusticl", 65535, false }, { "Oclgrind", 0, true }, /* an instrumented simulator */
};

const char *ip_device_class_name(ip_device_class kind) { return class_rows[kind].name; }

bool ip_text_has(const char *text, const char *part)
{
    size_t n = strlen(part);
    for (; strlen(text) >= n; text++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == n) return true;
    }
    return false;
}

/* The platform's row; NULL: it has none. */
static const struct last_row *last_row_of(const ip_device_facts *facts)
{
    for (size_t i = 0; i < sizeof last_rows / sizeof *last_rows; i++)
        if (facts->kind == IP_DEVICE_CPU && ip_text_has(facts->info.platform, last_rows[i].platform))
            return &last_rows[i];
    return NULL;
}

int ip_facts_rank(const ip_device_facts *facts)
{
    int rank = class_rows[facts->kind].rank;
    if (facts->kind == IP_DEVICE_GPU && !facts->info.has_unified_memory) rank--;
    return last_row_of(facts) ? rank + 100 : rank;
}

/* A string that a device or its platform tells, without surrounding blanks. New. */
static imgpar_status read_text(cl_platform_id platform, cl_device_id id, cl_uint what, char **out, ip_error *err)
{
    const char *call = id ? "clGetDeviceInfo" : "clGetPlatformInfo";
    size_t n = 0;
    cl_int code = IP_CL(id ? clGetDeviceInfo(id, what, 0, NULL, &n) : clGetPlatformInfo(platform, what, 0, NULL, &n));
    if (code) return ip_cl_fail(err, code, call, NULL);

    char *text = ip_zalloc(n + 1);
    if (!text) return ip_fail_memory(err, "asking a device for its name");
    code = IP_CL(id ? clGetDeviceInfo(id, what, n, text, NULL) : clGetPlatformInfo(platform, what, n, text, NULL));
    if (code) {
        ip_free(text);
        return ip_cl_fail(err, code, call, NULL);
    }
    size_t start = strspn(text, " \t"), end = strlen(text);
    while (end > start && isspace((unsigned char)text[end - 1]))
        end--;
    memmove(text, text + start, end - start);
    text[end - start] = '\0';
    *out = text;
    return IMGPAR_OK;
}

static imgpar_status read_value(cl_device_id id, cl_device_info what, void *value, size_t size, ip_error *err)
{
    cl_int code = IP_CL(clGetDeviceInfo(id, what, size, value, NULL));
    return code ? ip_cl_fail(err, code, "clGetDeviceInfo", NULL) : IMGPAR_OK;
}

static ip_device_class class_of(cl_device_type type)
{
    /* Oclgrind says that it is everything; it wants to be treated as a CPU. */
    if (type & CL_DEVICE_TYPE_CPU) return IP_DEVICE_CPU;
    return type & CL_DEVICE_TYPE_GPU ? IP_DEVICE_GPU : IP_DEVICE_ACCELERATOR;
}

/* A name among space-separated ones. */
static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = words; (p = strstr(p, word)); p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) return true;
    return false;
}

static imgpar_status read_texts(cl_platform_id platform, cl_device_id id, imgpar_device *info, ip_error *err)
{
    const struct {
        bool of_platform;
        cl_uint what;
        const char **to;
    } texts[] = {
        { false, CL_DEVICE_NAME, &info->name },       { true, CL_PLATFORM_NAME, &info->platform },
        { false, CL_DEVICE_VERSION, &info->version }, { false, CL_DRIVER_VERSION, &info->driver },
        { false, CL_DEVICE_VENDOR, &info->vendor },   { false, CL_DEVICE_EXTENSIONS, &info->extensions },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text = NULL;
        imgpar_status st = read_text(platform, texts[i].of_platform ? NULL : id, texts[i].what, &text, err);
        if (st) return st;
        *texts[i].to = text;
    }
    return IMGPAR_OK;
}

enum { MAX_DIMENSIONS = 16 }; /* of work-items, of any device */

static imgpar_status read_numbers(cl_device_id id, ip_device_facts *facts, ip_error *err)
{
    imgpar_device *info = &facts->info;
    cl_device_type type = 0;
    cl_device_fp_config single = 0;
    cl_uint units = 0, align_bits = 0, vector_ints = 0, parts = 0, clock_mhz = 0;
    cl_bool images = CL_FALSE, unified = CL_FALSE;
    cl_ulong global_bytes = 0, cache_bytes = 0, local_bytes = 0, max_alloc = 0, constant_bytes = 0;
    size_t max_group = 0, image_width = 0, image_height = 0;
    size_t items[MAX_DIMENSIONS] = { 0 };
    const struct {
        cl_device_info what;
        void *to;
        size_t size;
    } values[] = {
        { CL_DEVICE_TYPE, &type, sizeof type },
        { CL_DEVICE_SINGLE_FP_CONFIG, &single, sizeof single },
        { CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units },
        { CL_DEVICE_MAX_CLOCK_FREQUENCY, &clock_mhz, sizeof clock_mhz },
        { CL_DEVICE_PARTITION_MAX_SUB_DEVICES, &parts, sizeof parts },
        { CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, &vector_ints, sizeof vector_ints },
        { CL_DEVICE_MEM_BASE_ADDR_ALIGN, &align_bits, sizeof align_bits },
        { CL_DEVICE_IMAGE_SUPPORT, &images, sizeof images },
        { CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof unified },
        { CL_DEVICE_GLOBAL_MEM_SIZE, &global_bytes, sizeof global_bytes },
        { CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, &cache_bytes, sizeof cache_bytes },
        { CL_DEVICE_LOCAL_MEM_SIZE, &local_bytes, sizeof local_bytes },
        { CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, &constant_bytes, sizeof constant_bytes },
        { CL_DEVICE_MAX_MEM_ALLOC_SIZE, &max_alloc, sizeof max_alloc },
        { CL_DEVICE_IMAGE2D_MAX_WIDTH, &image_width, sizeof image_width },
        { CL_DEVICE_IMAGE2D_MAX_HEIGHT, &image_height, sizeof image_height },
        { CL_DEVICE_MAX_WORK_GROUP_SIZE, &max_group, sizeof max_group },
        { CL_DEVICE_MAX_WORK_ITEM_SIZES, items, sizeof items },
        { CL_DEVICE_VENDOR_ID, &info->vendor_id, sizeof info->vendor_id },
        { CL_DEVICE_ADDRESS_BITS, &info->address_bits, sizeof info->address_bits },
        { CL_DEVICE_MAX_CONSTANT_ARGS, &info->max_constant_args, sizeof info->max_constant_args },
        { CL_DEVICE_MAX_PARAMETER_SIZE, &info->max_parameter_bytes, sizeof info->max_parameter_bytes },
        { CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, &info->type_align_bytes, sizeof info->type_align_bytes },
        { CL_DEVICE_PROFILING_TIMER_RESOLUTION, &info->timer_resolution_ns, sizeof info->timer_resolution_ns },
        { CL_DEVICE_AVAILABLE, &info->is_available, sizeof(cl_bool) },
        { CL_DEVICE_COMPILER_AVAILABLE, &info->has_compiler, sizeof(cl_bool) },
        { CL_DEVICE_ENDIAN_LITTLE, &info->is_little_endian, sizeof(cl_bool) },
        { CL_DEVICE_ERROR_CORRECTION_SUPPORT, &info->has_error_correction, sizeof(cl_bool) },
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        imgpar_status st = read_value(id, values[i].what, values[i].to, values[i].size, err);
        if (st) return st;
    }
    facts->kind = class_of(type);
    facts->reports_exact_division = (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    facts->base_align_bytes = align_bits / 8;
    facts->constant_bytes = class_rows[facts->kind].has_constant ? constant_bytes : 0;
    facts->cache_bytes = cache_bytes;
    facts->vector_bytes = vector_ints >= 16 ? 64 : vector_ints >= 8 ? 32 : 16;
    info->compute_units = units;
    info->max_parts = parts < IP_MAX_DEVICES ? parts : IP_MAX_DEVICES;
    facts->speed_guess = (units ? units : 1.0) * (clock_mhz ? clock_mhz : 1000.0) * class_rows[facts->kind].lanes;
    info->has_images = images != CL_FALSE;
    facts->image_width = images ? image_width : 0;
    facts->image_height = images ? image_height : 0;
    info->has_unified_memory = unified != CL_FALSE;
    info->global_bytes = global_bytes;
    info->local_bytes = local_bytes;
    info->max_alloc_bytes = max_alloc;
    info->max_work_group = max_group;
    memcpy(info->max_work_items, items, sizeof info->max_work_items);
    info->clock_mhz = clock_mhz;
    info->constant_bytes = constant_bytes;
    info->buffer_align_bytes = align_bits / 8;
    return IMGPAR_OK;
}

#if defined(__x86_64__) && defined(__GNUC__)
static bool permutes_bytes(void) { return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi"); }
static bool adds_products(void) { return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni"); }
#else
static bool permutes_bytes(void) { return false; }
static bool adds_products(void) { return false; }
#endif

imgpar_status ip_facts_read(cl_platform_id platform, cl_device_id id, ip_device_facts *facts, ip_error *err)
{
    imgpar_device *info = &facts->info;
    *facts = (ip_device_facts){ .kind = IP_DEVICE_CPU };
    imgpar_status st = read_texts(platform, id, info, err);
    if (!st) st = read_numbers(id, facts, err);
    if (st) {
        ip_device_info_clear(info);
        return st;
    }
    info->has_f64 = has_word(info->extensions, "cl_khr_fp64");
    info->has_f16 = has_word(info->extensions, "cl_khr_fp16");
    const struct last_row *last = last_row_of(facts);
    facts->most_iterations = last ? last->most_iterations : 0;
    facts->walks_rows = facts->kind == IP_DEVICE_CPU && facts->most_iterations == 0;
    facts->fills_new_buffers = facts->kind == IP_DEVICE_CPU && !(last && last->forgets);
    facts->wants_loop_hints = facts->kind == IP_DEVICE_CPU && !last;
    facts->has_sub_groups = has_word(info->extensions, "cl_khr_subgroups");
    facts->has_sub_group_shuffles = facts->has_sub_groups && has_word(info->extensions, "cl_khr_subgroup_shuffle") &&
                                    has_word(info->extensions, "cl_khr_subgroup_ballot");

    const struct class_row *row = &class_rows[facts->kind];
    info->kind = row->name;
    facts->is_pocl = ip_text_has(info->platform, "Portable Computing Language");
    facts->declares_builtins = facts->is_pocl && facts->kind == IP_DEVICE_CPU && info->has_f64 && !info->has_f16 &&
                               strncmp(info->driver, "3.", 2) == 0;
    facts->works_in_host_memory = facts->is_pocl && facts->kind == IP_DEVICE_CPU && info->has_unified_memory;
    facts->permutes_bytes = facts->works_in_host_memory && permutes_bytes();
    facts->adds_products = facts->works_in_host_memory && adds_products();
    facts->is_nvidia = ip_text_has(info->platform, "NVIDIA");
    facts->work_items_per_launch = (size_t)(info->compute_units ? info->compute_units : 1) * row->items_per_unit;
    facts->local_size = row->local_size;
    while (facts->local_size > 1 && facts->local_size > info->max_work_group)
        facts->local_size /= 2;
    facts->group_width = row->group_width;
    facts->group_height = row->group_height;
    while (facts->group_height > 1 && (size_t)(facts->group_width * facts->group_height) > info->max_work_group)
        facts->group_height /= 2;
    while (facts->group_width > 1 && (size_t)(facts->group_width * facts->group_height) > info->max_work_group)
        facts->group_width /= 2;
    facts->most_items = row->most_items;
    while (facts->most_items > 1 && (size_t)facts->most_items > info->max_work_group)
        facts->most_items /= 2;
    return IMGPAR_OK;
}

void ip_facts_identify(const ip_device_facts *facts, ip_str *out)
{
    const imgpar_device *d = &facts->info;
    ip_str_printf(out, "%s\n%s\n%s\n%s\n%u units\n", d->platform, d->name, d->version, d->driver, d->compute_units);
}

const char *ip_facts_unusable(cl_device_id id, const ip_device_facts *facts)
{
    cl_bool available = CL_FALSE, compiler = CL_FALSE, little = CL_FALSE;
    if (IP_CL(clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL)) || !available)
        return "not available";
    if (IP_CL(clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL)) || !compiler)
        return "no OpenCL C compiler";
    if (IP_CL(clGetDeviceInfo(id, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little, NULL)) || !little)
        return "not little-endian";
    /* "OpenCL 1.2 ..." by definition. */
    if (strncmp(facts->info.version, "OpenCL ", 7) != 0 || ip_parse_number(facts->info.version + 7, NULL) < 1.15)
        return "older than OpenCL 1.2";
    return NULL;
}
