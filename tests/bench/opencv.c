/* SPDX-License-Identifier: MIT */
/*
 * The works by OpenCV, through its C functions. Each wraps the C++ function of the same work, so they cost the
 * same, with two exceptions: histograms of several channels need the channels split first, and a separable
 * matrix can be given as a whole only.
 */
#include "bench.h"

#ifdef HAVE_OPENCV
#include "opencv_api.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ANCHOR ((CvPoint){ -1, -1 })

static CvMat over(void *data, int64_t width, int64_t height, int depth, int channels)
{
    static const int sizes[] = { 1, 1, 2, 2, 4, 4, 8 };
    CvMat m;
    cvInitMatHeader(&m, (int)height, (int)width, CV_TYPE(depth, channels), data, (int)width * channels * sizes[depth]);
    return m;
}

static int depth_of(imgpar_dtype dtype) { return dtype == IMGPAR_F32 ? CV_32F : CV_8U; }

/* A line of numbers counts as rows, so that two threads can share it. */
static CvMat input(bench_task *t, int n)
{
    bench_image *p = &t->in[n];
    bool is_line = p->height == 1;
    return over(p->data, is_line ? 1000 : p->width, is_line ? p->width / 1000 : p->height, depth_of(p->dtype),
                (int)p->channels);
}

static CvMat output(bench_task *t)
{
    bench_image *p = &t->out[0];
    const bench_work work = t->row->work;
    const bool makes_floats = work == BENCH_LOCAL_DEVIATION || work == BENCH_DISTANCE || work == BENCH_TEMPLATE;
    imgpar_dtype dtype = t->in[0].dtype == IMGPAR_F32 || makes_floats ? IMGPAR_F32 : IMGPAR_U8;
    bench_out(t, 0, dtype);
    bool is_line = p->height == 1;
    return over(p->data, is_line ? 1000 : p->width, is_line ? p->width / 1000 : p->height, depth_of(dtype),
                (int)p->channels);
}

/* An intermediate picture as large as the input. */
static CvMat between(bench_task *t, int k, int depth, int channels)
{
    size_t n = (size_t)(t->in[0].width * t->in[0].height) * (size_t)channels;
    return over(bench_scratch(t, k, n * 4), t->in[0].width, t->in[0].height, depth, channels);
}

static void gauss(const CvMat *from, CvMat *to, double sigma, bool is_float)
{
    int size = 2 * (int)ceil((is_float ? 4 : 3) * sigma) + 1;
    cvSmooth(from, to, CV_GAUSSIAN, size, size, sigma, sigma);
}

static void morph(const CvMat *from, CvMat *to, int size, bool is_dilation)
{
    IplConvKernel *square = cvCreateStructuringElementEx(size, size, size / 2, size / 2, CV_SHAPE_RECT, NULL);
    (is_dilation ? cvDilate : cvErode)(from, to, square, 1);
    cvReleaseStructuringElement(&square);
}

static void gradient(bench_task *t, const CvMat *from, CvMat *to)
{
    CvMat x = between(t, 0, CV_32F, 1), y = between(t, 1, CV_32F, 1), length = between(t, 2, CV_32F, 1);
    cvSobel(from, &x, 1, 0, 3);
    cvSobel(from, &y, 0, 1, 3);
    cvCartToPolar(&x, &y, &length, NULL, 0);
    cvConvertScale(&length, to, 1, 0);
}

/* ---- filters ---- */

static bool run_box(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvSmooth(&in, &out, CV_BLUR, t->row->size, t->row->size, 0, 0);
    return true;
}

static bool run_gauss(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    gauss(&in, &out, t->row->sigma, t->in[0].dtype == IMGPAR_F32);
    return true;
}

static bool run_median(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvSmooth(&in, &out, CV_MEDIAN, t->row->size, 0, 0, 0);
    return true;
}

static bool run_morph(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    morph(&in, &out, t->row->size, t->row->work == BENCH_DILATE);
    return true;
}

static bool run_sobel(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    gradient(t, &in, &out);
    return true;
}

static bool run_canny(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvCanny(&in, &out, 100, 200, 3 | CV_CANNY_L2_GRADIENT);
    return true;
}

static bool run_template(bench_task *t)
{
    const bench_image *p = &t->in[0];
    const int size = t->row->size;
    CvMat in = input(t, 0), out = output(t), part = in;
    part.data += (p->height / 2) * in.step + p->width / 2;
    part.rows = part.cols = size;
    part.type &= ~CV_MAT_CONT_FLAG;
    cvMatchTemplate(&in, &part, &out, CV_TM_CCOEFF_NORMED);
    return true;
}

static bool run_convolve(bench_task *t)
{
    bool is_separable = t->row->work == BENCH_CONVOLVE_SEPARABLE;
    float weights[25];
    for (int i = 0; i < 25; i++)
        weights[i] = is_separable ? bench_matrix_separable[i] / 256 : bench_matrix[i] / 92;
    CvMat in = input(t, 0), out = output(t), matrix = over(weights, 5, 5, CV_32F, 1);
    cvFilter2D(&in, &out, &matrix, ANCHOR);
    return true;
}

static bool run_unsharp(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t), soft = between(t, 0, CV_8U, 3);
    gauss(&in, &soft, t->row->sigma, false);
    cvAddWeighted(&in, 1.6, &soft, -0.6, 0, &out);
    return true;
}

static bool run_local_deviation(bench_task *t)
{
    int size = t->row->size;
    CvMat in = input(t, 0), out = output(t);
    CvMat f = between(t, 0, CV_32F, 1), squares = between(t, 1, CV_32F, 1), mean = between(t, 2, CV_32F, 1);
    cvConvertScale(&in, &f, 1, 0);
    cvMul(&f, &f, &squares, 1);
    cvSmooth(&f, &mean, CV_BLUR, size, size, 0, 0);
    cvSmooth(&squares, &f, CV_BLUR, size, size, 0, 0);
    cvMul(&mean, &mean, &squares, 1);
    cvSub(&f, &squares, &mean, NULL);
    cvMaxS(&mean, 0, &mean);
    cvPow(&mean, &out, 0.5);
    return true;
}

static bool run_edges(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t), soft = between(t, 3, CV_8U, 1);
    gauss(&in, &soft, t->row->sigma, false);
    gradient(t, &soft, &out);
    cvThreshold(&out, &out, 100, 255, CV_THRESH_BINARY);
    return true;
}

static bool run_distance(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t), mask = between(t, 0, CV_8U, 1);
    cvThreshold(&in, &mask, 128, 255, CV_THRESH_BINARY);
    cvDistTransform(&mask, &out, CV_DIST_L2, CV_DIST_MASK_PRECISE, NULL, NULL, 0);
    return true;
}

static bool run_equalize(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvEqualizeHist(&in, &out);
    return true;
}

static bool run_pyr_down(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvPyrDown(&in, &out, CV_GAUSSIAN_5x5);
    return true;
}

static bool run_dct(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvDCT(&in, &out, CV_DXT_FORWARD);
    return true;
}

/* Where an element of the result is read. */
static bool run_warp(bench_task *t)
{
    const double c = cos(BENCH_WARP_DEGREES * M_PI / 180), s = sin(BENCH_WARP_DEGREES * M_PI / 180);
    const double middle_x = (double)(t->in[0].width - 1) / 2, middle_y = (double)(t->in[0].height - 1) / 2;
    double places[] = { c,  s, middle_x - c * middle_x - s * middle_y, /* x */
                        -s, c, middle_y + s * middle_x - c * middle_y };
    CvMat in = input(t, 0), out = output(t), matrix = over(places, 3, 2, CV_64F, 1);
    cvWarpAffine(&in, &out, &matrix, CV_INTER_LINEAR | CV_WARP_INVERSE_MAP | CV_WARP_FILL_OUTLIERS,
                 (CvScalar){ { 0 } });
    return true;
}

static bool run_perspective(bench_task *t)
{
    double places[9];
    for (int k = 0; k < 9; k++)
        places[k] = bench_perspective[k];
    CvMat in = input(t, 0), out = output(t), matrix = over(places, 3, 3, CV_64F, 1);
    cvWarpPerspective(&in, &out, &matrix, CV_INTER_LINEAR | CV_WARP_FILL_OUTLIERS, (CvScalar){ { 0 } });
    return true;
}

static bool run_remap(bench_task *t)
{
    CvMat in = input(t, 0), rows = input(t, 1), columns = input(t, 2), out = output(t);
    cvRemap(&in, &out, &columns, &rows, CV_INTER_LINEAR | CV_WARP_FILL_OUTLIERS, (CvScalar){ { 0 } });
    return true;
}

static bool run_bilateral(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvSmooth(&in, &out, CV_BILATERAL, t->row->size, 0, BENCH_BILATERAL_CONTRAST * 255, t->row->sigma);
    return true;
}

/* The circles that it finds are looked at by nobody. */
static bool run_hough_circles(bench_task *t)
{
    float found[3 * 1024];
    CvMat in = input(t, 0), circles = over(found, 1024, 1, CV_32F, 3);
    memset(bench_out(t, 0, IMGPAR_I32), 0, t->out[0].size_bytes);
    cvHoughCircles(&in, &circles, CV_HOUGH_GRADIENT, 1, 11, 200, 30, 10, 40);
    return true;
}

static bool run_to_lab(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t), share = between(t, 0, CV_32F, 3);
    cvConvertScale(&in, &share, 1 / 255.0, 0);
    cvCvtColor(&share, &out, CV_RGB2Lab);
    return true;
}

static bool run_four_boxes(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t), other = between(t, 0, CV_8U, 3);
    cvSmooth(&in, &other, CV_BLUR, 3, 3, 0, 0);
    cvSmooth(&other, &out, CV_BLUR, 3, 3, 0, 0);
    cvSmooth(&out, &other, CV_BLUR, 3, 3, 0, 0);
    cvSmooth(&other, &out, CV_BLUR, 3, 3, 0, 0);
    return true;
}

static bool run_four_filters(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t), other = between(t, 0, CV_8U, 3);
    gauss(&in, &other, t->row->sigma, false);
    cvSmooth(&other, &out, CV_BLUR, 3, 3, 0, 0);
    cvSmooth(&out, &other, CV_MEDIAN, 3, 0, 0, 0);
    morph(&other, &out, 3, false);
    return true;
}

/* ---- element by element ---- */

static bool run_sunset(bench_task *t)
{
    CvMat tower = input(t, 0), evening = input(t, 1), forest = input(t, 2), out = output(t);
    CvMat soft = between(t, 0, CV_8U, 3), inverted = between(t, 1, CV_8U, 3), mask = between(t, 2, CV_8U, 1);
    cvSmooth(&tower, &soft, CV_BLUR, 3, 3, 0, 0);
    cvSmooth(&soft, &out, CV_BLUR, 3, 3, 0, 0);
    cvSmooth(&out, &soft, CV_BLUR, 3, 3, 0, 0);
    cvAddWeighted(&soft, 0.7, &evening, 0.3, 0, &out);
    cvNot(&forest, &inverted);
    cvSetZero(&mask);
    /* The centre lies between pixels: four binary places. */
    int64_t w = t->in[0].width, h = t->in[0].height;
    cvCircle(&mask, (CvPoint){ (int)(w - 1) * 8, (int)(h - 1) * 8 }, (int)h * 4, (CvScalar){ { 255 } }, CV_FILLED, 8,
             4);
    cvCopy(&inverted, &out, &mask);
    return true;
}

static bool run_blend(bench_task *t)
{
    CvMat a = input(t, 0), b = input(t, 1), out = output(t);
    cvAddWeighted(&a, 0.7, &b, 0.3, 0, &out);
    return true;
}

static bool run_maps(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    const CvScalar zero = { { 0 } };
    cvConvertScale(&in, &out, 1.25, 0);
    cvConvertScale(&out, &out, 1, -0.5);
    cvAbsDiffS(&out, &out, zero);
    cvMul(&out, &out, &out, 1);
    cvConvertScale(&out, &out, 1, 1);
    cvConvertScale(&out, &out, 0.5, 0);
    cvConvertScale(&out, &out, 1, -3);
    cvAbsDiffS(&out, &out, zero);
    cvConvertScale(&out, &out, 0.75, 0);
    cvConvertScale(&out, &out, 1, 0.125);
    cvMul(&out, &out, &out, 1);
    return true;
}

static bool run_to_gray(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvCvtColor(&in, &out, CV_RGB2GRAY);
    return true;
}

static bool run_resize(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvResize(&in, &out, t->row->work == BENCH_RESIZE_AREA ? CV_INTER_AREA : CV_INTER_LINEAR);
    return true;
}

static bool run_threshold(bench_task *t)
{
    CvMat in = input(t, 0), out = output(t);
    cvThreshold(&in, &out, 128, 255, CV_THRESH_BINARY);
    return true;
}

/* ---- measures ---- */

/* The channels as one row of numbers. */
static CvMat flat(bench_task *t)
{
    bench_image *p = &t->in[0];
    return over(p->data, p->width * p->channels, p->height, CV_8U, 1);
}

static bool run_sum(bench_task *t)
{
    CvMat in = input(t, 0);
    CvScalar s = cvSum(&in);
    *(double *)bench_out(t, 0, IMGPAR_F64) = s.val[0] + s.val[1] + s.val[2];
    return true;
}

static bool run_statistics(bench_task *t)
{
    CvMat in = flat(t);
    CvScalar mean, deviation;
    double min, max;
    cvAvgSdv(&in, &mean, &deviation, NULL);
    cvMinMaxLoc(&in, &min, &max, NULL, NULL, NULL);
    double all[] = { mean.val[0], deviation.val[0], min, max };
    for (int k = 0; k < 4; k++)
        *(double *)bench_out(t, k, IMGPAR_F64) = all[k];
    return true;
}

static void histogram(const CvMat *plane, double *counts)
{
    int bins = 256;
    float range[] = { 0, 256 }, *ranges[] = { range };
    CvHistogram *hist = cvCreateHist(1, &bins, CV_HIST_ARRAY, ranges, 1);
    CvArr *planes[] = { (CvArr *)plane };
    cvCalcArrHist(planes, hist, 0, NULL);
    for (int i = 0; i < bins; i++)
        counts[i] = cvGetReal1D(hist->bins, i);
    cvReleaseHist(&hist);
}

static bool run_histogram(bench_task *t)
{
    CvMat in = input(t, 0);
    double *counts = bench_out(t, 0, IMGPAR_F64);
    if (t->in[0].channels == 1) {
        histogram(&in, counts);
        return true;
    }
    CvMat plane[3];
    for (int c = 0; c < 3; c++)
        plane[c] = between(t, c, CV_8U, 1);
    cvSplit(&in, &plane[0], &plane[1], &plane[2], NULL);
    for (int c = 0; c < 3; c++)
        histogram(&plane[c], counts + c * 256);
    return true;
}

static bool run_histogram_mean(bench_task *t)
{
    CvMat in = input(t, 0), gray = between(t, 0, CV_8U, 1), soft = between(t, 1, CV_8U, 1);
    cvCvtColor(&in, &gray, CV_RGB2GRAY);
    gauss(&gray, &soft, t->row->sigma, false);
    histogram(&soft, bench_out(t, 0, IMGPAR_F64));
    CvScalar sum = cvSum(&soft);
    *(double *)bench_out(t, 1, IMGPAR_F64) = sum.val[0] / (double)(t->in[0].width * t->in[0].height);
    return true;
}

static const bench_run works[BENCH_N_WORKS] = {
    [BENCH_SUNSET] = run_sunset,
    [BENCH_BOX] = run_box,
    [BENCH_GAUSS] = run_gauss,
    [BENCH_MEDIAN] = run_median,
    [BENCH_ERODE] = run_morph,
    [BENCH_DILATE] = run_morph,
    [BENCH_SOBEL] = run_sobel,
    [BENCH_CANNY] = run_canny,
    [BENCH_TEMPLATE] = run_template,
    [BENCH_CONVOLVE] = run_convolve,
    [BENCH_CONVOLVE_SEPARABLE] = run_convolve,
    [BENCH_BLEND] = run_blend,
    [BENCH_MAPS] = run_maps,
    [BENCH_TO_GRAY] = run_to_gray,
    [BENCH_RESIZE_AREA] = run_resize,
    [BENCH_RESIZE_LINEAR] = run_resize,
    [BENCH_THRESHOLD] = run_threshold,
    [BENCH_SUM] = run_sum,
    [BENCH_STATISTICS] = run_statistics,
    [BENCH_HISTOGRAM] = run_histogram,
    [BENCH_HISTOGRAM_MEAN] = run_histogram_mean,
    [BENCH_UNSHARP] = run_unsharp,
    [BENCH_LOCAL_DEVIATION] = run_local_deviation,
    [BENCH_EDGES] = run_edges,
    [BENCH_FOUR_BOXES] = run_four_boxes,
    [BENCH_FOUR_FILTERS] = run_four_filters,
    [BENCH_DISTANCE] = run_distance,
    [BENCH_EQUALIZE] = run_equalize,
    [BENCH_PYR_DOWN] = run_pyr_down,
    [BENCH_DCT] = run_dct,
    [BENCH_WARP] = run_warp,
    [BENCH_PERSPECTIVE] = run_perspective,
    [BENCH_REMAP] = run_remap,
    [BENCH_BILATERAL] = run_bilateral,
    [BENCH_HOUGH_CIRCLES] = run_hough_circles,
    [BENCH_TO_LAB] = run_to_lab,
};

bench_run bench_opencv(const bench_row *row)
{
    cvSetNumThreads(BENCH_THREADS);
    return works[row->work];
}

/* The C functions do not tell it, but the library's file name does: libopencv_core.so.4.6.0 */
const char *bench_opencv_version(void)
{
    static char version[32] = "found";
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        const char *name = strstr(line, "libopencv_core.so.");
        if (name && sscanf(name, "libopencv_core.so.%31[0-9.]", version) == 1) break;
    }
    if (maps) fclose(maps);
    return version;
}

#else

bench_run bench_opencv(const bench_row *row)
{
    (void)row;
    return NULL;
}
const char *bench_opencv_version(void) { return NULL; }

#endif
