# Copyright The Matchpoint developers. See the file LICENSE of the sources.
#
# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe. The sources have no public address yet: the tarball is next to this file, or in a mirror."""

import os

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Matchpoint(CargoPackage):
    """Measures the cost of MPI message matching, and makes matching in long queues fast."""

    # No public address yet.
    homepage = "https://matchpoint.invalid"
    manual_download = True
    url = f"file://{os.path.dirname(os.path.abspath(__file__))}/matchpoint-0.1.0.tar.gz"

    license("BSD-3-Clause")

    version("0.1.0", sha256="@SOURCES_SHA256@")

    variant("zstd", default=True, description="Smaller traces (loads libzstd at run time)")
    variant("otf2", default=True, description="Traces of Score-P (loads OTF2 at run time)")
    variant("gpu", default=False, description="Engines on NVIDIA graphics processors (loads NVRTC at run time)")
    variant("python", default=False, description="Python package matchpoint_mpi")

    depends_on("c", type="build")
    depends_on("rust@1.85:", type="build")
    depends_on("zstd", type="run", when="+zstd")
    depends_on("otf2", type="run", when="+otf2")
    depends_on("cuda@12:", type="run", when="+gpu")

    extends("python", when="+python")
    depends_on("python@3.9:", type=("build", "run"), when="+python")
    depends_on("py-pip", type="build", when="+python")
    depends_on("py-maturin@1.9:", type="build", when="+python")

    def build(self, spec, prefix):
        crates = ["capi", "cli", "overflow", "fabric"]
        packages = [f"--package=matchpoint-{crate}" for crate in crates]
        cargo("build", "--release", "--locked", f"--jobs={make_jobs}", *packages)

    def install(self, spec, prefix):
        Executable("scripts/install")("--prefix", prefix, "--built", "target/release")
        if "+python" in spec:
            # scripts/wheel places the command in this folder. Here the command is in the prefix already.
            mkdirp("target/wheel/data")
            options = ["--no-deps", "--no-build-isolation", f"--prefix={prefix}"]
            python("-m", "pip", "install", *options, "crates/matchpoint-python")

    def check(self):
        cargo("test", "--release", "--locked", "--package=matchpoint")

    def setup_run_environment(self, env):
        for variant, name in [("zstd", "zstd"), ("otf2", "otf2"), ("gpu", "cuda")]:
            if f"+{variant}" not in self.spec:
                continue
            for folder in self.spec[name].libs.directories:
                # The loader searches the system's folders anyway, after those of other packages.
                if not folder.startswith(("/lib", "/usr/lib")):
                    env.prepend_path("LD_LIBRARY_PATH", folder)
