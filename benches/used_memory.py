"""Memory as it is on a machine that has been in use for a while: full of files' pages.

A virtual machine hands pages that stay free for some seconds back to its host. Whoever writes next pays for getting
them again, up to four times the writing itself, while a short command after a longer one finds the pages that this
one left. Figures of commands in turn depend on that more than on the commands. With memory full of pages that nobody
needs any more all commands begin alike, whatever their length.
"""

import os
import pathlib

BLOCK = 1 << 20


def fill(folder):
    """Reads a file of holes, as long as the memory: it takes no room on the disk and all free pages."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    path = pathlib.Path(folder) / "holes"
    try:
        # Kept between calls: its pages would be free once it is gone.
        with open(path, "ab") as file:
            file.truncate(pages)
        read(path)
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}; memory can't be filled by a file of {pages} bytes") from error


def read(path):
    """Reads a file from its beginning to its end."""
    room = bytearray(BLOCK)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(room):
            pass


def read_all(folder):
    """Brings all files below a folder into memory again."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            read(path)
