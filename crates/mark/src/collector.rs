//! Finding who collects, and following them: which session the process is in, and whether marks are
//! recorded now.

use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use opscope_recorder::control::{Control, OFF, UNKNOWN};
use opscope_recorder::environment;

use crate::recorder::{self, RECORDER};
use crate::session::{Changing, SESSION, Session};
use crate::waiting;

/// The switch of programs that nobody collects from.
static NOBODY: Control = Control::new(OFF);
/// The switch before anybody looked.
static UNDECIDED: Control = Control::new(UNKNOWN);

/// Whether there is a page to look at: not where it is known that nobody collects.
static WATCHED: AtomicBool = AtomicBool::new(true);
static CONTROL: AtomicPtr<Control> = AtomicPtr::new(ptr::from_ref(&UNDECIDED).cast_mut());
/// The number of the profile that the session belongs to.
static PROFILE: AtomicU32 = AtomicU32::new(OFF);

/// Whether marks are recorded now. The first call looks at the environment.
#[inline(always)]
pub fn is_on() -> bool {
    if !WATCHED.load(Ordering::Relaxed) {
        return false;
    }
    let switch = current_control().switch.load(Ordering::Relaxed);
    switch != OFF && (switch == PROFILE.load(Ordering::Relaxed) || look_for_collector())
}

/// Finds who collects, and begins a session of our own in a profile that is new.
#[cold]
fn look_for_collector() -> bool {
    let Some(_alone) = Changing::begin() else { return false };
    let mut control = current_control();
    if ptr::eq(control, &UNDECIDED) {
        control = Control::named().or_else(waiting::make_page).unwrap_or(&NOBODY);
        set_control(control);
    }
    let named = || environment::value(environment::MARK_DIRECTORY).map(PathBuf::from);
    let is_new = control.is_on() && control.profile() != PROFILE.load(Ordering::Relaxed);
    let directory = if is_new { control.directory().or_else(named) } else { None };
    if let Some(directory) = directory {
        recorder::finish();
        begin(Session { control, directory });
    }
    control.is_on() && control.profile() == PROFILE.load(Ordering::Relaxed)
}

#[inline(always)]
fn current_control() -> &'static Control {
    // SAFETY: it always points to a page that is never freed.
    unsafe { &*CONTROL.load(Ordering::Acquire) }
}

fn set_control(control: &'static Control) {
    // In this order a child that is forked between the two looks once too often, and never too seldom.
    let is_nobody = ptr::eq(control, &NOBODY);
    if !is_nobody {
        WATCHED.store(true, Ordering::Release);
    }
    CONTROL.store(ptr::from_ref(control).cast_mut(), Ordering::Release);
    if is_nobody {
        WATCHED.store(false, Ordering::Release);
    }
}

/// Sends all further records to a session. The one before is written out first.
pub(crate) fn open(session: Session) {
    let _alone = Changing::begin();
    end();
    begin(session);
}

fn begin(session: Session) {
    let control = session.control;
    recorder::watch_process();
    SESSION.replace(session);
    // Only now, so that whoever makes a new recorder makes it for this session.
    RECORDER.clear();
    PROFILE.store(control.profile(), Ordering::Release);
    set_control(control);
}

/// Ends the session: everything is written out, and nothing more is recorded.
pub(crate) fn close() {
    let _alone = Changing::begin();
    end();
}

fn end() {
    if let Some(session) = SESSION.get() {
        session.control.record(false);
    }
    recorder::finish();
    set_control(&NOBODY);
    PROFILE.store(OFF, Ordering::Release);
    RECORDER.clear();
    SESSION.clear();
}

/// Whether there is a collector, or was one; it decides when something is recorded.
pub(crate) fn has_collector() -> bool {
    is_on();
    let control = current_control();
    !ptr::eq(control, &NOBODY) && !ptr::eq(control, &UNDECIDED)
}

/// Looks for the collector as soon as the library is loaded, before there are several threads that
/// mark. One that is to come later then finds programs that have not marked anything yet.
extern "C" fn at_load() {
    if waiting::is_asked_for() || std::env::var_os(environment::CONTROL).is_some() {
        is_on();
    }
}

#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;
