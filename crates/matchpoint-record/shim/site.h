/* Where in the application a call was made: the address it returns to, kept if MATCHPOINT_RECORD_CALLSITES is set. */

/* Written by the entry of every function, read as its record is completed. */
static __thread const void *site __attribute__((tls_model("initial-exec")));

/* Code of the bindings for Fortran: a call that comes from there was made further out. */
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

/* Unwinding takes about a microsecond, so only what came through a binding pays for it. */
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
