"""What a release has: flavours of the program, systems it is built for, and the names of its files."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# The oldest C library that programs for Linux may ask for: that of CentOS 7, as old as Rust itself supports.
OLDEST_GLIBC = (2, 17)


@dataclasses.dataclass(frozen=True)
class Flavour:
    """The program with its engines, of models and of `cluster sql`, or without."""

    name: str
    # The word behind `opscope` in names of files and packages.
    suffix: str
    # Cargo's arguments.
    features: tuple
    summary: str


@dataclasses.dataclass(frozen=True)
class Target:
    """A system and a processor."""

    triple: str
    # The machine's number in ELF files; none for another format.
    elf_machine: int | None
    # The processor's name in Debian's packages.
    debian: str | None

    @property
    def is_linux(self):
        return self.elf_machine is not None

    @property
    def processor(self):
        return self.triple.split("-", 1)[0]

    @property
    def program(self):
        return "opscope" if self.is_linux else "opscope.exe"


FLAVOURS = {
    flavour.name: flavour
    for flavour in (
        Flavour("lean", "-lean", ("--no-default-features",), "without an inference engine of its own"),
        Flavour("standard", "", (), "with an embedded engine for models"),
        Flavour("cluster", "-cluster", ("--features", "opscope/ballista"),
                "with engines for models and for questions in SQL to many ranks, here or on a cluster of Apache Ballista"),
    )
}

TARGETS = {
    target.triple: target
    for target in (
        Target("x86_64-unknown-linux-gnu", 0x3E, "amd64"),
        Target("aarch64-unknown-linux-gnu", 0xB7, "arm64"),
        Target("x86_64-pc-windows-gnu", None, None),
    )
}


def version():
    """The version of the workspace, which all of its crates share."""
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(r'^version = "(.+)"$', manifest, re.MULTILINE).group(1)


def stem(flavour, target):
    """The name of an archive without its ending, and of the one folder in it."""
    return f"opscope{flavour.suffix}-{version()}-{target.triple}"


def debian_package(flavour):
    return f"opscope{flavour.suffix}"


def debian_file(flavour, target):
    return f"{debian_package(flavour)}_{version()}_{target.debian}.deb"


def wheel_version(flavour):
    """The wheel's version: a flavour that isn't the plain one is told by a local version, as PEP 440 has it."""
    return version() if not flavour.suffix else f"{version()}+{flavour.name}"


def archive_file(flavour, target):
    return stem(flavour, target) + (".tar.gz" if target.is_linux else ".zip")


def components_file(flavour, target):
    return stem(flavour, target) + ".cdx.json"
