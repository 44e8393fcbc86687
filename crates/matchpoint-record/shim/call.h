/* The recorded functions: their codes in the trace, and the recorder's entry points. */

/* Failed calls are separate functions, numbered after all others: those numbers fit in one byte. */
extern struct function __start_matchpoint_failures[] HIDDEN, __stop_matchpoint_failures[] HIDDEN;

#define FAILURE(NAME)                                                                                    \
    static struct function failure_##NAME __attribute__((used, section("matchpoint_failures"), aligned(32))) = { \
        "MPI_" #NAME " (failed)", "i", NULL, NULL}

#define FUNCTIONS ((uint64_t)(__stop_matchpoint_functions - __start_matchpoint_functions))
#define FAILURES ((uint64_t)(__stop_matchpoint_failures - __start_matchpoint_failures))
#define CODE_FAILED_(NAME) (FUNCTIONS + (uint64_t)(&failure_##NAME - __start_matchpoint_failures))
#define CODE_FAILED(NAME) CODE_FAILED_(NAME)

static inline const struct function *function_of(uint64_t code)
{
    return code < FUNCTIONS ? &__start_matchpoint_functions[code] : &__start_matchpoint_failures[code - FUNCTIONS];
}

/* Begins the definition of a recorded function. Both of its names are defined: the Fortran bindings of some
 * libraries call the first, those of others the second. A call of the second name from the library (for files, for
 * example) goes to the library's function. Neither name calls the other, because another tool may be between them. */
#define CALL(NAME, FIELDS, PARAMETERS, ARGUMENTS) CALL_(NAME, FIELDS, PARAMETERS, ARGUMENTS)
#define CALL_(NAME, FIELDS, PARAMETERS, ARGUMENTS)                                                       \
    EXPORT int MPI_##NAME PARAMETERS;                                                                    \
    EXPORT int PMPI_##NAME PARAMETERS;                                                                   \
    FUNCTION(NAME, "MPI_" #NAME, FIELDS);                                                                \
    FAILURE(NAME);                                                                                       \
    static __attribute__((noinline)) int call_##NAME PARAMETERS;                                         \
    static __attribute__((noinline, cold)) int checked_##NAME PARAMETERS                                 \
    {                                                                                                    \
        void *instead = redirect_target(&function_##NAME);                                               \
        if (instead != NULL)                                                                             \
            return ((__typeof__(&MPI_##NAME))instead)ARGUMENTS;                                          \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    int MPI_##NAME PARAMETERS                                                                            \
    {                                                                                                    \
        if (__builtin_expect(hot_state.checks_caller, 0)) {                                              \
            call_origin = (struct call_origin){__builtin_return_address(0), true};                       \
            return checked_##NAME ARGUMENTS;                                                             \
        }                                                                                                \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    int PMPI_##NAME PARAMETERS                                                                           \
    {                                                                                                    \
        if (is_of_library(__builtin_return_address(0)))                                                  \
            return REAL(NAME) ARGUMENTS;                                                                 \
        if (__builtin_expect(hot_state.checks_caller, 0)) {                                              \
            call_origin = (struct call_origin){__builtin_return_address(0), false};                      \
            return checked_##NAME ARGUMENTS;                                                             \
        }                                                                                                \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    static int call_##NAME PARAMETERS

/* The caller of the current call. Some calls are not recorded: those for a tool, which then calls the second name,
 * and those from a component of the library. The caller is checked only if such tools or components exist, or if call
 * sites are recorded. The caller's address is in a variable instead of an argument, so that unchecked calls take only
 * two more instructions. */
struct call_origin {
    const void *caller;
    bool first; /* called by the first name */
};
static __thread struct call_origin call_origin __attribute__((tls_model("initial-exec")));
static void *redirect_target(const struct function *function);

static bool within_call(void);

static void *redirect_target(const struct function *function)
{
    struct call_origin by = call_origin;
    library_ready();
    if (is_of_component(by.caller))
        return function->real;
    if (by.first && function->next != NULL)
        return function->next;
    if (hot_state.sites_wanted && !within_call())
        site = by.caller;
    return NULL;
}

static bool has(void *function)
{
    return function != NULL && function != (void *)missing_function;
}
