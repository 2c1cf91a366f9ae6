//! The program opscope, with the client of Apache Ballista built in.

fn main() -> std::process::ExitCode {
    opscope::main()
}
