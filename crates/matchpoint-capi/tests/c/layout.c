/* The size of each struct, and where the field lies that a mistake would move. */
#include <stdio.h>

#include <matchpoint.h>

#define TELL(type, field) printf("%s %zu %zu\n", #type, sizeof(type), offsetof(type, field))

int main(void) {
    TELL(mp_selector, context);
    TELL(mp_envelope, context);
    TELL(mp_message, envelope);
    TELL(mp_outcome, status);
    TELL(mp_completion, kind);
    TELL(mp_entry, queue);
    TELL(mp_footprint, peak_bytes);
    TELL(mp_attempts, unexpected);
    TELL(mp_engine_info, parameters);
    TELL(mp_parameter_info, meaning);
    return 0;
}
