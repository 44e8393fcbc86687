/* Prints the addresses of the functions of the engine `hybrid` that MPI libraries call for each message, in the form
 * of `objdump`. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <matchpoint.h>

/* `function` is the address of a pointer in the table. */
static void print_address(const void *function) {
  Dl_info library;
  void *address;
  memcpy(&address, function, sizeof address);
  if (dladdr(address, &library))
    printf("%016tx\n", (char *)address - (char *)library.dli_fbase);
}

int main(int argc, char **argv) {
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *symbol = library ? dlsym(library, "mp_create") : NULL;
  int32_t (*create)(const char *, uint32_t, mp_engine **, char *, size_t);
  memcpy(&create, &symbol, sizeof create);
  mp_engine *engine;
  if (!symbol || create("hybrid", 0, &engine, NULL, 0) != MP_OK)
    return 1;
  const mp_calls *calls = engine->calls;
  const void *const hot[] = {&calls->post_exact,   &calls->post,          &calls->arrive,        &calls->probe,  &calls->matched_probe,
                             &calls->take_receive, &calls->queue_message, &calls->queue_receive, &calls->cancel, &calls->retract};
  for (size_t at = 0; at < sizeof hot / sizeof *hot; at++)
    print_address(hot[at]);
  return mp_destroy(engine);
}
