/* State of every call, in one cache line: between two MPI calls of a busy application, the fast caches lose the
 * line. */
static struct {
    int ticks_source;
    bool checks_caller; /* until the library is found; later, if tools, components or call sites require it */
    bool sites_wanted;
    bool length_is_found;            /* a status has the length of its message at `length_at`: see values.h */
    uint8_t length_at;               /* in ints */
    _Atomic bool anything_cancelled; /* `MPI_Test_cancelled` is called only after a cancel in this process */
    _Atomic uint32_t types_freed;    /* a datatype's handle may be reused then */
} hot_state __attribute__((aligned(64))) = {.checks_caller = true};

#if defined(OPEN_MPI)
static void component_found(void)
{
    hot_state.checks_caller = true;
}
#endif

static void library_found(bool tools)
{
    hot_state.sites_wanted = getenv("MATCHPOINT_RECORD_CALLSITES") != NULL;
    hot_state.checks_caller = tools || hot_state.sites_wanted;
}
