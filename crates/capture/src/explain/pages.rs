//! The pages, one for each failure that users meet.

use super::page::Page;

/// All pages.
pub const PAGES: &[Page] = &[
    Page {
        name: "shared-library",
        title: "A shared library that the program needs was not found",
        signs: &[
            &["error while loading shared libraries"],
            &["cannot open shared object file"],
            &["libascendcl.so", "no such file"],
        ],
        text: "\
The system looks for libraries in its own directories, in those of LD_LIBRARY_PATH, and where the
program itself says. The one that the message names is in none of them. The exit status is 127.

  ldd PROGRAM | grep 'not found'            which libraries are missing
  find / -name 'LIBRARY*' 2>/dev/null       where they are, if they are installed
  export LD_LIBRARY_PATH=DIRECTORY:$LD_LIBRARY_PATH

To keep it, write the last line into ~/.bashrc. For Ascend's libraries, run the toolkit's own script
instead: source /usr/local/Ascend/ascend-toolkit/set_env.sh",
    },
    Page {
        name: "libpython",
        title: "Python was built with a shared library that is not found",
        signs: &[&["libpython", "cannot open shared object file"], &["libpython", "no such file"]],
        text: "\
A Python that was configured with --enable-shared keeps its core in libpython3.X.so. It lies below
the directory that Python was installed into, in lib.

  export LD_LIBRARY_PATH=PYTHON_DIRECTORY/lib:$LD_LIBRARY_PATH

To keep it without being root, write the line into ~/.bashrc. As root, copying the library into
/usr/lib, or a file in /etc/ld.so.conf.d and ldconfig, serves all users.",
    },
    Page {
        name: "command-not-found",
        title: "The program was not found (exit status 127)",
        signs: &[&["command not found"], &["there is no such program"], &["status 127"]],
        text: "\
The shell, or opscope, found no program of this name in the directories of PATH.

  type PROGRAM                  is it an alias? Aliases are known to interactive shells only
  ls -l /full/path/to/PROGRAM   name it with its whole path

Status 127 also comes from the loader, when a library is missing: see opscope explain shared-library.",
    },
    Page {
        name: "not-executable",
        title: "The program may not be executed (exit status 126)",
        signs: &[&["permission denied"], &["may not be executed"], &["exec format error"], &["status 126"]],
        text: "\
The file is there, but is not marked as a program, or is one for another kind of processor.

  chmod +x FILE                 if it is a program
  opscope collect -- python3 FILE.py
  file FILE                     tells the processor that it was built for
  mount | grep noexec           programs on such file systems never start",
    },
    Page {
        name: "soft-link",
        title: "The vendor's collector refuses programs that are symbolic links",
        signs: &[&["is soft link"], &["soft link", "not support"], &["App path", "link"]],
        text: "\
msprof of CANN 5 takes no link for the program or the interpreter, and python3 mostly is one.
opscope follows the link and says so. For the vendor's tool, give the whole path of the file behind:

  readlink -f $(command -v python3)
  msprof --application=\"$(readlink -f $(command -v python3)) /full/path/detect.py\" --output=...

All paths in that command should be absolute.",
    },
    Page {
        name: "E10001",
        title: "The converter (ATC) needs a shape that the model leaves open",
        signs: &[&["E10001"], &["Value [-1]", "is invalid"], &["maybe you should set input_shape"]],
        text: "\
An input of the model has a dimension of -1, mostly the batch. Tell the converter its size:

  atc --model=net.pb --framework=3 --input_shape=\"data_1:1,260,260,3\" --input_format=NHWC ...

The name is that of the input, as the message has it in brackets. In MindStudio's converter the
same is found under Data Pre-Processing: switch Input Node on.",
    },
    Page {
        name: "EK0002",
        title: "A mark was set while nothing is collected, or a pop had no push",
        signs: &[&["EK0002"], &["aclprofCreateStamp", "null"]],
        text: "\
Stamps can only be made between acl.prof.start and acl.prof.stop, or under a collector that was
told to record them (msprof --msproftx=on; opscope collect does so by itself). Every pop needs a
push on the same thread; a range is stopped by the number that range_start gave.",
    },
    Page {
        name: "EK0005",
        title: "The profiler's part of acl.json holds a key that the runtime does not know",
        signs: &[&["EK0005"], &["profiler", "acl.json", "invalid"]],
        text: "\
Profiling is refused as a whole for one unknown key or a value of the wrong kind. Values are texts
(\"on\", \"off\"), except those that end in _freq, which are numbers. switch must be \"on\".",
    },
    Page {
        name: "EK0006",
        title: "The text of a stamp is too long",
        signs: &[&["EK0006"], &["set_stamp_trace_message", "128"]],
        text: "\
acl.prof takes texts of fewer than 128 bytes, not characters: a Chinese character has three. mstx
and opscope's own functions take longer ones.",
    },
    Page {
        name: "out-of-space",
        title: "The disk is full",
        signs: &[&["no space left on device"], &["ENOSPC"], &["disk is full"]],
        text: "\
The program runs on; what could not be written is counted and reported at the end.

  df -h OUTPUT                        how much is left
  opscope collect --storage-limit=500MB ...    the oldest records go first
  opscope collect --output=ELSEWHERE ...",
    },
    Page {
        name: "no-marks",
        title: "No marks were recorded",
        signs: &[&["no marks were recorded"], &["no marks"]],
        text: "\
opscope records marks of programs that use mstx, NVTX version 3, acl.prof or opscope's own library.

- In C: mstx and NVTX load what MSTX_INJECTION_PATH and NVTX_INJECTION64_PATH name. If those were
  set before, opscope leaves them alone and says so.
- A program that sets its environment anew, runs as another user or in a container does not see
  what opscope put there.
- In Python: pip install ./python from opscope's repository, then with opscope.range(\"infer\"): ...
- import acl without CANN: opscope collect --acl-shim -- python3 detect.py",
    },
    Page {
        name: "killed",
        title: "The program was ended by a signal (exit status above 128)",
        signs: &[&["status 137"], &["status 139"], &["status 134"], &["killed"], &["segmentation fault"]],
        text: "\
A status above 128 is 128 and the number of the signal: 130 Ctrl-C, 134 abort, 137 killed (often
for want of memory: dmesg | tail tells), 139 a wrong memory access, 143 asked to end.
What was recorded until a quarter of a second before is there.",
    },
    Page {
        name: "mount-127",
        title: "The board cannot mount the host's directory, because the host's name leads to 127.x",
        signs: &[&["mount", "127.0"], &["nfs", "127."]],
        text: "\
/etc/hosts maps the host's name to 127.0.1.1, and that address is handed to the board. Put the
address of the network card there instead. In Docker, run the container with --net=host.",
    },
    Page {
        name: "acl-missing",
        title: "Python has no acl, the module of AscendCL",
        signs: &[&["No module named 'acl'"], &["No module named acl"]],
        text: "\
It comes with CANN's toolkit: source /usr/local/Ascend/ascend-toolkit/set_env.sh puts it on
PYTHONPATH. On a machine without CANN, opscope has a stand-in for what the program marks:

  opscope collect --acl-shim -- python3 detect.py",
    },
    Page {
        name: "onnxruntime-missing",
        title: "Python has no onnxruntime",
        signs: &[&["No module named", "onnxruntime"]],
        text: "\
  python3 -m pip install onnxruntime

In another environment than the one that runs the program it doesn't help: use the same python3.",
    },
];
