/* SPDX-License-Identifier: MIT */
/*
 * Images: buffers whose memory is an image of the device. Their layout is that of a matrix of texels, so regions,
 * access and order are those of any buffer; what differs is the calls that enqueue commands (command.c), and which
 * parameters take them (args.c).
 */
#include "cl/cl.h"

#include "base/dtype.h"

static const char function[] = "image_new";

static bool has_channels(int n) { return n == 1 || n == 2 || n == 4; }

static imgpar_status check_texels(ip_device *device, const imgpar_cl_image *image, ip_texels *out, ip_error *err)
{
    const ip_device_facts *facts = &device->facts;
    bool is_offered;
    if (image->width < 1 || image->height < 1)
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: image.%s is 0", function, image->width < 1 ? "width" : "height");
    if (!ip_dtype(image->dtype))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: image.dtype=%d is no dtype", function, (int)image->dtype);
    if (!has_channels(image->channels))
        return ip_fail(err, IMGPAR_E_ARGUMENT, "%s: image.channels=%d is not 1, 2 or 4", function, image->channels);
    *out = (ip_texels){ image->dtype, image->channels, image->is_normalized != 0, image->width, image->height };
    if (ip_image_is_offered(device, out, &is_offered, err)) return err->status;
    if (!is_offered)
        return ip_fail(err, IMGPAR_E_UNSUPPORTED, "%s: the device has no images of %d channels of %s%s", function,
                       image->channels, image->is_normalized ? "normalized " : "", ip_dtype(image->dtype)->name);
    if (image->width > facts->image_width || image->height > facts->image_height)
        return ip_fail(err, IMGPAR_E_LIMIT, "%s: %zu x %zu texels are over the device's %zu x %zu", function,
                       image->width, image->height, facts->image_width, facts->image_height);
    return IMGPAR_OK;
}

static imgpar_status make(imgpar_context *ctx, imgpar_cl_access access, const imgpar_cl_image *given,
                          imgpar_cl_buffer **out, ip_error *err)
{
    imgpar_cl_image image = { .struct_size = sizeof image };
    imgpar_cl_layout layout;
    ip_device *device;
    ip_texels texels;
    size_t size_bytes;
    ip_buffer *memory;
    if (ip_cl_device(ctx, function, &device, err) || ip_cl_check_access(function, access, err)) return err->status;
    if (!given) return ip_cl_null(err, function, "image");
    if (ip_struct_in(&image, given, function, "image", err) || check_texels(device, &image, &texels, err))
        return err->status;
    const imgpar_cl_layout wanted =
        imgpar_cl_matrix(image.height, image.width, (size_t)image.channels * ip_dtype(image.dtype)->size_bytes);
    if (ip_cl_layout(function, &wanted, &layout, &size_bytes, err) || ip_image_new(device, &texels, &memory, err) ||
        ip_cl_buffer_of_memory(ctx, access, &layout, size_bytes, memory, out, err))
        return err->status;
    (*out)->is_image = true;
    (*out)->image = image;
    return IMGPAR_OK;
}

imgpar_status imgpar_cl_image_new(imgpar_context *ctx, imgpar_cl_access access, const imgpar_cl_image *image,
                                  imgpar_cl_buffer **out)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!out) {
        ip_cl_null(&err, function, "out");
    } else {
        *out = NULL;
        make(ctx, access, image, out, &err);
    }
    return ip_cl_say(&err);
}
