//! `opscope collect --dynamic=on`: profiles that are begun and ended by words on standard input.

use std::io::BufRead;
use std::sync::mpsc::{Sender, channel};

use opscope_capture::{CaptureError, Command, OnDemand, Plan};
use opscope_say::say;

use super::events::tell;
use super::finish;
use crate::commands::collect::options::Arguments;
use crate::interrupt;
use crate::terminal::Terminal;

const HELP: &str = "commands: start (begin a profile), stop (end it), quit";

/// Starts the program or finds those that wait, and obeys. Returns the status to end with.
///
/// # Errors
/// When the program can't be started, or one doesn't wait.
pub fn execute(plan: &Plan, arguments: &Arguments, terminal: &Terminal) -> Result<u8, CaptureError> {
    let mut told = Vec::new();
    let mut tell_event = |event| tell(&event, &mut told, terminal);
    let mut programs = match &plan.program {
        Some(_) => OnDemand::launch(plan, &mut tell_event)?,
        None => OnDemand::attach(plan, &arguments.when.pid)?,
    };
    terminal.note(HELP);
    let (sender, commands) = channel();
    let reader = *terminal;
    let spawned = std::thread::Builder::new().name("commands".into()).spawn(move || read(&sender, &reader));
    // Without the reader there are no commands, as after quit.
    drop(spawned);
    let mut told = Vec::new();
    let mut tell_event = |event| {
        // The same remark may be worth a second time here.
        told.clear();
        tell(&event, &mut told, terminal);
    };
    let wanted = arguments.wanted();
    let mut done = |outcome: &_| {
        finish::finish_profile(outcome, &wanted, terminal);
    };
    let stop = interrupt::of_waiting();
    let (status, stderr_end) = programs.obey(&commands, &|| stop.is_requested(), &mut tell_event, &mut done);
    interrupt::release();
    if plan.program.is_some() {
        finish::explain_end(plan, status, &stderr_end, terminal);
    }
    Ok(status)
}

/// Reads commands until there are no more, or nobody obeys them.
fn read(sender: &Sender<Command>, terminal: &Terminal) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let command = match line.trim() {
            "" => continue,
            "start" => Command::Start,
            "stop" => Command::Stop,
            "quit" | "q" | "exit" => Command::Quit,
            other => {
                terminal.warn(&say!("'{other}' is not understood; {HELP}"));
                continue;
            }
        };
        if sender.send(command).is_err() || command == Command::Quit {
            break;
        }
    }
}
