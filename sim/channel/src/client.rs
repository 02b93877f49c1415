//! Client end of an opened umad file.
//!
//! Owned by the preloaded library and shared by the program's threads. Only [`ClientEnd::send`]
//! blocks, if the ring is full. Waiting for a message is split into steps, so that the library can
//! sleep in libc's own `poll`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::thread::futex;

use crate::layout::{
    ARMED, ChannelDirection, DOORBELL_PAGE_BYTES, FILE_BYTES, QUIET, SIGNALLED, server_sleeping,
    to_client, to_server,
};
use crate::memory::Mapping;
use crate::ring::MessageAssembly;
use crate::{ChannelError, ClientFds, CorruptMemory, MAX_MESSAGE, SpinWait, server_doorbell};

/// Interval at which a sender that waits for room checks whether the server is alive.
const ROOM_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Longest wait for a byte that the server is about to send. Only a stopped server takes so long.
const BYTE_WAIT: Timespec = ROOM_WAIT;

/// Lowest number for the library's file descriptors, to keep them out of the program's range.
const MIN_LIBRARY_FD: i32 = 700;

/// What to do with the first message, depending on its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageAction {
    /// Copy and remove it.
    Consume,
    /// Copy its first bytes and keep it.
    Peek(usize),
    Keep,
}

/// Result of [`ClientEnd::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOutcome {
    /// No message.
    Empty,
    /// The action on the first message, and the length of that message.
    Message(MessageAction, usize),
}

/// Client end of the two rings of an opened file.
///
/// # The wakeup byte
///
/// The word `wake` of the ring to the client has three states:
///
/// * ARMED: the server must send a byte with the next message, and sets `wake` to SIGNALLED.
/// * SIGNALLED: one byte is in the socket or about to be sent, so the descriptor is readable. The
///   client sets it for a message that was not announced, and requests the byte with `kick`; it may
///   withdraw the request until the server has taken it.
/// * QUIET: a client thread polls the ring; no byte, no system call.
///
/// Each transition from SIGNALLED to ARMED, which only the client makes, entitles the client to
/// read one byte from the socket; `owed` counts the bytes not yet read or withdrawn. So the number
/// of bytes sent and not read is `owed`, plus one if SIGNALLED. A byte is read only if the ring was
/// empty after `wake` became ARMED, so a byte that announces a waiting message is never read.
///
/// A file starts ARMED: the descriptor is readable exactly while a message is available, as `epoll`
/// and `select` require. Only a thread in [`ClientEnd::begin_wait`] sets QUIET, while no thread
/// sleeps in the kernel (`sleepers`), and never after [`ClientEnd::always_signal`].
#[derive(Debug)]
pub struct ClientEnd {
    mapping: Mapping,
    doorbell_page: Mapping,
    doorbell: OwnedFd,
    wake: OwnedFd,
    receive_state: Mutex<ReceiveState>,
    send_lock: Mutex<()>,
    /// A message reassembled from several frames waits outside of the ring.
    has_assembled: AtomicBool,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct ReceiveState {
    assembly: MessageAssembly,
    owed: u32,
    sleepers: u32,
    /// A thread called [`ClientEnd::begin_wait`]: stale bytes may remain in the socket until the
    /// next wait.
    has_waited: bool,
    quiet_disabled: bool,
}

fn move_out_of_range(fd: OwnedFd) -> OwnedFd {
    // Fails if the limit on open files is lower; the descriptor then keeps its number.
    rustix::io::fcntl_dupfd_cloexec(&fd, MIN_LIBRARY_FD).unwrap_or(fd)
}

impl ClientEnd {
    /// Creates the client end from the server's descriptors. Also returns the program's descriptor,
    /// which it may close or duplicate: this end has its own copy.
    ///
    /// # Errors
    ///
    /// [`ChannelError::System`] if the memory is invalid or no descriptor is available.
    pub fn new(fds: ClientFds) -> Result<(Self, OwnedFd), ChannelError> {
        let end = Self {
            mapping: Mapping::new(&fds.memory, FILE_BYTES)?,
            doorbell_page: Mapping::new(&fds.doorbell_page, DOORBELL_PAGE_BYTES)?,
            doorbell: move_out_of_range(fds.doorbell),
            wake: rustix::io::fcntl_dupfd_cloexec(&fds.wake, MIN_LIBRARY_FD)
                .or_else(|_| rustix::io::fcntl_dupfd_cloexec(&fds.wake, 3))?,
            receive_state: Mutex::default(),
            send_lock: Mutex::default(),
            has_assembled: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        };
        Ok((end, fds.wake))
    }

    /// The descriptor to poll.
    #[must_use]
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Whether the server was found dead or the memory corrupt. Earlier messages can still be
    /// received.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Checks whether the server has its end of the socket open, and remembers if not.
    pub fn check_alive(&self) -> bool {
        if !self.is_closed() {
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            match rustix::net::recv(&self.wake, &mut [0; 1], flags) {
                Ok((1.., _)) | Err(Errno::AGAIN | Errno::INTR) => {}
                Ok((0, _)) | Err(_) => self.closed.store(true, Ordering::Release),
            }
        }
        !self.is_closed()
    }

    /// Consumes, copies or keeps the first message, as `choose` decides by its length. Copies as
    /// many bytes as `buffer` has room for.
    ///
    /// # Errors
    ///
    /// [`ChannelError::CorruptMemory`].
    pub fn receive(
        &self,
        buffer: &mut [u8],
        choose: impl FnOnce(usize) -> MessageAction,
    ) -> Result<ReceiveOutcome, ChannelError> {
        let mut receive_state = self.receive_state();
        let direction = to_client(&self.mapping);
        receive_state
            .assembly
            .pull(&direction.ring, || self.notify_room(&direction))?;
        let result = if let Some(message) = receive_state.assembly.complete_message() {
            let action = choose(message.len());
            let len = copied_len(action, message.len()).min(buffer.len());
            buffer[..len].copy_from_slice(&message[..len]);
            let outcome = ReceiveOutcome::Message(action, message.len());
            if action == MessageAction::Consume {
                receive_state.assembly.pop();
            }
            self.has_assembled
                .store(receive_state.assembly.is_complete(), Ordering::Release);
            outcome
        } else if receive_state.assembly.is_partial() {
            ReceiveOutcome::Empty
        } else if let Some(frame) = direction.ring.front()? {
            let action = choose(frame.len);
            let len = copied_len(action, frame.len).min(buffer.len());
            direction.ring.copy(frame, &mut buffer[..len]);
            if action == MessageAction::Consume {
                direction.ring.release(frame);
                self.notify_room(&direction);
            }
            ReceiveOutcome::Message(action, frame.len)
        } else {
            ReceiveOutcome::Empty
        };
        if receive_state.quiet_disabled || !receive_state.has_waited {
            // The program may poll the descriptor itself.
            self.drain_stale_bytes(&mut receive_state);
        }
        Ok(result)
    }

    /// Sends a message made of `parts`; waits while the ring is full.
    ///
    /// # Errors
    ///
    /// [`ChannelError::Closed`] if the server is dead, [`ChannelError::TooLong`],
    /// [`ChannelError::CorruptMemory`].
    pub fn send(&self, parts: &[&[u8]]) -> Result<(), ChannelError> {
        let len = parts.iter().map(|part| part.len()).sum();
        if len > MAX_MESSAGE {
            return Err(ChannelError::TooLong(len));
        }
        if self.is_closed() {
            return Err(ChannelError::Closed);
        }
        let sleeping = server_sleeping(&self.doorbell_page);
        let direction = to_server(&self.mapping);
        let _one_writer = self
            .send_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut offset = 0;
        while !direction.ring.push(parts, &mut offset)? {
            direction.room_wanted.store(1, Ordering::SeqCst);
            server_doorbell::ring(sleeping, &self.doorbell);
            if direction.ring.push(parts, &mut offset)? {
                break;
            }
            // The second attempt may have written frames, so ring before sleeping.
            server_doorbell::ring(sleeping, &self.doorbell);
            match futex::wait(
                direction.room_wanted,
                futex::Flags::empty(),
                1,
                Some(&ROOM_WAIT),
            ) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::TIMEDOUT) if self.check_alive() => {}
                Err(Errno::TIMEDOUT) => return Err(ChannelError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
        server_doorbell::ring(sleeping, &self.doorbell);
        Ok(())
    }

    /// First step of waiting: returns true if a message is available. Otherwise the server need not
    /// send a byte until [`ClientEnd::before_sleep`].
    pub fn begin_wait(&self) -> bool {
        let mut receive_state = self.receive_state();
        if self.is_ready(&mut receive_state) {
            return true;
        }
        receive_state.has_waited = true;
        let direction = to_client(&self.mapping);
        if direction.wake.load(Ordering::Relaxed) != QUIET {
            self.drain_stale_bytes(&mut receive_state);
            if !receive_state.quiet_disabled && receive_state.sleepers == 0 {
                let _ = direction.wake.compare_exchange(
                    ARMED,
                    QUIET,
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                );
            }
        }
        false
    }

    /// Second step: polls the ring for a while; returns true if a message is available.
    pub fn spin(&self, spin: SpinWait) -> bool {
        spin.until(|| self.is_closed() || (self.may_have_message() && self.has_message()))
    }

    /// Whether a complete message is available.
    pub fn has_message(&self) -> bool {
        let mut receive_state = self.receive_state();
        self.is_ready(&mut receive_state)
    }

    /// Last step before sleeping in the kernel on [`ClientEnd::wake_fd`] or a copy of it: the
    /// server sends a byte with the next message. Returns true if a message is already available;
    /// then do not sleep, and do not call [`ClientEnd::after_sleep`].
    pub fn before_sleep(&self) -> bool {
        let mut receive_state = self.receive_state();
        let direction = to_client(&self.mapping);
        arm(&direction);
        self.drain_stale_bytes(&mut receive_state);
        if self.is_ready(&mut receive_state) {
            return true;
        }
        receive_state.sleepers += 1;
        false
    }

    /// Must be called after the sleep. If the thread is cancelled before, the file never becomes
    /// QUIET again, which only costs speed.
    pub fn after_sleep(&self) {
        let mut receive_state = self.receive_state();
        receive_state.sleepers = receive_state.sleepers.saturating_sub(1);
    }

    /// From this call on, the descriptor is readable exactly while a message is available, for
    /// programs that poll it in ways that the library does not intercept.
    pub fn always_signal(&self) {
        let mut receive_state = self.receive_state();
        if std::mem::replace(&mut receive_state.quiet_disabled, true) {
            return;
        }
        let direction = to_client(&self.mapping);
        arm(&direction);
        self.drain_stale_bytes(&mut receive_state);
        if self.is_ready(&mut receive_state)
            && receive_state.owed == 0
            && direction
                .wake
                .compare_exchange(ARMED, SIGNALLED, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        {
            // A message sent in the state QUIET was not announced: request its byte.
            direction.kick.store(1, Ordering::SeqCst);
            server_doorbell::ring(server_sleeping(&self.doorbell_page), &self.doorbell);
        }
    }

    /// Waits for a message with all steps and the kernel's `poll`. Returns false on timeout or if
    /// the server is dead.
    ///
    /// # Errors
    ///
    /// [`ChannelError::System`], except for EINTR, which ends the wait.
    pub fn wait(&self, spin: SpinWait, timeout: Option<&Timespec>) -> Result<bool, ChannelError> {
        if self.begin_wait() || self.spin(spin) || self.before_sleep() {
            return Ok(self.has_message());
        }
        let mut fds = [PollFd::new(&self.wake, PollFlags::IN)];
        let polled = rustix::event::poll(&mut fds, timeout);
        self.after_sleep();
        match polled {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds[0].revents().contains(PollFlags::HUP) {
            self.check_alive();
        }
        Ok(self.has_message())
    }

    fn receive_state(&self) -> MutexGuard<'_, ReceiveState> {
        self.receive_state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Without the lock: whether a message may wait.
    fn may_have_message(&self) -> bool {
        self.has_assembled.load(Ordering::Acquire) || !to_client(&self.mapping).ring.is_empty()
    }

    /// Wakes the server if it waits for room in the ring to the client.
    fn notify_room(&self, direction: &ChannelDirection<'_>) {
        fence(Ordering::SeqCst);
        if direction.room_wanted.load(Ordering::Relaxed) != 0 {
            direction.room_wanted.store(0, Ordering::SeqCst);
            server_doorbell::ring(server_sleeping(&self.doorbell_page), &self.doorbell);
        }
    }

    /// Whether a complete message is available. Moves frames of a long message out of the ring to
    /// make room.
    fn is_ready(&self, receive_state: &mut ReceiveState) -> bool {
        let direction = to_client(&self.mapping);
        let ready: Result<bool, CorruptMemory> = receive_state
            .assembly
            .pull(&direction.ring, || self.notify_room(&direction))
            .and_then(|complete| {
                let partial = receive_state.assembly.is_partial();
                Ok(complete || (!partial && direction.ring.front()?.is_some()))
            });
        self.has_assembled
            .store(receive_state.assembly.is_complete(), Ordering::Release);
        // A corrupt ring counts as ready: the following read returns the error.
        ready.unwrap_or(true)
    }

    /// Reads bytes from the socket that announce no message.
    fn drain_stale_bytes(&self, receive_state: &mut ReceiveState) {
        if self.is_ready(receive_state) {
            return;
        }
        let wake = to_client(&self.mapping).wake;
        if wake.load(Ordering::Relaxed) == SIGNALLED
            && wake
                .compare_exchange(SIGNALLED, ARMED, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        {
            receive_state.owed += 1;
        }
        if receive_state.owed == 0 {
            return;
        }
        fence(Ordering::SeqCst);
        if self.is_ready(receive_state) {
            return;
        }
        while receive_state.owed > 0 {
            match rustix::net::recv(&self.wake, &mut [0; 1], RecvFlags::DONTWAIT) {
                Ok((1.., _)) => receive_state.owed -= 1,
                Err(Errno::INTR) => {}
                // The server has not sent the byte that was requested; it does not send it any
                // more.
                Err(Errno::AGAIN)
                    if to_client(&self.mapping).kick.swap(0, Ordering::SeqCst) != 0 =>
                {
                    receive_state.owed -= 1;
                }
                // The server is about to send it. Read later, it would make the descriptor readable
                // without a message.
                Err(Errno::AGAIN) => {
                    let mut fds = [PollFd::new(&self.wake, PollFlags::IN)];
                    match rustix::event::poll(&mut fds, Some(&BYTE_WAIT)) {
                        Ok(1..) | Err(Errno::INTR) => {}
                        Ok(0) | Err(_) => return,
                    }
                }
                Ok((0, _)) | Err(_) => {
                    self.closed.store(true, Ordering::Release);
                    return;
                }
            }
        }
    }
}

/// Changes QUIET to ARMED. Messages already in the ring may not be announced; later ones are.
fn arm(direction: &ChannelDirection<'_>) {
    // In any other state the server already sends bytes.
    let _ = direction
        .wake
        .compare_exchange(QUIET, ARMED, Ordering::SeqCst, Ordering::SeqCst);
    fence(Ordering::SeqCst);
}

fn copied_len(action: MessageAction, len: usize) -> usize {
    match action {
        MessageAction::Consume => len,
        MessageAction::Peek(first) => first.min(len),
        MessageAction::Keep => 0,
    }
}
