#include "engine/plan/metrics_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, size_t length, const char *suffix)
{
    size_t bytes = strlen(suffix);
    return length > bytes && memcmp(text + length - bytes, suffix, bytes) == 0;
}

int weir_metrics_spec_parse(struct weir_metrics_spec *spec, const char *text, struct weir_error *err)
{
    size_t length = strlen(text);
    bool per_cpu = ends_with(text, length, WEIR_METRICS_PER_CPU);
    length -= per_cpu ? strlen(WEIR_METRICS_PER_CPU) : 0;
    if (!ends_with(text, length, WEIR_METRICS_SUFFIX) || text[length - strlen(WEIR_METRICS_SUFFIX) - 1] == '/') {
        weir_error_set(err, -EINVAL, "'%s' is not FILE%s[%s]", text, WEIR_METRICS_SUFFIX, WEIR_METRICS_PER_CPU);
        weir_error_hint(err, "node_exporter reads only files whose names end in %s", WEIR_METRICS_SUFFIX);
        return -EINVAL;
    }
    char *path = strndup(text, length);
    if (!path)
        return weir_error_set_errno(err, -ENOMEM, "cannot keep the name");
    weir_metrics_spec_fini(spec);
    *spec = (struct weir_metrics_spec){.path = path, .per_cpu = per_cpu};
    return 0;
}

void weir_metrics_spec_fini(struct weir_metrics_spec *spec)
{
    if (!spec)
        return;
    free(spec->path);
    *spec = (struct weir_metrics_spec){0};
}
