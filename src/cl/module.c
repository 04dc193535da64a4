/* SPDX-License-Identifier: MIT */
/* Modules: sources put together, compiled through the device's program cache. */
#include "cl/cl.h"

#include "base/str.h"
#include "run/shaders.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sources ----------------------------------------------------------------------------------- */

/* "TILE=16" as #define TILE 16. */
static imgpar_status add_constant(ip_str *out, const char *constant, ip_error *err)
{
    size_t n = 0;
    while (isalnum((unsigned char)constant[n]) || constant[n] == '_')
        n++;
    bool is_name = n > 0 && !isdigit((unsigned char)constant[0]);
    if (!is_name || (constant[n] && constant[n] != '=') || strchr(constant, '\n'))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "module_new: constant \"%s\" is not NAME or NAME=VALUE", constant);
    ip_str_printf(out, "#define %.*s %s\n", (int)n, constant, constant[n] ? constant + n + 1 : "1");
    return IMGPAR_OK;
}

static imgpar_status add_file(ip_str *out, const char *path, ip_error *err)
{
    char piece[4096];
    size_t n;
    errno = EIO;
    FILE *file = ip_fault(IP_FAULT_FILE) ? NULL : fopen(path, "rb");
    if (!file) return ip_fail(err, IMGPAR_E_IO, "module_new: %s: %s", path, strerror(errno));
    ip_str_printf(out, "#line 1 ");
    ip_str_json(out, path);
    ip_str_putc(out, '\n');
    errno = EIO;
    while (!ip_fault(IP_FAULT_FILE) && (n = fread(piece, 1, sizeof piece, file)) > 0)
        ip_str_append_n(out, piece, n);
    bool failed = ferror(file) || !feof(file);
    int why = errno;
    fclose(file);
    ip_str_putc(out, '\n');
    return failed ? ip_fail(err, IMGPAR_E_IO, "module_new: %s: %s", path, strerror(why)) : IMGPAR_OK;
}

static imgpar_status add_sources(ip_str *out, const imgpar_cl_source *source, ip_error *err)
{
    imgpar_status st = IMGPAR_OK;
    for (size_t k = 0; !st && source->constants && source->constants[k]; k++)
        st = add_constant(out, source->constants[k], err);
    for (size_t k = 0; !st && source->files && source->files[k]; k++)
        st = add_file(out, source->files[k], err);
    for (size_t k = 0; !st && source->texts && source->texts[k]; k++)
        ip_str_printf(out, "#line 1 \"text %zu\"\n%s\n", k + 1, source->texts[k]);
    return st;
}

static void add_prelude(ip_str *out, const ip_device_facts *facts, bool checks)
{
    const imgpar_device *info = &facts->info;
    ip_str_printf(out, "#define IMGPAR_CL 1\n#define IMGPAR_HAS_F64 %d\n#define IMGPAR_HAS_F16 %d\n",
                  info->has_f64 != 0, info->has_f16 != 0);
    ip_str_printf(out, "#define IMGPAR_HAS_SUB_GROUPS %d\n#define IMGPAR_HAS_SUB_GROUP_SHUFFLES %d\n",
                  facts->has_sub_groups, facts->has_sub_group_shuffles);
    ip_str_printf(out, "#define IMGPAR_CHECKED %d\n", checks);
    ip_str_append(out, ip_shader_text("module"));
}

/* ---- modules -------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Drivers list kernels in an order of their own, and one of a binary in another than of a text. */
bool ip_cl_sort_names(char *names)
{
    size_t n = 0, length = strlen(names);
    char *copy = ip_strdup(names), **list = ip_alloc_array(length + 1, sizeof *list), *rest = NULL;
    for (char *name = copy && list ? strtok_r(copy, ";", &rest) : NULL; name; name = strtok_r(NULL, ";", &rest))
        list[n++] = name;
    if (n) qsort(list, n, sizeof *list, by_name);
    for (size_t k = 0; k < n; k++)
        names += sprintf(names, "%s%s", k ? ";" : "", list[k]);
    bool sorted = copy && list;
    ip_free(copy);
    ip_free(list);
    return sorted;
}

static imgpar_status read_kernel_names(imgpar_cl_module *m, ip_error *err)
{
    size_t n = 0;
    cl_int code = IP_CL(clGetProgramInfo(m->program->program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &n));
    m->kernels = code ? NULL : ip_zalloc(n + 1);
    if (!code && !m->kernels) return ip_fail_memory(err, "listing kernels");
    if (!code) code = IP_CL(clGetProgramInfo(m->program->program, CL_PROGRAM_KERNEL_NAMES, n, m->kernels, NULL));
    if (code) return ip_cl_fail(err, code, "clGetProgramInfo", NULL);
    return ip_cl_sort_names(m->kernels) ? IMGPAR_OK : ip_fail_memory(err, "listing kernels");
}

static imgpar_status compile(imgpar_cl_module *m, ip_device *device, const imgpar_cl_source *source, ip_error *err)
{
    ip_str options = IP_STR_INIT, whole = IP_STR_INIT, text = IP_STR_INIT;
    imgpar_status st = add_sources(&text, source, err);
    add_prelude(&whole, &device->facts, ip_context_checks(m->ctx));
    ip_str_append(&whole, ip_str_text(&text));
    ip_str_printf(&options, "-cl-kernel-arg-info%s%s", source->options ? " " : "",
                  source->options ? source->options : "");
    if (!st && (whole.failed || options.failed || text.failed)) st = ip_fail_memory(err, "putting a module together");
    if (!st) st = ip_program_get(device, whole.text, options.text, &m->program, NULL, err);
    m->text = st ? NULL : ip_strdup(ip_str_text(&text));
    if (!st && !m->text) st = ip_fail_memory(err, "keeping a module");
    ip_str_free(&options);
    ip_str_free(&whole);
    ip_str_free(&text);
    if (!st) st = read_kernel_names(m, err);
    return st ? st : ip_cl_symbols_read(m, err);
}

static imgpar_status make(imgpar_context *ctx, const imgpar_cl_source *given, imgpar_cl_module **out, ip_error *err)
{
    imgpar_cl_source source = { .struct_size = sizeof source };
    ip_device *device;
    imgpar_status st = ip_cl_device(ctx, "module_new", &device, err);
    if (st) return st;
    if (!given) return ip_cl_null(err, "module_new", "the source");
    if (ip_struct_in(&source, given, "module_new", "source", err)) return err->status;
    bool is_empty = (!source.files || !source.files[0]) && (!source.texts || !source.texts[0]);
    if (is_empty) return ip_fail(err, IMGPAR_E_ARGUMENT, "module_new: there are neither files nor texts");
    imgpar_cl_module *m = ip_zalloc(sizeof *m);
    if (!m || pthread_mutex_init(&m->lock, NULL)) {
        ip_free(m);
        return ip_fail_memory(err, "making a module");
    }
    atomic_init(&m->refs, 1);
    m->ctx = imgpar_context_retain(ctx);
    ip_cl_alive(ctx, IP_LIVE_MODULES, 1);
    st = compile(m, device, &source, err);
    if (st)
        imgpar_cl_module_release(m);
    else
        *out = m;
    return st;
}

imgpar_status imgpar_cl_module_new(imgpar_context *ctx, const imgpar_cl_source *source, imgpar_cl_module **out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!out) {
        ip_cl_null(&err, "module_new", "out");
    } else {
        *out = NULL;
        make(ctx, source, out, &err);
    }
    return ip_cl_say(&err);
}

imgpar_status imgpar_cl_module_from_text(imgpar_context *ctx, const char *text, imgpar_cl_module **out)
{
    const char *const texts[] = { text, NULL };
    const imgpar_cl_source source = { .struct_size = sizeof source, .texts = texts };
    return imgpar_cl_module_new(ctx, &source, out);
}

imgpar_cl_module *imgpar_cl_module_retain(imgpar_cl_module *m)
{
    if (m) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void imgpar_cl_module_release(imgpar_cl_module *m)
{
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t k = 0; k < m->n_entries; k++)
        ip_cl_kernel_free(m->entries[k]);
    ip_free(m->entries);
    ip_cl_symbols_free(m);
    pthread_mutex_destroy(&m->lock);
    ip_program_release(m->program);
    ip_cl_alive(m->ctx, IP_LIVE_MODULES, -1);
    imgpar_context_release(m->ctx);
    ip_free(m->kernels);
    ip_free(m->text);
    ip_free(m);
}

const char *imgpar_cl_module_kernels(const imgpar_cl_module *m) { return m ? m->kernels : ""; }
