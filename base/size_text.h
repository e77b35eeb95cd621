/* Sizes in the form of the command line. Pure; any thread. */
#ifndef WEIR_BASE_SIZE_TEXT_H
#define WEIR_BASE_SIZE_TEXT_H

#include <stdint.h>

#define WEIR_SIZE_TEXT_BYTES 24 /* holds any size that weir_size_format() writes */

/* Writes "512K", "4M", "1536K", "100": the largest suffix that loses nothing, so that the text can be given to an
 * option. */
void weir_size_format(uint64_t bytes, char text[WEIR_SIZE_TEXT_BYTES]);

#endif
