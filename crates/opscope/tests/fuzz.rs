//! Changes inputs of all targets, and of the whole program, for as long as it is told, and looks for those on
//! which something panics, takes too long, or takes too much memory. Without options it tries the inputs of the
//! repository: those to begin with, and those on which something was wrong once.
//!
//! ```sh
//! cargo test --workspace --test fuzz -- --seconds 60 --target rewrite
//! ```

mod fuzz {
    #[cfg(unix)]
    pub mod allocations;
    #[cfg(unix)]
    pub mod failures;
    #[cfg(unix)]
    pub mod inputs;
    #[cfg(unix)]
    pub mod options;
    #[cfg(unix)]
    pub mod program;
    #[cfg(unix)]
    pub mod supervisor;
    #[cfg(unix)]
    pub mod worker;
}

#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: fuzz::allocations::Counting = fuzz::allocations::Counting;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    use fuzz::options::Task;

    let options = match fuzz::options::Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("error: {problem}");
            return std::process::ExitCode::from(2);
        }
    };
    match &options.task {
        Task::Help => println!("{}", fuzz::options::HELP),
        Task::List => fuzz::inputs::names().iter().for_each(|name| println!("{name}: test")),
        Task::WriteSeeds(folder) => opscope_fuzzing::seeds::write(folder, &options.sources),
        Task::Work(name) => return fuzz::worker::work(name, &options),
        Task::Fuzz => return fuzz::supervisor::fuzz(&options),
    }
    std::process::ExitCode::SUCCESS
}

#[cfg(not(unix))]
fn main() {
    println!("skipped: the limits of time and memory are those of Unix");
}
