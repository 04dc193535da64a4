/* SPDX-License-Identifier: MIT */
/* Sets the elements of a box of a buffer. A work-item is a byte, a row and a slice of the box. */
kernel void fill(global uchar *buffer, global const uchar *element, ulong offset, ulong row_pitch, ulong slice_pitch,
                 ulong element_bytes)
{
    ulong at = get_global_id(0);
    buffer[offset + at + get_global_id(1) * row_pitch + get_global_id(2) * slice_pitch] = element[at % element_bytes];
}
