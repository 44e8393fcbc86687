//! Scripts and files of packages.

#![cfg(unix)]

#[path = "../../crates/matchpoint-cli/tests/left_out/mod.rs"]
mod left_out;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use xtask::repository::root;

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

/// Environment variables of a module file.
const MODULE: &str = "
foreach name {module-whatis conflict} { proc $name args {} }
foreach name {prepend-path append-path} { proc $name args { puts $args } }
set ModulesCurrentModulefile [lindex $argv 0]
source $ModulesCurrentModulefile
";

#[test]
fn module_follows_symbolic_links() {
    if Command::new("tclsh").stdin(std::process::Stdio::null()).output().is_err() {
        return left_out::leave_out("there is no tclsh", "`apt-get install tcl`");
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

/// Scripts in place of Spack print the address of the recipe and the folders that the recipe prepends.
const SPACK: &str = r#"
import runpy, sys, types
base, cargo = types.ModuleType("spack.package"), types.ModuleType("cargo")
for name in ["license", "version", "variant", "depends_on", "extends"]:
    setattr(base, name, lambda *words, **options: None)
base.__all__ = ["license", "version", "variant", "depends_on", "extends"]
cargo.CargoPackage = object
for name in ["spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"]:
    sys.modules[name] = types.ModuleType(name)
sys.modules["spack.package"], sys.modules["spack_repo.builtin.build_systems.cargo"] = base, cargo
recipe = runpy.run_path(sys.argv[1])["Matchpoint"]
print(recipe.url)

class Spec(dict):
    def __contains__(self, variant):
        return variant in ("+zstd", "+otf2")

def libraries(folder):
    return types.SimpleNamespace(libs=types.SimpleNamespace(directories=[folder]))

package = recipe()
package.spec = Spec(zstd=libraries("/usr/lib/x86_64-linux-gnu"), otf2=libraries("/opt/otf2/lib64"))
package.setup_run_environment(types.SimpleNamespace(prepend_path=print))
"#;

#[test]
fn spack_recipe_omits_system_folders() {
    if Command::new("python3").arg("--version").output().is_err() {
        return left_out::leave_out("there is no python3", "`apt-get install python3`");
    }
    let recipe = root().join("packaging/spack/package.py");
    let mut python = Command::new("python3");
    let printed = stdout(python.args(["-B", "-c", SPACK]).arg(&recipe).current_dir("/"));
    let folder = recipe.parent().unwrap().display();
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!("file://{folder}/matchpoint-{version}.tar.gz\nLD_LIBRARY_PATH /opt/otf2/lib64\n");
    assert_eq!(printed, expected);
}
