/* Call sites: return addresses in the application, recorded if MATCHPOINT_RECORD_CALLSITES is set. */

/* Written at the entry of every function, read when its record is completed. */
static __thread const void *site __attribute__((tls_model("initial-exec")));

/* Code of Fortran bindings. The call site of such a call is the caller of the binding. */
#define SITE_BINDINGS 8
static struct {
    uintptr_t from, to;
} site_bindings[SITE_BINDINGS];
static int site_bindings_known;

static bool is_of_binding(const void *address)
{
    for (int i = 0; i < site_bindings_known; i++)
        if ((uintptr_t)address - site_bindings[i].from < site_bindings[i].to - site_bindings[i].from)
            return true;
    return false;
}

/* Unwinding takes about a microsecond, so only calls through a binding use it. */
static __attribute__((noinline)) uint64_t site_behind_binding(void)
{
    void *frames[16];
    int count = backtrace(frames, 16);
    bool within = false;
    for (int i = 0; i < count; i++) {
        bool binding = is_of_binding(frames[i]);
        if (within && !binding)
            return (uint64_t)(uintptr_t)frames[i];
        within |= binding;
    }
    return (uint64_t)(uintptr_t)site;
}

static inline uint64_t site_word(void)
{
    if (__builtin_expect(site_bindings_known > 0, 0) && is_of_binding(site))
        return site_behind_binding();
    return (uint64_t)(uintptr_t)site;
}
