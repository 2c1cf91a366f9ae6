//! The functions that Python calls. A handle is the address of a box that the function of its own frees; texts
//! are UTF-8 with a zero at their end, and freed by [`opscope_text_free`].

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use opscope_open::{Progress, Stop};
use serde_json::json;

use crate::arrow::{self, ArrowArrayStream, ArrowSchema};
use crate::outcome::Failure;
use crate::profile::Profile;
use crate::table::Table;

/// The result of a call that can fail: a handle, or why there is none.
#[repr(C)]
pub struct Outcome {
    handle: *mut c_void,
    /// [`Failure::parts`]; 0 where there is a handle.
    failure: c_int,
    text: *mut c_char,
}

/// A wish to end that several calls may listen to.
type Wish = Arc<AtomicBool>;

/// A listener of a call.
struct Listener {
    step: Option<unsafe extern "C" fn(*const c_char)>,
    stop: Stop,
}

impl Progress for Listener {
    fn step(&self, name: &str) {
        if let (Some(step), name) = (self.step, to_text(name)) {
            // SAFETY: Python keeps the function as long as the call lasts, and copies the text.
            unsafe { step(name.as_ptr()) };
        }
    }

    fn stop(&self) -> Stop {
        self.stop.clone()
    }
}

fn to_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

fn handle<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// The text of C at an address.
///
/// # Safety
/// It must be one, and stay for as long as the answer is used.
unsafe fn text<'a>(address: *const c_char) -> &'a str {
    // SAFETY: the caller keeps to the above.
    unsafe { CStr::from_ptr(address) }.to_str().unwrap_or_default()
}

/// A wish's form for readers.
///
/// # Safety
/// `wish` must be of [`opscope_stop_new`] and not freed.
unsafe fn stop(wish: *const Wish) -> Stop {
    // SAFETY: the caller keeps to the above.
    let wish = unsafe { Arc::clone(&*wish) };
    Stop::when(move || wish.load(Ordering::Relaxed))
}

/// Does work and tells what came of it; a fault in it is a failure like others.
fn outcome<T>(work: impl FnOnce() -> Result<T, Failure>) -> Outcome {
    let fault = |_| Err(Failure::Other("a fault in opscope; please report it".to_owned()));
    match catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(fault) {
        Ok(done) => Outcome { handle: handle(done).cast(), failure: 0, text: ptr::null_mut() },
        Err(failure) => {
            let (number, said) = failure.parts();
            Outcome { handle: ptr::null_mut(), failure: number, text: to_text(said).into_raw() }
        }
    }
}

/// Declares the function that frees a kind of handle.
macro_rules! freed_by {
    ($(#[$about:meta])* $function:ident, $kind:ty) => {
        $(#[$about])*
        ///
        /// # Safety
        /// The handle must be of this kind, and nobody may use it any more.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function(handle: *mut $kind) {
            // SAFETY: the caller keeps to the above.
            drop(unsafe { Box::from_raw(handle) });
        }
    };
}

freed_by!(
    /// Frees a wish.
    opscope_stop_free,
    Wish
);
freed_by!(
    /// Frees a profile; its tables stay.
    opscope_profile_free,
    Profile
);
freed_by!(
    /// Frees a table; what was handed out of it stays.
    opscope_table_free,
    Table
);

/// The version of the library, which is that of the package.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_module_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Frees a text.
///
/// # Safety
/// It must be one that a function of this library gave, and nobody may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_text_free(text: *mut c_char) {
    // SAFETY: the caller keeps to the above.
    drop(unsafe { CString::from_raw(text) });
}

/// A wish to end that isn't made yet.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_stop_new() -> *mut Wish {
    handle(Wish::default())
}

/// Makes the wish.
///
/// # Safety
/// It must be of [`opscope_stop_new`] and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_stop_wish(wish: *const Wish) {
    // SAFETY: the caller keeps to the above.
    unsafe { &*wish }.store(true, Ordering::Relaxed);
}

/// Reads a profile at a path of so many bytes. `step` is called with the name of each step.
///
/// # Safety
/// The bytes and the wish must be there until the end, and so must `step`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_profile_open(
    path: *const u8,
    length: usize,
    step: Option<unsafe extern "C" fn(*const c_char)>,
    wish: *const Wish,
) -> Outcome {
    // SAFETY: the caller keeps to the above.
    let (path, stop) = unsafe { (std::slice::from_raw_parts(path, length), stop(wish)) };
    outcome(|| Profile::open(&path_of(path), &Listener { step, stop }))
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::new(&*String::from_utf8_lossy(bytes)))
}

/// Path, format, remarks and doubts of a profile, in JSON.
///
/// # Safety
/// The profile must not be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_profile_facts(profile: *const Profile) -> *mut c_char {
    // SAFETY: the caller keeps to the above.
    to_text(&unsafe { &*profile }.facts().to_string()).into_raw()
}

/// A table of a profile by its name.
///
/// # Safety
/// The profile must not be freed; the name is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_profile_table(profile: *const Profile, name: *const c_char) -> Outcome {
    // SAFETY: the caller keeps to the above.
    let (profile, name) = unsafe { (&*profile, text(name)) };
    outcome(|| profile.table(name).ok_or_else(|| Failure::Value(format!("there is no table {name}"))))
}

/// The answer to a question in JSON (`answer::Question`).
///
/// # Safety
/// The profile must not be freed; the question is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_profile_analyze(
    profile: *const Profile,
    question: *const c_char,
) -> Outcome {
    // SAFETY: the caller keeps to the above.
    let (profile, question) = unsafe { (&*profile, text(question)) };
    outcome(|| {
        let question = serde_json::from_str(question).map_err(|error| Failure::Value(error.to_string()))?;
        profile.analyze(&question)
    })
}

/// The answer of a statement in SQL.
///
/// # Safety
/// The profile and the wish must not be freed; the statement is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_profile_sql(
    profile: *const Profile,
    statement: *const c_char,
    wish: *const Wish,
) -> Outcome {
    // SAFETY: the caller keeps to the above.
    let (profile, statement, stop) = unsafe { (&*profile, text(statement), stop(wish)) };
    outcome(|| profile.sql(statement, &stop))
}

/// How many rows a table has, and the names of its columns, in JSON.
///
/// # Safety
/// The table must not be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_table_facts(table: *const Table) -> *mut c_char {
    // SAFETY: the caller keeps to the above.
    let columns = &unsafe { &*table }.columns;
    let names: Vec<&str> = columns.series.iter().map(|series| series.name.as_str()).collect();
    to_text(&json!({ "rows": columns.rows, "columns": names }).to_string()).into_raw()
}

/// The first rows of a table, for a notebook or a terminal.
///
/// # Safety
/// The table must not be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_table_text(table: *const Table, is_html: bool) -> *mut c_char {
    // SAFETY: the caller keeps to the above.
    let table = unsafe { &*table };
    to_text(&if is_html { table.html() } else { table.text() }).into_raw()
}

/// A table as a stream of Arrow's, for a capsule that ends with [`opscope_capsule_stream_free`].
///
/// # Safety
/// The table must not be freed before this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_table_stream(table: *const Table) -> *mut ArrowArrayStream {
    // SAFETY: the caller keeps to the above.
    handle(arrow::stream(Arc::clone(&unsafe { &*table }.columns)))
}

/// A table's type, for a capsule that ends with [`opscope_capsule_schema_free`].
///
/// # Safety
/// The table must not be freed before this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_table_schema(table: *const Table) -> *mut ArrowSchema {
    // SAFETY: the caller keeps to the above.
    handle(arrow::schema(&unsafe { &*table }.columns))
}

/// Python's own function for the address in a capsule.
type GetPointer = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

static GET_POINTER: OnceLock<GetPointer> = OnceLock::new();

/// Takes `PyCapsule_GetPointer`, which only the interpreter that loaded this library knows.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_capsules(get_pointer: GetPointer) {
    _ = GET_POINTER.set(get_pointer);
}

/// Frees what a capsule of a name leads to.
///
/// # Safety
/// The interpreter calls it with a capsule that is about to end, and that leads to a box of `T`.
unsafe fn free_within<T>(capsule: *mut c_void, name: &CStr) {
    let Some(get_pointer) = GET_POINTER.get() else { return };
    // SAFETY: the caller keeps to the above; the address is null where the name is another.
    unsafe {
        let content = get_pointer(capsule, name.as_ptr()).cast::<T>();
        if !content.is_null() {
            drop(Box::from_raw(content));
        }
    }
}

/// Ends a capsule with a stream.
///
/// # Safety
/// For the interpreter, as the end of such a capsule.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_capsule_stream_free(capsule: *mut c_void) {
    // SAFETY: the caller keeps to the above.
    unsafe { free_within::<ArrowArrayStream>(capsule, c"arrow_array_stream") };
}

/// Ends a capsule with a type.
///
/// # Safety
/// For the interpreter, as the end of such a capsule.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_capsule_schema_free(capsule: *mut c_void) {
    // SAFETY: the caller keeps to the above.
    unsafe { free_within::<ArrowSchema>(capsule, c"arrow_schema") };
}
