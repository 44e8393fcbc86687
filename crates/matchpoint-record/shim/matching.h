/* The part of the MPI library that matches messages. `analyze` simulates the searches of that part. */

static char transport[160]; /* empty: unknown */

/* MPICH matches in its network module between hosts, and in shared memory within a host. With UCX as the only network
 * module, MPICH leaves shared memory to UCX. */
static const char *device_layer(const char *library_version)
{
    const char *module = network_module(library_version), *built = strstr(library_version, "device=ch4:ucx");
    if (built != NULL && built[strlen("device=ch4:ucx")] != ',' && strcmp(module, "ucx") == 0)
        return module;
    return *module != 0 && on_one_host() && !is_memory_off() ? "shm" : module;
}

/* Finds a name from docs/reference/trace-format.md, or an empty one. Called after MPI_Init. */
static void find_transport(const char *library_version)
{
    const char *layer = selected_component("mca_pml_base_selected_component", false, "pml");
    const char *module = selected_component("ompi_mtl_base_selected_component", true, "mtl");
    if (layer != NULL && strcmp(layer, "cm") == 0 && module != NULL)
        snprintf(transport, sizeof transport, "%s/%s", layer, module);
    else
        snprintf(transport, sizeof transport, "%s", layer != NULL ? layer : device_layer(library_version));
}
