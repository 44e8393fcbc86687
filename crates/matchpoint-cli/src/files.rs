//! The files of a report with a page and JSON.

use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;
use crate::output::{OutputId, Outputs, json_and_page};
use crate::report::document::{Document, WIDTH};
use crate::report::schema;

pub struct Files {
    pub outputs: Outputs,
    json: Option<OutputId>,
    page: Option<OutputId>,
}

impl Files {
    pub fn reserve(json: Option<&Path>, page: Option<&Path>) -> Result<Self, Failure> {
        json_and_page(json, page)?;
        let mut outputs = Outputs::default();
        let (json, page) = (outputs.reserve_if(json)?, outputs.reserve_if(page)?);
        Ok(Files { outputs, json, page })
    }

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
