/* SPDX-License-Identifier: MIT */
/*
 * An image from tightly packed rows. TX_T is the element, TX_CHANNELS how many a pixel has, TX_V and TX_WRITE the
 * texel's vector and the function that writes it. Channels that the rows do not have are 0.
 */
#ifdef TX_HALF
#define TX_READ(i) vload_half(i, from)
#else
#define TX_READ(i) from[i]
#endif

__kernel void to_texture(__global const TX_T *restrict from, __write_only image2d_t to)
{
    const int x = get_global_id(0), y = get_global_id(1), width = get_image_width(to);
    if (x >= width) return;
    const long at = ((long)y * width + x) * TX_CHANNELS;
    TX_V texel = (TX_V)(0);
    texel.s0 = TX_READ(at);
#if TX_CHANNELS > 1
    texel.s1 = TX_READ(at + 1);
#endif
#if TX_CHANNELS > 2
    texel.s2 = TX_READ(at + 2);
#endif
#if TX_CHANNELS > 3
    texel.s3 = TX_READ(at + 3);
#endif
    TX_WRITE(to, (int2)(x, y), texel);
}
