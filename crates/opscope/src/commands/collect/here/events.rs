//! The events of a collection, told while the program runs.

use opscope_capture::Event;
use opscope_say::say;

use crate::terminal::Terminal;

/// Tells of an event, and of each remark once: `told` has those that were.
pub fn tell(event: &Event, told: &mut Vec<String>, terminal: &Terminal) {
    match event {
        Event::Directory(path) => terminal.detail(&say!("recording into {}", path.display())),
        Event::Recording => terminal.detail("recording"),
        Event::Stopped(why) => terminal.warn(&say!("recording stopped: {why}; the program runs on")),
        Event::Remark(text) if !told.contains(text) => {
            told.push(text.clone());
            terminal.note(text);
        }
        Event::Remark(_) => {}
    }
}
