//! The operators of subscribed models, as AscendCL tells them through a pipe, written down as text
//! beside the raw slices ([`opscope_cann_raw::subscription`]).

use std::ffi::{c_int, c_void};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use opscope_cann_raw::subscription::{Line, file_name};
use opscope_recorder::pipe::{self, Pipe};
use opscope_recorder::process;
use opscope_recorder::sink::write_all;

use super::collector::{control, directory, is_on, note};
use super::library::{SUCCESS, Subscription, missing, refused};

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
        let directory = directory().ok_or("no place for operators")?;
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
        let path = directory.join(file_name(std::process::id()));
        let reader = Reader {
            functions: self.functions,
            descriptor: self.pipe[0],
            size,
            path,
            is_over: Arc::clone(&self.is_over),
        };
        self.reader = process::spawn("opscope-operators", 256 << 10, move || reader.run()).ok();
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
        let pipe = Pipe {
            descriptor: self.descriptor,
            size: self.size,
            batch: BATCH,
            is_over: &self.is_over,
            wait: WAIT_MILLIS,
            last_wait: 0,
        };
        pipe.read_all(|operators| self.write_down(operators));
        self.append(&self.calls());
    }

    fn calls(&self) -> String {
        let calls = std::mem::take(&mut *CALLS.lock().unwrap_or_else(PoisonError::into_inner));
        calls.iter().fold(String::new(), |mut text, (begin, end)| {
            let _ = writeln!(text, "{}", Line::Call { begin: *begin, end: *end });
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
            let room = |size| if size > LONGEST_NAME { 0 } else { size + 1 };
            // SAFETY: as above, and the index is below the count.
            let (begin, end, duration, model, kind, name) = unsafe {
                (
                    (ours.start)(data, length, index),
                    (ours.end)(data, length, index),
                    (ours.duration)(data, length, index),
                    (ours.model)(data, length, index) as u64,
                    pipe::text((ours.type_length, ours.type_text), (data, length, index), room),
                    pipe::text((ours.name_length, ours.name_text), (data, length, index), room),
                )
            };
            let [kind, name] = [kind, name].map(Option::unwrap_or_default);
            let (kind, name) = (String::from_utf8_lossy(&kind), String::from_utf8_lossy(&name));
            let _ = writeln!(
                text,
                "{}",
                Line::Operator { model, begin, end, duration, kind: &kind, name: &name }
            );
        }
        self.append(&text);
    }

    fn append(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&self.path);
        let written = file.and_then(|mut file| write_all(&mut file, text.as_bytes()));
        if let (Err(error), Some(control)) = (written, control()) {
            control.count_lost(text.lines().count() as u64, &error);
        }
    }
}
