/* SPDX-License-Identifier: MIT */
/* src/io on files: reading later what was opened, pipes, modes and links, what the system refuses. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "io_help.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/imgpar-check-XXXXXX";
static char path[256];
static unsigned char gray[12] = { 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12 };

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int n_entries(void)
{
    int n = -2; /* . and .. */
    DIR *dir = opendir(folder);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/imgpar-check-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));)
        unlinkat(dirfd(dir), e->d_name, 0); /* . and .. stay */
    closedir(dir);
    ck_assert_int_eq(rmdir(folder), 0);
}

static blob gray_png(void)
{
    ip_pixels p = pixels_3d(IMGPAR_U8, 3, 4, 1, gray);
    return encode(&p, IP_FORMAT_PNG, NULL);
}

static void write_ok(const char *name, blob b)
{
    ip_error err = { 0 };
    ck_assert_msg(ip_io_write(name, b.bytes, b.n, NULL, &err) == IMGPAR_OK, "%s", err.message);
}

START_TEST(a_file_comes_back)
{
    blob b = gray_png();
    ip_file file, copy;
    ip_header header;
    ip_image image;
    ip_error err = { 0 };
    write_ok(in_folder("a.jpg"), b); /* the content decides */
    ck_assert_int_eq(ip_file_open(path, NULL, &file, &header, &err), IMGPAR_OK);
    ck_assert_int_eq(header.format, IP_FORMAT_PNG);
    ck_assert_int_eq(ip_file_copy(&file, &copy, &err), IMGPAR_OK);
    ip_file_release(&file);
    ck_assert_int_eq(ip_file_decode(&copy, NULL, &image, &err), IMGPAR_OK);
    ck_assert_mem_eq(image.pixels, gray, sizeof gray);
    ip_image_release(&image);
    write_ok(path, b);
    ck_assert_int_eq(ip_file_decode(&copy, NULL, &image, &err), IMGPAR_E_IO);
    char want[300];
    snprintf(want, sizeof want, "%s changed since it was opened", path);
    ck_assert_str_eq(err.message, want);
    unlink(path);
    err = (ip_error){ 0 };
    ck_assert_int_eq(ip_file_decode(&copy, NULL, &image, &err), IMGPAR_E_IO);
    ip_file_release(&copy);
    blob_free(&b);
}
END_TEST

static const struct {
    const char *name;
    const char *content;
    imgpar_status status;
    const char *reason;
} unreadable[] = {
    { "missing.png", NULL, IMGPAR_E_IO, "No such file or directory" },
    { "", NULL, IMGPAR_E_IO, "Is a directory" },
    { "empty.png", "", IMGPAR_E_CORRUPT, "it is empty, not an image" },
    { "text.png", "Dear reader,\n", IMGPAR_E_CORRUPT, "not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font" },
};

START_TEST(unreadable_files_get_one_clear_line)
{
    ip_file file;
    ip_header header;
    ip_error err = { 0 };
    in_folder(unreadable[_i].name);
    if (unreadable[_i].content) {
        FILE *f = fopen(path, "w");
        fputs(unreadable[_i].content, f);
        fclose(f);
    }
    ck_assert_int_eq(ip_file_open(path, NULL, &file, &header, &err), unreadable[_i].status);
    char want[400];
    snprintf(want, sizeof want, "%s: %s", path, unreadable[_i].reason);
    ck_assert_str_eq(err.message, want);
    ck_assert_ptr_null(file.path);
}
END_TEST

START_TEST(endless_devices_are_no_images)
{
    ip_file file;
    ip_header header;
    ip_error err = { 0 };
    ck_assert_int_eq(ip_file_open("/dev/zero", NULL, &file, &header, &err), IMGPAR_E_CORRUPT);
    ck_assert_str_eq(err.message, "/dev/zero: not an image: neither PNG, JPEG, NPY, PNM, .cube nor a font");
}
END_TEST

START_TEST(pipes_and_standard_input_are_read_once)
{
    unsigned char *bytes = random_bytes(200000);
    ip_pixels p = pixels_3d(IMGPAR_U8, 200, 1000, 1, bytes);
    blob b = encode(&p, IP_FORMAT_PNM, NULL);
    const bool is_stdin = _i == 1;
    in_folder("fifo");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    pid_t child = fork();
    if (child == 0) _exit(ip_io_write(path, b.bytes, b.n, NULL, NULL));
    int before = -1;
    if (is_stdin) {
        before = dup(0);
        int fd = open(path, O_RDONLY);
        dup2(fd, 0);
        close(fd);
    }
    ip_file file;
    ip_header header;
    ip_image image;
    ip_error err = { 0 };
    ck_assert_msg(ip_file_open(is_stdin ? "-" : path, NULL, &file, &header, &err) == IMGPAR_OK, "%s", err.message);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(ip_file_decode(&file, NULL, &image, &err), IMGPAR_OK);
        ck_assert_mem_eq(image.pixels, bytes, 200000);
        ip_image_release(&image);
    }
    int status;
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    if (is_stdin) {
        dup2(before, 0);
        close(before);
    }
    ip_file_release(&file);
    blob_free(&b);
    free(bytes);
}
END_TEST

/* In a process that writes a file: it ends by SIGKILL as soon as something is written. */
static bool kill_process(void *user, double done)
{
    (void)user;
    (void)done;
    kill(getpid(), SIGKILL);
    return false;
}

static bool has_unnamed_files(void)
{
#ifdef O_TMPFILE
    int fd = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0 && access("/proc/self/fd", X_OK) == 0;
#else
    return false;
#endif
}

START_TEST(a_killed_process_leaves_no_part_of_a_file)
{
    blob b = gray_png();
    int status;
    in_folder("killed.png");
    pid_t child = fork();
    if (child == 0) _exit(ip_io_write(path, b.bytes, b.n, &(ip_poll){ kill_process, NULL }, NULL));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert_int_ne(access(path, F_OK), 0);
    if (has_unnamed_files()) ck_assert_int_eq(n_entries(), 0);
    blob_free(&b);
}
END_TEST

static mode_t mode_of(const char *name)
{
    struct stat st;
    ck_assert_int_eq(stat(name, &st), 0);
    return st.st_mode & 07777;
}

START_TEST(modes_and_links_are_kept)
{
    blob b = gray_png();
    umask(027);
    write_ok(in_folder("new.png"), b);
    ck_assert_uint_eq(mode_of(path), 0640);
    ck_assert_int_eq(chmod(path, 0606), 0);
    write_ok(path, b);
    ck_assert_uint_eq(mode_of(path), 0606);

    char link[256];
    snprintf(link, sizeof link, "%s/link.png", folder);
    ck_assert_int_eq(symlink("new.png", link), 0);
    write_ok(link, b);
    struct stat st;
    ck_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    unlink(path);
    write_ok(link, b); /* dangling now */
    ck_assert_uint_eq(mode_of(path), 0640);
    ck_assert_int_eq(n_entries(), 2);
    blob_free(&b);
}
END_TEST

START_TEST(what_cannot_be_written_is_told)
{
    static const struct {
        const char *path, *message;
    } cases[] = {
        { "/dev/full", "/dev/full: No space left on device" },
        { "/tmp", "/tmp: Is a directory" },
        { "/nowhere/x.png", "/nowhere/x.png: there is no folder /nowhere" },
        { "/dev/null/x.png", "/dev/null/x.png: Not a directory" },
        { "/proc/x.png", NULL },
    };
    blob b = gray_png();
    for (int i = 0; i < N(cases); i++) {
        ip_error err = { 0 };
        if (!cases[i].message && access("/proc/self", F_OK) != 0) continue; /* /proc is not mounted: a plain folder */
        ck_assert_int_eq(ip_io_write(cases[i].path, b.bytes, b.n, NULL, &err), IMGPAR_E_IO);
        if (cases[i].message) ck_assert_str_eq(err.message, cases[i].message);
    }
    write_ok("/dev/null", b);
    blob_free(&b);
}
END_TEST

START_TEST(standard_output_is_written_and_a_closed_pipe_told)
{
    blob b = gray_png();
    ip_error err = { 0 };
    int pipes[2], before = dup(1);
    unsigned char *back = malloc(b.n);
    ck_assert_int_eq(pipe(pipes), 0);
    dup2(pipes[1], 1);
    close(pipes[1]);
    imgpar_status st = ip_io_write("-", b.bytes, b.n, NULL, &err);
    ssize_t n = read(pipes[0], back, b.n);
    close(pipes[0]);
    signal(SIGPIPE, SIG_IGN);
    imgpar_status broken = ip_io_write("-", b.bytes, b.n, NULL, &err);
    dup2(before, 1);
    close(before);
    ck_assert_int_eq(st, IMGPAR_OK);
    ck_assert_int_eq((int)n, (int)b.n);
    ck_assert_mem_eq(back, b.bytes, b.n);
    ck_assert_int_eq(broken, IMGPAR_E_IO);
    ck_assert_str_eq(err.message, "standard output: Broken pipe");
    free(back);
    blob_free(&b);
}
END_TEST

/* Headers beyond the first 64 KiB, and eXIf behind the pixels: open and decode must agree. */
START_TEST(long_headers_are_found)
{
    unsigned char *bytes = random_bytes(300000), exif[26], segment[65537] = { 0xff, 0xe2, 0xff, 0xff };
    ip_pixels p = pixels_3d(IMGPAR_U8, 200, 500, 3, bytes);
    blob b = encode(&p, _i < 2 ? IP_FORMAT_PNG : IP_FORMAT_JPEG, NULL);
    exif_block(exif, true, 6);
    if (_i == 0) png_add(&b, "IEND", "eXIf", exif, sizeof exif);
    if (_i == 1) {
        png_add(&b, "IDAT", "eXIf", exif, sizeof exif);
        png_add(&b, "IDAT", "prVt", bytes, 200000);
    }
    for (int i = 0; _i == 2 && i < 4; i++)
        blob_insert(&b, 2, segment, sizeof segment);
    if (_i == 2) {
        unsigned char app1[36] = { 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0 };
        memcpy(app1 + 10, exif, 26);
        blob_insert(&b, jpeg_find(b, 0xdb), app1, sizeof app1);
    }
    write_ok(in_folder("long"), b);
    ip_file file;
    ip_header header;
    ip_image image;
    ip_error err = { 0 };
    ck_assert_msg(ip_file_open(path, NULL, &file, &header, &err) == IMGPAR_OK, "%s", err.message);
    ck_assert_int_eq(header.orientation, 6);
    ck_assert_msg(ip_file_decode(&file, NULL, &image, &err) == IMGPAR_OK, "%s", err.message);
    ck_assert_mem_eq(&header, &image.header, sizeof header);
    ip_image_release(&image);
    ip_file_release(&file);
    blob_free(&b);
    free(bytes);
}
END_TEST

/* A number that lies across the first 64 KiB: what is read of them is not all of it. */
START_TEST(a_number_is_not_cut)
{
    enum { HEAD = 65536, SIDE = 22 };
    static const struct {
        const char *before, *cut, *behind; /* the last character of `cut` is the first one behind the head */
        imgpar_dtype dtype;
    } texts[] = { { "P2\n2 1\n", "655", "35 300 65535\n", IMGPAR_U16 },
                  { "P1\n1 ", "12", "\n0 1 0 1 1 0 0 1 1 1 0 0\n", IMGPAR_U8 },
                  { "", "LUT_3D_SIZE 22", "\n", IMGPAR_F32 } };
    const size_t n_before = strlen(texts[_i].before), n_cut = strlen(texts[_i].cut);
    char *text = malloc(HEAD + 64 + (size_t)SIDE * SIDE * SIDE * 6), *at = text;
    at += sprintf(at, "%s#", texts[_i].before);
    memset(at, ' ', HEAD - n_before - n_cut - 1);
    at = text + HEAD - n_cut;
    at += sprintf(at, "\n%s%s", texts[_i].cut, texts[_i].behind);
    for (int k = 0; texts[_i].dtype == IMGPAR_F32 && k < SIDE * SIDE * SIDE; k++)
        at += sprintf(at, "0 0 1\n");
    blob b = { (unsigned char *)text, (size_t)(at - text) };
    write_ok(in_folder(texts[_i].dtype == IMGPAR_F32 ? "long.cube" : "long.pnm"), b);
    ip_file file;
    ip_header header;
    ip_image image;
    ip_error err = { 0 };
    ck_assert_msg(ip_file_open(path, NULL, &file, &header, &err) == IMGPAR_OK, "%s", err.message);
    ck_assert_int_eq(header.dtype, texts[_i].dtype);
    ck_assert_msg(ip_file_decode(&file, NULL, &image, &err) == IMGPAR_OK, "%s", err.message);
    ck_assert_mem_eq(&header, &image.header, sizeof header);
    ip_image_release(&image);
    ip_file_release(&file);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("io, files");
    TCase *c = tcase_create("files");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, a_file_comes_back);
    tcase_add_loop_test(c, unreadable_files_get_one_clear_line, 0, N(unreadable));
    tcase_add_test(c, endless_devices_are_no_images);
    tcase_add_loop_test(c, pipes_and_standard_input_are_read_once, 0, 2);
    tcase_add_test(c, a_killed_process_leaves_no_part_of_a_file);
    tcase_add_test(c, modes_and_links_are_kept);
    tcase_add_test(c, what_cannot_be_written_is_told);
    tcase_add_test(c, standard_output_is_written_and_a_closed_pipe_told);
    tcase_add_loop_test(c, long_headers_are_found, 0, 3);
    tcase_add_loop_test(c, a_number_is_not_cut, 0, 3);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
