//! `opscope mcp`: profiles for agents, by the Model Context Protocol on standard input and output.
//!
//! ```text
//! server                          the protocol: calls, resources, prompts
//! tools      documents  prompts   what there is
//! session    check  fit           profiles that are kept; arguments held against schemas; pages of answers
//! folders    arguments            the files that may be read; the arguments of the tools
//! ```

mod arguments;
mod check;
mod documents;
mod fit;
mod folders;
mod prompts;
mod server;
mod session;
mod tools;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;

use self::folders::Folders;
use self::server::Server;
use self::session::Session;
use crate::exit::Exit;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope mcp                          answers about what lies in the current folder
  opscope mcp runs/ models/            and about these two

Most agents take a file such as:
  {\"mcpServers\": {\"opscope\": {\"command\": \"opscope\", \"args\": [\"mcp\", \"/data/profiles\"]}}}

An agent starts this program by itself and speaks with it on standard input and output. Its tools are
open, info, analyze, operators, advise, explain, compare, sql, timeline_window and model; their answers
are what --json prints, a page at a time. Nothing is written, and nothing outside of the folders is
read, whatever links there are in them. opscope.toml isn't read either. What is said on standard error
is for people.";

/// The options of `opscope mcp`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The folders that may be read [default: the current one]
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
}

/// Answers until standard input ends.
///
/// # Errors
/// When a folder isn't there, or whoever started this speaks something else.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let folders = Folders::new(&arguments.folders)?;
    if io::stdin().is_terminal() {
        let text = "this waits for an agent, which starts it by itself (opscope mcp --help); Ctrl-C ends it";
        terminal.note(text);
    }
    let server = Server::new(Session::new(folders, *terminal));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the system gives no thread")?;
    let ended = runtime.block_on(async {
        match server.serve(rmcp::transport::io::stdio_pipes()).await {
            Ok(running) => running.waiting().await.map(drop).context("the server failed"),
            // Nobody has said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error).context("standard input doesn't speak the Model Context Protocol"),
        }
    });
    // A statement that doesn't end soon keeps nobody from ending the program.
    runtime.shutdown_background();
    ended?;
    Ok(Exit::Done)
}
