//! Settings of the C library's memory allocator.

/// Makes all threads allocate from one arena. Call it before the first thread starts.
///
/// glibc gives each thread an arena of its own and does not move free memory between arenas. What routing threads free would stay
/// resident without use: at 11,664 hosts 35 of 149 MB. Threads contend little for the one arena, because small blocks come from a cache of
/// the thread (malloc(3), mallopt(3)).
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "mallopt has no safe binding")]
pub fn use_one_arena() {
    // SAFETY: `mallopt` changes settings of the allocator only; no other thread exists yet.
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Other C libraries have no arenas to limit.
#[cfg(not(target_env = "gnu"))]
pub const fn use_one_arena() {}
