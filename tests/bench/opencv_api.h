/* SPDX-License-Identifier: MIT */
/*
 * The C functions of OpenCV that are used here. The library of version 4 still has them, as thin wrappers around
 * the C++ functions of the same work, but its C headers include C++ ones and compile as C++ only. Names, values
 * and layouts are those of opencv2/core/core_c.h and opencv2/imgproc/imgproc_c.h.
 */
#ifndef BENCH_OPENCV_API_H
#define BENCH_OPENCV_API_H

typedef void CvArr;
typedef struct CvMat {
    int type, step;
    int *refcount;
    int hdr_refcount;
    unsigned char *data;
    int rows, cols;
} CvMat;
typedef struct CvPoint {
    int x, y;
} CvPoint;
typedef struct CvScalar {
    double val[4];
} CvScalar;
typedef struct IplConvKernel IplConvKernel;
typedef struct CvHistogram {
    int type;
    CvArr *bins;
} CvHistogram; /* its beginning */

enum { CV_8U = 0, CV_16S = 3, CV_32F = 5, CV_64F = 6 };
enum { CV_MAT_CONT_FLAG = 1 << 14 };
#define CV_TYPE(depth, channels) ((depth) + (((channels)-1) << 3))
enum { CV_BLUR = 1, CV_GAUSSIAN = 2, CV_MEDIAN = 3, CV_BILATERAL = 4, CV_HOUGH_GRADIENT = 3 };
enum { CV_CANNY_L2_GRADIENT = -2147483647 - 1, CV_TM_CCOEFF_NORMED = 5 };
enum { CV_INTER_LINEAR = 1, CV_INTER_AREA = 3 };
enum { CV_SHAPE_RECT = 0, CV_THRESH_BINARY = 0, CV_RGB2GRAY = 7, CV_FILLED = -1, CV_HIST_ARRAY = 0 };
enum { CV_GAUSSIAN_5x5 = 7, CV_DXT_FORWARD = 0, CV_WARP_FILL_OUTLIERS = 8, CV_WARP_INVERSE_MAP = 16, CV_RGB2Lab = 45 };
enum { CV_DIST_L2 = 2, CV_DIST_MASK_PRECISE = 0 };

void cvSetNumThreads(int threads);
CvMat *cvInitMatHeader(CvMat *mat, int rows, int cols, int type, void *data, int step);

void cvSmooth(const CvArr *src, CvArr *dst, int type, int size1, int size2, double sigma1, double sigma2);
void cvErode(const CvArr *src, CvArr *dst, IplConvKernel *element, int iterations);
void cvDilate(const CvArr *src, CvArr *dst, IplConvKernel *element, int iterations);
IplConvKernel *cvCreateStructuringElementEx(int cols, int rows, int x, int y, int shape, int *values);
void cvReleaseStructuringElement(IplConvKernel **element);
void cvFilter2D(const CvArr *src, CvArr *dst, const CvMat *kernel, CvPoint anchor);
void cvSobel(const CvArr *src, CvArr *dst, int x_order, int y_order, int size);
void cvCanny(const CvArr *image, CvArr *edges, double low, double high, int aperture);
void cvMatchTemplate(const CvArr *image, const CvArr *part, CvArr *result, int method);
void cvResize(const CvArr *src, CvArr *dst, int interpolation);
void cvWarpAffine(const CvArr *src, CvArr *dst, const CvMat *matrix, int flags, CvScalar fill);
void cvWarpPerspective(const CvArr *src, CvArr *dst, const CvMat *matrix, int flags, CvScalar fill);
void cvRemap(const CvArr *src, CvArr *dst, const CvArr *map_x, const CvArr *map_y, int flags, CvScalar fill);
void *cvHoughCircles(CvArr *image, void *circles, int method, double cell, double apart, double high, double votes,
                     int least, int largest);
void cvPyrDown(const CvArr *src, CvArr *dst, int filter);
void cvEqualizeHist(const CvArr *src, CvArr *dst);
void cvDCT(const CvArr *src, CvArr *dst, int flags);
void cvCvtColor(const CvArr *src, CvArr *dst, int code);
double cvThreshold(const CvArr *src, CvArr *dst, double threshold, double maximum, int type);
void cvDistTransform(const CvArr *src, CvArr *dst, int distance, int mask_size, const float *mask, CvArr *labels,
                     int label_type);
void cvCircle(CvArr *img, CvPoint center, int radius, CvScalar color, int thickness, int line_type, int shift);

void cvAddWeighted(const CvArr *a, double alpha, const CvArr *b, double beta, double gamma, CvArr *dst);
void cvConvertScale(const CvArr *src, CvArr *dst, double scale, double shift);
void cvAbsDiffS(const CvArr *src, CvArr *dst, CvScalar value);
void cvMul(const CvArr *a, const CvArr *b, CvArr *dst, double scale);
void cvSub(const CvArr *a, const CvArr *b, CvArr *dst, const CvArr *mask);
void cvMaxS(const CvArr *src, double value, CvArr *dst);
void cvPow(const CvArr *src, CvArr *dst, double power);
void cvCartToPolar(const CvArr *x, const CvArr *y, CvArr *magnitude, CvArr *angle, int in_degrees);
void cvNot(const CvArr *src, CvArr *dst);
void cvCopy(const CvArr *src, CvArr *dst, const CvArr *mask);
void cvSetZero(CvArr *arr);
void cvSplit(const CvArr *src, CvArr *dst0, CvArr *dst1, CvArr *dst2, CvArr *dst3);

CvScalar cvSum(const CvArr *arr);
void cvAvgSdv(const CvArr *arr, CvScalar *mean, CvScalar *deviation, const CvArr *mask);
void cvMinMaxLoc(const CvArr *arr, double *min, double *max, CvPoint *min_at, CvPoint *max_at, const CvArr *mask);
CvHistogram *cvCreateHist(int dims, int *sizes, int type, float **ranges, int is_uniform);
void cvCalcArrHist(CvArr **arr, CvHistogram *hist, int accumulate, const CvArr *mask);
void cvReleaseHist(CvHistogram **hist);
double cvGetReal1D(const CvArr *arr, int i);

#endif
