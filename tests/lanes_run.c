/* SPDX-License-Identifier: MIT */
/*
 * Evaluates pipelines with one launch a kernel, for tests/lanes.c to count:
 *
 *     lanes_run DTYPE WIDTH HEIGHT CHANNELS PIPELINE...
 *
 * $1 is a picture of noise. Before a pipeline's lines the log gets "pipeline=DTYPE PIPELINE".
 */
#include <imgpar.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(void *data, imgpar_dtype dtype, size_t n)
{
    unsigned seed = 1;
    for (size_t k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        const unsigned level = seed >> 24;
        if (dtype == IMGPAR_U8) ((unsigned char *)data)[k] = (unsigned char)level;
        if (dtype == IMGPAR_U16) ((unsigned short *)data)[k] = (unsigned short)(level * 257);
        if (dtype == IMGPAR_F32) ((float *)data)[k] = (float)level / 255;
    }
}

static int evaluate(imgpar_context *ctx, const char *pipeline, imgpar_array *picture)
{
    imgpar_info info = { .struct_size = sizeof info };
    imgpar_array *out = imgpar_apply(ctx, pipeline, &picture, 1);
    int failed = imgpar_array_info(out, &info) != IMGPAR_OK;
    void *data = failed ? NULL : malloc(info.size_bytes);
    if (!data || imgpar_array_read(out, data, info.size_bytes)) failed = 1;
    if (failed) fprintf(stderr, "lanes_run: %s: %s\n", pipeline, imgpar_array_message(out));
    free(data);
    imgpar_array_release(out);
    return failed;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        imgpar_dtype dtype;
        size_t size;
    } dtypes[] = { { "u8", IMGPAR_U8, 1 }, { "u16", IMGPAR_U16, 2 }, { "f32", IMGPAR_F32, 4 } };
    int kind = 0, failed = 0;
    if (argc < 6) return 2;
    while (kind < 2 && strcmp(argv[1], dtypes[kind].name) != 0)
        kind++;
    const int64_t dims[3] = { atoi(argv[3]), atoi(argv[2]), atoi(argv[4]) };
    const size_t n = (size_t)(dims[0] * dims[1] * dims[2]);
    void *data = malloc(n * dtypes[kind].size);
    imgpar_context *ctx;
    if (!data || imgpar_context_new(NULL, &ctx)) return 1;
    fill(data, dtypes[kind].dtype, n);
    imgpar_array *picture = imgpar_array_wrap(ctx, dtypes[kind].dtype, 3, dims, data, NULL, NULL);
    for (int k = 5; k < argc; k++) {
        const char *path = getenv("IMGPAR_TEST_LANES");
        FILE *log = path ? fopen(path, "a") : NULL;
        if (log) {
            fprintf(log, "pipeline=%s %s\n", argv[1], argv[k]);
            fclose(log);
        }
        failed |= evaluate(ctx, argv[k], picture);
    }
    imgpar_array_release(picture);
    imgpar_context_release(ctx);
    free(data);
    return failed;
}
