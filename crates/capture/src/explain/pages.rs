//! The pages, one for each failure that users meet.

use super::page::Page;

/// All pages.
pub const PAGES: &[Page] = &[
    Page {
        name: "shared-library",
        title: "A shared library that the program needs was not found",
        title_zh: "程序所需的动态库未找到",
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
        text_zh: "\
系统在自己的目录、LD_LIBRARY_PATH 的目录和程序自带的路径中查找动态库。信息中所说的库不在其中。
退出码为 127。

  ldd PROGRAM | grep 'not found'            缺少哪些库
  find / -name 'LIBRARY*' 2>/dev/null       若已安装，在什么位置
  export LD_LIBRARY_PATH=DIRECTORY:$LD_LIBRARY_PATH

要长期生效，把最后一行写入 ~/.bashrc。昇腾的库则运行工具包自带的脚本：
source /usr/local/Ascend/ascend-toolkit/set_env.sh",
    },
    Page {
        name: "libpython",
        title: "Python was built with a shared library that is not found",
        title_zh: "Python 以动态库方式编译，而该库未找到",
        signs: &[&["libpython", "cannot open shared object file"], &["libpython", "no such file"]],
        text: "\
A Python that was configured with --enable-shared keeps its core in libpython3.X.so. It lies below
the directory that Python was installed into, in lib.

  export LD_LIBRARY_PATH=PYTHON_DIRECTORY/lib:$LD_LIBRARY_PATH

To keep it without being root, write the line into ~/.bashrc. As root, copying the library into
/usr/lib, or a file in /etc/ld.so.conf.d and ldconfig, serves all users.",
        text_zh: "\
以 --enable-shared 配置的 Python，其核心在 libpython3.X.so 中，位于 Python 安装目录下的 lib。

  export LD_LIBRARY_PATH=PYTHON_DIRECTORY/lib:$LD_LIBRARY_PATH

没有 root 权限时，把这一行写入 ~/.bashrc 即可长期生效。有 root 权限时，把库复制到 /usr/lib，或在
/etc/ld.so.conf.d 中加一个文件再运行 ldconfig，对所有用户有效。",
    },
    Page {
        name: "command-not-found",
        title: "The program was not found (exit status 127)",
        title_zh: "未找到程序（退出码 127）",
        signs: &[&["command not found"], &["there is no such program"], &["status 127"]],
        text: "\
The shell, or opscope, found no program of this name in the directories of PATH.

  type PROGRAM                  is it an alias? Aliases are known to interactive shells only
  ls -l /full/path/to/PROGRAM   name it with its whole path

Status 127 also comes from the loader, when a library is missing: see opscope explain shared-library.",
        text_zh: "\
shell 或 opscope 在 PATH 的各目录中没有找到这个名称的程序。

  type PROGRAM                  是否为别名？只有交互式 shell 认识别名
  ls -l /full/path/to/PROGRAM   用完整路径给出程序

缺少动态库时，加载器的退出码也是 127：见 opscope explain shared-library。",
    },
    Page {
        name: "not-executable",
        title: "The program may not be executed (exit status 126)",
        title_zh: "程序不可执行（退出码 126）",
        signs: &[&["permission denied"], &["may not be executed"], &["exec format error"], &["status 126"]],
        text: "\
The file is there, but is not marked as a program, or is one for another kind of processor.

  chmod +x FILE                 if it is a program
  opscope collect -- python3 FILE.py
  file FILE                     tells the processor that it was built for
  mount | grep noexec           programs on such file systems never start",
        text_zh: "\
文件存在，但没有标为可执行，或是为另一种处理器编译的。

  chmod +x FILE                 若它是程序
  opscope collect -- python3 FILE.py
  file FILE                     说明它为哪种处理器编译
  mount | grep noexec           这类文件系统上的程序都无法启动",
    },
    Page {
        name: "soft-link",
        title: "The vendor's collector refuses programs that are symbolic links",
        title_zh: "厂商的采集工具拒绝软链接形式的程序",
        signs: &[&["is soft link"], &["soft link", "not support"], &["App path", "link"]],
        text: "\
msprof of CANN 5 takes no link for the program or the interpreter, and python3 mostly is one.
opscope follows the link and says so. For the vendor's tool, give the whole path of the file behind:

  readlink -f $(command -v python3)
  msprof --application=\"$(readlink -f $(command -v python3)) /full/path/detect.py\" --output=...

All paths in that command should be absolute.",
        text_zh: "\
CANN 5 的 msprof 不接受软链接形式的程序或解释器，而 python3 大多是软链接。opscope 会跟随链接，
并说明这一点。使用厂商工具时，请给出链接背后文件的完整路径：

  readlink -f $(command -v python3)
  msprof --application=\"$(readlink -f $(command -v python3)) /full/path/detect.py\" --output=...

该命令中的路径都应为绝对路径。",
    },
    Page {
        name: "E10001",
        title: "The converter (ATC) needs a shape that the model leaves open",
        title_zh: "转换工具（ATC）需要模型中未确定的形状",
        signs: &[&["E10001"], &["Value [-1]", "is invalid"], &["maybe you should set input_shape"]],
        text: "\
An input of the model has a dimension of -1, mostly the batch. Tell the converter its size:

  atc --model=net.pb --framework=3 --input_shape=\"data_1:1,260,260,3\" --input_format=NHWC ...

The name is that of the input, as the message has it in brackets. In MindStudio's converter the
same is found under Data Pre-Processing: switch Input Node on.",
        text_zh: "\
模型的某个输入有一维为 -1，多为 batch。请把大小告诉转换工具：

  atc --model=net.pb --framework=3 --input_shape=\"data_1:1,260,260,3\" --input_format=NHWC ...

名称是输入的名称，即信息中方括号内的名称。在 MindStudio 的模型转换中，对应 Data Pre-Processing
一页：打开 Input Node。",
    },
    Page {
        name: "EK0002",
        title: "A mark was set while nothing is collected, or a pop had no push",
        title_zh: "没有在采集时打点，或 pop 没有对应的 push",
        signs: &[&["EK0002"], &["aclprofCreateStamp", "null"]],
        text: "\
Stamps can only be made between acl.prof.start and acl.prof.stop, or under a collector that was
told to record them (msprof --msproftx=on; opscope collect does so by itself). Every pop needs a
push on the same thread; a range is stopped by the number that range_start gave.",
        text_zh: "\
只有在 acl.prof.start 与 acl.prof.stop 之间，或在设置为记录打点的采集工具之下，才能创建 stamp
（msprof --msproftx=on；opscope collect 会自动打开）。每个 pop 都要在同一线程上有对应的 push；
range 要用 range_start 给出的编号结束。",
    },
    Page {
        name: "EK0005",
        title: "The profiler's part of acl.json holds a key that the runtime does not know",
        title_zh: "acl.json 的 profiler 部分含有运行时不认识的键",
        signs: &[&["EK0005"], &["profiler", "acl.json", "invalid"]],
        text: "\
Profiling is refused as a whole for one unknown key or a value of the wrong kind. Values are texts
(\"on\", \"off\"), except those that end in _freq, which are numbers. switch must be \"on\".",
        text_zh: "\
只要有一个不认识的键或一个类型不对的值，就会拒绝整个采集。值都是文本（\"on\"、\"off\"），以 _freq
结尾的除外，它们是数字。switch 必须为 \"on\"。",
    },
    Page {
        name: "EK0006",
        title: "The text of a stamp is too long",
        title_zh: "stamp 的文本过长",
        signs: &[&["EK0006"], &["set_stamp_trace_message", "128"]],
        text: "\
acl.prof takes texts of fewer than 128 bytes, not characters: a Chinese character has three. mstx
and opscope's own functions take longer ones.",
        text_zh: "\
acl.prof 的文本须少于 128 字节，而不是 128 个字符：一个汉字占三个字节。mstx 和 opscope 自己的
函数可以接受更长的文本。",
    },
    Page {
        name: "out-of-space",
        title: "The disk is full",
        title_zh: "磁盘已满",
        signs: &[&["no space left on device"], &["ENOSPC"], &["disk is full"]],
        text: "\
The program runs on; what could not be written is counted and reported at the end.

  df -h OUTPUT                        how much is left
  opscope collect --storage-limit=500MB ...    the oldest records go first
  opscope collect --output=ELSEWHERE ...",
        text_zh: "\
程序会继续运行；未能写入的数据会计数，并在结束时报告。

  df -h OUTPUT                        还剩多少空间
  opscope collect --storage-limit=500MB ...    最早的记录先删除
  opscope collect --output=ELSEWHERE ...",
    },
    Page {
        name: "no-marks",
        title: "No marks were recorded",
        title_zh: "没有记录到打点",
        signs: &[&["no marks were recorded"], &["no marks"]],
        text: "\
opscope records marks of programs that use mstx, NVTX version 3, acl.prof or opscope's own library.

- In C: mstx and NVTX load what MSTX_INJECTION_PATH and NVTX_INJECTION64_PATH name. If those were
  set before, opscope leaves them alone and says so.
- A program that sets its environment anew, runs as another user or in a container does not see
  what opscope put there.
- In Python: pip install ./python from opscope's repository, then with opscope.range(\"infer\"): ...
- import acl without CANN: opscope collect --acl-shim -- python3 detect.py",
        text_zh: "\
opscope 记录使用 mstx、NVTX 第 3 版、acl.prof 或 opscope 自带库的程序的打点。

- C 程序：mstx 和 NVTX 加载 MSTX_INJECTION_PATH 和 NVTX_INJECTION64_PATH 所指的库。若这些变量
  先前已经设置，opscope 不会改动，并说明这一点。
- 程序若重新设置环境变量、以另一用户运行或在容器中运行，就看不到 opscope 设置的内容。
- Python 程序：在 opscope 的仓库中 pip install ./python，然后 with opscope.range(\"infer\"): ...
- 没有 CANN 而 import acl：opscope collect --acl-shim -- python3 detect.py",
    },
    Page {
        name: "killed",
        title: "The program was ended by a signal (exit status above 128)",
        title_zh: "程序被信号终止（退出码大于 128）",
        signs: &[&["status 137"], &["status 139"], &["status 134"], &["killed"], &["segmentation fault"]],
        text: "\
A status above 128 is 128 and the number of the signal: 130 Ctrl-C, 134 abort, 137 killed (often
for want of memory: dmesg | tail tells), 139 a wrong memory access, 143 asked to end.
What was recorded until a quarter of a second before is there.",
        text_zh: "\
大于 128 的退出码是 128 加信号的编号：130 为 Ctrl-C，134 为 abort，137 为被强制终止（常因内存不足：
见 dmesg | tail），139 为非法内存访问，143 为被要求结束。
在此之前四分之一秒为止所记录的数据都在。",
    },
    Page {
        name: "mount-127",
        title: "The board cannot mount the host's directory, because the host's name leads to 127.x",
        title_zh: "主机名指向 127.x，开发板无法挂载主机的目录",
        signs: &[&["mount", "127.0"], &["nfs", "127."]],
        text: "\
/etc/hosts maps the host's name to 127.0.1.1, and that address is handed to the board. Put the
address of the network card there instead. In Docker, run the container with --net=host.",
        text_zh: "\
/etc/hosts 把主机名对应到 127.0.1.1，而交给开发板的正是这个地址。请改为网卡的地址。在 Docker 中，
请以 --net=host 运行容器。",
    },
    Page {
        name: "acl-missing",
        title: "Python has no acl, the module of AscendCL",
        title_zh: "Python 中没有 acl，即 AscendCL 的模块",
        signs: &[&["No module named 'acl'"], &["No module named acl"]],
        text: "\
It comes with CANN's toolkit: source /usr/local/Ascend/ascend-toolkit/set_env.sh puts it on
PYTHONPATH. On a machine without CANN, opscope has a stand-in for what the program marks:

  opscope collect --acl-shim -- python3 detect.py",
        text_zh: "\
它随 CANN 工具包提供：source /usr/local/Ascend/ascend-toolkit/set_env.sh 会把它加入 PYTHONPATH。
在没有 CANN 的机器上，opscope 提供替代模块，用于记录程序的打点：

  opscope collect --acl-shim -- python3 detect.py",
    },
    Page {
        name: "onnxruntime-missing",
        title: "Python has no onnxruntime",
        title_zh: "Python 中没有 onnxruntime",
        signs: &[&["No module named", "onnxruntime"]],
        text: "\
  python3 -m pip install onnxruntime

In another environment than the one that runs the program it doesn't help: use the same python3.",
        text_zh: "\
  python3 -m pip install onnxruntime

装在另一个环境中不起作用：请使用运行程序的同一个 python3。",
    },
];
