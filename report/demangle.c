/*
 * libiberty hands a name over in pieces and can make far more of them than anybody would read: the hand-over leaves it
 * by longjmp(3). It keeps nothing on the heap meanwhile but what a part of a name needs.
 */
#include "report/demangle.h"

#include <string.h>

#ifdef WEIR_DEMANGLE

#include <libiberty/demangle.h>
#include <setjmp.h>

#define SYMBOL_MAX_BYTES 2048u
#define PLT              "@plt"

struct taker {
    struct weir_buf *out;
    size_t limit; /* bytes in out at most */
    jmp_buf beyond;
};

static void take(const char *piece, size_t bytes, void *ctx)
{
    struct taker *taker = ctx;
    if (bytes > taker->limit - taker->out->used)
        longjmp(taker->beyond, 1);
    weir_buf_append(taker->out, piece, bytes);
}

/* The name without its suffix. */
static bool demangle(struct weir_buf *out, const char *symbol)
{
    struct taker taker = {.out = out, .limit = out->used + WEIR_DEMANGLED_MAX_BYTES};
    if (setjmp(taker.beyond) != 0)
        return false;
    return rust_demangle_callback(symbol, DMGL_NO_OPTS, take, &taker) ||
           cplus_demangle_v3_callback(symbol, DMGL_NO_OPTS, take, &taker);
}

bool weir_demangle(struct weir_buf *out, const char *symbol)
{
    char name[SYMBOL_MAX_BYTES];
    size_t length = strlen(symbol), before = out->used;
    if (symbol[0] != '_' || length >= sizeof(name))
        return false;
    memcpy(name, symbol, length + 1);
    bool is_plt = length > strlen(PLT) && strcmp(name + length - strlen(PLT), PLT) == 0;
    if (is_plt)
        name[length - strlen(PLT)] = '\0';
    if (!demangle(out, name)) {
        out->used = before;
        return false;
    }
    if (is_plt)
        weir_buf_append(out, PLT, strlen(PLT));
    return true;
}

#else

bool weir_demangle(struct weir_buf *out, const char *symbol)
{
    (void)out;
    (void)symbol;
    return false;
}

#endif
