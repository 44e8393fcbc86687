//! The choice of the core provider, which transports the job's messages.

use crate::error::RunError;
use crate::hosts::Hosts;
use crate::libfabric::Fabric;
use crate::stack::{ALTERNATIVE, Stack, Vendor};

/// Core provider of a job, and reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Name of the core provider.
    pub core: String,
    /// Reason for the choice.
    pub why: String,
}

/// Core providers that were tested with real jobs.
const TESTED: [&str; 2] = ["shm", "tcp;ofi_rxm"];

/// Chooses a core provider. `fabric` has version and providers of libfabric, if known. `requested` is the
/// user's choice, and its option or variable (`--core`, `FI_PROVIDER`).
///
/// # Errors
/// The MPI library does not use libfabric, or Matchpoint cannot own the receive queue of the core provider.
/// The error has a hint.
pub fn choose(
    stack: &Stack,
    fabric: Option<&Fabric>,
    hosts: &Hosts,
    requested: Option<&(String, String)>,
) -> Result<Choice, RunError> {
    check_libfabric(stack)?;
    let (core, why) = match requested {
        Some((core, source)) if is_single_host(core) && !hosts.is_one() => (
            core.clone(),
            format!("{source} selects it, although it reaches one host only and {}", hosts.why),
        ),
        Some((core, source)) if !TESTED.contains(&core.as_str()) => {
            (core.clone(), format!("{source} selects it; not tested"))
        }
        Some((core, source)) => (core.clone(), format!("{source} selects it")),
        None => {
            let core = if hosts.is_one() { "shm" } else { "tcp;ofi_rxm" };
            let place = if hosts.is_one() { "one host: " } else { "" };
            (core.to_owned(), format!("{place}{}", hosts.why))
        }
    };
    check_ownership(stack, fabric.map(|fabric| fabric.version), &core)?;
    let known = fabric.map_or(&[][..], |fabric| &fabric.providers);
    if !known.is_empty() && !known.contains(&core) {
        return Err(RunError(format!(
            "the libfabric of {stack} has no provider '{core}'\nhint: use --core with one of {}",
            known.join(", ")
        )));
    }
    Ok(Choice { why: format!("{why}{}", faster_network_hint(&core, hosts, known)), core })
}

/// The default is TCP, which works on every network; few faster providers are tested.
fn faster_network_hint(core: &str, hosts: &Hosts, known: &[String]) -> String {
    let fast = known.iter().filter(|name| ["cxi", "verbs;ofi_rxm"].contains(&name.as_str()));
    let fast: Vec<&str> = fast.map(String::as_str).collect();
    if hosts.is_one() || fast.is_empty() || !core.starts_with("tcp") {
        return String::new();
    }
    format!("; a faster network, not tested yet: --core '{}'", fast.join("' or '"))
}

/// True for a provider within one host only.
pub fn is_single_host(core: &str) -> bool {
    matches!(core, "shm" | "sm2")
}

fn check_libfabric(stack: &Stack) -> Result<(), RunError> {
    let library = stack.library.display();
    let device = stack.device.as_deref().unwrap_or_default();
    let why = match stack.vendor {
        Vendor::Mpich if device.starts_with("ch3") => {
            format!("{stack} ({library}) is built for {device}, which has no libfabric")
        }
        // MPICH may contain libfabric instead of loading a library.
        Vendor::Mpich if stack.fabric.is_none() && !device.contains("ofi") => {
            let device = if device.is_empty() { String::new() } else { format!(" ({device})") };
            format!(
                "{stack} ({library}) is built without libfabric{device}: UCX, which it uses, matches messages itself"
            )
        }
        Vendor::OpenMpi if stack.fabric.is_none() => format!(
            "{stack} ({library}) has no libfabric, neither linked nor as a plug-in (mca_mtl_ofi): it matches \
             messages itself, or through UCX"
        ),
        Vendor::Intel if stack.fabric.is_none() => {
            format!("{stack} ({library}): no libfabric.so.1 next to it")
        }
        _ => {
            let old = stack.version.as_ref().is_some_and(|version| version.numbers() < (4, 1));
            if !old || stack.vendor == Vendor::Intel {
                return Ok(());
            }
            format!("{stack} ({library}) is older than 4.1, and not tested")
        }
    };
    Err(RunError(format!("{why}, so --below is not possible\nhint: {ALTERNATIVE}")))
}

/// The core provider must allow another owner of its receive queue. `version` is libfabric's, if known.
fn check_ownership(stack: &Stack, version: Option<(u32, u32)>, core: &str) -> Result<(), RunError> {
    let refused = |what: String, hint: &str| Err(RunError(format!("{what}\nhint: {hint}")));
    let since = match core {
        _ if core.ends_with(";ofi_rxm") && stack.vendor == Vendor::Intel => {
            return refused(
                format!("{stack} finds nothing over the core provider '{core}'"),
                "use shm on one host, or MPICH or Open MPI between hosts",
            );
        }
        "shm" | "sm2" => (1, 19),
        "cxi" => (2, 0),
        _ if core.ends_with(";ofi_rxm") => (2, 0),
        _ => {
            return refused(
                format!("the core provider '{core}' does not let another provider own its receive queue"),
                "name another one with --core: shm on one host, 'tcp;ofi_rxm' between hosts",
            );
        }
    };
    // An unknown version is no error, because the provider checks again in each process.
    let (major, minor) = version.unwrap_or(since);
    if (major, minor) >= since {
        return Ok(());
    }
    let (a, b) = since;
    refused(
        format!(
            "the core provider '{core}' needs libfabric {a}.{b} or later, and {stack} has {major}.{minor}"
        ),
        "use an MPI with a newer libfabric, or matchpoint record and matchpoint analyze",
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::stack::Version;

    fn stack(vendor: Vendor, version: &str) -> Stack {
        Stack {
            vendor,
            version: Some(Version(version.to_owned())),
            library: PathBuf::from("/opt/lib/libmpi.so"),
            fabric: Some(PathBuf::from("/opt/lib/libfabric.so.1")),
            device: None,
            own_launcher: true,
        }
    }

    fn fabric(version: (u32, u32)) -> Fabric {
        Fabric { version, providers: ["tcp", "tcp;ofi_rxm", "shm"].map(str::to_owned).to_vec() }
    }

    fn hosts(count: u64) -> Hosts {
        Hosts { count, here: count == 1, why: format!("{count} named") }
    }

    fn chosen_core(vendor: Vendor, count: u64) -> String {
        choose(&stack(vendor, "5.0.2"), Some(&fabric((2, 5))), &hosts(count), None).unwrap().core
    }

    fn choice_error(stack: &Stack, fabric: &Fabric, count: u64, core: Option<&str>) -> String {
        let requested = core.map(|core| (core.to_owned(), "--core".to_owned()));
        choose(stack, Some(fabric), &hosts(count), requested.as_ref()).unwrap_err().to_string()
    }

    #[test]
    fn core_is_memory_or_network_by_hosts() {
        for vendor in [Vendor::Mpich, Vendor::OpenMpi] {
            assert_eq!(chosen_core(vendor, 1), "shm");
            assert_eq!(chosen_core(vendor, 2), "tcp;ofi_rxm");
        }
        assert_eq!(chosen_core(Vendor::Intel, 1), "shm");
    }

    #[test]
    fn requested_core_is_used_or_refused() {
        let requested = ("tcp;ofi_rxm".to_owned(), "--core".to_owned());
        let mpich = stack(Vendor::Mpich, "5.0.2");
        let choice = choose(&mpich, Some(&fabric((2, 5))), &hosts(1), Some(&requested)).unwrap();
        assert_eq!(choice.core, "tcp;ofi_rxm");
        let said = choice_error(&mpich, &fabric((2, 5)), 1, Some("sm2"));
        assert!(
            said.contains("no provider 'sm2'\nhint: use --core with one of tcp, tcp;ofi_rxm, shm"),
            "{said}"
        );
    }

    #[test]
    fn unsupported_mpi_is_refused_with_reason() {
        let mut ucx = stack(Vendor::Mpich, "4.0.2");
        (ucx.fabric, ucx.device) = (None, Some("ch4:ucx".to_owned()));
        let said = choice_error(&ucx, &fabric((2, 5)), 1, None);
        assert!(said.contains("(ch4:ucx)") && said.contains("omit --below"), "{said}");
        let said = choice_error(&stack(Vendor::Mpich, "4.0.2"), &fabric((2, 5)), 1, None);
        assert!(said.contains("older than 4.1"), "{said}");
    }

    #[test]
    fn core_without_ownership_is_refused_with_hint() {
        let checked = |vendor, version, core| {
            check_ownership(&stack(vendor, "5.0.2"), Some(version), core).map_err(|error| error.to_string())
        };
        for core in ["shm", "sm2", "cxi", "tcp;ofi_rxm", "verbs;ofi_rxm"] {
            assert_eq!(checked(Vendor::Mpich, (2, 5), core), Ok(()), "{core}");
        }
        assert_eq!(checked(Vendor::OpenMpi, (1, 19), "shm"), Ok(()));
        assert_eq!(check_ownership(&stack(Vendor::Mpich, "5.0.2"), None, "shm"), Ok(()));
        for (vendor, version, core, reason) in [
            (Vendor::Mpich, (2, 5), "tcp", "the core provider 'tcp' does not let another provider own"),
            (
                Vendor::OpenMpi,
                (1, 17),
                "shm",
                "'shm' needs libfabric 1.19 or later, and Open MPI 5.0.2 has 1.17",
            ),
            (Vendor::OpenMpi, (1, 22), "tcp;ofi_rxm", "'tcp;ofi_rxm' needs libfabric 2.0 or later"),
            (Vendor::Intel, (2, 4), "tcp;ofi_rxm", "finds nothing over the core provider 'tcp;ofi_rxm'"),
        ] {
            let error = checked(vendor, version, core).unwrap_err();
            assert!(error.contains(reason) && error.contains("\nhint: "), "{error}");
        }
    }

    #[test]
    fn default_core_without_ownership_is_refused() {
        let old = choice_error(&stack(Vendor::OpenMpi, "4.1.4"), &fabric((1, 17)), 1, None);
        assert!(old.contains("'shm' needs libfabric 1.19"), "{old}");
        let intel = choice_error(&stack(Vendor::Intel, "2021.18.1"), &fabric((2, 4)), 2, None);
        assert!(intel.contains("hint: use shm on one host"), "{intel}");
    }

    #[test]
    fn intel_version_is_not_too_old() {
        assert!(check_libfabric(&stack(Vendor::Intel, "2021.18.1")).is_ok());
    }
}
