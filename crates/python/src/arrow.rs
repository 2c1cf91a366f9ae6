//! Tables by Arrow's C interfaces: a stream of one batch, whose buffers are the columns where they lie.
//!
//! The structures and their rules are those of the Arrow project's pages "The Arrow C data interface" and "The
//! Arrow C stream interface". Numbers are `l` (64 bits with a sign), `L`, `I` (32 bits), `g` (double); truths
//! `b`, a bit each; words a dictionary of `U` (text with ends of 64 bits) with indices of 32 bits (`i`).

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use crate::table::{Columns, Series, Values};

/// Says that a column may have rows without a value.
const NULLABLE: i64 = 2;

/// The type of a column, or of a whole table.
#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// The buffers of a column, or the columns of a table.
#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// Batches of one type, one after another.
#[repr(C)]
pub struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: what the pointers lead to belongs to the structure alone, or is shared and never changed.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowArrayStream {}

/// A structure that goes as its own `release` says, unless somebody else took it over, who then emptied that.
macro_rules! released_on_drop {
    ($structure:ident) => {
        impl Drop for $structure {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: it is whole, and released once: `release` empties its own field.
                    unsafe { release(self) };
                }
            }
        }
    };
}

released_on_drop!(ArrowSchema);
released_on_drop!(ArrowArray);
released_on_drop!(ArrowArrayStream);

/// Structures that another one points to, and that go with it.
struct Below<T>(Vec<*mut T>);

impl<T> Below<T> {
    fn of(structures: impl IntoIterator<Item = T>) -> Self {
        Self(structures.into_iter().map(|it| Box::into_raw(Box::new(it))).collect())
    }

    fn only(&self) -> *mut T {
        self.0.first().copied().unwrap_or(ptr::null_mut())
    }
}

impl<T> Drop for Below<T> {
    fn drop(&mut self) {
        // SAFETY: each came from a box, and nobody else frees it.
        self.0.drain(..).for_each(|it| drop(unsafe { Box::from_raw(it) }));
    }
}

/// The memory to which the pointers of a type lead.
struct KeptSchema {
    format: CString,
    name: CString,
    children: Below<ArrowSchema>,
    dictionary: Below<ArrowSchema>,
}

impl ArrowSchema {
    fn new(format: &str, name: &str, children: Vec<Self>, dictionary: Option<Self>) -> Self {
        // A name with a zero in it has no form in C.
        let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
        let mut kept = Box::new(KeptSchema {
            format: text(format),
            name: text(name),
            children: Below::of(children),
            dictionary: Below::of(dictionary),
        });
        Self {
            format: kept.format.as_ptr(),
            name: kept.name.as_ptr(),
            metadata: ptr::null(),
            flags: NULLABLE,
            n_children: kept.children.0.len() as i64,
            children: kept.children.0.as_mut_ptr(),
            dictionary: kept.dictionary.only(),
            release: Some(release_schema),
            private_data: Box::into_raw(kept).cast(),
        }
    }
}

/// Frees what a type points to.
///
/// # Safety
/// It must be one that [`ArrowSchema::new`] made, and not be released yet.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the caller keeps to the above.
    unsafe {
        drop(Box::from_raw((*schema).private_data.cast::<KeptSchema>()));
        (*schema).release = None;
    }
}

/// The memory to which the pointers of an array lead; the table, whose columns are the buffers, among it.
struct KeptArray {
    buffers: Vec<*const c_void>,
    children: Below<ArrowArray>,
    dictionary: Below<ArrowArray>,
    _table: Arc<Columns>,
}

impl ArrowArray {
    fn new(
        table: &Arc<Columns>,
        (length, nulls): (usize, usize),
        buffers: Vec<*const c_void>,
        children: Vec<Self>,
        dictionary: Option<Self>,
    ) -> Self {
        let mut kept = Box::new(KeptArray {
            buffers,
            children: Below::of(children),
            dictionary: Below::of(dictionary),
            _table: Arc::clone(table),
        });
        Self {
            length: length as i64,
            null_count: nulls as i64,
            offset: 0,
            n_buffers: kept.buffers.len() as i64,
            n_children: kept.children.0.len() as i64,
            buffers: kept.buffers.as_mut_ptr(),
            children: kept.children.0.as_mut_ptr(),
            dictionary: kept.dictionary.only(),
            release: Some(release_array),
            private_data: Box::into_raw(kept).cast(),
        }
    }
}

/// Frees what an array points to.
///
/// # Safety
/// It must be one that [`ArrowArray::new`] made, and not be released yet.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the caller keeps to the above.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<KeptArray>()));
        (*array).release = None;
    }
}

/// The type of a table: a structure of its columns.
pub fn schema(table: &Columns) -> ArrowSchema {
    ArrowSchema::new("+s", "", table.series.iter().map(schema_of).collect(), None)
}

fn schema_of(series: &Series) -> ArrowSchema {
    let (format, dictionary) = match &series.values {
        Values::Times(_) | Values::Integers(_) => ("l", None),
        Values::Counts(_) => ("L", None),
        Values::Numbers(_) => ("I", None),
        Values::Doubles(_) => ("g", None),
        Values::Truths(_) => ("b", None),
        Values::Words(_) => ("i", Some(ArrowSchema::new("U", "", Vec::new(), None))),
    };
    ArrowSchema::new(format, &series.name, Vec::new(), dictionary)
}

fn batch(table: &Arc<Columns>) -> ArrowArray {
    let children = table.series.iter().map(|series| array_of(table, series)).collect();
    ArrowArray::new(table, (table.rows, 0), vec![ptr::null()], children, None)
}

fn array_of(table: &Arc<Columns>, series: &Series) -> ArrowArray {
    let mut dictionary = None;
    let values: *const c_void = match &series.values {
        // Nanoseconds are a number of 64 bits, and laid out as one.
        Values::Times(values) => values.as_ptr().cast(),
        Values::Integers(values) => values.as_ptr().cast(),
        Values::Counts(values) => values.as_ptr().cast(),
        Values::Numbers(values) => values.as_ptr().cast(),
        Values::Doubles(values) => values.as_ptr().cast(),
        Values::Truths(bits) => bits.bytes.as_ptr().cast(),
        Values::Words(words) => {
            let buffers = vec![ptr::null(), words.ends.as_ptr().cast(), words.text.as_ptr().cast()];
            dictionary = Some(ArrowArray::new(table, (words.ends.len() - 1, 0), buffers, Vec::new(), None));
            words.indices.as_ptr().cast()
        }
    };
    let known = series.known.as_ref();
    let (known, nulls) = known.map_or((ptr::null(), 0), |known| (known.bytes.as_ptr().cast(), known.zeros));
    ArrowArray::new(table, (table.rows, nulls), vec![known, values], Vec::new(), dictionary)
}

/// The stream of a table's only batch.
pub fn stream(table: Arc<Columns>) -> ArrowArrayStream {
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(KeptStream { table, is_over: false })).cast(),
    }
}

/// A stream's table, and whether it was handed out.
struct KeptStream {
    table: Arc<Columns>,
    is_over: bool,
}

/// Writes the type of the batch; tells 0, because that always can be done.
///
/// # Safety
/// The stream must be one of [`stream`] that isn't released, and `out` a place for a type.
unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the caller keeps to the above; nothing is read from `out`.
    unsafe {
        let kept = &*(*stream).private_data.cast::<KeptStream>();
        out.write(schema(&kept.table));
    }
    0
}

/// Writes the batch, then one that is released, which ends the stream; tells 0.
///
/// # Safety
/// The stream must be one of [`stream`] that isn't released, and `out` a place for an array.
unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: the caller keeps to the above; nothing is read from `out`, and an array of zeros is a released one.
    unsafe {
        let kept = &mut *(*stream).private_data.cast::<KeptStream>();
        match std::mem::replace(&mut kept.is_over, true) {
            true => ptr::write_bytes(out, 0, 1),
            false => out.write(batch(&kept.table)),
        }
    }
    0
}

/// There is never an error to tell.
///
/// # Safety
/// None is needed.
unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

/// Frees what a stream points to; its batches keep the table by themselves.
///
/// # Safety
/// It must be one of [`stream`], and not be released yet.
unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: the caller keeps to the above.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<KeptStream>()));
        (*stream).release = None;
    }
}
