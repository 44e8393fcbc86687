/* Entry points. */

/* Begins the definition of an MPI function. The Fortran bindings of some libraries call the first name, those of
 * others the second. A call of the second name from the library goes to the library's function. If the program's
 * library is of another family than the header, every call goes there: the entry points jump without touching
 * arguments, because their types differ. */
#define CALL(NAME, PARAMETERS, ARGUMENTS) CALL_(NAME, PARAMETERS, ARGUMENTS)
#define CALL_(NAME, PARAMETERS, ARGUMENTS)                                                               \
    EXPORT int MPI_##NAME PARAMETERS;                                                                    \
    EXPORT int PMPI_##NAME PARAMETERS;                                                                   \
    FUNCTION(NAME, "MPI_" #NAME, NULL);                                                                  \
    static __attribute__((noinline)) int call_##NAME PARAMETERS;                                         \
    static __attribute__((noinline, cold)) int checked_##NAME(const void *caller, bool first, UNPACK PARAMETERS); \
    int MPI_##NAME PARAMETERS                                                                            \
    {                                                                                                    \
        if (!LIKELY(!hot_state.is_foreign))                                                              \
            return REAL(NAME) ARGUMENTS;                                                                 \
        if (!LIKELY(!hot_state.checks_caller))                                                           \
            return checked_##NAME(__builtin_return_address(0), true, UNPACK ARGUMENTS);                  \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    int PMPI_##NAME PARAMETERS                                                                           \
    {                                                                                                    \
        if (!LIKELY(!hot_state.is_foreign) || is_of_library(__builtin_return_address(0)))                \
            return REAL(NAME) ARGUMENTS;                                                                 \
        if (!LIKELY(!hot_state.checks_caller))                                                           \
            return checked_##NAME(__builtin_return_address(0), false, UNPACK ARGUMENTS);                 \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    static int checked_##NAME(const void *caller, bool first, UNPACK PARAMETERS)                         \
    {                                                                                                    \
        void *instead = redirect_target(&function_##NAME, caller, first);                                \
        if (instead != NULL)                                                                             \
            return ((__typeof__(&MPI_##NAME))instead)ARGUMENTS;                                          \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    static int call_##NAME PARAMETERS

#define UNPACK(...) __VA_ARGS__

/* Returns the target of a call that the shim must not handle. A tool between application and library gets calls of
 * the first name, and calls the second name itself. The library gets calls of its components. */
static void *redirect_target(const struct function *function, const void *caller, bool first)
{
    library_ready();
    if (hot_state.is_foreign || is_of_component(caller))
        return function->real;
    return first ? function->next : NULL;
}
