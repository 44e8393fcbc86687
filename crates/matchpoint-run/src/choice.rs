//! What transports the job's messages, and where they are matched.

use crate::error::RunError;
use crate::hosts::Hosts;
use crate::libfabric::Fabric;
use crate::stack::{INSTEAD, Stack, Vendor};

/// Where messages are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// As the owner of the core provider's receive queue.
    Peer,
    /// Above the core provider.
    Layered,
}

impl FrontEnd {
    /// For the user.
    pub fn describe(self) -> &'static str {
        match self {
            FrontEnd::Peer => "owner of the receive queue",
            FrontEnd::Layered => "above the provider",
        }
    }
}

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The core provider, and who asked: `--core`, `FI_PROVIDER`.
    pub core: Option<(String, String)>,
    /// `MATCHPOINT_FRONT_END`: `peer` or `layered`.
    pub front_end: Option<FrontEnd>,
}

/// What it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The core provider.
    pub core: String,
    /// Where its messages are matched.
    pub front_end: FrontEnd,
    /// Why this core.
    pub why: String,
}

/// What messages of real jobs have gone over.
const TRIED: [&str; 3] = ["shm", "tcp", "tcp;ofi_rxm"];

/// Decides. `fabric` is what libfabric said of itself, if it could be asked.
///
/// # Errors
/// The MPI cannot be reached by way of libfabric, or not over the core that was asked for: what can be done instead.
pub fn choose(
    stack: &Stack,
    fabric: Option<&Fabric>,
    hosts: &Hosts,
    asked: &Asked,
) -> Result<Choice, RunError> {
    reachable(stack)?;
    let version = fabric.map(|fabric| fabric.version);
    let can = |core: &str| front_end(stack, version, core, asked.front_end);
    let (core, why) = match &asked.core {
        Some((core, who)) if is_local(core) && !hosts.is_one() => {
            (core.clone(), format!("{who} says so, though it reaches one host only and {}", hosts.why))
        }
        Some((core, who)) if !TRIED.contains(&core.as_str()) => {
            (core.clone(), format!("{who} says so; it was never tried"))
        }
        Some((core, who)) => (core.clone(), format!("{who} says so")),
        // Open MPI 4.1 refuses the shm of libfabric 1.17.
        None if hosts.is_one() && owns(stack, version, "shm").is_ok() => {
            ("shm".to_owned(), format!("one host: {}", hosts.why))
        }
        None => {
            let core = if stack.vendor == Vendor::Intel { "tcp" } else { "tcp;ofi_rxm" };
            let old = if hosts.is_one() { "; its libfabric is too old for shm" } else { "" };
            (core.to_owned(), format!("{}{old}", hosts.why))
        }
    };
    let known = fabric.map_or(&[][..], |fabric| &fabric.providers);
    if !known.is_empty() && !known.contains(&core) {
        return Err(RunError(format!(
            "{stack}'s libfabric has no provider {core} here; it has {}: name one with --core",
            known.join(", ")
        )));
    }
    let front_end = can(&core).map_err(RunError)?;
    Ok(Choice { why: format!("{why}{}", faster(&core, hosts, known)), core, front_end })
}

/// TCP works on every network, and is the best that few have.
fn faster(core: &str, hosts: &Hosts, known: &[String]) -> String {
    let fast = known.iter().filter(|name| ["cxi", "verbs;ofi_rxm"].contains(&name.as_str()));
    let fast: Vec<&str> = fast.map(String::as_str).collect();
    if hosts.is_one() || fast.is_empty() || !core.starts_with("tcp") {
        return String::new();
    }
    format!("; there is a faster network, not tried yet: --core '{}'", fast.join("' or '"))
}

/// Providers that carry messages within a host only.
pub fn is_local(core: &str) -> bool {
    matches!(core, "shm" | "sm2")
}

/// The MPI speaks to networks by libfabric.
fn reachable(stack: &Stack) -> Result<(), RunError> {
    let library = stack.library.display();
    let device = stack.device.as_deref().unwrap_or_default();
    let why = match stack.vendor {
        Vendor::Mpich if device.starts_with("ch3") => {
            format!("{stack} ({library}) is built for {device}, which has no libfabric")
        }
        // Its libfabric may be part of it.
        Vendor::Mpich if stack.fabric.is_none() && !device.contains("ofi") => {
            let device = if device.is_empty() { String::new() } else { format!(" ({device})") };
            format!(
                "{stack} ({library}) is built without libfabric{device}: UCX, which it uses, matches messages itself"
            )
        }
        Vendor::OpenMpi if stack.fabric.is_none() => format!(
            "{stack} ({library}) has no libfabric, neither linked nor as a plug-in (mca_mtl_ofi): it matches \
             messages itself, or UCX does"
        ),
        Vendor::Intel if stack.fabric.is_none() => {
            format!("{stack} ({library}): there is no libfabric.so.1 beside it")
        }
        _ => {
            let old = stack.version.as_ref().is_some_and(|version| version.numbers() < (4, 1));
            if !old || stack.vendor == Vendor::Intel {
                return Ok(());
            }
            format!("{stack} ({library}) is older than 4.1, and was never tried")
        }
    };
    Err(RunError(format!("{why}, so that no provider of ours can be put under it. {INSTEAD}")))
}

/// Where messages over a core can be matched. `version` is libfabric's.
fn front_end(
    stack: &Stack,
    version: Option<(u32, u32)>,
    core: &str,
    asked: Option<FrontEnd>,
) -> Result<FrontEnd, String> {
    if core.ends_with(";ofi_rxm") && stack.vendor == Vendor::Intel {
        return Err(format!(
            "{stack} cannot use {core}: its libfabric finds nothing over it; shm and tcp work"
        ));
    }
    if stack.vendor == Vendor::OpenMpi
        && version.is_some_and(|version| version < (1, 19))
        && !core.contains(';')
    {
        return Err(format!("{stack} does not choose the {core} of so old a libfabric; tcp;ofi_rxm works"));
    }
    match (asked, owns(stack, version, core)) {
        (Some(FrontEnd::Layered), _) | (None, Err(_)) => Ok(FrontEnd::Layered),
        (_, Ok(())) => Ok(FrontEnd::Peer),
        (Some(FrontEnd::Peer), Err(why)) => Err(format!("{why}: unset MATCHPOINT_FRONT_END")),
    }
}

/// Whether the core lets us own its receive queue.
fn owns(stack: &Stack, version: Option<(u32, u32)>, core: &str) -> Result<(), String> {
    // One that could not be asked is taken for a new one: the provider itself looks again.
    let version = version.unwrap_or((2, 5));
    let (major, minor) = version;
    let since = match core {
        "shm" | "sm2" => (1, 19),
        "cxi" => (2, 0),
        name if name.ends_with(";ofi_rxm") => (2, 0),
        _ => return Err(format!("the provider {core} lets nobody own its receive queue")),
    };
    let (a, b) = since;
    if version >= since {
        return Ok(());
    }
    let whose = format!("{stack}'s libfabric is {major}.{minor}");
    Err(format!("{whose}, in which {core} lets nobody own its receive queue ({a}.{b} and later do)"))
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

    fn core(vendor: Vendor, count: u64) -> String {
        let all = Asked::default();
        choose(&stack(vendor, "5.0.2"), Some(&fabric((2, 5))), &hosts(count), &all).unwrap().core
    }

    fn refusal(stack: &Stack, fabric: &Fabric, count: u64, core: Option<&str>) -> String {
        let asked = Asked { core: core.map(|core| (core.to_owned(), "--core".to_owned())), front_end: None };
        choose(stack, Some(fabric), &hosts(count), &asked).unwrap_err().to_string()
    }

    #[test]
    fn memory_on_one_host_and_a_network_between_several() {
        for vendor in [Vendor::Mpich, Vendor::OpenMpi] {
            assert_eq!(core(vendor, 1), "shm");
            assert_eq!(core(vendor, 2), "tcp;ofi_rxm");
        }
        assert_eq!((core(Vendor::Intel, 1), core(Vendor::Intel, 2)), ("shm".to_owned(), "tcp".to_owned()));
    }

    #[test]
    fn an_old_libfabric_gets_no_shm() {
        let all = Asked::default();
        let choice =
            choose(&stack(Vendor::OpenMpi, "4.1.4"), Some(&fabric((1, 17))), &hosts(1), &all).unwrap();
        assert_eq!((choice.core.as_str(), choice.front_end), ("tcp;ofi_rxm", FrontEnd::Layered));
    }

    #[test]
    fn what_is_asked_for_is_used_or_refused() {
        let asked = Asked { core: Some(("tcp;ofi_rxm".to_owned(), "--core".to_owned())), front_end: None };
        let mpich = stack(Vendor::Mpich, "5.0.2");
        let choice = choose(&mpich, Some(&fabric((2, 5))), &hosts(1), &asked).unwrap();
        assert_eq!((choice.core.as_str(), choice.front_end), ("tcp;ofi_rxm", FrontEnd::Peer));
        let said = refusal(&mpich, &fabric((2, 5)), 1, Some("sm2"));
        assert!(said.contains("no provider sm2 here; it has tcp, tcp;ofi_rxm, shm"), "{said}");
        let intel = refusal(&stack(Vendor::Intel, "2021.18.1"), &fabric((2, 4)), 2, Some("tcp;ofi_rxm"));
        assert!(intel.contains("finds nothing over it"), "{intel}");
    }

    #[test]
    fn what_cannot_be_reached_is_explained() {
        let mut ucx = stack(Vendor::Mpich, "4.0.2");
        (ucx.fabric, ucx.device) = (None, Some("ch4:ucx".to_owned()));
        let said = refusal(&ucx, &fabric((2, 5)), 1, None);
        assert!(said.contains("(ch4:ucx)") && said.contains("matchpoint record"), "{said}");
        let said = refusal(&stack(Vendor::Mpich, "4.0.2"), &fabric((2, 5)), 1, None);
        assert!(said.contains("older than 4.1"), "{said}");
    }

    #[test]
    fn a_queue_is_owned_where_it_can_be() {
        let front_end = |vendor, version, core| front_end(&stack(vendor, "5.0.2"), Some(version), core, None);
        for (vendor, version, core, expected) in [
            (Vendor::Mpich, (2, 5), "shm", FrontEnd::Peer),
            (Vendor::Mpich, (2, 5), "tcp;ofi_rxm", FrontEnd::Peer),
            (Vendor::Mpich, (2, 5), "tcp", FrontEnd::Layered),
            (Vendor::OpenMpi, (1, 17), "tcp;ofi_rxm", FrontEnd::Layered),
            (Vendor::OpenMpi, (1, 22), "tcp;ofi_rxm", FrontEnd::Layered),
            (Vendor::Intel, (2, 4), "tcp", FrontEnd::Layered),
        ] {
            assert_eq!(front_end(vendor, version, core), Ok(expected), "{core} of {version:?}");
        }
        assert!(front_end(Vendor::OpenMpi, (1, 17), "shm").unwrap_err().contains("tcp;ofi_rxm works"));
        let mpich = stack(Vendor::Mpich, "5.0.2");
        let asked = Asked { core: None, front_end: Some(FrontEnd::Layered) };
        let choice = choose(&mpich, Some(&fabric((2, 5))), &hosts(1), &asked).unwrap();
        assert_eq!((choice.core.as_str(), choice.front_end), ("shm", FrontEnd::Layered));
        let asked =
            Asked { core: Some(("tcp".to_owned(), "--core".to_owned())), front_end: Some(FrontEnd::Peer) };
        assert!(choose(&mpich, Some(&fabric((2, 5))), &hosts(1), &asked).is_err());
    }

    #[test]
    fn intel_is_no_older_than_it_is() {
        assert!(reachable(&stack(Vendor::Intel, "2021.18.1")).is_ok());
    }
}
