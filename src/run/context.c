/* SPDX-License-Identifier: MIT */
/* Contexts: opening and releasing them, their settings and the environment's, counters, forked processes. */
#include "run/context.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/structs.h"
#include "base/thread.h"
#include "graph/array.h"
#include "run/clblast.h"
#include "run/drivers.h"
#include "run/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why this thread's last imgpar_context_new() failed. The context does not exist, so it cannot hold the message. */
static _Thread_local char new_error[1024];

void imgpar_context_new_error(char *buf, size_t n)
{
    if (n > 0) snprintf(buf, n, "%s", new_error);
}

static const imgpar_device ref_device = {
    .kind = "ref",
    .selector = "ref",
    .name = "reference interpreter",
    .platform = "imgpar",
    .version = "",
    .driver = "",
    .compute_units = 1,
    .has_f64 = 1,
    .has_f16 = 1,
    .has_unified_memory = 1,
    .vendor = "",
    .extensions = "",
    .address_bits = 8 * sizeof(void *),
    .is_available = 1,
    .is_little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
};

/* What plans are explained for where there is no device. */
static const ip_target ref_target = { .group_width = 16, .group_height = 4, .most_items = 64, .local_bytes = 32768 };

/* "200M" in bytes. */
static bool parse_size(const char *text, uint64_t *bytes)
{
    char *end;
    double v = ip_parse_number(text, &end);
    if (end == text || !(v >= 0)) return false;
    static const char suffixes[] = "KMG";
    const char *suffix = *end ? strchr(suffixes, *end >= 'a' ? *end - 32 : *end) : NULL;
    if (*end && (!suffix || end[1])) return false;
    for (const char *s = suffixes; suffix && s <= suffix; s++)
        v *= 1024;
    if (v > 9e18) return false;
    *bytes = (uint64_t)v;
    return true;
}

/* A limit on memory; "auto" is 0, the limit that stands where none is set. */
static bool parse_limit(const char *text, uint64_t *bytes)
{
    if (strcmp(text, "auto") != 0) return parse_size(text, bytes);
    *bytes = 0;
    return true;
}

/*
 * Note [Host memory]
 * "mem_limit" is what a device may take; "host_limit" is for the host: decoded pictures, rows that are read ahead, rows
 * on their way into a file, results and what is between kernels in host memory; and what a CPU takes as a device, which
 * is the same memory. They are counted before they are taken (base/account.h). What needs less when it is cut finer
 * adapts to what is left: pieces on a CPU, parts of folds, pictures that are kept decoded. So what streams runs within
 * a fixed limit, and what has to be held whole is refused where it is larger. Not counted are programs, plans, encoded
 * files, memory that belongs to the caller, and what OpenCL drivers and codecs take for themselves.
 */
imgpar_status ip_context_take_host(imgpar_context *ctx, uint64_t n, const char *what, ip_error *err)
{
    if (ip_account_take(ctx->host, n)) return IMGPAR_OK;
    ip_decoded_trim(&ctx->decoded);
    if (ip_account_take(ctx->host, n)) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_DEVICE_MEMORY,
                   "%s: has to be held whole, which takes %llu kB; %llu kB are left of the limit on host memory", what,
                   (unsigned long long)((n + 1023) >> 10), (unsigned long long)(ip_account_left(ctx->host) >> 10));
}

/* What imgpar_context_set() takes. */
static const struct setting {
    const char *name, *variable, *expected;
} settings[] = {
    { "schedule", "IMGPAR_SCHEDULE", "one of auto|rows|tiles|texture|pixels|ref is expected" },
    { "fuse", "IMGPAR_FUSE", "0 or 1 is expected" },
    { "check", "IMGPAR_CHECK", "0 or 1 is expected" },
    { "max_pixels", "IMGPAR_MAX_PIXELS", "a number above 0 is expected, or one with K, M or G" },
    { "mem_limit", "IMGPAR_MEM_LIMIT", "auto is expected, a number of bytes, or one with K, M or G" },
    { "host_limit", "IMGPAR_HOST_LIMIT", "auto is expected, a number of bytes, or one with K, M or G" },
    { "keep", "IMGPAR_KEEP", "a number of bytes is expected, or one with K, M or G" },
    { "placement", "IMGPAR_PLACEMENT",
      "auto is expected, the number of a device, from 0, or weights such as 2:1, one for each device" },
    { "tier", "IMGPAR_TIER", "one of auto|interpret|kernels is expected" },
    { "blas", "IMGPAR_BLAS", "one of auto|own|clblast is expected" },
    { "vector_bytes", NULL, "a power of two from 8 to 256 is expected" },
    { "strip_bytes", NULL, "a number of bytes from 1K to 16M is expected" },
    { "stream_bytes", NULL, "a number of bytes from 1 to 1G is expected" },
    { "max_stages", NULL, "a number from 1 to 32 is expected" },
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

static const struct setting *find_setting(const char *name)
{
    for (int k = 0; name && k < N_SETTINGS; k++)
        if (strcmp(settings[k].name, name) == 0) return &settings[k];
    return NULL;
}

const char *imgpar_setting_expected(const char *name)
{
    const struct setting *s = find_setting(name);
    return s ? s->expected : NULL;
}

static bool find_tier(const char *word, ip_tier *tier)
{
    static const char *const words[IP_N_TIERS] = {
        [IP_TIER_KERNELS] = "kernels", [IP_TIER_INTERPRET] = "interpret", [IP_TIER_AUTO] = "auto"
    };
    for (int k = 0; k < IP_N_TIERS; k++)
        if (strcmp(words[k], word) == 0) {
            *tier = (ip_tier)k;
            return true;
        }
    return false;
}

imgpar_status imgpar_context_set(imgpar_context *ctx, const char *name, const char *value)
{
    if (!ctx || !name || !value) return IMGPAR_E_ARGUMENT;
    imgpar_status st = ip_context_check(ctx, NULL);
    if (st) return st;
    uint64_t n;
    ip_schedule schedule;
    ip_blas_mode blas;
    ip_tier tier;
    pthread_mutex_lock(&ctx->lock);
    ctx->n_settings++;
    if (strcmp(name, "schedule") == 0 && ip_schedule_find(value, &schedule))
        ctx->tuning.schedule = schedule;
    else if (strcmp(name, "fuse") == 0 && (strcmp(value, "0") == 0 || strcmp(value, "1") == 0))
        ctx->fuse = value[0] == '1';
    else if (strcmp(name, "check") == 0 && (strcmp(value, "0") == 0 || strcmp(value, "1") == 0))
        ctx->checks = value[0] == '1';
    else if (strcmp(name, "tier") == 0 && find_tier(value, &tier))
        ctx->tier = tier;
    else if (strcmp(name, "max_pixels") == 0 && parse_size(value, &n) && n > 0)
        ctx->max_pixels = n;
    else if (strcmp(name, "mem_limit") == 0 && parse_limit(value, &n)) {
        ctx->mem_limit = n;
        for (size_t k = 0; k < ctx->devices.n; k++)
            ip_device_limit(ctx->devices.list[k], n);
    } else if (strcmp(name, "host_limit") == 0 && parse_limit(value, &n)) {
        ip_account_limit(ctx->host, n ? n : UINT64_MAX);
        ip_decoded_limit(&ctx->decoded, n);
    } else if (strcmp(name, "keep") == 0 && parse_size(value, &n)) {
        ip_kept_limit(&ctx->kept, n);
    } else if (strcmp(name, "placement") == 0) {
        if (!ip_devices_place(&ctx->devices, value)) st = IMGPAR_E_ARGUMENT;
    } else if (strcmp(name, "blas") == 0 && ip_blas_find(value, &blas)) {
        if (blas == IP_BLAS_CLBLAST && !ip_clblast_is_there())
            st = IMGPAR_E_UNSUPPORTED;
        else
            ctx->blas = blas;
    } else if (!parse_size(value, &n) || !ip_tuning_set(&ctx->tuning, name, n))
        st = IMGPAR_E_ARGUMENT;
    pthread_mutex_unlock(&ctx->lock);
    return st;
}

static imgpar_status setting_from_environment(imgpar_context *ctx, const struct setting *s, ip_error *err)
{
    const char *value = s->variable ? getenv(s->variable) : NULL;
    imgpar_status st = value && *value ? imgpar_context_set(ctx, s->name, value) : IMGPAR_OK;
    if (!st) return IMGPAR_OK;
    if (st == IMGPAR_E_UNSUPPORTED) return ip_fail(err, st, "%s=%s: that is not there", s->variable, value);
    return ip_fail(err, IMGPAR_E_ARGUMENT, "%s=%s: %s", s->variable, value, s->expected);
}

imgpar_status imgpar_context_keep_tuning(imgpar_context *ctx)
{
    if (!ctx) return IMGPAR_E_ARGUMENT;
    if (!ctx->device) return IMGPAR_E_NO_DEVICE;
    if (ip_context_check(ctx, NULL)) return IMGPAR_E_DEVICE_LOST;
    pthread_mutex_lock(&ctx->lock);
    ip_tuning tuning = ctx->tuning;
    pthread_mutex_unlock(&ctx->lock);
    if (tuning.schedule == IP_SCHEDULE_REF) /* is nothing that a device does */
        tuning.schedule = IP_SCHEDULE_AUTO;
    return ip_tuning_keep(ip_device_facts_of(ctx->device), &tuning);
}

/* These need the devices, and what was measured of them, which they come before. */
static bool is_of_devices(const struct setting *s)
{
    return strcmp(s->name, "placement") == 0 || strcmp(s->name, "schedule") == 0;
}

/* All that are of devices, or all others. */
static imgpar_status settings_from_environment(imgpar_context *ctx, bool of_devices, ip_error *err)
{
    for (int k = 0; k < N_SETTINGS; k++) {
        imgpar_status st =
            is_of_devices(&settings[k]) == of_devices ? setting_from_environment(ctx, &settings[k], err) : IMGPAR_OK;
        if (st) return st;
    }
    if (of_devices) return IMGPAR_OK;
    const char *dump = getenv("IMGPAR_DUMP");
    if (dump && *dump && !(ctx->dump = ip_strdup(dump))) return ip_fail_memory(err, "opening a context");
    return IMGPAR_OK;
}

/* Why it is the reference interpreter that computes. */
static imgpar_status take_notice(imgpar_context *ctx, const char *why)
{
    ip_str text = IP_STR_INIT;
    ip_str_printf(&text, "%s: computing with the reference interpreter, which is slow", why);
    ctx->notice = ip_str_take(&text);
    return ctx->notice ? IMGPAR_OK : ip_fail_memory(NULL, "opening a context");
}

/* selector NULL or empty: what the environment says, else the best there is; "best": that whatever it says. */
static imgpar_status open_device(imgpar_context *ctx, const char *selector, ip_error *err)
{
    ip_error why = { IMGPAR_OK, "" };
    const char *variable = "";
    if (!selector || !*selector) {
        variable = "IMGPAR_DEVICE: ";
        selector = getenv("IMGPAR_DEVICE");
        if (selector && !*selector) selector = NULL;
    }
    if (selector && strcmp(selector, "best") == 0) selector = NULL;
    if (selector && strcmp(selector, "ref") == 0) return IMGPAR_OK;
    if (ip_drivers_are_of_the_parent()) {
        static const char forked[] =
            "this process was forked from one that had loaded an OpenCL driver, which cannot be used here";
        if (selector) return ip_fail(err, IMGPAR_E_NO_DEVICE, "%s%s: %s", variable, selector, forked);
        return take_notice(ctx, forked);
    }
    imgpar_status st = ip_devices_open(&ctx->devices, selector, ctx->mem_limit, &why);
    if (st) ip_fail(err, st, "%s%s", selector ? variable : "", why.message);
    ctx->device = ctx->devices.list[0];
    for (size_t k = 0; k < ctx->devices.n; k++)
        ip_device_count_in(ctx->devices.list[k], ctx->host);
    if (st != IMGPAR_E_NO_DEVICE || selector) return st;
    *err = (ip_error){ IMGPAR_OK, "" };
    char *complaint = ip_drivers_complaint();
    st = take_notice(ctx, complaint ? complaint : "no OpenCL device");
    ip_free(complaint);
    return st;
}

static bool init_locks(imgpar_context *ctx)
{
    if (pthread_mutex_init(&ctx->lock, NULL) != 0) return false;
    const bool has_turns = ip_turns_init(&ctx->turns), has_decoded = has_turns && ip_decoded_init(&ctx->decoded);
    if (has_decoded && ip_kept_init(&ctx->kept)) return true;
    if (has_decoded) ip_decoded_clear(&ctx->decoded);
    if (has_turns) ip_turns_end(&ctx->turns);
    pthread_mutex_destroy(&ctx->lock);
    return false;
}

imgpar_status ip_context_new(const char *selector, imgpar_context **out)
{
    ip_error err = { IMGPAR_OK, "" };
    if (!out) return IMGPAR_E_ARGUMENT;
    *out = NULL;
    new_error[0] = '\0';
    imgpar_context *ctx = ip_zalloc(sizeof *ctx);
    if (ctx) ctx->host = ip_account_new();
    imgpar_status st = ctx && ctx->host && init_locks(ctx) ? IMGPAR_OK : ip_fail_memory(&err, "opening a context");
    if (!st) {
        atomic_init(&ctx->refs, 1);
        ctx->process = ip_process_number();
        ctx->info = ref_device;
        ctx->fuse = true;
        ctx->max_pixels = 268435456;
        st = settings_from_environment(ctx, false, &err);
        if (!st) st = open_device(ctx, selector, &err);
        ctx->tuning = ip_tuning_load(!st && ctx->device ? ip_device_facts_of(ctx->device) : NULL);
        if (!st) st = settings_from_environment(ctx, true, &err);
        if (st)
            imgpar_context_release(ctx);
        else
            *out = ctx;
    } else {
        if (ctx) ip_account_release(ctx->host);
        ip_free(ctx);
    }
    if (st) snprintf(new_error, sizeof new_error, "%s", err.message);
    return st;
}

imgpar_context *imgpar_context_retain(imgpar_context *ctx)
{
    if (ctx) atomic_fetch_add(&ctx->refs, 1);
    return ctx;
}

void imgpar_context_release(imgpar_context *ctx)
{
    if (!ctx || ip_context_check(ctx, NULL) || atomic_fetch_sub(&ctx->refs, 1) != 1) return;
    ip_plans_clear(&ctx->plans);
    ip_decoded_clear(&ctx->decoded);
    ip_kept_end(&ctx->kept);
    ip_turns_end(&ctx->turns);
    ip_devices_close(&ctx->devices);
    ip_free(ctx->notice);
    ip_free(ctx->dump);
    ip_account_release(ctx->host);
    pthread_mutex_destroy(&ctx->lock);
    ip_free(ctx);
}

/*
 * Note [Forked processes]
 * A driver's threads are not there after fork(), and locks that other threads held are never given back: whoever waits
 * for either waits for ever. So a context remembers its process. In a child every entry that computes, reads or changes
 * something fails at once, and releases leave alone what belongs to the parent. A context that the child opens itself
 * has the reference interpreter where the parent had loaded a driver (run/drivers.c knows).
 */
imgpar_status ip_context_check(const imgpar_context *ctx, ip_error *err)
{
    if (ctx->process == ip_process_number()) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_DEVICE_LOST,
                   "the context was opened before fork(); a child process opens one of its own");
}

const char *imgpar_context_notice(const imgpar_context *ctx) { return ctx ? ctx->notice : NULL; }

const imgpar_device *imgpar_context_device(const imgpar_context *ctx) { return imgpar_context_device_at(ctx, 0); }

const imgpar_device *imgpar_context_device_at(const imgpar_context *ctx, size_t k)
{
    if (!ctx) return NULL;
    if (ctx->devices.n == 0) return k == 0 ? &ctx->info : NULL;
    return k < ctx->devices.n ? &ip_device_facts_of(ctx->devices.list[k])->info : NULL;
}

imgpar_status imgpar_device_list(imgpar_device ***out, size_t *n)
{
    if (!out || !n) return IMGPAR_E_ARGUMENT;
    imgpar_status st = ip_device_enumerate(out, n, NULL);
    if (!st) *(*out)[(*n)++] = ref_device;
    return st;
}

void imgpar_device_list_release(imgpar_device **list, size_t n)
{
    for (size_t k = 0; list && k < n; k++)
        if (strcmp(list[k]->kind, "ref") != 0) /* its strings are constant */
            ip_device_info_clear(list[k]);
    ip_free(list);
}

static void add_counters(ip_device *device, imgpar_counters *out)
{
    ip_device_counters c;
    ip_device_counters_get(device, &c);
    out->kernels += c.launches;
    out->programs_built += c.builds;
    out->programs_loaded += c.loads;
    out->bytes_uploaded += c.bytes_uploaded;
    out->bytes_downloaded += c.bytes_downloaded;
    out->device_bytes += c.bytes_held;
    out->device_bytes_peak += c.bytes_peak;
    out->buffers += c.buffers_made;
    out->bytes_read += c.bytes_read;
    out->bytes_written += c.bytes_written;
}

/* Gives the counters to the caller; st is the status where the context has none. */
static imgpar_status give_counters(const imgpar_counters *c, imgpar_counters *out, imgpar_status st)
{
    imgpar_status bad = out ? ip_struct_out(out, c, "counters", "out", NULL) : IMGPAR_E_ARGUMENT;
    return bad ? bad : st;
}

imgpar_status imgpar_context_counters(const imgpar_context *ctx, imgpar_counters *out)
{
    imgpar_counters c = { .struct_size = sizeof c };
    imgpar_status st = ctx ? ip_context_check(ctx, NULL) : IMGPAR_E_ARGUMENT;
    if (!st) {
        c.evaluations = atomic_load(&ctx->evaluations);
        c.decodes = atomic_load(&ctx->decodes);
        c.encodes = atomic_load(&ctx->encodes);
        c.programs_pending = atomic_load(&ctx->programs_pending);
        c.spills = atomic_load(&ctx->spills);
        c.fallbacks = atomic_load(&ctx->fallbacks);
        c.values_moved = atomic_load(&ctx->values_moved);
        c.bytes_moved = atomic_load(&ctx->bytes_moved);
        c.values_found = atomic_load(&ctx->values_found);
    }
    for (size_t k = 0; !st && k < ctx->devices.n; k++)
        add_counters(ctx->devices.list[k], &c);
    return give_counters(&c, out, st);
}

imgpar_status imgpar_context_device_counters(const imgpar_context *ctx, size_t k, imgpar_counters *out)
{
    imgpar_counters c = { .struct_size = sizeof c };
    imgpar_status st = ctx ? ip_context_check(ctx, NULL) : IMGPAR_E_ARGUMENT;
    if (!st && k < ctx->devices.n) add_counters(ctx->devices.list[k], &c);
    return give_counters(&c, out, st);
}

static ip_device_traits traits_of(const ip_device_facts *facts)
{
    return (ip_device_traits){
        .prefers_rows = facts->walks_rows,
        .has_loop_hints = facts->wants_loop_hints,
        .has_clang_builtins = facts->wants_loop_hints && facts->is_pocl,
        .keeps_calls = facts->walks_rows,
        .has_few_items = facts->walks_rows,
        .uses_own_functions = facts->is_pocl && facts->kind == IP_DEVICE_CPU && facts->info.has_f64,
        .vector_bytes = (int)facts->vector_bytes,
        .target = { facts->group_width, facts->group_height, facts->most_items, facts->info.local_bytes,
                    facts->constant_bytes, (int64_t)facts->image_width, (int64_t)facts->image_height,
                    facts->texel_channels, facts->half_channels },
    };
}

ip_compile_options ip_context_compile_options(imgpar_context *ctx, const ip_device *device)
{
    ip_compile_options options = { .dump = ctx->dump };
    pthread_mutex_lock(&ctx->lock);
    options.fuse = ctx->fuse;
    options.checks = ctx->checks;
    options.tuning = ctx->tuning;
    options.in_parts = ctx->mem_limit > 0 || ctx->devices.n > 1;
    pthread_mutex_unlock(&ctx->lock);
    const ip_device_traits of_interpreter = { .prefers_rows = true,
                                              .has_loop_hints = true,
                                              .has_clang_builtins = true,
                                              .keeps_calls = true,
                                              .has_few_items = true,
                                              .uses_own_functions = true,
                                              .vector_bytes = IP_WIDE_VECTOR,
                                              .target = ref_target };
    options.device = device ? traits_of(ip_device_facts_of(device)) : of_interpreter;
    return options;
}

bool ip_context_checks(imgpar_context *ctx)
{
    pthread_mutex_lock(&ctx->lock);
    bool checks = ctx->checks;
    pthread_mutex_unlock(&ctx->lock);
    return checks;
}

ip_blas_mode ip_context_blas(imgpar_context *ctx)
{
    pthread_mutex_lock(&ctx->lock);
    ip_blas_mode mode = ctx->blas;
    pthread_mutex_unlock(&ctx->lock);
    return mode == IP_BLAS_AUTO && ctx->devices.n > 1 ? IP_BLAS_OWN : mode;
}

uint64_t ip_context_max_pixels(const imgpar_context *ctx)
{
    imgpar_context *c = (imgpar_context *)ctx; /* only to lock it */
    pthread_mutex_lock(&c->lock);
    uint64_t n = c->max_pixels;
    pthread_mutex_unlock(&c->lock);
    return n;
}

uint64_t ip_context_next_file(imgpar_context *ctx) { return atomic_fetch_add(&ctx->files, 1) + 1; }
