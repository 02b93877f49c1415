//! A panic ends the whole program at once: a subnet manager of which one thread is gone would look alive and not be.
//!
//! The exception is where a library is known to panic over the contents of a file instead of saying what is wrong with it
//! (`guarded`): there it is an error like any other. That is why the program is built to unwind.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// From now on a panic ends the program with SIGABRT, after its message; call it first.
pub fn end_the_program() {
    let tell = take_hook();
    set_hook(Box::new(move |panic| {
        if !GUARDED.get() {
            tell(panic);
            std::process::abort();
        }
    }));
}

/// A library panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Calls what may panic over what it reads. What it has touched must not be used after [`Panicked`], but to be dropped, guarded too.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, Panicked> {
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(before);
    result.map_err(|_| Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic, reason = "what is tested")]
    fn a_guarded_panic_is_an_error_and_guards_may_be_nested() {
        assert_eq!(guarded(|| 7), Ok(7));
        let inner_then_outer = guarded(|| {
            assert_eq!(guarded(|| panic!("a page is odd")), Err::<(), _>(Panicked));
            assert!(GUARDED.get(), "the outer one still holds");
        });
        assert_eq!(inner_then_outer, Ok(()));
        assert!(!GUARDED.get());
    }
}
