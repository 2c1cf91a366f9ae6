"""Wine, which runs programs for Windows: set up in a folder of this repository's own."""

import pathlib
import shutil
import subprocess
import tempfile

from packing.kinds import ROOT

# The disk C: and the settings, so that what somebody has set up for other programs changes nothing.
FOLDER = ROOT / "target" / "wine"
SYSTEM = FOLDER / "drive_c" / "windows" / "system32"

# Rust's standard library asks this library of Windows for random bytes; Wine 8 doesn't have it.
RANDOM = "bcryptprimitives.dll"
RANDOM_SOURCE = """\
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *bytes, SIZE_T count) { return RtlGenRandom(bytes, (ULONG)count); }
"""


def starter():
    """The words before a program that start it; none where Wine, or the compiler that completes it, is missing."""
    if not shutil.which("wine"):
        return None
    words = ["env", f"WINEPREFIX={FOLDER}", "WINEDEBUG=-all", "LC_ALL=C.UTF-8"]
    if not SYSTEM.is_dir():
        subprocess.run([*words, "wineboot", "-i"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not (SYSTEM / RANDOM).exists():
        compiler = shutil.which("x86_64-w64-mingw32-gcc")
        if not (SYSTEM.is_dir() and compiler):
            return None
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "random.c"
            source.write_text(RANDOM_SOURCE, encoding="utf-8")
            subprocess.run([compiler, "-shared", "-O1", "-o", SYSTEM / RANDOM, source, "-ladvapi32"], check=True)
    return [*words, "wine"]
