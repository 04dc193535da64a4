/* SPDX-License-Identifier: MIT */
#include "run/tuning.h"

#include "base/alloc.h"
#include "base/str.h"
#include "run/cachefile.h"

#include <stddef.h>
#include <string.h>

static const ip_tuning defaults = {
    .vector_bytes = 64, .strip_bytes = 24 << 10, .stream_bytes = 8 << 20, .max_stages = IP_MAX_STAGES
};

static const struct number {
    const char *name;
    size_t offset;
    int least, most;
} numbers[] = {
    { "vector_bytes", offsetof(ip_tuning, vector_bytes), 8, 256 },
    { "strip_bytes", offsetof(ip_tuning, strip_bytes), 1 << 10, 1 << 24 },
    { "stream_bytes", offsetof(ip_tuning, stream_bytes), 1, 1 << 30 },
    { "max_stages", offsetof(ip_tuning, max_stages), 1, IP_MAX_STAGES },
};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static int *number_of(ip_tuning *tuning, const struct number *row) { return (int *)((char *)tuning + row->offset); }

bool ip_tuning_set(ip_tuning *tuning, const char *name, uint64_t value)
{
    for (int k = 0; k < N_NUMBERS; k++) {
        bool is_width = numbers[k].offset == offsetof(ip_tuning, vector_bytes), is_power = (value & (value - 1)) == 0;
        if (strcmp(numbers[k].name, name) != 0) continue;
        if (value < (uint64_t)numbers[k].least || value > (uint64_t)numbers[k].most || (is_width && !is_power))
            return false;
        *number_of(tuning, &numbers[k]) = (int)value;
        return true;
    }
    return false;
}

/* What a tuning holds for: the device, its driver, and the numbers there are. */
static void identify(const ip_device_facts *facts, ip_str *identity, ip_hash128 *key)
{
    ip_str_append(identity, "tuning 3\n");
    ip_facts_identify(facts, identity);
    *key = ip_hash128_bytes((ip_hash128){ 0, 0 }, ip_str_text(identity), identity->length);
}

ip_tuning ip_tuning_load(const ip_device_facts *facts)
{
    ip_tuning tuning = defaults;
    ip_str identity = IP_STR_INIT;
    ip_hash128 key;
    void *kept = NULL;
    size_t n = 0;
    if (!facts) return tuning;
    identify(facts, &identity, &key);
    if (!identity.failed &&
        ip_cachefile_load(IP_CACHEFILE_PROGRAM, key, ip_str_text(&identity), identity.length, &kept, &n) &&
        n == sizeof tuning) {
        ip_tuning found;
        memcpy(&found, kept, sizeof found);
        bool is_sound = (unsigned)found.schedule < IP_SCHEDULE_REF;
        tuning.schedule = found.schedule;
        for (int k = 0; k < N_NUMBERS; k++)
            is_sound = is_sound && ip_tuning_set(&tuning, numbers[k].name, (uint64_t)*number_of(&found, &numbers[k]));
        if (!is_sound) tuning = defaults;
    }
    ip_free(kept);
    ip_str_free(&identity);
    return tuning;
}

imgpar_status ip_tuning_keep(const ip_device_facts *facts, const ip_tuning *tuning)
{
    ip_str identity = IP_STR_INIT;
    ip_hash128 key;
    identify(facts, &identity, &key);
    if (!identity.failed)
        ip_cachefile_store(IP_CACHEFILE_PROGRAM, key, ip_str_text(&identity), identity.length, tuning, sizeof *tuning);
    bool failed = identity.failed;
    ip_str_free(&identity);
    ip_tuning kept = ip_tuning_load(facts); /* storing is silent: is it there? */
    if (failed) return IMGPAR_E_HOST_MEMORY;
    return memcmp(&kept, tuning, sizeof kept) == 0 ? IMGPAR_OK : IMGPAR_E_IO;
}
