/* SPDX-License-Identifier: MIT */
/* EXIF values of files, of encoded images and of arrays: imgpar_exif_memory() and its like. */
#include "io/exif_values.h"
#include "io/io.h"

#include "base/alloc.h"
#include "graph/array.h"

#include <stdio.h>
#include <string.h>

static const ip_blob none = { NULL, 0 };

/* What a caller may release, whatever happens. */
static bool begin(imgpar_exif_value ***out, size_t *n)
{
    if (out) *out = NULL;
    if (n) *n = 0;
    return out && n;
}

static imgpar_status tell(const ip_error *err, char *message, size_t message_size)
{
    if (err->status && message && message_size > 0) snprintf(message, message_size, "%s", err->message);
    return err->status;
}

/* Of a call without one of its pointers. */
static imgpar_status fail_null(const char *needed, char *message, size_t message_size)
{
    if (message && message_size > 0) snprintf(message, message_size, "exif: %s, out and n must not be NULL", needed);
    return IMGPAR_E_ARGUMENT;
}

/* What a header has told; m may be NULL. */
static void list_values(const ip_metadata *m, const ip_header *header, imgpar_exif_value ***out, size_t *n,
                        ip_error *err)
{
    ip_exif_values(m ? &m->exif : &none, header->orientation, out, n, err);
}

imgpar_status imgpar_exif_memory(const void *bytes, size_t n_bytes, imgpar_exif_value ***out, size_t *n, char *message,
                                 size_t message_size)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_metadata *m = NULL;
    ip_header header;
    if (!begin(out, n) || !bytes) return fail_null("bytes", message, message_size);
    const ip_read_options options = { .fail_on = IP_FAIL_ON_ERROR, .metadata = &m };
    if (!ip_io_probe(bytes, n_bytes, "image", &options, &header, &err)) list_values(m, &header, out, n, &err);
    ip_metadata_release(m);
    return tell(&err, message, message_size);
}

imgpar_status imgpar_exif_file(const char *path, imgpar_exif_value ***out, size_t *n, char *message,
                               size_t message_size)
{
    ip_error err = { IMGPAR_OK, "" };
    ip_metadata *m = NULL;
    ip_header header;
    ip_file file;
    if (!begin(out, n) || !path) return fail_null("path", message, message_size);
    const ip_read_options options = { .fail_on = IP_FAIL_ON_ERROR, .metadata = &m };
    if (!ip_file_open(path, &options, &file, &header, &err)) {
        ip_file_release(&file);
        list_values(m, &header, out, n, &err);
    }
    ip_metadata_release(m);
    return tell(&err, message, message_size);
}

imgpar_status imgpar_array_exif(const imgpar_array *a, imgpar_exif_value ***out, size_t *n)
{
    if (!begin(out, n) || !a) return IMGPAR_E_ARGUMENT;
    if (a->status) return a->status;
    const ip_metadata *m = ip_array_metadata(a);
    int64_t dims[4];
    ip_type_dims(&a->type, dims);
    return ip_exif_values_written(m ? &m->exif : &none, (uint32_t)dims[2], (uint32_t)dims[1], out, n, NULL);
}

void imgpar_exif_release(imgpar_exif_value **list, size_t n)
{
    (void)n; /* its texts and numbers are one piece with it */
    ip_free(list);
}

const imgpar_exif_value *imgpar_exif_find(imgpar_exif_value *const *list, size_t n, const char *name)
{
    ip_exif_tag tag;
    const size_t n_here = ip_exif_tag_of(name, &tag) && list ? n : 0;
    for (size_t k = 0; k < n_here; k++)
        if (tag.name ? strcmp(list[k]->name, tag.name) == 0 : list[k]->tag == tag.number) return list[k];
    return NULL;
}
