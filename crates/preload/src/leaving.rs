//! The ways in which a process is gone without having ended: it becomes another program, stops
//! without calling the handlers for its end, or sends itself a signal that ends it, as Python does
//! after Ctrl-C. Libraries write before that whatever they still have to write.
//!
//! Some of the first functions take any number of arguments, which Rust can't define. So those are
//! a few instructions that keep the arguments where they are, ask for the real function, and go on
//! there.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use opscope_recorder::leaving::{Farewell, PLACES, Table};
use opscope_recorder::real::Real;

/// The functions that are called before, entered by those who have something to write.
#[unsafe(no_mangle)]
pub static OPSCOPE_BEFORE_LEAVING: Table = [const { AtomicPtr::new(std::ptr::null_mut()) }; PLACES];

/// The functions, in the order of their numbers.
static REAL: [Real; 12] = [
    Real::new("execve\0"),
    Real::new("execv\0"),
    Real::new("execvp\0"),
    Real::new("execvpe\0"),
    Real::new("execl\0"),
    Real::new("execlp\0"),
    Real::new("execle\0"),
    Real::new("fexecve\0"),
    Real::new("execveat\0"),
    Real::new("_exit\0"),
    Real::new("_Exit\0"),
    Real::new("abort\0"),
];

/// From this number on, functions end the process.
const FIRST_EXIT: usize = 9;

/// Looked up early: where a process is about to be gone, asking the loader may not be safe any more.
extern "C" fn at_load() {
    for real in &REAL {
        real.find();
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

/// Says goodbye, and answers where the real function is.
extern "C" fn leave(number: usize) -> usize {
    say_goodbye();
    match REAL.get(number).and_then(Real::find) {
        Some(real) => real as usize,
        None if number >= FIRST_EXIT => exit_without_library as *const () as usize,
        None => refuse as *const () as usize,
    }
}

fn say_goodbye() {
    crate::ascendcl::leave();
    for place in &OPSCOPE_BEFORE_LEAVING {
        let farewell = place.load(Ordering::Acquire);
        if !farewell.is_null() {
            // SAFETY: only functions of this type are entered, by libraries that are never unloaded.
            unsafe { std::mem::transmute::<*mut c_void, Farewell>(farewell)() };
        }
    }
}

/// Whether a signal ends this process.
fn is_the_end(signal: c_int) -> bool {
    const HARMLESS: [c_int; 8] = [
        libc::SIGCHLD,
        libc::SIGURG,
        libc::SIGWINCH,
        libc::SIGCONT,
        libc::SIGSTOP,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ];
    if signal <= 0 || HARMLESS.contains(&signal) {
        return false;
    }
    // SAFETY: an all-zero action is valid, and is filled in by the call.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is changed, and the place for the answer is valid.
    let is_known = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) } == 0;
    is_known && (signal == libc::SIGKILL || action.sa_sigaction == libc::SIG_DFL)
}

/// Stands before the system's function of this name.
///
/// # Safety
/// As the real one's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kill(process: libc::pid_t, signal: c_int) -> c_int {
    // SAFETY: the call has no preconditions.
    if process == unsafe { libc::getpid() } && is_the_end(signal) {
        say_goodbye();
    }
    // SAFETY: as the caller's. The system's function does nothing else.
    unsafe { libc::syscall(libc::SYS_kill, process, signal) as c_int }
}

/// Stands before the system's function of this name.
///
/// # Safety
/// As the real one's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn raise(signal: c_int) -> c_int {
    if is_the_end(signal) {
        say_goodbye();
    }
    // SAFETY: as the caller's. This is what the system's function does.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), signal) as c_int
    }
}

/// Stands in for a function that the system doesn't have.
extern "C" fn refuse() -> c_int {
    // SAFETY: the place of the calling thread's error.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

extern "C" fn exit_without_library(status: c_int) {
    // SAFETY: ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
}

macro_rules! stand_before {
    ($($number:literal $function:ident)+) => {$(
        /// Stands before the system's function of this name.
        ///
        /// # Safety
        /// As the real one's.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                // An odd number of them, so that the stack is aligned as calls need it.
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "mov edi, {number}",
                "call {leave}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                number = const $number,
                leave = sym leave,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "mov x0, #{number}",
                "bl {leave}",
                "mov x16, x0",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "br x16",
                number = const $number,
                leave = sym leave,
            );
        }
    )+};
}

stand_before! {
    0 execve
    1 execv
    2 execvp
    3 execvpe
    4 execl
    5 execlp
    6 execle
    7 fexecve
    8 execveat
    9 _exit
    10 _Exit
    11 abort
}
