//! Scripts and files of packages.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use xtask::repository::root;

/// Output of a command that must succeed.
fn stdout(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn install_ignores_umask_and_omits_static() {
    let folder = tempfile::tempdir().unwrap();
    let (built, prefix) = (folder.path().join("built"), folder.path().join("prefix"));
    fs::create_dir(&built).unwrap();
    fs::write(built.join("libmatchpoint.so"), "").unwrap();
    let line = r#"umask 077; exec "$0" --library-only --without-static --symbols --built "$1" --prefix "$2""#;
    stdout(Command::new("sh").args(["-c", line]).args([&root().join("scripts/install"), &built, &prefix]));
    assert!(!prefix.join("lib/libmatchpoint.a").exists());
    for (path, mode) in
        [("lib", 0o755), ("lib/pkgconfig/matchpoint.pc", 0o644), ("include/matchpoint.h", 0o644)]
    {
        assert_eq!(fs::metadata(prefix.join(path)).unwrap().permissions().mode() & 0o777, mode, "{path}");
    }
}

/// Prints the variables that a module file sets.
const MODULE: &str = "
foreach name {module-whatis conflict} { proc $name args {} }
foreach name {prepend-path append-path} { proc $name args { puts $args } }
set ModulesCurrentModulefile [lindex $argv 0]
source $ModulesCurrentModulefile
";

#[test]
fn module_follows_symbolic_links() {
    if Command::new("tclsh").stdin(std::process::Stdio::null()).output().is_err() {
        eprintln!("left out: there is no tclsh");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let (prefix, site) = (folder.join("prefix"), folder.join("a/site"));
    let module = prefix.join("share/modulefiles/matchpoint/1");
    fs::create_dir_all(module.parent().unwrap()).unwrap();
    fs::create_dir_all(&site).unwrap();
    fs::copy(root().join("packaging/module/matchpoint"), &module).unwrap();
    symlink("../../prefix/share/modulefiles/matchpoint/1", site.join("relative")).unwrap();
    symlink(site.join("relative"), site.join("chain")).unwrap();
    fs::write(folder.join("module.tcl"), MODULE).unwrap();
    let printed = |path: &Path| stdout(Command::new("tclsh").arg(folder.join("module.tcl")).arg(path));
    let text = printed(&module);
    for (name, value) in [("PATH", "bin"), ("LIBRARY_PATH", "lib"), ("MANPATH", "share/man")] {
        let line = format!("{name} {}", prefix.join(value).display());
        assert!(text.lines().any(|found| found == line), "{text}");
    }
    assert_eq!([printed(&site.join("relative")), printed(&site.join("chain"))], [text.clone(), text]);
}
