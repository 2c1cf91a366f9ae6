//! Subscribing to a model: the runtime writes a description of each layer's execution into a pipe,
//! and its own functions tell the description's content.
//!
//! The order is that of the vendor's guide: load, subscribe, execute, unload, unsubscribe, close the
//! pipe's end for writing, wait for the reader, give the configuration back.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use opscope_cann_raw::board::{LAYER_TAG, LayerRun};
use opscope_cann_raw::{Record, host};
use opscope_recorder::pipe::{self, Pipe, Text, TextLength};
use opscope_recorder::process;

use crate::Status;
use crate::real::real;
use crate::recorder::{self, copy_text};

/// The counters of the engine that a subscriber can have; the guide's example has these.
const ARITHMETIC_UTILIZATION: c_int = 0;
/// How many layers are read at once.
const LAYERS_AT_ONCE: usize = 64;
/// The longest name and type that the runtime's header allows, with the zero at the end.
const LONGEST_NAME: usize = 257;
const LONGEST_TYPE: usize = 65;
/// How long the reader waits for more once the subscription has ended, in milliseconds. The end of
/// the pipe usually comes first; a child of the program may hold it open.
const LAST_WAIT: c_int = 200;

/// A model that is subscribed to.
struct Subscription {
    model: u32,
    config: *const c_void,
    /// The runtime keeps a pointer to this number.
    write_end: Box<c_int>,
    ended: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

// SAFETY: the pointer is the runtime's handle, which is only handed back to it.
unsafe impl Send for Subscription {}

static SUBSCRIPTIONS: Mutex<Vec<Subscription>> = Mutex::new(Vec::new());
/// Whether layers are left to the program or to the runtime's own profiler.
static LEFT_ALONE: AtomicBool = AtomicBool::new(false);

/// Subscribes to a model that has just been loaded.
pub(crate) fn begin(model: u32) {
    if LEFT_ALONE.load(Ordering::Acquire) || !recorder::is_on() {
        return;
    }
    match Subscription::new(model) {
        Ok(subscription) => {
            SUBSCRIPTIONS.lock().unwrap_or_else(PoisonError::into_inner).push(subscription);
        }
        Err(why) => recorder::note(&format!(
            "model {model}: its layers are not recorded: {why}; was it converted with --online_model_type=2?"
        )),
    }
}

/// Ends the subscription to a model that has been unloaded, or that the program subscribes to itself.
pub(crate) fn end(model: u32) {
    let ended = {
        let mut subscriptions = SUBSCRIPTIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let place = subscriptions.iter().position(|subscription| subscription.model == model);
        place.map(|place| subscriptions.swap_remove(place))
    };
    if let Some(subscription) = ended {
        subscription.end();
    }
}

/// Ends all that are left.
pub(crate) fn end_all() {
    let left = std::mem::take(&mut *SUBSCRIPTIONS.lock().unwrap_or_else(PoisonError::into_inner));
    left.into_iter().for_each(Subscription::end);
}

/// Subscribes to nothing from here on, because somebody else does what excludes it.
pub(crate) fn leave_alone(why: &str) {
    if !LEFT_ALONE.swap(true, Ordering::AcqRel) {
        end_all();
        recorder::note(&format!("the layers are not recorded: {why}"));
    }
}

impl Subscription {
    fn new(model: u32) -> Result<Self, String> {
        let create =
            real!(svp_acl_prof_create_subscribe_config, fn(i8, c_int, *const c_void) -> *const c_void);
        let subscribe = real!(svp_acl_prof_model_subscribe, fn(u32, *const c_void) -> Status);
        let size = Getters::descriptor_size()?;
        let (Some(create), Some(subscribe), Some(getters)) = (create, subscribe, Getters::find()) else {
            return Err("the runtime has no subscription".to_owned());
        };
        let mut ends = [-1; 2];
        // SAFETY: `ends` has room for both.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        let write_end = Box::new(ends[1]);
        let place: *const c_int = &*write_end;
        // SAFETY: the number lives as long as the subscription.
        let config = unsafe { create(1, ARITHMETIC_UTILIZATION, place.cast()) };
        let status = match config.is_null() {
            true => -1,
            // SAFETY: the configuration is the one that was just made.
            false => unsafe { subscribe(model, config) },
        };
        if status != 0 {
            destroy(config);
            close(ends[1]);
            close(ends[0]);
            return Err(match config.is_null() {
                true => "the runtime makes no configuration for it".to_owned(),
                false => format!("the runtime refuses the subscription with {status}"),
            });
        }
        let ended = Arc::new(AtomicBool::new(false));
        let reader = {
            let ended = Arc::clone(&ended);
            let read_end = ends[0];
            process::spawn("opscope", 256 << 10, move || getters.read_all(read_end, size, &ended))
        };
        let subscription = Self { model, config, write_end, ended, reader: None };
        match reader {
            Ok(reader) => Ok(Self { reader: Some(reader), ..subscription }),
            Err(error) => {
                subscription.end();
                close(ends[0]);
                Err(error.to_string())
            }
        }
    }

    fn end(self) {
        if let Some(unsubscribe) = real!(svp_acl_prof_model_unsubscribe, fn(u32) -> Status) {
            // SAFETY: the model is subscribed to.
            let status = unsafe { unsubscribe(self.model) };
            if status != 0 {
                recorder::note(&format!("model {}: the subscription ended with {status}", self.model));
            }
        }
        self.ended.store(true, Ordering::Release);
        close(*self.write_end);
        if let Some(reader) = self.reader {
            let _ = reader.join();
        }
        destroy(self.config);
    }
}

fn destroy(config: *const c_void) {
    if let Some(destroy) = real!(svp_acl_prof_destroy_subscribe_config, fn(*const c_void) -> Status)
        && !config.is_null()
    {
        // SAFETY: the configuration is the runtime's, and given back once.
        unsafe { destroy(config) };
    }
}

fn close(descriptor: c_int) {
    // SAFETY: the descriptor is ours, and closed once.
    unsafe { libc::close(descriptor) };
}

type Number = unsafe extern "C" fn(*const c_void, usize, u32) -> u64;

/// The runtime's functions that tell the content of descriptions.
#[derive(Clone, Copy)]
struct Getters {
    count: unsafe extern "C" fn(*const c_void, usize, *mut u32) -> Status,
    type_length: TextLength,
    type_text: Text,
    name_length: TextLength,
    name_text: Text,
    start: Number,
    end: Number,
    model: unsafe extern "C" fn(*const c_void, usize, u32) -> usize,
}

impl Getters {
    fn find() -> Option<Self> {
        Some(Self {
            count: real!(svp_acl_prof_get_op_num, fn(*const c_void, usize, *mut u32) -> Status)?,
            type_length: real!(
                svp_acl_prof_get_op_type_len,
                fn(*const c_void, usize, u32, *mut usize) -> Status
            )?,
            type_text: real!(
                svp_acl_prof_get_op_type,
                fn(*const c_void, usize, u32, *mut c_char, usize) -> Status
            )?,
            name_length: real!(
                svp_acl_prof_get_op_name_len,
                fn(*const c_void, usize, u32, *mut usize) -> Status
            )?,
            name_text: real!(
                svp_acl_prof_get_op_name,
                fn(*const c_void, usize, u32, *mut c_char, usize) -> Status
            )?,
            start: real!(svp_acl_prof_get_op_start, fn(*const c_void, usize, u32) -> u64)?,
            end: real!(svp_acl_prof_get_op_end, fn(*const c_void, usize, u32) -> u64)?,
            model: real!(svp_acl_prof_get_model_id, fn(*const c_void, usize, u32) -> usize)?,
        })
    }

    /// How many bytes the runtime writes for a layer.
    fn descriptor_size() -> Result<usize, String> {
        const LARGEST: usize = 1 << 20;
        let Some(get) = real!(svp_acl_prof_get_op_desc_size, fn(*mut usize) -> Status) else {
            return Err("the runtime has no subscription".to_owned());
        };
        let mut size = 0;
        // SAFETY: `size` is a valid place for the answer.
        let status = unsafe { get(&mut size) };
        match (status, size) {
            (0, 1..=LARGEST) => Ok(size),
            _ => Err(format!("the runtime says {status} and {size} bytes when asked for a layer's size")),
        }
    }

    /// Appends a record of each layer in `bytes`, which hold whole descriptions.
    fn append_layers(&self, bytes: &[u8], records: &mut Vec<u8>) {
        let (data, length) = (bytes.as_ptr().cast::<c_void>(), bytes.len());
        let mut count = 0;
        // SAFETY: the bytes are the runtime's own, and whole.
        let status = unsafe { (self.count)(data, length, &mut count) };
        if status != 0 {
            recorder::note(&format!("{length} bytes of layers could not be read: {status}"));
            return;
        }
        for index in 0..count {
            let mut layer = LayerRun { magic: host::MAGIC, tag: LAYER_TAG, ..LayerRun::default() };
            let (place, up_to) = ((data, length, index), |longest| move |size: usize| size.min(longest));
            // SAFETY: the index is below the count that the runtime gave for these bytes.
            let (kind, name) = unsafe {
                layer.model = (self.model)(data, length, index) as u32;
                layer.begin = (self.start)(data, length, index);
                layer.end = (self.end)(data, length, index);
                (
                    pipe::text((self.type_length, self.type_text), place, up_to(LONGEST_TYPE)),
                    pipe::text((self.name_length, self.name_text), place, up_to(LONGEST_NAME)),
                )
            };
            copy_text(&kind.unwrap_or_default(), &mut layer.kind);
            copy_text(&name.unwrap_or_default(), &mut layer.name);
            layer.append_to(records);
        }
    }

    /// Reads the pipe to its end and records the layers.
    fn read_all(&self, descriptor: c_int, size: usize, ended: &AtomicBool) {
        let (wait, last_wait) = (LAST_WAIT, LAST_WAIT);
        let pipe = Pipe { descriptor, size, batch: LAYERS_AT_ONCE, is_over: ended, wait, last_wait };
        let mut records = Vec::new();
        let rest = pipe.read_all(|layers| {
            self.append_layers(layers, &mut records);
            recorder::layers(&records);
            records.clear();
        });
        if rest > 0 {
            recorder::note(&format!("{rest} bytes of an unfinished layer were dropped"));
        }
        close(descriptor);
    }
}
