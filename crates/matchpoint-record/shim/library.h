/* The MPI library underneath: where its functions are, which addresses are its own, and its constants. */

/* What the linker makes for this library alone: no call need look up where it is. */
#define HIDDEN __attribute__((visibility("hidden")))

/* A function that is recorded. They lie side by side in a section: its index there names a function in the trace. */
struct function {
    const char *name;   /* without the P */
    const char *fields; /* letters of docs/trace-format.md */
    void *real;         /* PMPI_… of the library */
    void *next;         /* MPI_… of a tool that stands between the application and the library, if one does. With it they
                         * are 32 bytes, so that no compiler pads between them */
};

extern struct function __start_matchpoint_functions[] HIDDEN, __stop_matchpoint_functions[] HIDDEN;

#define FUNCTION(NAME, TITLE, FIELDS)                                                                    \
    static struct function function_##NAME __attribute__((used, section("matchpoint_functions"), aligned(32))) = { \
        TITLE, FIELDS, NULL, NULL}

#define CODE_(NAME) ((uint64_t)(&function_##NAME - __start_matchpoint_functions))
#define CODE(NAME) CODE_(NAME)

/* Calls of it that failed: functions of their own, numbered behind all others, for those have the numbers of one byte. */
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

#define REAL_(NAME) ((__typeof__(&MPI_##NAME))function_##NAME.real)
#define REAL(NAME) REAL_(NAME)

/* A function of the library that is used, but not recorded. */
#define USED(NAME) FUNCTION(NAME, "MPI_" #NAME, NULL)

/* Opens the definition of a recorded function, its body follows. Both of its names lead there: the bindings for Fortran of
 * some libraries call the one, those of others the other. What the library itself calls by the second name (for files,
 * say) is its own business, and goes to the real one. Neither name calls the other, for another tool may stand between. */
#define CALL(NAME, FIELDS, PARAMETERS, ARGUMENTS) CALL_(NAME, FIELDS, PARAMETERS, ARGUMENTS)
#define CALL_(NAME, FIELDS, PARAMETERS, ARGUMENTS)                                                       \
    EXPORT int MPI_##NAME PARAMETERS;                                                                    \
    EXPORT int PMPI_##NAME PARAMETERS;                                                                   \
    FUNCTION(NAME, "MPI_" #NAME, FIELDS);                                                                \
    FAILURE(NAME);                                                                                       \
    static __attribute__((noinline)) int call_##NAME PARAMETERS;                                         \
    static __attribute__((noinline, cold)) int asked_##NAME PARAMETERS                                   \
    {                                                                                                    \
        void *instead = instead_of(&function_##NAME);                                                    \
        if (instead != NULL)                                                                             \
            return ((__typeof__(&MPI_##NAME))instead)ARGUMENTS;                                          \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    int MPI_##NAME PARAMETERS                                                                            \
    {                                                                                                    \
        if (__builtin_expect(always.asks_who_calls, 0)) {                                                       \
            asked = (struct asked){__builtin_return_address(0), true};                                   \
            return asked_##NAME ARGUMENTS;                                                               \
        }                                                                                                \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    int PMPI_##NAME PARAMETERS                                                                           \
    {                                                                                                    \
        if (is_of_library(__builtin_return_address(0)))                                                  \
            return REAL(NAME) ARGUMENTS;                                                                 \
        if (__builtin_expect(always.asks_who_calls, 0)) {                                                       \
            asked = (struct asked){__builtin_return_address(0), false};                                  \
            return asked_##NAME ARGUMENTS;                                                               \
        }                                                                                                \
        return call_##NAME ARGUMENTS;                                                                    \
    }                                                                                                    \
    static int call_##NAME PARAMETERS

/* A call may go elsewhere instead of being recorded: to a tool that stands between, which then calls the second name; or
 * straight to the library, if it comes from one of its components. Asked only where there are such, or call sites are kept,
 * and handed over beside the arguments: the way of all other calls is two instructions longer than none. */
struct asked {
    const void *caller;
    bool first; /* by the first name */
};
static __thread struct asked asked __attribute__((tls_model("initial-exec")));
static void *instead_of(const struct function *function);

static bool within_call(void);

#define EXPORT __attribute__((visibility("default")))

/* Constants that are addresses in Open MPI: naming them would tie the recorder to that library when it is loaded. */
static struct {
    /* What calls compare with first: one cache line. */
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Request request_null;
    MPI_Message message_null, message_no_proc;
    MPI_Datatype byte;
    MPI_Errhandler errors_return;
    uintptr_t text_from, text_to; /* the library's code, once it is known */
    uintptr_t own_from, own_to;   /* the recorder's */
    void *handle;                 /* of dlopen, where it is not among those that every symbol is looked up in */
    const char *foreign;          /* the family it is of, if the recorder was compiled for another: nothing is recorded */
} library __attribute__((aligned(64)));

static inline bool is_of_library(const void *address)
{
    return (uintptr_t)address - library.text_from < library.text_to - library.text_from;
}

/* Components that the library loads when they are first needed, and that use it as an application does. */
#define COMPONENTS 8
static struct {
    uintptr_t from, to;
} components[COMPONENTS];
static _Atomic int components_known;

static bool is_of_component(const void *address)
{
    for (int i = 0; i < atomic_load(&components_known); i++)
        if ((uintptr_t)address - components[i].from < components[i].to - components[i].from)
            return true;
    return false;
}

static inline bool is_of_recorder(const void *address)
{
    return (uintptr_t)address - library.own_from < library.own_to - library.own_from;
}

/* Of MPI libraries, and of nothing else: libmpi.so.12, libmpi_abi.so, libmpich.so, libmpi_cray.so; but libmpiP.so is a
 * tool, and libmpifort.so and libmpi_mpifh.so are bindings. */
static bool is_named_as_library(const char *path)
{
    static const char *const names[] = {"libmpi.so", "libmpi_abi.so", "libmpich.so", "libpmpi.so", "libmpi_cray.so",
                                        "libmpi_gnu", "libmpi_intel", "libmpi_aocc", "libmpi_nvidia", "libmpi_ibm.so",
                                        "libmpi_mt.so", "libmpi_ilp64.so"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* A program may load its MPI library by itself, as Python does: then it is in no scope that the recorder shares. */
static int find_library(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    if (!is_named_as_library(info->dlpi_name))
        return 0;
    *(void **)found = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    return *(void **)found != NULL;
}

/* `scope`: RTLD_NEXT for functions, past the recorder's own; RTLD_DEFAULT for data, which an executable may have copied. */
static void *library_symbol(void *scope, const char *name)
{
    void *symbol = dlsym(scope, name);
    if (symbol == NULL && library.handle == NULL)
        dl_iterate_phdr(find_library, &library.handle);
    if (symbol == NULL && library.handle != NULL)
        symbol = dlsym(library.handle, name);
    return symbol;
}

static void text_of(const struct dl_phdr_info *info, uintptr_t *from, uintptr_t *to)
{
    *from = UINTPTR_MAX;
    *to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        *from = begin < *from ? begin : *from;
        *to = begin + header->p_memsz > *to ? begin + header->p_memsz : *to;
    }
}

static int find_text(struct dl_phdr_info *info, size_t size, void *inside)
{
    uintptr_t from, to;
    (void)size;
    text_of(info, &from, &to);
    if ((uintptr_t)find_text - from < to - from) {
        library.own_from = from;
        library.own_to = to;
    }
    if ((uintptr_t)inside - from < to - from) {
        library.text_from = from;
        library.text_to = to;
    }
    return 0;
}

#if defined(OPEN_MPI)
/* ROMIO, where Open MPI has it as a component: it implements files with communicators, messages and collectives. */
static int find_component(struct dl_phdr_info *info, size_t size, void *unused)
{
    uintptr_t from, to;
    (void)size;
    (void)unused;
    if (strstr(info->dlpi_name, "/mca_io_romio") == NULL)
        return 0;
    text_of(info, &from, &to);
    int known = atomic_load(&components_known);
    if (!is_of_component((const void *)from) && known < COMPONENTS) {
        components[known].from = from;
        components[known].to = to;
        atomic_store(&components_known, known + 1);
        always.asks_who_calls = true;
    }
    return 0;
}
#endif

/* A tool that is linked, or loaded, between the application and the library. */
static void *tool_between(const struct function *function)
{
    Dl_info info;
    void *next = dlsym(RTLD_NEXT, function->name);
    if (next == NULL || is_of_library(next) || dladdr(next, &info) == 0 || is_named_as_library(info.dli_fname))
        return NULL;
    return next;
}

/* Handles and statuses of another family would be misread, at best. */
static const char *foreign_family(void)
{
    Dl_info info = {0};
    void *init = library_symbol(RTLD_NEXT, "PMPI_Init");
    bool is_standard = init != NULL && dladdr(init, &info) != 0 && strstr(info.dli_fname, "libmpi_abi.so") != NULL;
    bool is_open_mpi = !is_standard && library_symbol(RTLD_DEFAULT, "ompi_mpi_comm_world") != NULL;
#if defined(MATCHPOINT_STANDARD_ABI)
    return is_standard ? NULL : is_open_mpi ? "Open MPI" : "MPICH's ABI";
#elif defined(OPEN_MPI)
    return is_open_mpi ? NULL : is_standard ? "MPI's standard ABI" : "MPICH's ABI";
#else
    return is_standard ? "MPI's standard ABI" : is_open_mpi ? "Open MPI" : NULL;
#endif
}

static void complain(const char *format, ...);

/* A program may ask at run time which functions its library has, and find the recorder's. */
static int missing_function(void)
{
    complain("a function of MPI was called that this MPI library lacks, and the recorder's header has; name the compiler of "
             "the program's own MPI with --mpicc");
    abort();
}

static bool has(void *function)
{
    return function != NULL && function != (void *)missing_function;
}

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_find(void)
{
    char name[128];
    bool tools = false;
    always.sites_wanted = getenv("MATCHPOINT_RECORD_CALLSITES") != NULL;
    for (struct function *function = __start_matchpoint_functions; function != __stop_matchpoint_functions; function++) {
        if (function->name[0] != 'M')
            continue;
        snprintf(name, sizeof name, "P%s", function->name);
        function->real = library_symbol(RTLD_NEXT, name);
        if (function->real != NULL && library.text_to == 0)
            dl_iterate_phdr(find_text, function->real);
        if (function->real == NULL)
            function->real = (void *)missing_function;
        else
            function->next = tool_between(function);
        tools |= function->next != NULL;
    }
    always.asks_who_calls = tools || always.sites_wanted;
    library.foreign = foreign_family();
#if defined(OPEN_MPI)
    library.comm_world = (MPI_Comm)library_symbol(RTLD_DEFAULT, "ompi_mpi_comm_world");
    library.comm_self = (MPI_Comm)library_symbol(RTLD_DEFAULT, "ompi_mpi_comm_self");
    library.comm_null = (MPI_Comm)library_symbol(RTLD_DEFAULT, "ompi_mpi_comm_null");
    library.request_null = (MPI_Request)library_symbol(RTLD_DEFAULT, "ompi_request_null");
    library.message_null = (MPI_Message)library_symbol(RTLD_DEFAULT, "ompi_message_null");
    library.message_no_proc = (MPI_Message)library_symbol(RTLD_DEFAULT, "ompi_message_no_proc");
    library.byte = (MPI_Datatype)library_symbol(RTLD_DEFAULT, "ompi_mpi_byte");
    library.errors_return = (MPI_Errhandler)library_symbol(RTLD_DEFAULT, "ompi_mpi_errors_return");
#else
    library.comm_world = MPI_COMM_WORLD;
    library.comm_self = MPI_COMM_SELF;
    library.comm_null = MPI_COMM_NULL;
    library.request_null = MPI_REQUEST_NULL;
    library.message_null = MPI_MESSAGE_NULL;
    library.message_no_proc = MPI_MESSAGE_NO_PROC;
    library.byte = MPI_BYTE;
    library.errors_return = MPI_ERRORS_RETURN;
#endif
}

static inline void library_ready(void)
{
    pthread_once(&library_once, library_find);
}

static void *instead_of(const struct function *function)
{
    struct asked by = asked;
    library_ready();
    if (is_of_component(by.caller))
        return function->real;
    if (by.first && function->next != NULL)
        return function->next;
    if (always.sites_wanted && !within_call())
        site = by.caller;
    return NULL;
}
