"""Archives whose bytes follow from what is in them: sorted entries, one time, no owner of this machine's."""

import gzip
import io
import tarfile
import time
import zipfile


def tar_gz(path, folder, contents, moment):
    """Packs `contents`, bytes and whether they can be executed by their names, into one folder of a `.tar.gz`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in with_folders(folder, contents):
            entry = tarfile.TarInfo(name)
            entry.mtime, entry.uname, entry.gname = moment, "root", "root"
            inside = contents.get(name.removeprefix(folder + "/"))
            if inside is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
            else:
                content, is_program = inside
                entry.size, entry.mode = len(content), 0o755 if is_program else 0o644
                archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzipped(packed.getvalue(), moment))


def zipped(path, folder, contents, moment):
    """Packs `contents` into one folder of a `.zip`."""
    # Zip files know no time before 1980, and no zone.
    told = max(time.gmtime(moment)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(path, "w") as archive:
        for name, (content, is_program) in sorted(contents.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", told)
            # Made on Unix, so that the mode counts.
            entry.create_system, entry.external_attr = 3, (0o100755 if is_program else 0o100644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def gzipped(content, moment):
    """The bytes compressed, without a name."""
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, packed, moment) as stream:
        stream.write(content)
    return packed.getvalue()


def with_folders(folder, names):
    """The names below a folder with all folders on the way, each before what it holds."""
    found = {folder}
    for name in names:
        parts = f"{folder}/{name}".split("/")
        found.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return sorted(found)
