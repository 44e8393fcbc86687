//! Licences of the dependencies. Each must permit distribution under BSD-3-Clause with no duty except attribution.
//! `deny.toml` has the same rules for `cargo deny`.

use spdx::{Expression, LicenseReq, ParseMode};

use crate::Failure;
use crate::repository::{metadata, packages, text};

const ALLOWED: [&str; 9] =
    ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT", "Unicode-3.0", "Zlib"];

/// Dependencies with other licences, which are not in the distributed binary. `cbindgen` writes `matchpoint.h` in a
/// test, and `tiny-keccak` is for WebAssembly.
const TOOLS: [&str; 2] = ["cbindgen", "tiny-keccak"];

const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub fn complaints() -> Result<Vec<String>, Failure> {
    Ok(packages(&metadata(true)?)
        .flat_map(|package| {
            let name = format!("{} {}", text(package, "name"), text(package, "version"));
            let license = text(package, "license");
            let allowed =
                is_allowed(license).map_err(|error| format!("{name}: licence `{license}`: {error}"));
            let source = package["source"].as_str().filter(|source| *source != SOURCE);
            let refused = match allowed {
                Ok(true) => None,
                _ if TOOLS.contains(&text(package, "name")) => None,
                Ok(false) => Some(format!("{name}: licence `{license}` is not among those allowed")),
                Err(complaint) => Some(complaint),
            };
            let stray = source.map(|source| format!("{name}: comes from {source}"));
            refused.into_iter().chain(stray).collect::<Vec<_>>()
        })
        .collect())
}

fn is_allowed(license: &str) -> Result<bool, String> {
    // Old manifests write `MIT/Apache-2.0`.
    let expression =
        Expression::parse_mode(license, ParseMode::LAX).map_err(|error| error.reason.to_string())?;
    Ok(expression.evaluate(|requirement: &LicenseReq| {
        requirement.license.id().is_some_and(|id| ALLOWED.contains(&id.name))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn license_alternatives_and_conjunctions_are_checked() {
        assert_eq!(is_allowed("MIT OR GPL-3.0-only"), Ok(true));
        assert_eq!(is_allowed("Unlicense/MIT"), Ok(true));
        assert_eq!(is_allowed("MIT AND GPL-3.0-only"), Ok(false));
        assert_eq!(is_allowed("Apache-2.0 WITH LLVM-exception"), Ok(true));
        assert!(is_allowed("").is_err() && is_allowed("ours").is_err());
    }
}
