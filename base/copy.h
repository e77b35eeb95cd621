/*
 * Copying records: memory that lies at any offset, to memory that lies at another one.
 *
 * memcpy(3) of glibc 2.36 takes `rep movsb` for more than 2 KiB. On AMD's Zen 3 and 4 that halves the speed when source
 * and target are not alike modulo 32, and is six times slower when the target lies just behind the source modulo 4096
 * (glibc bug 30994). Records begin at multiples of 8, so most are not alike. A loop of 16 byte loads and stores, which
 * every x86-64 and arm64 has, is as fast for all of them as memcpy is for the best.
 */
#ifndef WEIR_BASE_COPY_H
#define WEIR_BASE_COPY_H

#include <stddef.h>

/* As memcpy(3): the two do not overlap. Any thread. */
void weir_copy(void *to, const void *from, size_t bytes);

/*
 * The same for what no CPU will look at soon: whole cache lines of the target are written past the caches (movntdq of
 * x86-64: Intel SDM volume 1, 10.4.6.2; AMD64 APM volume 1, 5.4.3), so that they are not read from memory first. A call
 * that begins or ends within a line writes that part of it as weir_copy() does. Where there is no such store,
 * and in builds with a sanitizer, all of it. The target reads back as written on this thread; before another one may
 * look, weir_copy_settle().
 */
void weir_copy_past_caches(void *to, const void *from, size_t bytes);

/* What this thread has written past the caches is ordered before whatever it writes from here on, as other stores are
 * by themselves. */
void weir_copy_settle(void);

#endif
