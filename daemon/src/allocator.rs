//! The C library's memory allocator: settings, and free memory that it keeps.

/// Memory that became resident since free memory was returned last, from which on it is returned
/// again. What the SM frees between is used again soon.
const GROWTH_MIN: u64 = 8 << 20;

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

/// Returns free memory to the operating system.
///
/// A sweep of 11,664 hosts frees up to 60 MiB, between blocks that stay in use, so that glibc keeps
/// it resident until the next sweep.
#[derive(Debug, Default)]
pub struct FreeMemory {
    /// Resident bytes after free memory was returned last.
    resident_after: u64,
}

impl FreeMemory {
    /// Returns free memory if the process has grown since the last time. Threads that allocate wait
    /// meanwhile.
    pub fn give_back(&mut self) {
        let Some(resident) = resident_bytes() else {
            return;
        };
        if resident >= self.resident_after + GROWTH_MIN {
            trim();
            self.resident_after = resident_bytes().unwrap_or(resident);
        }
    }
}

/// Resident memory of this process; `None` if the kernel does not report it.
fn resident_bytes() -> Option<u64> {
    // proc(5), /proc/pid/statm: size, resident, ..., in pages.
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    pages.checked_mul(u64::try_from(rustix::param::page_size()).ok()?)
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "malloc_trim has no safe binding")]
fn trim() {
    // SAFETY: `malloc_trim` takes no pointers; glibc serializes it with the threads that allocate.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Other C libraries have no such function.
#[cfg(not(target_env = "gnu"))]
const fn trim() {}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    /// Memory that is freed between blocks in use does not stay resident.
    #[test]
    fn free_memory_between_blocks_in_use_is_given_back() {
        const BLOCK: usize = 16 << 10;
        let mut blocks: Vec<Option<Vec<u8>>> = (0..4096).map(|_| Some(vec![1; BLOCK])).collect();
        for (i, block) in blocks.iter_mut().enumerate() {
            if i % 16 != 0 {
                *block = None;
            }
        }
        let before = resident_bytes().unwrap();
        FreeMemory::default().give_back();
        let after = resident_bytes().unwrap();
        assert!(after + (20 << 20) < before, "{before} {after}");
        assert!(
            blocks[16]
                .as_ref()
                .is_some_and(|block| block[BLOCK - 1] == 1)
        );
    }
}
