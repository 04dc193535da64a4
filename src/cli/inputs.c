/* SPDX-License-Identifier: MIT */
#include "inputs.h"
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <imgpar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int out_of_memory(void)
{
    complain("out of memory");
    return EXIT_FAILED;
}

static bool is_stdin(const char *path) { return strcmp(path, "-") == 0; }

/* ---- gathering --------------------------------------------------------------------------------- */

/* Takes path, also on failure. */
static int append(inputs *in, char *path, size_t below)
{
    if (path && in->n == in->capacity) {
        size_t capacity = in->capacity ? in->capacity * 2 : 64;
        input *grown = realloc(in->items, capacity * sizeof *grown);
        if (!grown) {
            free(path);
            return out_of_memory();
        }
        in->items = grown;
        in->capacity = capacity;
    }
    if (!path) return out_of_memory();
    in->items[in->n++] = (input){ .path = path, .below = below };
    return EXIT_DONE;
}

static char *join(const char *folder, const char *name)
{
    const size_t n = strlen(folder), size = n + strlen(name) + 2;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s%s%s", folder, n > 0 && folder[n - 1] == '/' ? "" : "/", name);
    return path;
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static int search(inputs *in, const char *folder, size_t below);

/* Takes path: a folder is searched, a file whose name tells a format is added. Links to folders are not followed, so
 * that none is searched twice. */
static int take_found(inputs *in, char *path, size_t below)
{
    struct stat found, target;
    if (!path) return out_of_memory();
    const bool is_there = lstat(path, &found) == 0;
    int status = EXIT_DONE;
    if (is_there && S_ISDIR(found.st_mode))
        status = search(in, path, below);
    else if (is_there && imgpar_path_format(path) && stat(path, &target) == 0 && S_ISREG(target.st_mode))
        return append(in, path, below);
    else if (is_there && stat(path, &target) == 0 && S_ISREG(target.st_mode))
        in->n_left_out++;
    free(path);
    return status;
}

/* Everything below a folder, in the order of names; hidden files and folders are passed by, as a shell's * does. */
static int search(inputs *in, const char *folder, size_t below)
{
    struct dirent **entries;
    int status = EXIT_DONE, n = scandir(folder, &entries, is_visible, by_name);
    if (n < 0 && errno == ENOMEM) return out_of_memory();
    if (n < 0) {
        complain("%s: %s", folder, strerror(errno));
        in->n_unread++;
        return EXIT_DONE;
    }
    for (int i = 0; i < n; i++) {
        if (!status) status = take_found(in, join(folder, entries[i]->d_name), below);
        free(entries[i]);
    }
    free(entries);
    return status;
}

int inputs_add(inputs *in, const options *o, const char *path)
{
    struct stat found;
    if (!path[0]) {
        complain("an empty name is no file");
        return EXIT_USAGE;
    }
    if (is_stdin(path) || stat(path, &found) != 0 || !S_ISDIR(found.st_mode)) return append(in, strdup(path), 0);
    if (!o->recursive) {
        complain("%s is a folder; --recursive reads all pictures in it", path);
        in->n_unread++;
        in->has_folders = true;
        return EXIT_DONE;
    }
    const size_t n = strlen(path);
    return search(in, path, path[n - 1] == '/' ? n : n + 1);
}

int inputs_add_listed(inputs *in, const options *o)
{
    char *name = NULL;
    size_t room = 0;
    int status = EXIT_DONE;
    for (ssize_t n; !status && (n = getdelim(&name, &room, '\0', stdin)) > 0;) {
        if (name[n - 1] != '\0' && memchr(name, '\n', (size_t)n)) {
            complain("-0: names end with a zero byte, as find -print0 writes them; these end with newlines");
            status = EXIT_USAGE;
        } else {
            status = inputs_add(in, o, name);
        }
    }
    if (!status && ferror(stdin)) {
        complain("standard input: %s", strerror(errno));
        status = EXIT_FAILED;
    }
    free(name);
    return status;
}

void inputs_tell_left_out(const inputs *in, const options *o)
{
    if (in->n_left_out > 0 && !o->quiet)
        complain("%zu file%s left out: the ending tells no format of pictures that are read; .png .jpg .npy .pnm .ppm "
                 ".pgm .pam do",
                 in->n_left_out, in->n_left_out == 1 ? " was" : "s were");
}

imgpar_array *inputs_open(const inputs *in, size_t k, imgpar_context *ctx)
{
    const input *item = &in->items[k];
    return item->bytes ? imgpar_open_memory(ctx, item->bytes, item->n_bytes) : imgpar_open(ctx, item->path);
}

void inputs_free(inputs *in)
{
    for (size_t i = 0; i < in->n; i++) {
        free(in->items[i].path);
        free(in->items[i].bytes);
    }
    free(in->items);
    *in = (inputs){ 0 };
}

/* ---- the template of -o --------------------------------------------------------------------------- */

typedef struct part {
    const char *text;
    size_t n;
} part;

/* The parts of a path that a template may name. */
typedef struct parts {
    part dir, name, ext;
    size_t number;
} parts;

static void split(const input *in, size_t number, parts *p)
{
    const char *path = is_stdin(in->path) ? "stdin" : in->path, *dir = path + in->below;
    const char *slash = strrchr(dir, '/'), *name = slash ? slash + 1 : dir, *dot = strrchr(name, '.');
    if (!dot || dot == name) dot = name + strlen(name);
    while (*dir == '/' || (dir[0] == '.' && dir[1] == '/'))
        dir++;
    *p = (parts){
        .dir = { ".", 1 }, .name = { name, (size_t)(dot - name) }, .ext = { *dot ? dot + 1 : dot, 0 }, .number = number
    };
    p->ext.n = strlen(p->ext.text);
    if (slash && dir < slash) p->dir = (part){ dir, (size_t)(slash - dir) };
}

/* Does the folder lead upwards: is one of its parts ".."? */
static bool leads_up(part dir)
{
    for (size_t at = 0, n; at < dir.n; at += n + 1) {
        const char *slash = memchr(dir.text + at, '/', dir.n - at);
        n = slash ? (size_t)(slash - dir.text) - at : dir.n - at;
        if (n == 2 && memcmp(dir.text + at, "..", 2) == 0) return true;
    }
    return false;
}

enum { NUMBER_ROOM = 32 };

/* What {WORD} stands for, WORD being n characters; false: nothing. digits has NUMBER_ROOM bytes. */
static bool part_of(const parts *p, const char *word, size_t n, part *out, char *digits)
{
    const struct {
        const char *word;
        part part;
    } known[] = { { "name", p->name }, { "ext", p->ext }, { "dir", p->dir } };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (n == strlen(known[k].word) && memcmp(word, known[k].word, n) == 0) {
            *out = known[k].part;
            return true;
        }
    const bool has_width = n == 3 && word[1] == ':' && word[2] >= '1' && word[2] <= '9';
    if (word[0] != 'n' || (n != 1 && !has_width)) return false;
    int length = snprintf(digits, NUMBER_ROOM, "%0*zu", has_width ? word[2] - '0' : 1, p->number);
    *out = (part){ digits, (size_t)length };
    return true;
}

/* Writes the path that template gives into a stream. False: *wrong is what it has that stands for nothing. */
static bool expand(FILE *out, const char *template, const parts *p, part *wrong)
{
    char digits[NUMBER_ROOM];
    for (const char *c = template; *c; c++) {
        part word;
        const char *end = *c == '{' ? strchr(c, '}') : NULL;
        if ((*c == '{' || *c == '}') && c[1] == *c)
            fputc(*c++, out);
        else if (*c != '{')
            fputc(*c, out);
        else if (end && part_of(p, c + 1, (size_t)(end - c - 1), &word, digits)) {
            fwrite(word.text, 1, word.n, out);
            c = end;
        } else {
            *wrong = (part){ c, end ? (size_t)(end + 1 - c) : strlen(c) };
            return false;
        }
    }
    return true;
}

/* Writes a path in one way only: a//b and a/./b become a/b. */
static void normalise(char *path)
{
    char *to = path;
    for (const char *from = path; *from; from++) {
        if (to > path && to[-1] == '/' && *from == '/') continue;
        if (to > path && to[-1] == '/' && from[0] == '.' && from[1] == '/')
            from++;
        else
            *to++ = *from;
    }
    *to = '\0';
}

char *inputs_name(const input *item, size_t number, const char *template)
{
    char *path = NULL;
    size_t n = 0;
    parts p;
    part wrong;
    FILE *out = open_memstream(&path, &n);
    if (!out) return NULL;
    split(item, number, &p);
    expand(out, template, &p, &wrong); /* was checked */
    const bool failed = ferror(out);
    if (fclose(out) != 0 || failed) {
        free(path);
        return NULL;
    }
    normalise(path);
    return path;
}

char *inputs_output(const inputs *in, size_t k, const char *template)
{
    return inputs_name(&in->items[k], k + 1, template);
}

/* ---- what would be written ----------------------------------------------------------------------- */

/* Two numbers that are equal where two things may be the same: device and inode, or a hash of a name. */
typedef struct key {
    uint64_t a, b;
    size_t k;
} key;

static int by_key(const void *x, const void *y)
{
    const key *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    if (p->b != q->b) return p->b < q->b ? -1 : 1;
    return (p->k > q->k) - (p->k < q->k);
}

static int by_identity(const void *x, const void *y)
{
    const key *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static uint64_t hash_of(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static int check_template(const inputs *in, const char *template)
{
    char *unused = NULL;
    size_t n = 0;
    part wrong;
    parts p;
    FILE *out = open_memstream(&unused, &n);
    if (!out) return out_of_memory();
    split(&in->items[0], 1, &p);
    const bool ok = expand(out, template, &p, &wrong);
    fclose(out);
    free(unused);
    if (!ok)
        complain("-o %s: %.*s stands for nothing; {name} {ext} {n} {dir} do, and {{ is a brace", template, (int)wrong.n,
                 wrong.text);
    return ok ? EXIT_DONE : EXIT_USAGE;
}

/* Does the template end in {ext}, and the name of one file among several tell no format? Such an output has none. */
static bool has_no_format(const inputs *in, const input *item, const options *o)
{
    static const char ending[] = ".{ext}";
    const size_t n = strlen(o->output), m = sizeof ending - 1;
    return in->n > 1 && strcmp(item->path, "-") != 0 && !o->format && n >= m &&
           strcmp(o->output + n - m, ending) == 0 && !imgpar_path_format(item->path);
}

static int check_folders(const inputs *in, const char *template)
{
    for (size_t k = 0; k < in->n && strstr(template, "{dir}"); k++) {
        parts p;
        split(&in->items[k], k + 1, &p);
        if (!leads_up(p.dir)) continue;
        complain("{dir} of %s would lead upwards", in->items[k].path);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* Where several files may be written, all by themselves. */
static bool takes_all(const char *path) { return strcmp(path, "/dev/null") == 0; }

static int fail_twice(const inputs *in, size_t first, size_t second, const char *output)
{
    complain("%s and %s would both be written to %s", in->items[first].path, in->items[second].path,
             strcmp(output, "-") == 0 ? "standard output" : output);
    return EXIT_USAGE;
}

/* keys: of the outputs' names, sorted. */
static int check_twice(const inputs *in, const key *keys, size_t n, const char *template)
{
    int status = EXIT_DONE;
    for (size_t i = 1; i < n && !status; i++) {
        if (keys[i].a != keys[i - 1].a) continue;
        char *one = inputs_output(in, keys[i - 1].k, template), *other = inputs_output(in, keys[i].k, template);
        if (!one || !other)
            status = out_of_memory();
        else if (strcmp(one, other) == 0 && !takes_all(one))
            status = fail_twice(in, keys[i - 1].k, keys[i].k, one);
        free(one);
        free(other);
    }
    return status;
}

/* Is output one of the n_known files? */
static int check_identity(const inputs *in, const char *output, const key *known, size_t n_known, const options *o)
{
    struct stat found;
    if (stat(output, &found) != 0 || !S_ISREG(found.st_mode)) return EXIT_DONE;
    const key wanted = { (uint64_t)found.st_dev, (uint64_t)found.st_ino, 0 };
    const key *same = bsearch(&wanted, known, n_known, sizeof *known, by_identity);
    if (!same) return EXIT_DONE;
    if (same->k == in->n)
        complain("-o %s would replace the pipeline %s", output, o->file);
    else
        complain("-o %s would replace the input %s", output, in->items[same->k].path);
    return EXIT_USAGE;
}

/* The identities of the inputs, and of the pipeline's file, sorted into known; adds up their sizes. */
static size_t identify(inputs *in, const options *o, key *known)
{
    struct stat found;
    size_t n = 0;
    in->bytes = 0;
    for (size_t k = 0; k <= in->n; k++) {
        const char *path = k < in->n ? in->items[k].path : o->file;
        if (!path || stat(path, &found) != 0 || !S_ISREG(found.st_mode)) continue;
        known[n++] = (key){ (uint64_t)found.st_dev, (uint64_t)found.st_ino, k };
        if (k < in->n) in->bytes += (uint64_t)found.st_size;
    }
    qsort(known, n, sizeof *known, by_key);
    return n;
}

int inputs_check(inputs *in, const options *o, bool tells_format, const named_files *named)
{
    int status = o->output ? check_template(in, o->output) : EXIT_DONE;
    if (!status && o->output) status = check_folders(in, o->output);
    if (status) return status;
    key *names = malloc(in->n * sizeof *names), *known = malloc((in->n + 1) * sizeof *known);
    if (!names || !known) status = out_of_memory();
    const size_t n_known = status ? 0 : identify(in, o, known);
    size_t n_names = 0;
    for (size_t k = 0; k < in->n && !status && o->output; k++) {
        char *output = inputs_output(in, k, o->output);
        if (!output) status = out_of_memory();
        /* what has none is told later, and not written */
        in->items[k].has_no_format = tells_format && has_no_format(in, &in->items[k], o);
        const bool is_written = !in->items[k].has_no_format;
        if (!status && tells_format && is_written) status = check_format(output, o);
        if (!status && is_written) status = check_identity(in, output, known, n_known, o);
        if (!status && is_written && named && named_has(named, output)) {
            complain("-o %s would replace a file that the text names", output);
            status = EXIT_USAGE;
        }
        if (!status && is_written) names[n_names++] = (key){ hash_of(output), 0, k };
        free(output);
    }
    if (!status && o->output) {
        qsort(names, n_names, sizeof *names, by_key);
        status = check_twice(in, names, n_names, o->output);
    }
    free(names);
    free(known);
    return status;
}
