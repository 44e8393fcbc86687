static void measure_limits(bool has_world)
{
    (void)has_world;
    always.limit_named = always.limit_any = 32;
}
