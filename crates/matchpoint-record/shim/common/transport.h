/* Properties of the transport, from the environment and the loaded libraries. */

static long number_of(const char *variable, long otherwise)
{
    const char *value = getenv(variable);
    return value != NULL && *value != 0 ? atol(value) : otherwise;
}

/* Returns whether a variable has one of `values`, which are separated by spaces. */
static bool has_value(const char *variable, const char *values)
{
    const char *value = getenv(variable);
    size_t length = value != NULL ? strlen(value) : 0;
    for (const char *next = values; length > 0 && (next = strcasestr(next, value)) != NULL; next++)
        if ((next == values || next[-1] == ' ') && (next[length] == 0 || next[length] == ' '))
            return true;
    return false;
}

/* Returns whether a setting disables shared memory. */
static bool is_memory_off(void)
{
    const char *fabrics = getenv("I_MPI_FABRICS");
    bool are_apart = has_value("MPIR_CVAR_NOLOCAL", "1 yes true on") || number_of("MPIR_CVAR_NUM_CLIQUES", 1) > 1 ||
                     has_value("MPIR_CVAR_ODD_EVEN_CLIQUES", "1 yes true on");
    return are_apart || has_value("I_MPI_SHM", "0 no off disable") || (fabrics != NULL && strstr(fabrics, "shm") == NULL);
}

static int find_loaded(struct dl_phdr_info *info, size_t size, void *part)
{
    (void)size;
    return strstr(info->dlpi_name, part) != NULL;
}

/* Returns whether a library with `part` in its path is loaded. */
static inline bool is_loaded(const char *part)
{
    return dl_iterate_phdr(find_loaded, (void *)part) != 0;
}

/* The first members of an Open MPI component, equal in versions 4 and 5 (opal/mca/mca.h). */
struct mca_component {
    int version[3];
    char project[16];
    int project_version[3];
    char type[32];
    int type_version[3];
    char name[64];
};

/* Returns the component in a variable of Open MPI, or behind its pointer. NULL: no component of that type. */
static inline const char *selected_component(const char *variable, bool is_pointer, const char *type)
{
    const void *address = library_symbol(RTLD_DEFAULT, variable);
    if (address != NULL && is_pointer)
        address = *(void *const *)address;
    const struct mca_component *component = address;
    if (component == NULL || strncmp(component->type, type, sizeof component->type) != 0)
        return NULL;
    return memchr(component->name, 0, sizeof component->name) != NULL ? component->name : NULL;
}

/* Returns MPICH's network module: from the environment, otherwise the first module of the library's configuration. */
static inline const char *network_module(const char *library_version)
{
    const char *wanted = getenv("MPIR_CVAR_CH4_NETMOD"), *built = strstr(library_version, "ch4:");
    const char *module = wanted != NULL && *wanted != 0 ? wanted : built != NULL ? built + strlen("ch4:") : "";
    if (strncmp(module, "ucx", 3) == 0 || (*module == 0 && is_loaded("/libucp") && !is_loaded("/libfabric")))
        return "ucx";
    /* The libfabric module may load UCX. */
    return strncmp(module, "ofi", 3) == 0 || (*module == 0 && is_loaded("/libfabric")) ? "ofi" : "";
}
