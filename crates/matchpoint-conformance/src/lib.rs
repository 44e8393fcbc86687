//! The laws of MPI message matching, as code that runs on any engine.
