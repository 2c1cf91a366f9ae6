//! The program `opscope`.

fn main() -> std::process::ExitCode {
    opscope::main()
}
