/* The library that `record_load moves` maps on one CPU and runs on another one. */

void weir_moved_code(volatile unsigned long *sink, long rounds);

void weir_moved_code(volatile unsigned long *sink, long rounds)
{
    for (long i = 0; i < rounds; i++)
        *sink += (unsigned long)i;
}
