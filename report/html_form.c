/* The page is in the program (report/page.h). */
#include "report/html_form.h"

#include <string.h>

#include "base/assert.h"
#include "report/json_form.h"
#include "report/page.h"

#define DATA_MARK "WEIR_DATA" /* in the page: here comes the JSON */

void weir_html_append(struct weir_buf *out, const struct weir_digest *digests, size_t count,
                      const struct weir_buf *sweep)
{
    const uint8_t *mark = memmem(weir_page, weir_page_bytes, DATA_MARK, strlen(DATA_MARK));
    weir_assert(mark);
    size_t before = (size_t)(mark - weir_page), behind = before + strlen(DATA_MARK);
    weir_buf_append(out, weir_page, before);
    weir_json_append(out, digests, count, sweep);
    weir_buf_append(out, weir_page + behind, weir_page_bytes - behind);
}
