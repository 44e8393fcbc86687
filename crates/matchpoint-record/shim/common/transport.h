/* Properties of the transport, from the environment and the loaded libraries. */

static long number_of(const char *variable, long otherwise)
{
    const char *value = getenv(variable);
    return value != NULL && *value != 0 ? atol(value) : otherwise;
}

/* Returns whether a setting disables shared memory. */
static bool is_memory_off(void)
{
    const char *fabrics = getenv("I_MPI_FABRICS");
    bool are_apart = number_of("MPIR_CVAR_NOLOCAL", 0) != 0 || number_of("MPIR_CVAR_NUM_CLIQUES", 1) > 1 ||
                     number_of("MPIR_CVAR_ODD_EVEN_CLIQUES", 0) != 0;
    return are_apart || (fabrics != NULL && strstr(fabrics, "shm") == NULL);
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
