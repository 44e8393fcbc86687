//! What a stack must be told, by variables of its processes' environment, and what a user has told it already.
//!
//! Every setting is a variable, Open MPI's parameters too: the command line stays what the user wrote. A setting of the
//! user's is taken for what it means (a provider named is the core), or refused with the reason; never overridden.

use std::path::{Path, PathBuf};

use crate::choice::Choice;
use crate::error::RunError;
use crate::stack::{Stack, Vendor};
use crate::words::Words;

/// A name, a value, and why it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// `FI_PROVIDER`
    pub name: &'static str,
    /// `shm;ofi_matchpoint`
    pub value: String,
    /// Half a sentence.
    pub why: &'static str,
}

/// What our provider is called where libfabric puts utility providers on top of cores.
pub const UTILITY: &str = "ofi_matchpoint";
/// And where the MPI chooses among core providers only.
pub const CORE: &str = "matchpoint";

/// Names the folder for what processes note of arrivals, where that is asked for.
pub const ARRIVALS: &str = "MATCHPOINT_ARRIVALS";

/// SIGUSR2, on every Linux but those of MIPS, SPARC and Alpha. MPICH has a handler for SIGUSR1.
pub(crate) const QUEUES_SIGNAL: &str = "12";

/// All of it. `providers` and `reports` are folders.
pub fn variables(
    stack: &Stack,
    choice: &Choice,
    engine: &str,
    providers: &Path,
    reports: &Path,
) -> Vec<Variable> {
    let set = |name, value: &str, why| Variable { name, value: value.to_owned(), why };
    let mut all =
        vec![set("FI_PROVIDER_PATH", &providers.to_string_lossy(), "where libfabric finds the provider")];
    if stack.vendor == Vendor::Intel {
        all.push(set("MATCHPOINT_PROVIDER", CORE, "its libfabric chooses among core providers only"));
        all.extend(through(stack, CORE));
    } else {
        all.extend(through(stack, &format!("{};{UTILITY}", choice.core)));
    }
    all.extend([
        set("MATCHPOINT_CORE", &choice.core, "core provider, which transports messages"),
        set("MATCHPOINT_ENGINE", engine, "engine, which matches messages"),
        set("MATCHPOINT_QUEUES_SIGNAL", QUEUES_SIGNAL, "SIGUSR2 prints the queues of a process"),
        set("MATCHPOINT_REPORT", &reports.to_string_lossy(), "folder of the reports"),
    ]);
    all
}

/// What has messages go through this provider of libfabric's, those within a host, too.
pub fn through(stack: &Stack, provider: &str) -> Vec<Variable> {
    let mut all = Vec::new();
    let mut set = |name, value: &str, why| all.push(Variable { name, value: value.to_owned(), why });
    set("FI_PROVIDER", provider, "the only provider that the MPI may use");
    match stack.vendor {
        Vendor::Mpich => {
            set("MPIR_CVAR_CH4_NETMOD", "ofi", "libfabric instead of UCX");
            set("MPIR_CVAR_NOLOCAL", "1", "libfabric also within a host");
        }
        Vendor::OpenMpi => {
            set("OMPI_MCA_pml", "cm", "the component that matches in libfabric");
            set("OMPI_MCA_mtl", "ofi", "libfabric");
            set(include(stack), provider, "providers excluded by default");
            set("OMPI_MCA_osc", "^ucx", "one-sided communication without UCX");
        }
        Vendor::Intel => {
            set("I_MPI_OFI_PROVIDER", provider, "FI_PROVIDER set by the MPI");
            set("I_MPI_FABRICS", "ofi", "libfabric also within a host");
        }
    }
    all
}

/// Open MPI 5 has the parameter in common for all that uses libfabric.
fn include(stack: &Stack) -> &'static str {
    let before_5 = stack.version.as_ref().is_some_and(|version| version.numbers().0 < 5);
    if before_5 { "OMPI_MCA_mtl_ofi_provider_include" } else { "OMPI_MCA_opal_common_ofi_provider_include" }
}

/// Variables by which users choose a provider: what they name is the core.
const CHOOSE: &[&str] = &[
    "FI_PROVIDER",
    "I_MPI_OFI_PROVIDER",
    "OMPI_MCA_mtl_ofi_provider_include",
    "OMPI_MCA_opal_common_ofi_provider_include",
];

/// The provider that the user has chosen in the environment, and by which variable.
///
/// # Errors
/// It is not one provider: a list, or what is to be left out.
pub fn chosen(
    stack: &Stack,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<(String, String)>, RunError> {
    let concerns = |name: &str| match stack.vendor {
        Vendor::Intel => !name.starts_with("OMPI_"),
        Vendor::OpenMpi => !name.starts_with("I_MPI_"),
        Vendor::Mpich => name.starts_with("FI_"),
    };
    let mut found: Option<(String, String)> = None;
    for name in CHOOSE.iter().filter(|name| concerns(name)) {
        let Some(value) = variable(name).filter(|value| !value.is_empty()) else { continue };
        if value.contains([',', '^']) {
            return Err(RunError(format!(
                "{name} is '{value}', not one provider\nhint: unset it, and name one provider with --core"
            )));
        }
        // Ours, of an environment that --print-environment printed.
        let core = value.strip_suffix(UTILITY).and_then(|rest| rest.strip_suffix(';')).unwrap_or(&value);
        match &found {
            _ if core == CORE => {}
            Some((other, by)) if other != core => {
                return Err(RunError(format!(
                    "{by} is '{other}', but {name} is '{core}'\nhint: unset one of both"
                )));
            }
            _ => found = Some((core.to_owned(), (*name).to_owned())),
        }
    }
    Ok(found)
}

/// Removes what the user has set in a way that does no harm, and refuses what contradicts.
///
/// # Errors
/// A setting, in the environment or on the command line, says something else than what must be.
pub fn reconcile(
    variables: &mut Vec<Variable>,
    words: &Words,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), RunError> {
    let on_line = |name: &str| {
        let mca = name.strip_prefix("OMPI_MCA_");
        let by_mca = words.mca.iter().find(|(key, _)| Some(key.as_str()) == mca);
        by_mca.or_else(|| words.variables.iter().find(|(key, _)| key == name)).map(|(_, value)| value.clone())
    };
    // Any other component than UCX's will do.
    let own_osc = on_line("OMPI_MCA_osc").or_else(|| variable("OMPI_MCA_osc"));
    if own_osc.is_some_and(|value| value.starts_with('^') || !value.contains("ucx")) {
        variables.retain(|ours| ours.name != "OMPI_MCA_osc");
    }
    for ours in variables.iter() {
        let (value, place) = match (on_line(ours.name), variable(ours.name).filter(|value| !value.is_empty()))
        {
            (Some(value), _) => (value, "on the command line"),
            // Read already, as a choice of the core or as a place to look for it.
            (None, Some(_)) if CHOOSE.contains(&ours.name) || ours.name == "FI_PROVIDER_PATH" => continue,
            (None, Some(value)) => (value, "in the environment"),
            (None, None) => continue,
        };
        if value != ours.value {
            return Err(RunError(format!(
                "{} is '{value}' {place}, but must be '{}' ({})\nhint: omit it for this run",
                ours.name, ours.value, ours.why
            )));
        }
    }
    Ok(())
}

/// Folders in which providers lie that are not part of libfabric: the user's, the package's.
pub fn provider_folders(stack: &Stack, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    if let Some(path) = variable("FI_PROVIDER_PATH").filter(|path| !path.is_empty()) {
        // `+FILE` and `@` are libfabric 2's.
        let words = path.split(':').map(|word| word.trim_start_matches(['+', '@']));
        return words.filter(|word| !word.is_empty()).map(PathBuf::from).collect();
    }
    let Some(beside) = stack.fabric.as_deref().and_then(Path::parent) else { return Vec::new() };
    let places = match stack.vendor {
        Vendor::Intel => vec![beside.join("prov"), beside.to_owned()],
        _ => vec![beside.join("libfabric")],
    };
    places.into_iter().filter(|place| place.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Version;

    fn stack(vendor: Vendor, version: &str) -> Stack {
        Stack {
            vendor,
            version: Some(Version(version.to_owned())),
            library: PathBuf::from("/opt/lib/libmpi.so"),
            fabric: None,
            device: None,
            own_launcher: true,
        }
    }

    fn of(vendor: Vendor, version: &str, core: &str) -> Vec<Variable> {
        let choice = Choice { core: core.to_owned(), why: String::new() };
        variables(&stack(vendor, version), &choice, "bins:n=7", Path::new("/run/prov"), Path::new("/run/rep"))
    }

    fn value<'a>(all: &'a [Variable], name: &str) -> Option<&'a str> {
        all.iter().find(|one| one.name == name).map(|one| one.value.as_str())
    }

    fn none(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn mpich() {
        let all = of(Vendor::Mpich, "5.0.2", "tcp;ofi_rxm");
        assert_eq!(value(&all, "FI_PROVIDER"), Some("tcp;ofi_rxm;ofi_matchpoint"));
        assert_eq!(value(&all, "FI_PROVIDER_PATH"), Some("/run/prov"));
        assert_eq!(value(&all, "MPIR_CVAR_CH4_NETMOD"), Some("ofi"));
        assert_eq!(value(&all, "MPIR_CVAR_NOLOCAL"), Some("1"));
        assert_eq!(value(&all, "MATCHPOINT_CORE"), Some("tcp;ofi_rxm"));
        assert_eq!(value(&all, "MATCHPOINT_ENGINE"), Some("bins:n=7"));
        assert_eq!(value(&all, "MATCHPOINT_REPORT"), Some("/run/rep"));
        assert!(!all.iter().any(|one| one.name.starts_with("OMPI_") || one.name.starts_with("I_MPI_")));
    }

    #[test]
    fn open_mpi() {
        for (version, name) in [
            ("5.0.11", "OMPI_MCA_opal_common_ofi_provider_include"),
            ("4.1.4", "OMPI_MCA_mtl_ofi_provider_include"),
        ] {
            let all = of(Vendor::OpenMpi, version, "shm");
            assert_eq!(value(&all, name), Some("shm;ofi_matchpoint"));
            assert_eq!((value(&all, "OMPI_MCA_pml"), value(&all, "OMPI_MCA_mtl")), (Some("cm"), Some("ofi")));
        }
    }

    #[test]
    fn intel() {
        let all = of(Vendor::Intel, "2021.18.1", "shm");
        for name in ["FI_PROVIDER", "I_MPI_OFI_PROVIDER", "MATCHPOINT_PROVIDER"] {
            assert_eq!(value(&all, name), Some("matchpoint"));
        }
        assert_eq!(value(&all, "I_MPI_FABRICS"), Some("ofi"));
        assert_eq!(value(&all, "MATCHPOINT_CORE"), Some("shm"));
    }

    #[test]
    fn provider_of_user_is_core() {
        let mpich = stack(Vendor::Mpich, "5.0.2");
        let set = |value: &'static str| move |name: &str| (name == "FI_PROVIDER").then(|| value.to_owned());
        let core = |value| chosen(&mpich, set(value)).map(|found| found.map(|(core, _)| core));
        assert_eq!(core("tcp;ofi_rxm"), Ok(Some("tcp;ofi_rxm".to_owned())));
        assert_eq!(core("shm;ofi_matchpoint"), Ok(Some("shm".to_owned())));
        assert_eq!(core(""), Ok(None));
        assert!(core("^psm3").unwrap_err().to_string().contains("FI_PROVIDER is '^psm3'"));
        // Another MPI's variable does not concern this one.
        assert_eq!(chosen(&mpich, |name| (name == "I_MPI_OFI_PROVIDER").then(|| "tcp".to_owned())), Ok(None));
    }

    #[test]
    fn what_contradicts_is_refused_with_the_reason() {
        let words = |line: &str| Words::of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let refused = |line: &str, variable: fn(&str) -> Option<String>| {
            reconcile(&mut of(Vendor::OpenMpi, "5.0.11", "shm"), &words(line), variable)
                .err()
                .map(|error| error.0)
        };
        let said = refused("mpirun --mca pml ob1 sh", none).unwrap();
        assert!(said.contains("OMPI_MCA_pml is 'ob1' on the command line, but must be 'cm'"), "{said}");
        assert_eq!(refused("mpirun --mca pml cm sh", none), None);
        let said = refused("mpirun -x FI_PROVIDER=tcp sh", none).unwrap();
        assert!(said.contains("FI_PROVIDER is 'tcp'"), "{said}");
        let said = refused("mpirun sh", |name| (name == "OMPI_MCA_pml").then(|| "ucx".to_owned())).unwrap();
        assert!(said.contains("in the environment"), "{said}");
        // Chosen before.
        assert_eq!(refused("mpirun sh", |name| (name == "FI_PROVIDER").then(|| "shm".to_owned())), None);
    }

    #[test]
    fn one_sided_component_of_user_is_kept() {
        let mut all = of(Vendor::OpenMpi, "5.0.11", "shm");
        let words = Words { mca: vec![("osc".to_owned(), "rdma".to_owned())], ..Words::default() };
        reconcile(&mut all, &words, none).unwrap();
        assert_eq!(value(&all, "OMPI_MCA_osc"), None);
    }
}
