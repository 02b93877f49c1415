//! Settings of the C library's memory allocator.

/// Makes all threads allocate from one arena. Call it before the first thread starts.
///
/// By default glibc gives threads arenas of their own and does not move free memory between arenas.
/// Memory that routing threads free would stay resident and unused: 35 of 149 MB at 11,664 hosts.
/// Threads rarely contend for the one arena, because each has a cache of small blocks (malloc(3),
/// mallopt(3)).
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "mallopt has no safe binding")]
pub fn use_one_arena() {
    // SAFETY: `mallopt` takes no pointers, and no other thread exists yet.
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Other C libraries have no arenas to limit.
#[cfg(not(target_env = "gnu"))]
pub const fn use_one_arena() {}
