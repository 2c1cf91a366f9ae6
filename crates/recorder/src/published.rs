//! Values that are made once for a process, or for a session of it, and then never freed: other
//! threads and signal handlers may still look at one that was replaced.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A place for such a value, empty at first.
#[derive(Debug)]
pub struct Published<T: 'static>(AtomicPtr<T>);

impl<T: Sync> Published<T> {
    /// A place with nothing in it.
    pub const fn nothing() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value that stands here now.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or from `Box::into_raw` and never freed. Threads share it, which `T` allows.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Whether `value` is the one that stands here now.
    #[inline(always)]
    pub fn is(&self, value: &T) -> bool {
        ptr::eq(self.0.load(Ordering::Acquire), value)
    }

    /// Puts a value here.
    pub fn replace(&self, value: T) {
        self.0.store(Box::into_raw(Box::new(value)), Ordering::Release);
    }

    /// Puts a value here, if there is none.
    ///
    /// # Errors
    /// With the other thread's value, if that was there first.
    pub fn begin(&self, value: T) -> Result<&'static T, &'static T> {
        let ours = Box::into_raw(Box::new(value));
        match self.0.compare_exchange(ptr::null_mut(), ours, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: it was just made and is never freed.
            Ok(_) => Ok(unsafe { &*ours }),
            Err(theirs) => {
                // SAFETY: nobody else has seen ours; theirs is not null and never freed.
                unsafe {
                    drop(Box::from_raw(ours));
                    Err(&*theirs)
                }
            }
        }
    }

    /// Leaves the place empty.
    pub fn clear(&self) {
        self.0.store(ptr::null_mut(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_stays_until_it_is_replaced_and_then_still_can_be_read() {
        static PLACE: Published<u32> = Published::nothing();
        assert_eq!(PLACE.get(), None);
        let first = PLACE.begin(1).expect("an empty place");
        assert_eq!(PLACE.begin(2), Err(&1));
        assert!(PLACE.is(first));
        PLACE.replace(3);
        assert_eq!((PLACE.get(), PLACE.is(first), *first), (Some(&3), false, 1));
        PLACE.clear();
        assert_eq!(PLACE.get(), None);
    }
}
