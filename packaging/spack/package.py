# Copyright (c) 2026 The Zazen authors. SPDX-License-Identifier: MIT
# flake8: noqa: F405
"""Recipe for Spack: put this folder into a repository of recipes as packages/zazen, then `spack install
zazen`; or `spack dev-build zazen@0.1.0` in the sources."""

import os

from spack.package import *  # noqa: F403


class Zazen(CMakePackage):
    """Keeps the frames of a trajectory on the local disks of the analysis nodes. Unmodified programs read them
    there, and each rank of an MPI program gets frames of its own."""

    homepage = "https://zazen.invalid"
    git = "https://zazen.invalid/zazen.git"
    license("MIT")

    version("0.1.0", tag="v0.1.0")

    variant("mpich", default=False, description="divide frames among the ranks of MPICH, too")
    variant("munge", default=True, description="authenticate pushes by MUNGE")

    generator("ninja")
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2:", type="build")
    depends_on("nlohmann-json@3:", type="build")
    depends_on("tomlplusplus@3:", type="build")
    depends_on("fmt@9:")
    depends_on("xxhash@0.8:")
    depends_on("openssl@3:")
    depends_on("elfutils")
    depends_on("libunwind")
    depends_on("openmpi@4")
    depends_on("pmix@4:")
    depends_on("mpich@4:", when="+mpich")
    depends_on("munge", when="+munge")
    depends_on("googletest", type="test")
    depends_on("python@3.9:", type="run")

    conflicts("platform=darwin", msg="it redirects the calls of glibc")
    conflicts("%gcc@:11", msg="it is written in C++20")

    def cmake_args(self):
        return [self.define("CMAKE_BUILD_TYPE", "RelWithDebInfo"), self.define("BUILD_TESTING", self.run_tests)]

    def setup_run_environment(self, env):
        env.prepend_path("PATH", self.prefix.sbin)
        env.prepend_path("PYTHONPATH", join_path(self.prefix.lib, "python3", "dist-packages"))

    @run_after("install")
    def check_the_shim(self):
        Executable(self.prefix.bin.zazenctl)("--version")
        if not os.path.exists(join_path(self.prefix.lib, "zazen", "libzazen.so")):
            raise InstallError("libzazen.so is not where zazenctl looks for it")
