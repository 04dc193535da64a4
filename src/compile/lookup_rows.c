/* SPDX-License-Identifier: MIT */
/* Which rows are looked up in small tables: emit_lookup.c, Note [Lookups in blocks]. */
#include "base/dtype.h"
#include "compile/segments.h"

bool ip_fits_lookup(const ip_site *site, const ip_placed *p, ip_segment *segment)
{
    const ip_expr *body = segment->within;
    const imgpar_dtype stored = p->stage->dtype;
    if (body->op != IP_X_LOAD || body->source->kind == IP_STAGE_TABLE || body->border != IP_BORDER_NONE) return false;
    const int64_t *dims = body->source->dims;
    bool is_table = dims[0] * dims[1] * dims[3] == 1 && dims[2] <= UINT16_MAX + 1 && body->arg[2]->uses & IP_USES_X &&
                    !(body->arg[0]->uses | body->arg[1]->uses | body->arg[3]->uses);
    bool is_narrow = stored != IMGPAR_F16 && body->source->dtype == stored && ip_dtype(stored)->size_bytes <= 2;
    ip_index index = ip_x_classify(body->arg[2]);
    const bool fits = is_table && is_narrow && index.kind == IP_INDEX_OTHER && site->channels <= IP_WRITTEN_CHANNELS &&
                      ip_site_vectorises(site);
    if (!fits) return false;
    const imgpar_dtype narrow = body->arg[2]->hi <= UINT8_MAX ? IMGPAR_U8 : IMGPAR_U16;
    segment->part = ip_x_cast(site->ir, narrow, body->arg[2]);
    segment->elements = ip_elements_of(site, segment->part, narrow, NULL, false);
    if (ip_dtype(stored)->size_bytes == 1 && ip_site_calls_helpers(site)) segment->calls |= 1u << IP_IDIOM_LOOK_UP;
    return true;
}
