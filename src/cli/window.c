/* SPDX-License-Identifier: MIT */
/*
 * The picture is kept in 8 bits, and in halves of that, quarters and so on; what is seen is picked from the smallest of
 * them that has as many pixels, straight into the window's surface. So nothing depends on the size of a texture, and
 * drawing takes as long as the window is large.
 */
#include "window.h"

#ifdef HAVE_SDL2

#include "facts.h"
#include "show.h"
#include "signals.h"

#include <SDL.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LEVELS = 24,
    WAIT_MS = 100,
    LEAST_SIDE = 320, /* of a window */
    BACKGROUND = 48,
    MAX_ZOOM = 64,
    STEP_PX = 64, /* of an arrow key */
    WHEEL_PX = 40 /* of a wheel that is turned across */
};

/* ---- the library ------------------------------------------------------------------------------------- */

typedef struct functions {
    int (*Init)(Uint32 flags);
    void (*Quit)(void);
    const char *(*GetError)(void);
    SDL_bool (*SetHint)(const char *name, const char *value);
    int (*GetDisplayUsableBounds)(int display, SDL_Rect *out);
    SDL_Window *(*CreateWindow)(const char *title, int x, int y, int w, int h, Uint32 flags);
    void (*DestroyWindow)(SDL_Window *window);
    void (*SetWindowTitle)(SDL_Window *window, const char *title);
    SDL_Surface *(*GetWindowSurface)(SDL_Window *window);
    int (*UpdateWindowSurface)(SDL_Window *window);
    int (*WaitEventTimeout)(SDL_Event *event, int ms);
    int (*PollEvent)(SDL_Event *event);
} functions;

#define SYMBOL(name)                            \
    {                                           \
        "SDL_" #name, offsetof(functions, name) \
    }

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    SYMBOL(Init),
    SYMBOL(Quit),
    SYMBOL(GetError),
    SYMBOL(SetHint),
    SYMBOL(CreateWindow),
    SYMBOL(DestroyWindow),
    SYMBOL(SetWindowTitle),
    SYMBOL(GetDisplayUsableBounds),
    SYMBOL(PollEvent),
    SYMBOL(GetWindowSurface),
    SYMBOL(UpdateWindowSurface),
    SYMBOL(WaitEventTimeout),
};

/* Loads it, and begins with its windows; Quit() ends that. It stays loaded. */
static bool begin(functions *out, char *why, size_t size)
{
    void *library = dlopen("libSDL2-2.0.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool ok = library != NULL;
    for (size_t k = 0; ok && k < sizeof symbols / sizeof *symbols; k++) {
        void *function = dlsym(library, symbols[k].name);
        memcpy((char *)out + symbols[k].offset, &function, sizeof function);
        ok = function != NULL;
    }
    if (library) dlclose(library);
    if (!ok) {
        snprintf(why, size, "SDL2 is not installed (Debian package: libsdl2-2.0-0)");
        return false;
    }
    out->SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
    if (out->Init(SDL_INIT_VIDEO) == 0) return true;
    snprintf(why, size, "%s", out->GetError());
    return false;
}

/* Without one of them SDL draws on a console, or nowhere at all. */
static bool has_display(void)
{
    static const char *const names[] = { "DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (getenv(names[k]) && *getenv(names[k])) return true;
    return false;
}

bool window_is_there(char *why, size_t size)
{
    functions sdl;
    if (!has_display()) {
        snprintf(why, size, "there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set");
        return false;
    }
    if (!begin(&sdl, why, size)) return false;
    sdl.Quit();
    return true;
}

/* ---- what is shown ----------------------------------------------------------------------------------- */

typedef struct view {
    functions sdl;
    SDL_Window *window;
    const char *name;
    imgpar_info info;
    void *data;                /* the elements themselves */
    pixels levels[MAX_LEVELS]; /* each half of the one before */
    int n_levels;
    double zoom, x, y; /* pixels of the window for one of the picture; what of it stands at the window's corner */
    int width, height; /* of the window */
    int pointer_x, pointer_y; /* in it; below 0: elsewhere */
    bool is_dragged, is_whole, is_closed;
} view;

/* Means of four pixels; of the last row or column of an odd number, of what there is. */
static bool halve(const pixels *in, pixels *out)
{
    *out = (pixels){ NULL, (in->width + 1) / 2, (in->height + 1) / 2 };
    out->rgb = malloc((size_t)(out->width * out->height * 3));
    if (!out->rgb) return false;
    for (int64_t y = 0; y < out->height; y++) {
        const int64_t y1 = 2 * y + 1 < in->height ? 2 * y + 1 : 2 * y;
        for (int64_t x = 0; x < out->width; x++) {
            const int64_t x1 = 2 * x + 1 < in->width ? 2 * x + 1 : 2 * x;
            for (int c = 0; c < 3; c++) {
                const int sum = in->rgb[(2 * y * in->width + 2 * x) * 3 + c] +
                                in->rgb[(2 * y * in->width + x1) * 3 + c] + in->rgb[(y1 * in->width + 2 * x) * 3 + c] +
                                in->rgb[(y1 * in->width + x1) * 3 + c];
                out->rgb[(y * out->width + x) * 3 + c] = (unsigned char)((sum + 2) / 4);
            }
        }
    }
    return true;
}

static imgpar_status load(view *v, imgpar_array *a, const imgpar_options *options, char *why, size_t size)
{
    imgpar_array *bytes = imgpar_op(NULL, "depth", &a, 1, "to=8");
    imgpar_status st = imgpar_array_info(bytes, &v->info); /* which says what is no picture */
    snprintf(why, size, "%s", imgpar_array_message(bytes));
    if (!st) st = imgpar_array_info(a, &v->info);
    if (!st && ((v->info.rank != 2 && v->info.rank != 3) || v->info.depth != 1 || v->info.size_bytes == 0)) {
        snprintf(why, size, "the result is no picture");
        st = IMGPAR_E_SHAPE;
    }
    if (!st) st = imgpar_eval((imgpar_array *[]){ a, bytes }, 2, options);
    if (!st && (!(v->data = malloc(v->info.size_bytes)) || !show_pixels(bytes, &v->levels[0], options))) {
        snprintf(why, size, "out of memory");
        st = IMGPAR_E_HOST_MEMORY;
    } else if (!st) {
        st = imgpar_array_read_with(a, v->data, v->info.size_bytes, options);
        snprintf(why, size, "%s", imgpar_array_message(a));
    } else if (!why[0]) {
        snprintf(why, size, "%s", imgpar_array_message(a));
    }
    imgpar_array_release(bytes);
    for (v->n_levels = 1; !st && v->n_levels < MAX_LEVELS; v->n_levels++) {
        const pixels *last = &v->levels[v->n_levels - 1];
        if (last->width <= 1 && last->height <= 1) break;
        if (halve(last, &v->levels[v->n_levels])) continue;
        snprintf(why, size, "out of memory");
        st = IMGPAR_E_HOST_MEMORY;
    }
    return st;
}

static uint32_t colour(const SDL_PixelFormat *format, const unsigned char *rgb)
{
    return (uint32_t)rgb[0] << format->Rshift | (uint32_t)rgb[1] << format->Gshift |
           (uint32_t)rgb[2] << format->Bshift | format->Amask;
}

static int64_t floor_of(double v)
{
    const int64_t whole = (int64_t)v;
    return whole > v ? whole - 1 : whole;
}

/* The pixel of a level at the middle of a pixel of the window; below 0: beside the picture. */
static int64_t at(double corner, int k, double zoom, int level, int64_t extent, int64_t own_extent)
{
    const int64_t there = floor_of(corner + (k + 0.5) / zoom), halved = there >> level;
    if (there < 0 || there >= extent) return -1;
    return halved < own_extent ? halved : own_extent - 1;
}

static bool draw(view *v)
{
    static const unsigned char background[3] = { BACKGROUND, BACKGROUND, BACKGROUND };
    SDL_Surface *surface = v->sdl.GetWindowSurface(v->window);
    int level = 0;
    if (!surface || surface->format->BytesPerPixel != 4 || surface->w < v->width || surface->h < v->height)
        return false;
    while (level + 1 < v->n_levels && v->zoom * (2 << level) <= 1)
        level++;
    const pixels *p = &v->levels[level];
    int64_t *columns = malloc((size_t)v->width * sizeof *columns);
    if (!columns) return false;
    for (int x = 0; x < v->width; x++)
        columns[x] = at(v->x, x, v->zoom, level, v->info.width, p->width);
    for (int y = 0; y < v->height; y++) {
        uint32_t *row = (uint32_t *)((char *)surface->pixels + (size_t)y * (size_t)surface->pitch);
        const int64_t from = at(v->y, y, v->zoom, level, v->info.height, p->height);
        for (int x = 0; x < v->width; x++)
            row[x] = colour(surface->format,
                            from < 0 || columns[x] < 0 ? background : &p->rgb[(from * p->width + columns[x]) * 3]);
    }
    free(columns);
    return v->sdl.UpdateWindowSurface(v->window) == 0;
}

/* "tower.png - 600x400 RGB u8 - 200% - (17, 3): 255 128 0". */
static void tell(const view *v)
{
    const imgpar_info *i = &v->info;
    char title[400], text[FACT_LETTERS];
    const int64_t x = floor_of(v->x + v->pointer_x / v->zoom), y = floor_of(v->y + v->pointer_y / v->zoom);
    int n = snprintf(title, sizeof title, "%.200s - %lldx%lldx%lld %s - %.4g%%", v->name, (long long)i->width,
                     (long long)i->height, (long long)i->channels, imgpar_dtype_name(i->dtype), 100 * v->zoom);
    if (v->pointer_x >= 0 && x >= 0 && y >= 0 && x < i->width && y < i->height) {
        n += snprintf(title + n, sizeof title - (size_t)n, " - (%lld, %lld):", (long long)x, (long long)y);
        for (int64_t c = 0; c < i->channels && c < FACT_CHANNELS; c++) {
            facts_number(i->dtype, facts_element(v->data, i->dtype, (size_t)((y * i->width + x) * i->channels + c)),
                         text);
            n += snprintf(title + n, sizeof title - (size_t)n, " %s", text);
        }
    }
    v->sdl.SetWindowTitle(v->window, title);
}

/* ---- what is done ------------------------------------------------------------------------------------ */

/* The picture stays in the window: where it is smaller, in its middle. */
static double kept(double corner, double shown, double extent)
{
    if (shown >= extent) return (extent - shown) / 2;
    return corner < 0 ? 0 : corner > extent - shown ? extent - shown : corner;
}

static void keep_inside(view *v)
{
    v->x = kept(v->x, v->width / v->zoom, (double)v->info.width);
    v->y = kept(v->y, v->height / v->zoom, (double)v->info.height);
}

static double whole_zoom(const view *v)
{
    const double across = v->width / (double)v->info.width, down = v->height / (double)v->info.height;
    return across < down ? across : down;
}

/* What stands at (x, y) of the window stays there. */
static void zoom_to(view *v, double zoom, int x, int y)
{
    const double least = whole_zoom(v) < 1 ? whole_zoom(v) : 1;
    zoom = zoom < least ? least : zoom > MAX_ZOOM ? MAX_ZOOM : zoom;
    v->x += x / v->zoom - x / zoom;
    v->y += y / v->zoom - y / zoom;
    v->zoom = zoom;
    v->is_whole = zoom <= least;
    keep_inside(v);
}

static void move(view *v, int x, int y)
{
    v->x += x / v->zoom;
    v->y += y / v->zoom;
    keep_inside(v);
}

static void press(view *v, SDL_Keycode key)
{
    const int x = v->width / 2, y = v->height / 2;
    switch (key) {
    case SDLK_q:
    case SDLK_ESCAPE: v->is_closed = true; break;
    case SDLK_PLUS:
    case SDLK_KP_PLUS:
    case SDLK_EQUALS: zoom_to(v, v->zoom * 2, x, y); break;
    case SDLK_MINUS:
    case SDLK_KP_MINUS: zoom_to(v, v->zoom / 2, x, y); break;
    case SDLK_1: zoom_to(v, 1, x, y); break;
    case SDLK_0: zoom_to(v, whole_zoom(v), x, y); break;
    case SDLK_LEFT: move(v, -STEP_PX, 0); break;
    case SDLK_RIGHT: move(v, STEP_PX, 0); break;
    case SDLK_UP: move(v, 0, -STEP_PX); break;
    case SDLK_DOWN: move(v, 0, STEP_PX); break;
    default: break;
    }
}

static void resize(view *v, int width, int height)
{
    v->width = width > 0 ? width : 1;
    v->height = height > 0 ? height : 1;
    if (v->is_whole) v->zoom = whole_zoom(v) < 1 ? whole_zoom(v) : v->zoom;
    keep_inside(v);
}

/* A wheel: down and up it zooms, across it moves. */
static void turn(view *v, int x, int y)
{
    if (y) zoom_to(v, y > 0 ? v->zoom * 1.25 : v->zoom / 1.25, v->pointer_x, v->pointer_y);
    if (x) move(v, WHEEL_PX * x, 0);
}

static void take(view *v, const SDL_Event *e)
{
    switch (e->type) {
    case SDL_QUIT: v->is_closed = true; break;
    case SDL_KEYDOWN: press(v, e->key.keysym.sym); break;
    case SDL_MOUSEWHEEL:
        turn(v, e->wheel.direction == SDL_MOUSEWHEEL_FLIPPED ? -e->wheel.x : e->wheel.x,
             e->wheel.direction == SDL_MOUSEWHEEL_FLIPPED ? -e->wheel.y : e->wheel.y);
        break;
    case SDL_MOUSEBUTTONDOWN: v->is_dragged = true; break;
    case SDL_MOUSEBUTTONUP: v->is_dragged = false; break;
    case SDL_MOUSEMOTION:
        if (v->is_dragged) move(v, -e->motion.xrel, -e->motion.yrel);
        v->pointer_x = e->motion.x;
        v->pointer_y = e->motion.y;
        break;
    case SDL_WINDOWEVENT:
        if (e->window.event == SDL_WINDOWEVENT_SIZE_CHANGED) resize(v, e->window.data1, e->window.data2);
        if (e->window.event == SDL_WINDOWEVENT_LEAVE) v->pointer_x = -1;
        break;
    default: break;
    }
}

/* As large as the picture, but not larger than four fifths of the screen; what is tiny begins in several sizes. */
static bool open_window(view *v)
{
    SDL_Rect desktop = { 0, 0, 1024, 768 };
    v->sdl.GetDisplayUsableBounds(0, &desktop);
    v->width = desktop.w * 4 / 5;
    v->height = desktop.h * 4 / 5;
    v->zoom = whole_zoom(v) < 1 ? whole_zoom(v) : 1;
    while (v->info.width * v->zoom < LEAST_SIDE && v->info.height * v->zoom < LEAST_SIDE && v->zoom < MAX_ZOOM)
        v->zoom *= 2;
    const double width = (double)v->info.width * v->zoom, height = (double)v->info.height * v->zoom;
    v->width = width < LEAST_SIDE ? LEAST_SIDE : (int)(width + 0.5);
    v->height = height < LEAST_SIDE ? LEAST_SIDE : (int)(height + 0.5);
    v->is_whole = true;
    v->pointer_x = v->pointer_y = -1;
    keep_inside(v);
    v->window = v->sdl.CreateWindow(v->name, SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, v->width, v->height,
                                    SDL_WINDOW_RESIZABLE);
    return v->window != NULL;
}

/* Events that are there are taken together: pictures are drawn no faster than they are seen. */
static bool attend(view *v)
{
    while (!v->is_closed && !signals_poll(NULL, 0)) {
        SDL_Event event;
        tell(v);
        if (!draw(v)) return false;
        while (!v->is_closed && !signals_poll(NULL, 0) && !v->sdl.WaitEventTimeout(&event, WAIT_MS)) {
        }
        if (v->is_closed || signals_seen()) break;
        do
            take(v, &event);
        while (v->sdl.PollEvent(&event));
    }
    return true;
}

imgpar_status window_show(imgpar_array *a, const char *name, const imgpar_options *options, char *why, size_t size)
{
    view v = { .name = name, .info = { .struct_size = sizeof v.info } };
    imgpar_status st = load(&v, a, options, why, size);
    const bool has_begun = !st && begin(&v.sdl, why, size);
    if (!st && !has_begun) st = IMGPAR_E_IO;
    if (!st && !(open_window(&v) && attend(&v))) {
        snprintf(why, size, "%s", v.sdl.GetError()[0] ? v.sdl.GetError() : "the window has no pixels of 32 bits");
        st = IMGPAR_E_IO;
    }
    if (!st && signals_seen()) st = IMGPAR_E_INTERRUPTED;
    if (v.window) v.sdl.DestroyWindow(v.window);
    if (has_begun) v.sdl.Quit();
    for (int k = 0; k < MAX_LEVELS; k++)
        free(v.levels[k].rgb);
    free(v.data);
    return st;
}

#else

#include <stdio.h>

bool window_is_there(char *why, size_t size)
{
    snprintf(why, size, "this imgpar-run was built without SDL2 (Debian package: libsdl2-dev)");
    return false;
}

imgpar_status window_show(imgpar_array *a, const char *name, const imgpar_options *options, char *why, size_t size)
{
    (void)a;
    (void)name;
    (void)options;
    window_is_there(why, size);
    return IMGPAR_E_UNSUPPORTED;
}

#endif
