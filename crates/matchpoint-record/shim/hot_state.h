/* Variables that every call reads, in one cache line. Between two MPI calls, a busy application evicts the line from
 * the fast caches. */
static struct {
    int ticks_source;
    bool checks_caller; /* true until the library is found; later, if tools, components or call sites require the check */
    bool sites_wanted;
    bool length_is_found;            /* a status has the length of its message at `length_at`: see values.h */
    uint8_t length_at;               /* index of an int in the status */
    _Atomic bool anything_cancelled; /* `MPI_Test_cancelled` is called only after a cancel in this process */
    _Atomic uint32_t types_freed;    /* number of freed datatypes, whose handles may be reused */
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
