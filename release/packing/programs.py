"""Programs and libraries of a release, looked at as bytes, and run where this machine can."""

import pathlib
import platform
import re
import struct
import subprocess

from packing import wine

# The places at which sources stand in what is built, in place of this machine's folders.
CRATES, SOURCES, HOME = "/crates.io", "/opscope", "/cargo"


def elf_machine(content):
    """The number of the processor of an ELF file; none for another file."""
    return int.from_bytes(content[18:20], "little") if content[:4] == b"\x7fELF" else None


def newest_glibc(content):
    """The newest version of glibc that is asked for, by the libraries that a program carries within itself as well."""
    named = re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", content)
    return max(((int(major), int(minor)) for major, minor in named), default=(0, 0))


def needed_libraries(path):
    """The names of the shared libraries that an ELF file asks for."""
    told = subprocess.run(["readelf", "-d", "-W", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", told)


def promised_by_nobody(path):
    """Symbols that an ELF file can't do without, and that no version of a library is named for.

    A library is linked without a word where a function is missing; it then can't be loaded on a system without it.
    """
    told = subprocess.run(["readelf", "--dyn-syms", "-W", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"\bGLOBAL\s+DEFAULT\s+UND\s+([^@\s]+)$", told, re.MULTILINE)


def carried_libraries(content):
    """The ELF files within another, which the program puts into programs that it runs."""
    for found in re.finditer(rb"\x7fELF\x02\x01\x01", content):
        begin = found.start()
        if begin:
            # The table of sections is the last thing in each: its place, and the size and number of its rows.
            table, = struct.unpack_from("<Q", content, begin + 40)
            size, count = struct.unpack_from("<HH", content, begin + 58)
            yield content[begin:begin + table + size * count]


def named_crates(content):
    """Names and versions of the crates whose sources a program names, where it tells the place of a panic."""
    places = re.findall(rb"/crates\.io/([A-Za-z0-9_-]+?)-(\d+\.\d+\.\d+[A-Za-z0-9.+-]*)/", content)
    return {(name.decode(), version.decode()) for name, version in places}


def folders_of_builders(content):
    """Places in home folders and of this repository that shouldn't be in a program."""
    here = str(pathlib.Path(__file__).resolve().parent.parent.parent).encode()
    pattern = rb"(?:" + re.escape(here) + rb"|/root|/home/[\w.-]+)/[\w./-]+"
    return sorted({place.decode() for place in re.findall(pattern, content)})


def needed_dlls(path):
    """The names of the libraries that a program for Windows asks for."""
    told = subprocess.run(["objdump", "-p", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.findall(r"^\s*DLL Name: (.+)$", told, re.MULTILINE)


def starter(target):
    """The words before a program that start it on this machine; none where programs of the target don't run here.

    Emulators of a processor for single programs don't count: one was seen to hang.
    """
    if platform.system() != "Linux" or platform.machine() != target.processor:
        return None
    if target.is_linux:
        return []
    return wine.starter()


def runs_here(target):
    """Whether this machine runs programs of a target."""
    return starter(target) is not None
