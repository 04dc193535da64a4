/* SPDX-License-Identifier: MIT */
/* One row an option. A row with `word` stores its argument there; the others have a case in apply(). */
#include "options.h"
#include "output.h"

#include <getopt.h>
#include <imgpar.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OPT_EXPLAIN = 256,
    OPT_PROFILE,
    OPT_DEVICE,
    OPT_PLACEMENT,
    OPT_SCHEDULE,
    OPT_TIER,
    OPT_NO_FUSE,
    OPT_VERIFY,
    OPT_FORMAT,
    OPT_SAVE,
    OPT_MATRIX,
    OPT_TRACE,
    OPT_MEM_LIMIT,
    OPT_MAX_PIXELS,
    OPT_TUNE,
    OPT_RECURSIVE,
    OPT_SKIP_EXISTING,
    OPT_STOP_ON_ERROR,
    OPT_PROGRESS,
    OPT_QUIET,
    OPT_COMPILE_PENDING,
    OPT_LIST_DEVICES,
    OPT_LIST_OPS,
    OPT_SHOW,
    OPT_REPORT,
    OPT_VERSION
};

typedef struct row {
    int code;         /* a letter, or OPT_ */
    const char *name; /* NULL: only the letter */
    int has_argument;
    const char *argument; /* as --help shows it */
    size_t word;          /* offset of a const char * in options, where that is all; else 0 */
    const char *choices;  /* "|"-separated, or NULL */
    const char *help;
} row;

#define WORD(member) offsetof(options, member)

static const row rows[] = {
    { 'e', NULL, required_argument, " EXPR", WORD(expression), NULL, "evaluate EXPR; print a number, or write -o" },
    { 'o', NULL, required_argument, " OUT", WORD(output), NULL,
      "the file it is written to, - is standard output; of files 'out/{name}.jpg'" },
    { '0', NULL, no_argument, "", 0, NULL, "read names of files from standard input, each ended by a zero byte" },
    { OPT_RECURSIVE, "recursive", no_argument, "", 0, NULL, "of a folder that is named, take all pictures below it" },
    { OPT_SKIP_EXISTING, "skip-existing", no_argument, "", 0, NULL,
      "pass by files whose output is whole and not older" },
    { OPT_STOP_ON_ERROR, "stop-on-error", no_argument, "", 0, NULL, "stop at the first file that fails" },
    { OPT_FORMAT, "format", required_argument, "=FORMAT", WORD(format), "png|jpeg|jpg|npy|pnm|ppm|pgm|pam|y4m",
      "the format of what is written to - or -o" },
    { OPT_SAVE, "save", required_argument, "=SETTINGS", WORD(settings), NULL,
      "how -o is written, as by save(): 'quality=80, metadata=none'" },
    { OPT_MATRIX, "matrix", required_argument, "=601", WORD(matrix), "601|709|2020",
      "the colours of Y4M: BT.601, 709 or 2020" },
    { OPT_SHOW, "show", optional_argument, "[=window|kitty|sixel|blocks]", 0, "auto|window|kitty|sixel|blocks",
      "show the picture in a window or the terminal, by what there is, or as is said" },
    { OPT_REPORT, "report", required_argument, "=FILE.html", WORD(report), NULL,
      "write a page with inputs, pictures of all stages, kernels and times" },
    { OPT_EXPLAIN, "explain", optional_argument, "[=text|dot|json|cl|graph]", 0, "text|dot|json|cl|graph",
      "show how it would be computed, and compute nothing" },
    { OPT_PROFILE, "profile", optional_argument, "[=json]", 0, "table|json",
      "show on standard error where the time went" },
    { OPT_TRACE, "trace", required_argument, "=FILE", WORD(trace), NULL,
      "write the same as events for chrome://tracing or Perfetto" },
    { OPT_VERIFY, "verify", optional_argument, "[=TOL]", 0, NULL,
      "compare with the reference interpreter; exit 1 above TOL (default 1)" },
    { OPT_DEVICE, "device", required_argument, "=SEL", WORD(device), NULL,
      "best, cpu, gpu, gpu:1, ref or a part of a device's name; several: cpu+gpu, all, cpu/2" },
    { OPT_PLACEMENT, "placement", required_argument, "=WHICH", WORD(placement), NULL,
      "of several devices: auto, a number from 0, or weights 2:1" },
    { OPT_SCHEDULE, "schedule", required_argument, "=NAME", WORD(schedule), "auto|rows|tiles|texture|pixels|ref",
      "force a schedule: auto rows tiles texture pixels ref" },
    { OPT_TIER, "tier", required_argument, "=NAME", WORD(tier), "auto|interpret|kernels",
      "who computes what is not compiled yet: auto, interpret (starts no process) or kernels" },
    { OPT_MEM_LIMIT, "mem-limit", required_argument, "=BYTES", WORD(mem_limit), NULL,
      "memory for pixels at most, of the host and of each device: 500000000, 512M, 2G" },
    { OPT_MAX_PIXELS, "max-pixels", required_argument, "=N", WORD(max_pixels), NULL,
      "pixels of a file held at once at most: 300000000, 1G (256M); a picture saved may have 64 times as many" },
    { OPT_NO_FUSE, "no-fuse", no_argument, "", 0, NULL, "a kernel for every operation" },
    { OPT_TUNE, "tune", no_argument, "", 0, NULL,
      "measure which settings suit the device, keep them, and save nothing" },
    { OPT_PROGRESS, "progress", optional_argument, "[=json]", 0, "text|json",
      "tell how far it is, on standard error (a terminal is told anyway)" },
    { OPT_QUIET, "quiet", no_argument, "", 0, NULL, "do not tell how far it is" },
    { OPT_COMPILE_PENDING, "compile-pending", no_argument, "", 0, NULL,
      "compile what earlier runs left to be compiled, and keep it" },
    { OPT_LIST_DEVICES, "list-devices", no_argument, "", 0, NULL, "list the devices" },
    { OPT_LIST_OPS, "list-ops", no_argument, "", 0, NULL, "list the operations and the words of the language" },
    { 'h', "help", optional_argument, " [OP]", 0, NULL, "this text, or what the operation or word OP does" },
    { OPT_VERSION, "version", no_argument, "", 0, NULL, "the version" },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int usage(const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    complain("%s (--help lists the options)", message);
    return EXIT_USAGE;
}

static bool is_choice(const char *choices, const char *word)
{
    size_t n = strcspn(word, "|");
    for (const char *p = choices; n > 0 && word[n] == '\0' && (p = strstr(p, word)); p++)
        if ((p == choices || p[-1] == '|') && (p[n] == '|' || p[n] == '\0')) return true;
    return false;
}

static int set_tolerance(options *o, const char *text)
{
    char *end;
    o->verify = true;
    o->tolerance = 1;
    if (!text) return EXIT_DONE;
    o->tolerance = strtod(text, &end);
    if (end == text || *end || !(o->tolerance >= 0)) return usage("--verify=%s: a number from 0 on is expected", text);
    return EXIT_DONE;
}

static int apply(options *o, const row *r, const char *argument)
{
    if (argument && r->choices && !is_choice(r->choices, argument)) {
        complain("--%s=%s: one of %s is expected", r->name, argument, r->choices);
        return EXIT_USAGE;
    }
    if (r->code == OPT_TRACE && !*argument) return usage("--%s= names no file", r->name);
    if (r->code == OPT_TRACE && strcmp(argument, "-") != 0 && (imgpar_path_format(argument) || is_video_name(argument)))
        return usage("--trace=%s: that is the name of a picture or a video, and a trace is JSON", argument);
    if (r->word) {
        const char **word = (const char **)((char *)o + r->word);
        if (*word && strcmp(*word, argument) != 0)
            return r->name ? usage("--%s is given twice", r->name) : usage("-%c is given twice", r->code);
        *word = argument;
        return EXIT_DONE;
    }
    switch (r->code) {
    case OPT_EXPLAIN: o->explain = argument ? argument : "text"; break;
    case OPT_PROFILE: o->profile = argument && strcmp(argument, "json") == 0 ? PROFILE_JSON : PROFILE_TABLE; break;
    case OPT_VERIFY: return set_tolerance(o, argument);
    case OPT_SHOW: o->show = argument ? argument : "auto"; break;
    case OPT_NO_FUSE: o->no_fuse = true; break;
    case OPT_TUNE: o->tunes = true; break;
    case '0': o->listed = true; break;
    case OPT_RECURSIVE: o->recursive = true; break;
    case OPT_SKIP_EXISTING: o->skips_existing = true; break;
    case OPT_STOP_ON_ERROR: o->stops_on_error = true; break;
    case OPT_PROGRESS:
        o->progress = argument && strcmp(argument, "json") == 0 ? PROGRESS_AS_JSON : PROGRESS_AS_TEXT;
        break;
    case OPT_QUIET: o->quiet = true; break;
    case OPT_COMPILE_PENDING: o->action = ACTION_COMPILE_PENDING; break;
    case OPT_LIST_DEVICES: o->action = ACTION_LIST_DEVICES; break;
    case OPT_LIST_OPS: o->action = ACTION_LIST_OPS; break;
    case OPT_VERSION: o->action = ACTION_VERSION; break;
    default:
        o->action = ACTION_HELP;
        o->help_op = argument;
        break;
    }
    return EXIT_DONE;
}

/* What getopt_long() wants: the letters of the rows that have one, such as ":e:o:", and the long rows. */
static void to_getopt(char *letters, struct option *longs)
{
    *letters++ = ':';
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].name) *longs++ = (struct option){ rows[i].name, rows[i].has_argument, NULL, rows[i].code };
        if (rows[i].code >= 256) continue;
        *letters++ = (char)rows[i].code;
        if (rows[i].has_argument == required_argument) *letters++ = ':';
    }
    *letters = '\0';
    *longs = (struct option){ 0 };
}

size_t setting_name_length(const char *word)
{
    const size_t n = strcspn(word, "=");
    return word[n] ? n : 0;
}

int check_given_once(char *const *settings, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++) {
            const size_t length = setting_name_length(settings[i]);
            if (length == setting_name_length(settings[k]) && memcmp(settings[i], settings[k], length) == 0)
                return usage("%.*s is given twice", (int)length, settings[i]);
        }
    return EXIT_DONE;
}

bool is_video_name(const char *path)
{
    const size_t n = strlen(path);
    return strcmp(path, "-") == 0 || (n > 4 && strcmp(path + n - 4, ".y4m") == 0);
}

/* No NAME=VALUE, but a file that is there or could be a picture. */
static bool is_file_name(const char *word)
{
    return setting_name_length(word) == 0 && (imgpar_path_format(word) || access(word, F_OK) == 0);
}

bool takes_files(const options *o)
{
    if (o->output) return true;
    if (o->expression) return strstr(o->expression, "$1") || strstr(o->expression, "frame(-");
    for (int i = 0; i < o->n_words; i++) /* a pipeline file: where one of the words is a file */
        if (is_video_name(o->words[i]) || is_file_name(o->words[i])) return true;
    return false;
}

/* Of what takes no files every word is NAME=VALUE. */
static int check_settings(const options *o)
{
    for (int i = 0; i < o->n_words; i++) {
        const char *word = o->words[i];
        if (setting_name_length(word) > 0) continue;
        if (!o->expression || !imgpar_path_format(word)) return usage("%s: NAME=VALUE is expected", word);
        return usage("%s: nothing reads it: $1 in the text would, or -o OUT with it", word);
    }
    return check_given_once(o->words, o->n_words);
}

/* FILE.conf, the first word unless there is -e. */
static int take_pipeline(options *o)
{
    if (o->show && !o->expression) return usage("%s", "--show goes with -e, whose last expression is shown");
    if (o->show && o->output && strcmp(o->output, "-") == 0)
        return usage("%s", "--show and -o - do not go together: both are standard output");
    if (o->expression) return EXIT_DONE;
    if (o->n_words == 0) return usage("%s", "a pipeline file or -e EXPR is missing");
    const char *file = o->words[0];
    if (imgpar_op_find(file) && access(file, F_OK) != 0)
        return usage("%s is an operation, not a pipeline: -e '%s(open(\"photo.jpg\"))' -o out.png", file, file);
    o->file = *o->words++;
    o->n_words--;
    if (o->output && o->n_words == 0 && !o->listed)
        return usage("%s", "-o goes with -e; a pipeline file says itself what it saves");
    return EXIT_DONE;
}

/* What is left after the options: FILE.conf, unless there is -e, NAME=VALUE, and with -o files. */
static int operands(options *o, int n, char **words)
{
    if (o->action == ACTION_HELP && !o->help_op && n > 0) {
        o->help_op = *words++;
        n--;
    }
    if (o->action != ACTION_RUN) return n > 0 ? usage("unexpected argument %s", words[0]) : EXIT_DONE;
    o->words = words;
    o->n_words = n;
    if (take_pipeline(o)) return EXIT_USAGE;
    for (int i = 0; i + 1 < o->n_words; i++)
        if (!strchr(o->words[i], '=') && o->words[i + 1][0] == '=')
            return usage("%s %s: NAME=VALUE is one word, without spaces", o->words[i], o->words[i + 1]);
    return takes_files(o) ? EXIT_DONE : check_settings(o);
}

int check_settings_of(const char *format, const options *o)
{
    static const char *fine; /* the format that was found so last: of many files it is mostly the same */
    const unsigned char black = 0;
    const int64_t one[] = { 1, 1 };
    imgpar_context *ctx = NULL;
    if (!o->settings || (fine && strcmp(format, fine) == 0)) return EXIT_DONE;
    imgpar_status st = imgpar_context_new("ref", &ctx);
    imgpar_array *a = st ? NULL : imgpar_array_from_data(ctx, IMGPAR_U8, 2, one, &black);
    const imgpar_options how = { .struct_size = sizeof how, .format = format, .settings = o->settings };
    void *bytes = NULL;
    size_t n;
    if (!st) st = imgpar_encode(a, &how, &bytes, &n);
    const char *why = a ? imgpar_array_message(a) : "";
    if (strncmp(why, "encode: ", 8) == 0) why += 8;
    if (st) complain("--save=%s: %s", o->settings, why[0] ? why : imgpar_status_name(st));
    if (!st) fine = format;
    imgpar_free(bytes);
    imgpar_array_release(a);
    imgpar_context_release(ctx);
    return st == IMGPAR_OK ? EXIT_DONE : EXIT_USAGE;
}

int check_format(const char *output, const options *o)
{
    const char *format = o->format;
    char as_path[32];
    struct stat found;
    snprintf(as_path, sizeof as_path, "x.%s", format ? format : "");
    const char *named = imgpar_path_format(as_path), *ending = imgpar_path_format(output);
    if (format && strcmp(format, "y4m") == 0)
        complain("--format=y4m is of videos: Y4M or PNM on standard input, or a file of Y4M");
    else if (named && ending && strcmp(named, ending) != 0)
        complain("-o %s and --format=%s contradict each other", output, format);
    else if (named || ending)
        return check_settings_of(named ? named : ending, o);
    else if (strcmp(output, "-") == 0)
        complain("-o - needs a format: --format=png, jpeg, npy or pnm");
    else if (stat(output, &found) == 0 && S_ISDIR(found.st_mode))
        complain("-o %s is a folder; of files -o '%s%s{name}.png' names what is written there", output, output,
                 output[strlen(output) - 1] == '/' ? "" : "/");
    else if (is_video_name(output))
        complain("-o %s: Y4M is written of one video: Y4M or PNM on standard input, or a file of Y4M", output);
    else
        complain("-o %s: its ending tells no format; .png .jpg .npy .pnm .ppm .pgm .pam do, or --format", output);
    return EXIT_USAGE;
}

/* ---- what does not go together ------------------------------------------------------------------ */

static const char computes_nothing[] = "--explain computes nothing", only_measures[] = "--tune only measures",
                  tries_all[] = "--tune tries what is forced, and all else";

static const struct {
    int one, other;
    const char *why;
} conflicts[] = {
    { OPT_EXPLAIN, OPT_TUNE, computes_nothing },
    { OPT_EXPLAIN, OPT_VERIFY, computes_nothing },
    { OPT_EXPLAIN, OPT_PROFILE, computes_nothing },
    { OPT_EXPLAIN, OPT_TRACE, computes_nothing },
    { OPT_EXPLAIN, OPT_SHOW, computes_nothing },
    { OPT_EXPLAIN, OPT_REPORT, computes_nothing },
    { OPT_TUNE, OPT_SHOW, only_measures },
    { OPT_TUNE, OPT_REPORT, only_measures },
    { OPT_TUNE, OPT_VERIFY, only_measures },
    { OPT_TUNE, OPT_PROFILE, only_measures },
    { OPT_TUNE, OPT_TRACE, only_measures },
    { OPT_TUNE, OPT_SCHEDULE, tries_all },
    { OPT_TUNE, OPT_NO_FUSE, tries_all },
    { OPT_TUNE, '0', only_measures },
    { OPT_EXPLAIN, OPT_SAVE, computes_nothing },
    { OPT_TUNE, OPT_SAVE, only_measures },
    { OPT_TIER, OPT_VERIFY, "what is verified are kernels" },
    { OPT_TIER, OPT_TUNE, only_measures },
    { OPT_QUIET, OPT_PROGRESS, "one tells how far it is, the other does not" },
};

static const row *row_of(int code)
{
    const row *r = rows;
    while (r->code != code)
        r++;
    return r;
}

/* As it is typed; the list of files has a letter only. */
static const char *as_typed(const row *r, char buf[40])
{
    snprintf(buf, 40, "%s%s", r->name ? "--" : "-", r->name ? r->name : "0");
    return buf;
}

/* Options about many files need those, and an -o that names their outputs. */
static int check_for_files(const options *o, const bool given[N_ROWS])
{
    static const int for_files[] = { '0', OPT_RECURSIVE, OPT_SKIP_EXISTING, OPT_STOP_ON_ERROR };
    char word[40];
    for (size_t k = 0; k < sizeof for_files / sizeof *for_files && o->action == ACTION_RUN; k++) {
        const row *r = row_of(for_files[k]);
        if (given[r - rows] && (for_files[k] == OPT_SKIP_EXISTING ? !o->output : !takes_files(o)))
            return usage("%s goes with files, of which -o names what is written: -o 'out/{name}.jpg'",
                         as_typed(r, word));
    }
    return EXIT_DONE;
}

/* given: by row. Help is given beside anything, as people add it to what they were about to write; a device, which
 * scripts add to everything, is given beside lists. */
static int check_together(const options *o, const bool given[N_ROWS])
{
    int n_given = 0;
    char word[40], other_word[40];
    for (int i = 0; i < N_ROWS; i++)
        n_given += given[i] && rows[i].code != OPT_DEVICE;
    for (int i = 0; i < N_ROWS; i++)
        if (given[i] && n_given > 1 && o->action != ACTION_HELP &&
            (rows[i].code == OPT_LIST_OPS || rows[i].code == OPT_LIST_DEVICES || rows[i].code == OPT_COMPILE_PENDING ||
             rows[i].code == OPT_VERSION))
            return usage("--%s is given alone", rows[i].name);
    if (check_for_files(o, given)) return EXIT_USAGE;
    if (o->action == ACTION_RUN && o->settings && !o->output)
        return usage("%s", "--save goes with -o, and says how that is written; save() in a text says it itself");
    for (size_t k = 0; k < sizeof conflicts / sizeof *conflicts; k++) {
        const row *one = row_of(conflicts[k].one), *other = row_of(conflicts[k].other);
        if (given[one - rows] && given[other - rows])
            return usage("%s and %s do not go together: %s", as_typed(one, word), as_typed(other, other_word),
                         conflicts[k].why);
    }
    return EXIT_DONE;
}

int options_parse(int argc, char **argv, options *o)
{
    char letters[2 * N_ROWS + 2];
    struct option longs[N_ROWS + 1];
    bool given[N_ROWS] = { false };
    *o = (options){ .action = ACTION_RUN };
    to_getopt(letters, longs);
    opterr = 0;
    for (int code; (code = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        const char *word = argv[optind - 1];
        char letter[] = { '-', (char)optopt, '\0' };
        bool is_letter = optopt > 0 && optopt < 256;
        if (code == ':') return usage("option %s needs a value", is_letter ? letter : word);
        if (code == '?')
            return usage(optopt >= 256 ? "option %s takes no value" : "unknown option %s", is_letter ? letter : word);
        const row *r = row_of(code);
        given[r - rows] = true;
        if (apply(o, r, optarg)) return EXIT_USAGE;
    }
    if (check_together(o, given)) return EXIT_USAGE;
    return operands(o, argc - optind, argv + optind);
}

void options_print(void)
{
    for (int i = 0; i < N_ROWS; i++) {
        char left[64];
        const row *r = &rows[i];
        if (r->code < 256 && r->name)
            snprintf(left, sizeof left, "-%c, --%s%s", r->code, r->name, r->argument);
        else if (r->name)
            snprintf(left, sizeof left, "--%s%s", r->name, r->argument);
        else
            snprintf(left, sizeof left, "-%c%s", r->code, r->argument);
        printf("  %-28s %s\n", left, rows[i].help);
    }
}
