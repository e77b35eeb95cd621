/* The page of a report, as the build makes it of report/web and writes it into a C file (cmake/embed.cmake). Constant
 * data. */
#ifndef WEIR_REPORT_PAGE_H
#define WEIR_REPORT_PAGE_H

#include <stddef.h>
#include <stdint.h>

extern const uint8_t weir_page[];
extern const size_t weir_page_bytes;

#endif
