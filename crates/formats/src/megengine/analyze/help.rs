//! The help text of `profile_analyze`.

/// The text of `--help`.
pub const HELP: &str = "\
Show where the time of a MegEngine graph profile went.

Usage: opscope profile_analyze FILE [OPTIONS]

FILE is the JSON that load_and_run --profile, MegEngine's GraphProfiler or
opscope run --profile wrote. The options, the order of rows and the layout of
the output are those of megengine.tools.profile_analyze. Options may be
shortened while they stay unambiguous.

Which operators:
  -t, --top N            show the first N rows; 0 shows all, and a negative N
                         leaves out the last so many [default: 3]
      --type TYPE        only operators of this type, such as ConvolutionForward;
                         may be given several times
      --opr-name REGEX   only operators whose name begins with a match
      --input-dtype D    only operators with an input of this element type, such
                         as Float32; the profile tells it for planned memory only
      --min-time SEC     only operators that took at least so many seconds
      --max-time SEC     only operators that took at most so many seconds

How they are put together:
      --order-by COLUMN  largest first, or smallest first with a + before it:
                         time, computation, memory, flops, bandwidth, opr_id,
                         in_shapes, out_shapes; what has no value comes last
                         [default: time]
      --aggregate HOW    make all selected operators one row: max, min, sum, mean
      --aggregate-by type
                         with --aggregate, one row for each type
      --top-end-key KEY  the time of an operator ends with its last kernel (end)
                         or with the beginning of its first (kern), which gives
                         the time that it waited [default: end]

What is printed:
      --print-only PART  summary, device or host only
      --show-host        a second table, of the time spent dispatching
      --copy-time        two more lines in the summary, on copies between devices
      --confluence, --wiki
                         tables with pipes, for wikis
      --dump-only-opr    name, type and id of each operator, to compare profiles
  -h, --help             this text

Exit status: 0 done, 1 the file can't be read, 2 wrong usage.

Examples:
  The five slowest convolutions:
      opscope profile_analyze p.json -t 5 --type ConvolutionForward
  The time of each type of operator:
      opscope profile_analyze p.json -t 0 --aggregate-by type --aggregate sum
  The operators that touch most memory:
      opscope profile_analyze p.json --order-by memory
  Everything that took a millisecond or longer:
      opscope profile_analyze p.json -t 0 --min-time 1e-3
";
