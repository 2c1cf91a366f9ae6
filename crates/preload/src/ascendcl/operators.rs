//! The operators of subscribed models, as AscendCL tells them through a pipe, written down as text:
//! `opscope.ascendcl.<process>.operators` beside the raw slices, which CANN's parser passes over.
//!
//! | line, fields between tabs | |
//! |---|---|
//! | `call`, begin, end | an execution or a wait for one, in ns of `CLOCK_MONOTONIC_RAW` |
//! | `op`, model, begin, end, duration, type, name | an operator, in the times that AscendCL gives |

use std::ffi::{c_char, c_int, c_void};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::calls::{self, is_on};
use super::device::{missing, note, refused};
use super::library::Subscription;
use super::{Error, SUCCESS};
use crate::sink::write_all;

/// Only times, no counters of the cores.
const NO_METRICS: c_int = 0xFF;

/// How many operators are read at once.
const BATCH: usize = 256;

/// More than this, and a text is not a name any more.
const LONGEST_NAME: usize = 64 << 10;

/// How long the reader waits at a time for AscendCL to write.
const WAIT_MILLIS: c_int = 100;

/// Calls that are not written down yet.
static CALLS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());
static IS_SUBSCRIBED: AtomicBool = AtomicBool::new(false);

/// Remembers a call, against which the operators' own clock can be read.
pub(super) fn note_call(begin: u64, end: u64) {
    if IS_SUBSCRIBED.load(Ordering::Relaxed) {
        CALLS.lock().unwrap_or_else(PoisonError::into_inner).push((begin, end));
    }
}

/// In a forked child, which has no reader.
pub(super) fn forked() {
    IS_SUBSCRIBED.store(false, Ordering::Release);
}

/// The models that tell what they execute.
pub(super) struct Subscribed {
    functions: Subscription,
    config: *mut c_void,
    /// The pipe's two ends. AscendCL keeps the address of the second.
    pipe: Box<[c_int; 2]>,
    /// Models and their devices.
    models: Vec<(u32, i32)>,
    is_over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

// SAFETY: AscendCL's handles may be used from any thread.
unsafe impl Send for Subscribed {}

impl Subscribed {
    pub(super) fn begin() -> Result<Self, String> {
        let functions = Subscription::find().map_err(missing)?;
        let directory = calls::directory().ok_or("no place for operators")?;
        let mut pipe = Box::new([-1; 2]);
        // SAFETY: a place for two descriptors. Programs that are executed don't get them.
        if unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(format!("no pipe for operators: {}", std::io::Error::last_os_error()));
        }
        let is_over = Arc::new(AtomicBool::new(false));
        Ok(Self { functions, config: std::ptr::null_mut(), pipe, models: Vec::new(), is_over, reader: None })
            .and_then(|mut subscribed: Self| subscribed.prepare(directory).map(|()| subscribed))
    }

    fn prepare(&mut self, directory: PathBuf) -> Result<(), String> {
        let mut size = 0;
        // SAFETY: a place for the answer.
        let result = unsafe { (self.functions.description_size)(&mut size) };
        if result != SUCCESS || size == 0 || size > LONGEST_NAME {
            return Err(refused("aclprofGetOpDescSize", result));
        }
        let write_end: *mut c_int = &mut self.pipe[1];
        // SAFETY: the descriptor's place lives as long as the configuration.
        self.config = unsafe { (self.functions.create_config)(1, NO_METRICS, write_end.cast()) };
        if self.config.is_null() {
            return Err("aclprofCreateSubscribeConfig refused; nothing is recorded of the device".into());
        }
        let path = directory.join(format!("opscope.ascendcl.{}.operators", std::process::id()));
        let reader = Reader {
            functions: self.functions,
            descriptor: self.pipe[0],
            size,
            path,
            is_over: Arc::clone(&self.is_over),
        };
        self.reader = calls::spawn("opscope-operators", move || reader.run());
        IS_SUBSCRIBED.store(true, Ordering::Release);
        Ok(())
    }

    pub(super) fn add(&mut self, model: u32, device: i32) {
        if self.models.iter().any(|(known, _)| *known == model) {
            return;
        }
        // SAFETY: the configuration lives until everything is unsubscribed.
        let result = unsafe { (self.functions.subscribe)(model, self.config) };
        if result == SUCCESS {
            self.models.push((model, device));
        } else {
            note(&refused("aclprofModelSubscribe", result));
        }
    }

    /// Unsubscribes the models that are meant, by number and device.
    pub(super) fn remove(&mut self, is_meant: impl Fn(u32, i32) -> bool) {
        let unsubscribe = self.functions.unsubscribe;
        self.models.retain(|(model, device)| {
            let goes = is_meant(*model, *device);
            if goes {
                // SAFETY: it was subscribed.
                unsafe { unsubscribe(*model) };
            }
            !goes
        });
    }

    pub(super) fn end(mut self) {
        self.remove(|_, _| true);
        // SAFETY: nothing is subscribed any more, and nobody writes into the pipe.
        unsafe {
            if !self.config.is_null() {
                (self.functions.destroy_config)(self.config);
            }
            libc::close(self.pipe[1]);
        }
        // A forked child may hold the other end open, so the reader doesn't wait for its end.
        self.is_over.store(true, Ordering::Release);
        IS_SUBSCRIBED.store(false, Ordering::Release);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        // SAFETY: the reader is gone.
        unsafe { libc::close(self.pipe[0]) };
    }
}

/// The thread that reads what AscendCL writes.
struct Reader {
    functions: Subscription,
    descriptor: c_int,
    /// The bytes of one operator.
    size: usize,
    path: PathBuf,
    is_over: Arc<AtomicBool>,
}

impl Reader {
    fn run(self) {
        let mut buffer = vec![0; self.size * BATCH];
        let mut filled = 0;
        loop {
            let was_over = self.is_over.load(Ordering::Acquire);
            let mut poll = libc::pollfd { fd: self.descriptor, events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid entry.
            let ready = unsafe { libc::poll(&mut poll, 1, if was_over { 0 } else { WAIT_MILLIS }) };
            if ready <= 0 {
                if was_over {
                    break;
                }
                continue;
            }
            let rest = &mut buffer[filled..];
            // SAFETY: the rest of the buffer is a place for so many bytes.
            let count = unsafe { libc::read(self.descriptor, rest.as_mut_ptr().cast(), rest.len()) };
            let Ok(count) = usize::try_from(count) else { break };
            if count == 0 {
                break;
            }
            filled += count;
            let whole = filled / self.size * self.size;
            if whole > 0 {
                self.write_down(&buffer[..whole]);
                buffer.copy_within(whole..filled, 0);
                filled -= whole;
            }
        }
        self.append(&self.calls());
    }

    fn calls(&self) -> String {
        let calls = std::mem::take(&mut *CALLS.lock().unwrap_or_else(PoisonError::into_inner));
        calls.iter().fold(String::new(), |mut text, (begin, end)| {
            let _ = writeln!(text, "call\t{begin}\t{end}");
            text
        })
    }

    fn write_down(&self, operators: &[u8]) {
        let (data, length) = (operators.as_ptr().cast::<c_void>(), operators.len());
        let mut count = 0;
        // SAFETY: AscendCL's own bytes, in whole operators.
        let result = unsafe { (self.functions.count)(data, length, &mut count) };
        if result != SUCCESS {
            return note(&refused("aclprofGetOpNum", result));
        }
        if !is_on() {
            return;
        }
        let mut text = self.calls();
        for index in 0..count.min((length / self.size) as u32) {
            let ours = &self.functions;
            // SAFETY: as above, and the index is below the count.
            let (start, end, duration, model) = unsafe {
                (
                    (ours.start)(data, length, index),
                    (ours.end)(data, length, index),
                    (ours.duration)(data, length, index),
                    (ours.model)(data, length, index),
                )
            };
            let kind = read_text(data, length, index, ours.type_length, ours.type_text);
            let name = read_text(data, length, index, ours.name_length, ours.name_text);
            let _ = writeln!(text, "op\t{model}\t{start}\t{end}\t{duration}\t{kind}\t{name}");
        }
        self.append(&text);
    }

    fn append(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&self.path);
        let written = file.and_then(|mut file| write_all(&mut file, text.as_bytes()));
        if let (Err(error), Some(control)) = (written, calls::control()) {
            let lines = text.lines().count() as u64;
            control.error.store(error.raw_os_error().unwrap_or(libc::EIO) as u32, Ordering::Relaxed);
            control.lost.fetch_add(lines, Ordering::Relaxed);
        }
    }
}

/// A text of an operator, of the length that AscendCL tells, on one line.
fn read_text(
    data: *const c_void,
    length: usize,
    index: u32,
    tell_length: unsafe extern "C" fn(*const c_void, usize, u32, *mut usize) -> Error,
    tell: unsafe extern "C" fn(*const c_void, usize, u32, *mut c_char, usize) -> Error,
) -> String {
    let mut size = 0;
    // SAFETY: a place for the answer.
    if unsafe { tell_length(data, length, index, &mut size) } != SUCCESS || size == 0 || size > LONGEST_NAME {
        return String::new();
    }
    // Whether the length counts the closing zero isn't said.
    let mut text = vec![0u8; size + 1];
    // SAFETY: the place has as many bytes as are told.
    if unsafe { tell(data, length, index, text.as_mut_ptr().cast(), size + 1) } != SUCCESS {
        return String::new();
    }
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    String::from_utf8_lossy(&text[..end]).replace(['\t', '\n', '\r'], " ")
}
