//! Environment variables of a job with the provider below its MPI library, and settings of the user.
//!
//! All settings are variables, including Open MPI's parameters: the command line stays unchanged. No setting
//! of the user is overridden. A provider chosen by the user becomes the core provider. If another setting
//! contradicts, the job is refused.

use std::path::{Path, PathBuf};

use crate::choice::Choice;
use crate::error::RunError;
use crate::launcher_options::LauncherOptions;
use crate::stack::{Stack, Vendor};

/// An environment variable, its value and its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// `FI_PROVIDER`
    pub name: &'static str,
    /// `shm;ofi_matchpoint`
    pub value: String,
    /// A phrase.
    pub why: &'static str,
}

/// Provider name for MPI libraries that select a core provider together with a utility provider.
pub const UTILITY: &str = "ofi_matchpoint";
/// Provider name for MPI libraries that accept core providers only.
pub const CORE: &str = "matchpoint";

/// Folder for files of arrival times.
pub const ARRIVALS: &str = "MATCHPOINT_ARRIVALS";

/// Requests queue lengths: SIGUSR2, on every Linux except on MIPS, SPARC and Alpha. MPICH handles SIGUSR1.
pub(crate) const QUEUES_SIGNAL: &str = "12";

/// All variables of the job. `providers` and `reports` are folders.
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
        all.extend(provider_variables(stack, CORE));
    } else {
        all.extend(provider_variables(stack, &format!("{};{UTILITY}", choice.core)));
    }
    all.extend([
        set("MATCHPOINT_CORE", &choice.core, "core provider, which transports messages"),
        set("MATCHPOINT_ENGINE", engine, "engine, which matches messages"),
        set("MATCHPOINT_QUEUES_SIGNAL", QUEUES_SIGNAL, "SIGUSR2 prints the queues of a process"),
        set("MATCHPOINT_REPORT", &reports.to_string_lossy(), "folder of the reports"),
    ]);
    all
}

/// Returns variables that direct all messages to a libfabric provider, including messages within a host.
pub fn provider_variables(stack: &Stack, provider: &str) -> Vec<Variable> {
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
            set(component_parameter(stack), provider, "providers excluded by default");
            set("OMPI_MCA_osc", "^ucx", "one-sided communication without UCX");
        }
        Vendor::Intel => {
            set("I_MPI_OFI_PROVIDER", provider, "FI_PROVIDER set by the MPI");
            set("I_MPI_FABRICS", "ofi", "libfabric also within a host");
        }
    }
    all
}

/// Open MPI 5 has one parameter for all components that use libfabric.
fn component_parameter(stack: &Stack) -> &'static str {
    let before_5 = stack.version.as_ref().is_some_and(|version| version.numbers().0 < 5);
    if before_5 { "OMPI_MCA_mtl_ofi_provider_include" } else { "OMPI_MCA_opal_common_ofi_provider_include" }
}

/// A provider in these variables becomes the core provider.
const PROVIDER_VARIABLES: &[&str] = &[
    "FI_PROVIDER",
    "I_MPI_OFI_PROVIDER",
    "OMPI_MCA_mtl_ofi_provider_include",
    "OMPI_MCA_opal_common_ofi_provider_include",
];

/// The user's provider, and the variable with it.
///
/// # Errors
/// The value is a list or an exclusion.
pub fn requested_provider(
    stack: &Stack,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<(String, String)>, RunError> {
    let concerns = |name: &str| match stack.vendor {
        Vendor::Intel => !name.starts_with("OMPI_"),
        Vendor::OpenMpi => !name.starts_with("I_MPI_"),
        Vendor::Mpich => name.starts_with("FI_"),
    };
    let mut found: Option<(String, String)> = None;
    for name in PROVIDER_VARIABLES.iter().filter(|name| concerns(name)) {
        let Some(value) = variable(name).filter(|value| !value.is_empty()) else { continue };
        if value.contains([',', '^']) {
            return Err(RunError(format!(
                "{name} is '{value}', not one provider\nhint: unset it, and name one provider with --core"
            )));
        }
        // The value may be from `--print-environment`.
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

/// Checks the variables against the user's settings. Removes variables that the user sets to a compatible
/// value.
///
/// # Errors
/// A setting in the environment or on the command line contradicts a variable.
pub fn reconcile(
    variables: &mut Vec<Variable>,
    options: &LauncherOptions,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(), RunError> {
    let on_line = |name: &str| {
        let mca = name.strip_prefix("OMPI_MCA_");
        let by_mca = options.mca.iter().find(|(key, _)| Some(key.as_str()) == mca);
        by_mca
            .or_else(|| options.variables.iter().find(|(key, _)| key == name))
            .map(|(_, value)| value.clone())
    };
    // Every one-sided component except UCX's is compatible.
    let own_osc = on_line("OMPI_MCA_osc").or_else(|| variable("OMPI_MCA_osc"));
    if own_osc.is_some_and(|value| value.starts_with('^') || !value.contains("ucx")) {
        variables.retain(|setting| setting.name != "OMPI_MCA_osc");
    }
    for setting in variables.iter() {
        let (value, place) =
            match (on_line(setting.name), variable(setting.name).filter(|value| !value.is_empty())) {
                (Some(value), _) => (value, "on the command line"),
                // Already used to choose the core provider or its folder.
                (None, Some(_))
                    if PROVIDER_VARIABLES.contains(&setting.name) || setting.name == "FI_PROVIDER_PATH" =>
                {
                    continue;
                }
                (None, Some(value)) => (value, "in the environment"),
                (None, None) => continue,
            };
        if value != setting.value {
            return Err(RunError(format!(
                "{} is '{value}' {place}, but must be '{}' ({})\nhint: omit it for this run",
                setting.name, setting.value, setting.why
            )));
        }
    }
    Ok(())
}

/// Folders of providers outside libfabric: the user's, or else the package's.
pub fn provider_folders(stack: &Stack, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    if let Some(path) = variable("FI_PROVIDER_PATH").filter(|path| !path.is_empty()) {
        // libfabric 2 accepts `+FILE` and `@` in the path.
        let words = path.split(':').map(|word| word.trim_start_matches(['+', '@']));
        return words.filter(|word| !word.is_empty()).map(PathBuf::from).collect();
    }
    let Some(folder) = stack.fabric.as_deref().and_then(Path::parent) else { return Vec::new() };
    let places = match stack.vendor {
        Vendor::Intel => vec![folder.join("prov"), folder.to_owned()],
        _ => vec![folder.join("libfabric")],
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

    fn value_of<'a>(all: &'a [Variable], name: &str) -> Option<&'a str> {
        all.iter().find(|one| one.name == name).map(|one| one.value.as_str())
    }

    fn no_variable(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn mpich_gets_ofi_variables() {
        let all = of(Vendor::Mpich, "5.0.2", "tcp;ofi_rxm");
        assert_eq!(value_of(&all, "FI_PROVIDER"), Some("tcp;ofi_rxm;ofi_matchpoint"));
        assert_eq!(value_of(&all, "FI_PROVIDER_PATH"), Some("/run/prov"));
        assert_eq!(value_of(&all, "MPIR_CVAR_CH4_NETMOD"), Some("ofi"));
        assert_eq!(value_of(&all, "MPIR_CVAR_NOLOCAL"), Some("1"));
        assert_eq!(value_of(&all, "MATCHPOINT_CORE"), Some("tcp;ofi_rxm"));
        assert_eq!(value_of(&all, "MATCHPOINT_ENGINE"), Some("bins:n=7"));
        assert_eq!(value_of(&all, "MATCHPOINT_REPORT"), Some("/run/rep"));
        assert!(!all.iter().any(|one| one.name.starts_with("OMPI_") || one.name.starts_with("I_MPI_")));
    }

    #[test]
    fn open_mpi_gets_cm_variables() {
        for (version, name) in [
            ("5.0.11", "OMPI_MCA_opal_common_ofi_provider_include"),
            ("4.1.4", "OMPI_MCA_mtl_ofi_provider_include"),
        ] {
            let all = of(Vendor::OpenMpi, version, "shm");
            assert_eq!(value_of(&all, name), Some("shm;ofi_matchpoint"));
            assert_eq!(
                (value_of(&all, "OMPI_MCA_pml"), value_of(&all, "OMPI_MCA_mtl")),
                (Some("cm"), Some("ofi"))
            );
        }
    }

    #[test]
    fn intel_mpi_core_has_own_variable() {
        let all = of(Vendor::Intel, "2021.18.1", "shm");
        for name in ["FI_PROVIDER", "I_MPI_OFI_PROVIDER", "MATCHPOINT_PROVIDER"] {
            assert_eq!(value_of(&all, name), Some("matchpoint"));
        }
        assert_eq!(value_of(&all, "I_MPI_FABRICS"), Some("ofi"));
        assert_eq!(value_of(&all, "MATCHPOINT_CORE"), Some("shm"));
    }

    #[test]
    fn provider_of_user_is_core() {
        let mpich = stack(Vendor::Mpich, "5.0.2");
        let set = |value: &'static str| move |name: &str| (name == "FI_PROVIDER").then(|| value.to_owned());
        let core = |value| requested_provider(&mpich, set(value)).map(|found| found.map(|(core, _)| core));
        assert_eq!(core("tcp;ofi_rxm"), Ok(Some("tcp;ofi_rxm".to_owned())));
        assert_eq!(core("shm;ofi_matchpoint"), Ok(Some("shm".to_owned())));
        assert_eq!(core(""), Ok(None));
        assert!(core("^psm3").unwrap_err().to_string().contains("FI_PROVIDER is '^psm3'"));
        // Variables of other MPI libraries are ignored.
        assert_eq!(
            requested_provider(&mpich, |name| (name == "I_MPI_OFI_PROVIDER").then(|| "tcp".to_owned())),
            Ok(None)
        );
    }

    #[test]
    fn contradicting_setting_is_refused_with_reason() {
        let words = |line: &str| LauncherOptions::of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let refused = |line: &str, variable: fn(&str) -> Option<String>| {
            reconcile(&mut of(Vendor::OpenMpi, "5.0.11", "shm"), &words(line), variable)
                .err()
                .map(|error| error.0)
        };
        let said = refused("mpirun --mca pml ob1 sh", no_variable).unwrap();
        assert!(said.contains("OMPI_MCA_pml is 'ob1' on the command line, but must be 'cm'"), "{said}");
        assert_eq!(refused("mpirun --mca pml cm sh", no_variable), None);
        let said = refused("mpirun -x FI_PROVIDER=tcp sh", no_variable).unwrap();
        assert!(said.contains("FI_PROVIDER is 'tcp'"), "{said}");
        let said = refused("mpirun sh", |name| (name == "OMPI_MCA_pml").then(|| "ucx".to_owned())).unwrap();
        assert!(said.contains("in the environment"), "{said}");
        // Equal to the chosen core provider.
        assert_eq!(refused("mpirun sh", |name| (name == "FI_PROVIDER").then(|| "shm".to_owned())), None);
    }

    #[test]
    fn one_sided_component_of_user_is_kept() {
        let mut all = of(Vendor::OpenMpi, "5.0.11", "shm");
        let words = LauncherOptions {
            mca: vec![("osc".to_owned(), "rdma".to_owned())],
            ..LauncherOptions::default()
        };
        reconcile(&mut all, &words, no_variable).unwrap();
        assert_eq!(value_of(&all, "OMPI_MCA_osc"), None);
    }
}
