"""The program of one flavour for one system, with the libraries that go into its wheel, as cargo builds them."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from packing import programs
from packing.kinds import OLDEST_GLIBC, ROOT

# One folder for everything that is built for releases, beside that of development.
FOLDER = ROOT / "target" / "release-files"
# The distribution's compiler, whose packages bring the standard library of other processors.
DISTRIBUTION = pathlib.Path("/usr/bin/rustc")

# The file that tells what built those beside it.
MADE_BY = "made-by.json"


class Skipped(Exception):
    """What this machine can't do, and how it could."""


@dataclasses.dataclass(frozen=True)
class Built:
    """What was built, and by what."""

    program: pathlib.Path
    # The native half of the Python package; without it there is no wheel.
    module: pathlib.Path | None
    # The library of marks.
    marks: pathlib.Path | None
    # The compiler's own name and version.
    compiler: str
    # The libraries that the linker added: the name, version and licence of each.
    linked: list


def build(flavour, target, moment, with_module):
    """Builds one flavour for one target, from the sources as they lie here.

    Raises `Skipped` where the compiler, the standard library or the linker is missing.
    """
    rustc = compiler(target)
    kept = FOLDER / flavour.name / target.triple
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    environment = clean_environment(rustc, moment)
    begin, triple, end = ["cargo", "rustc"], target.triple, []
    if target.is_linux:
        tools = linker_tools()
        environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
        begin = [str(tools / "cargo-zigbuild"), "rustc"]
        triple += ".%d.%d" % OLDEST_GLIBC
    elif not has_standard_library(rustc, target):
        environment["RUSTC_BOOTSTRAP"] = "1"
        end = ["-Zbuild-std=std,panic_abort"]
    if not target.is_linux:
        # The linker would write the time of the build into the program.
        environment["CARGO_ENCODED_RUSTFLAGS"] += "\x1f-Clink-arg=-Wl,--no-insert-timestamp"
    common = [*begin, "--locked", "--profile", "dist", "--target", triple, "--target-dir", str(FOLDER), *end]

    # The object beside the program tells what takes its room: nm -S --size-sort target/release-files/*/dist/deps/*.o
    asked = [*common, "-p", "opscope", "--bin", "opscope", *flavour.features, "--", "--emit=obj"]
    told = cargo(asked, environment)
    program = keep(told.artefact("opscope", target.program), kept / target.program)
    marks = module = None
    if target.is_linux:
        # The library that the program carries within itself is the one for the wheel, too.
        marks = keep(told.output_folder("opscope-capture") / "libopscope_mark.so", kept / "libopscope_mark.so")
        if with_module:
            # A plain library alone: together with Rust's own kind it couldn't be optimised as a whole.
            module_told = cargo([*common, "-p", "opscope-python", "--lib", "--crate-type", "cdylib"], environment)
            name = "libopscope_python.so"
            module = keep(module_told.artefact("opscope_python", name), kept / name)
    version = subprocess.run([rustc, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    made_by = {"compiler": version, "linked": linked_by_zig() if target.is_linux else linked_by_mingw()}
    (kept / MADE_BY).write_text(json.dumps(made_by), encoding="utf-8")
    return Built(program, module, marks, **made_by)


def found(folder, target):
    """What was built before: by `build` in its folder of a flavour and a target, or by cargo alone."""
    program = folder / target.program
    if not program.is_file():
        raise Skipped(f"no {target.program} is in {folder}")
    if target.is_linux and programs.elf_machine(program.read_bytes()) != target.elf_machine:
        raise Skipped(f"{program} is no program for {target.triple}")
    libraries = [folder / name for name in ("libopscope_python.so", "libopscope_mark.so")]
    note = folder / MADE_BY
    made_by = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else {"compiler": "unknown", "linked": []}
    return Built(program, *(path if path.is_file() else None for path in libraries), **made_by)


def compiler(target):
    """A Rust compiler that has the target's standard library, or the sources of one where none is ready."""
    for rustc in candidates():
        if has_standard_library(rustc, target):
            return rustc
    if not target.is_linux:
        for rustc in candidates():
            if (sysroot(rustc) / "lib/rustlib/src/rust/library/std").is_dir() and shutil.which("x86_64-w64-mingw32-gcc"):
                return rustc
        raise Skipped("no compiler for Windows: rustup target add x86_64-pc-windows-gnu, or "
                      "apt-get install rustc-web rust-web-src gcc-mingw-w64-x86-64")
    raise Skipped(f"no compiler here has the standard library of {target.triple}: rustup target add "
                  f"{target.triple}, or apt-get install rustc-web libstd-rust-web-dev:{target.debian}")


def candidates():
    named = os.environ.get("RUSTC") or shutil.which("rustc")
    return [str(path) for path in (named, DISTRIBUTION) if path and pathlib.Path(path).exists()]


def sysroot(rustc):
    told = subprocess.run([rustc, "--print", "sysroot"], check=True, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(told.stdout.strip())


def has_standard_library(rustc, target):
    asked = [rustc, "--print", "target-libdir", "--target", target.triple]
    told = subprocess.run(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return told.returncode == 0 and any(pathlib.Path(told.stdout.strip()).glob("libstd-*.rlib"))


def linker_tools():
    """The folder of the linker's programs, in an environment of their own that is made when it is first needed."""
    folder = FOLDER / "tools"
    wanted = ROOT / "release" / "requirements.txt"
    kept = folder / "installed.txt"
    if not (kept.is_file() and kept.read_bytes() == wanted.read_bytes()):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            asked = [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted]
            subprocess.run(asked, check=True)
        except (OSError, subprocess.CalledProcessError) as problem:
            raise Skipped(f"the linker for old systems could not be installed: {problem}") from None
        shutil.copyfile(wanted, kept)
    return folder / "bin"


def linked_by_zig():
    version = pinned("ziglang")
    licence = "Apache-2.0 WITH LLVM-exception"
    return [("llvm-libunwind", version, licence), ("llvm-compiler-rt", version, licence)]


def linked_by_mingw():
    def preprocessed(text):
        asked = ["x86_64-w64-mingw32-gcc", "-E", "-P", "-"]
        told = subprocess.run(asked, input=text, check=True, stdout=subprocess.PIPE, text=True).stdout
        return re.sub(r'[\s"]', "", told.splitlines()[-1])

    return [
        ("libgcc", preprocessed("__VERSION__").split("-")[0], "GPL-3.0-or-later WITH GCC-exception-3.1"),
        ("mingw-w64", preprocessed("#include <_mingw.h>\n__MINGW64_VERSION_STR"), "ZPL-2.1"),
    ]


def pinned(package):
    """The version of one of the linker's programs."""
    text = (ROOT / "release" / "requirements.txt").read_text(encoding="utf-8")
    return re.search(rf"^{package}==(.+)$", text, re.MULTILINE).group(1)


def clean_environment(rustc, moment):
    """The environment of a build: nothing of the caller's that would change its bytes."""
    leading = ("CARGO_PROFILE_", "CARGO_BUILD_", "CARGO_TARGET_", "CFLAGS", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(leading)}
    places = replaced_folders()
    flags = [f"--remap-path-prefix={folder}={place}" for folder, place in places]
    environment |= {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        "CARGO_INCREMENTAL": "0",
        "CFLAGS": " ".join(f"-ffile-prefix-map={folder}={place}" for folder, place in places),
        "LC_ALL": "C",
        "RUSTC": rustc,
        "SOURCE_DATE_EPOCH": str(moment),
        "TZ": "UTC",
    }
    return environment


def replaced_folders():
    """Folders of this machine, and what stands for each in the programs; of several that fit, the last counts."""
    home = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")
    # Each registry has a folder, whose name tells where it is reached.
    registries = sorted((home / "registry" / "src").glob("*"))
    return [(home, programs.HOME), *((folder, programs.CRATES) for folder in registries), (ROOT, programs.SOURCES)]


@dataclasses.dataclass(frozen=True)
class Told:
    """The messages of a build."""

    messages: tuple

    def artefact(self, name, file):
        """The file of a name that the target of another name was built to."""
        for message in self.messages:
            if message["reason"] == "compiler-artifact" and message["target"]["name"] == name:
                for path in map(pathlib.Path, message["filenames"]):
                    if path.name == file:
                        return path
        sys.exit(f"cargo built no {file}")

    def output_folder(self, package):
        """The folder that a package's build script wrote to."""
        for message in self.messages:
            if message["reason"] == "build-script-executed" and f"#{package}@" in message["package_id"]:
                return pathlib.Path(message["out_dir"])
        sys.exit(f"cargo ran no build script of {package}")


def cargo(command, environment):
    """Runs cargo, which tells on standard error how far it is."""
    print("building:", " ".join(command[1:]), flush=True)
    # Behind cargo's own command, because words after `--` are the compiler's.
    asked = [*command[:2], "--message-format=json-render-diagnostics", *command[2:]]
    ended = subprocess.run(asked, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        sys.exit("the build failed")
    lines = (line for line in ended.stdout.splitlines() if line.startswith("{"))
    return Told(tuple(map(json.loads, lines)))


def keep(path, place):
    shutil.copyfile(path, place)
    place.chmod(0o755)
    return place
