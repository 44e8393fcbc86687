/* What every call looks at, in one cache line: where an application does more than call MPI, the line is in no fast cache
 * when its next call comes. */
static struct {
    int ticks_source;
    bool asks_who_calls; /* until it is known whether to */
    bool sites_wanted;
    bool length_is_found; /* where a status has the length of the message: see values.h */
    uint8_t length_at;    /* in ints */
    _Atomic bool anything_cancelled; /* `MPI_Test_cancelled` is asked only in a process that has cancelled anything */
    _Atomic uint32_t types_freed;    /* what a type's handle stood for may change then */
} always __attribute__((aligned(64))) = {.asks_who_calls = true};

#if defined(OPEN_MPI)
static void component_found(void)
{
    always.asks_who_calls = true;
}
#endif

static void library_found(bool tools)
{
    always.sites_wanted = getenv("MATCHPOINT_RECORD_CALLSITES") != NULL;
    always.asks_who_calls = tools || always.sites_wanted;
}
