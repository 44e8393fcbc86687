//! Writer of DUMPI traces.

pub use crate::readers::dumpi::writer::{Deviations, Settings, Writer, file_name, meta};
