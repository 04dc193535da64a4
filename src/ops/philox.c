/* SPDX-License-Identifier: MIT */
#include "ops/philox.h"

enum { ROUNDS = 10 };
static const uint32_t multiplier[2] = { 0xD2511F53u, 0xCD9E8D57u }, weyl[2] = { 0x9E3779B9u, 0xBB67AE85u };

static ip_expr *u32(ip_ir *ir, uint32_t v) { return ip_x_int(ir, IMGPAR_U32, v); }

/* The upper and the lower word of multiplier[k] x. */
static void product(ip_ir *ir, int k, ip_expr *x, ip_expr **high, ip_expr **low)
{
    ip_expr *wide = ip_x_binary(ir, IP_X_MUL, ip_x_cast(ir, IMGPAR_U64, x), ip_x_int(ir, IMGPAR_U64, multiplier[k]));
    *high = ip_x_cast(ir, IMGPAR_U32, ip_x_binary(ir, IP_X_SHR, wide, ip_x_int(ir, IMGPAR_U64, 32)));
    *low = ip_x_cast(ir, IMGPAR_U32, wide);
}

void ip_philox(ip_ir *ir, ip_expr *const counter[4], ip_expr *const key[2], ip_expr *out[4])
{
    ip_expr *x[4] = { counter[0], counter[1], counter[2], counter[3] }, *k[2] = { key[0], key[1] };
    for (int round = 0; round < ROUNDS; round++) {
        ip_expr *high[2], *low[2];
        product(ir, 0, x[0], &high[0], &low[0]);
        product(ir, 1, x[2], &high[1], &low[1]);
        ip_expr *next[4] = {
            ip_x_binary(ir, IP_X_XOR, ip_x_binary(ir, IP_X_XOR, high[1], x[1]), k[0]),
            low[1],
            ip_x_binary(ir, IP_X_XOR, ip_x_binary(ir, IP_X_XOR, high[0], x[3]), k[1]),
            low[0],
        };
        for (int i = 0; i < 4; i++)
            x[i] = next[i];
        for (int i = 0; i < 2; i++)
            k[i] = ip_x_binary(ir, IP_X_ADD, k[i], u32(ir, weyl[i]));
    }
    for (int i = 0; i < 4; i++)
        out[i] = x[i];
}
