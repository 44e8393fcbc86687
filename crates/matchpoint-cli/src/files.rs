//! The files of a report that has a page and JSON.

use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;
use crate::output::{Outputs, Place};
use crate::report::document::{Document, WIDTH};
use crate::report::schema;

/// Room for both, and for others.
pub struct Files {
    /// All of them.
    pub outputs: Outputs,
    json: Option<Place>,
    page: Option<Place>,
}

impl Files {
    /// Makes room, before any work.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub fn reserve(json: Option<&Path>, page: Option<&Path>) -> Result<Self, Failure> {
        let mut outputs = Outputs::default();
        let (json, page) = (outputs.reserve_if(json)?, outputs.reserve_if(page)?);
        Ok(Files { outputs, json, page })
    }

    /// Writes both, and prints the text, or what takes its place.
    ///
    /// # Errors
    /// A disk is full, or standard output is closed.
    pub fn finish(mut self, document: &Document, json: &Value) -> Result<(), Failure> {
        if let Some(place) = self.json {
            self.outputs.fill(place, |out| schema::write(json, out))?;
        }
        if let Some(place) = self.page {
            self.outputs.fill(place, |out| out.write_all(document.page().as_bytes()))?;
        }
        self.outputs.finish(&document.text(WIDTH))
    }
}
