#include "base/spread.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

struct weir_spread weir_spread_of(double *values, unsigned count)
{
    qsort(values, count, sizeof(*values), compare);
    return (struct weir_spread){
        .min = values[0],
        .median = (values[(count - 1) / 2] + values[count / 2]) / 2,
        .max = values[count - 1],
    };
}
