/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif

#include "io/xmp.h"

#include "base/md5.h"

#include <string.h>

static unsigned char *find(unsigned char *at, const unsigned char *end, const char *text)
{
    return at < end ? memmem(at, (size_t)(end - at), text, strlen(text)) : NULL;
}

/* Cuts out what stands from open to close, once over the packet; false where an element does not end. */
static bool cut_elements(ip_blob *xmp, const char *open, const char *close)
{
    unsigned char *const end = xmp->bytes + xmp->n, *to = xmp->bytes, *from = xmp->bytes;
    for (;;) {
        unsigned char *element = find(from, end, open), *stop = element ? element : end;
        memmove(to, from, (size_t)(stop - from));
        to += stop - from;
        if (!element) break;
        from = find(element, end, close);
        if (!from) return false;
        from += strlen(close);
    }
    xmp->n = (size_t)(to - xmp->bytes);
    return true;
}

/* Sets the number that follows each mention of a property, as attribute or element, to 1. */
static void reset_orientation(ip_blob *xmp)
{
    static const char property[] = "tiff:Orientation";
    unsigned char *end = xmp->bytes + xmp->n, *at = xmp->bytes;
    while ((at = find(at, end, property)) != NULL) {
        at += sizeof property - 1;
        while (at < end && *at && strchr(" \t\r\n='\">", *at))
            at++;
        if (at < end && *at >= '2' && *at <= '8') *at = '1';
    }
}

void ip_xmp_clean(ip_blob *xmp)
{
    static const char *const elements[][2] = {
        { "<xmp:Thumbnails", "</xmp:Thumbnails>" },
        { "<xap:Thumbnails", "</xap:Thumbnails>" },
    };
    for (int k = 0; k < 2; k++)
        if (!cut_elements(xmp, elements[k][0], elements[k][1])) xmp->n = 0; /* no packet: nobody could read it */
    reset_orientation(xmp);
}

/* Where the contents of element rdf:RDF begin and end; NULL: there is none. */
static const unsigned char *find_descriptions(const ip_blob *xmp, const unsigned char **stop)
{
    const unsigned char *const end = xmp->bytes + xmp->n;
    unsigned char *open = find(xmp->bytes, end, "<rdf:RDF"), *inside = open ? find(open, end, ">") : NULL;
    unsigned char *close = inside && inside[-1] != '/' ? find(inside, end, "</rdf:RDF") : NULL;
    *stop = close;
    return close ? inside + 1 : NULL;
}

/* What names the extension, as an attribute or as an element: *n bytes of xmp; none: at its end. */
static const unsigned char *find_note(const ip_blob *xmp, size_t *n)
{
    static const char note[] = "xmpNote:HasExtendedXMP=", open[] = "<xmpNote:HasExtendedXMP>",
                      shut[] = "</xmpNote:HasExtendedXMP>";
    const unsigned char *const end = xmp->bytes + xmp->n;
    unsigned char *const element = find(xmp->bytes, end, open);
    unsigned char *const behind = element ? find(element, end, shut) : NULL;
    *n = behind ? (size_t)(behind + sizeof shut - 1 - element) : 0;
    if (behind) return element;
    unsigned char *at = find(xmp->bytes, end, note), *value = at ? at + sizeof note - 1 : NULL;
    const unsigned char *close = value && value + 1 < end && (*value == '"' || *value == '\'')
                                     ? memchr(value + 1, *value, (size_t)(end - value) - 1)
                                     : NULL;
    *n = close ? (size_t)(close + 1 - at) : 0;
    return close ? at : end;
}

static void append_range(ip_str *out, const unsigned char *from, const unsigned char *to)
{
    ip_str_append_n(out, (const char *)from, (size_t)(to - from));
}

void ip_xmp_append_merged(ip_str *out, const ip_blob *xmp, const ip_blob *extension)
{
    const unsigned char *const end = xmp->bytes + xmp->n, *stop = NULL, *more_stop = NULL;
    const unsigned char *more = extension->bytes ? find_descriptions(extension, &more_stop) : NULL;
    size_t n_note;
    const unsigned char *const note = find_note(xmp, &n_note);
    if (!more || !find_descriptions(xmp, &stop) || (note < end && note + n_note > stop)) {
        append_range(out, xmp->bytes, end);
        return;
    }
    append_range(out, xmp->bytes, note < end ? note : stop);
    if (note < end) append_range(out, note + n_note, stop);
    append_range(out, more, more_stop);
    append_range(out, stop, end);
}

/* ---- packets in two ------------------------------------------------------------------------- */

static bool is_space(unsigned char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

ip_blob ip_xmp_unwrapped(const ip_blob *xmp)
{
    unsigned char *end = xmp->bytes + xmp->n, *from = xmp->bytes, *head = find(from, end, "<?xpacket begin");
    head = head ? find(head, end, "?>") : NULL;
    if (head) from = head + 2;
    unsigned char *tail = find(from, end, "<?xpacket end");
    if (tail) end = tail;
    while (from < end && is_space(*from))
        from++;
    while (from < end && is_space(end[-1])) /* what was kept free for writing in place */
        end--;
    return (ip_blob){ from, (size_t)(end - from) };
}

void ip_xmp_digest(const ip_blob *extension, char digest[IP_XMP_DIGEST])
{
    unsigned char md5[IP_MD5_BYTES];
    ip_md5(extension->bytes, extension->n, md5);
    for (int k = 0; k < IP_XMP_DIGEST; k++)
        digest[k] = "0123456789ABCDEF"[k % 2 ? md5[k / 2] & 15 : md5[k / 2] >> 4];
}

static const char pointer_head[] = "<?xpacket begin=\"\xef\xbb\xbf\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>"
                                   "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
                                   "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
                                   "<rdf:Description rdf:about=\"\" xmlns:xmpNote=\"http://ns.adobe.com/xmp/note/\""
                                   " xmpNote:HasExtendedXMP=\"";
static const char pointer_tail[] = "\"/></rdf:RDF></x:xmpmeta><?xpacket end=\"w\"?>";
enum { N_HEAD = sizeof pointer_head - 1, N_TAIL = sizeof pointer_tail - 1 };

void ip_xmp_append_pointer(ip_str *out, const char digest[IP_XMP_DIGEST])
{
    ip_str_append_n(out, pointer_head, N_HEAD);
    ip_str_append_n(out, digest, IP_XMP_DIGEST);
    ip_str_append_n(out, pointer_tail, N_TAIL);
}

bool ip_xmp_is_pointer(const ip_blob *xmp, const char digest[IP_XMP_DIGEST])
{
    const unsigned char *p = xmp->bytes;
    return xmp->n == N_HEAD + IP_XMP_DIGEST + N_TAIL && memcmp(p, pointer_head, N_HEAD) == 0 &&
           memcmp(p + N_HEAD, digest, IP_XMP_DIGEST) == 0 &&
           memcmp(p + N_HEAD + IP_XMP_DIGEST, pointer_tail, N_TAIL) == 0;
}
