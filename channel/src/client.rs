//! The program's end of one opened umad file.
//!
//! Owned by the preloaded library, shared by the program's threads. Blocks only in [`ClientEnd::send`], when the ring is full;
//! waiting for a message is split into steps, so that the library can sleep in the libc's own `poll`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::thread::futex;

use crate::layout::{
    ARMED, Direction, FILE_BYTES, HUB_BYTES, QUIET, SIGNALLED, server_sleeping, to_client,
    to_server,
};
use crate::memory::Mapping;
use crate::ring::Assembly;
use crate::{ChannelError, ClientFds, CorruptMemory, MAX_MESSAGE, SpinWait, hub};

/// How long a writer waits for room before it asks whether the server still lives.
const ROOM_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// The lowest number for file descriptors that the program shall not stumble over.
const OUT_OF_THE_WAY: i32 = 700;

/// What to do with the message at the head of the queue, told its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageAction {
    /// Copy it and take it off the queue.
    Consume,
    /// Copy its first bytes and leave it there.
    Peek(usize),
    /// Leave it there.
    Keep,
}

/// What [`ClientEnd::receive`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOutcome {
    /// No message waits.
    Empty,
    /// A message of this length was first, and this was done with it.
    Message(MessageAction, usize),
}

/// Program's end of the two rings of an opened file.
///
/// # The wakeup byte
///
/// The word `wake` of the ring to the client has three states:
///
/// * ARMED: the server must send a byte with the next message. `wake` becomes SIGNALLED.
/// * SIGNALLED: one byte is in the socket or on its way, so the descriptor is readable.
/// * QUIET: some thread of ours is looking at the ring by itself; no byte, no system call.
///
/// Each step SIGNALLED to ARMED, which only the client makes, entitles it to take one byte out of the socket;
/// `owed` counts those not yet taken. So the bytes in the socket (and under way) are always `owed` plus one if
/// SIGNALLED, and none is taken that announces a message that still waits: bytes are taken only if the ring was
/// seen empty after `wake` had become ARMED.
///
/// A file begins ARMED: the descriptor is readable exactly when something waits, which is what `epoll` and `select`
/// need. QUIET is entered only by a thread that waits with [`ClientEnd::begin`], and not while any thread sleeps in the
/// kernel (`sleepers`), nor ever again after [`ClientEnd::exact`].
#[derive(Debug)]
pub struct ClientEnd {
    mapping: Mapping,
    hub: Mapping,
    doorbell: OwnedFd,
    wake: OwnedFd,
    inward: Mutex<Inward>,
    outward: Mutex<()>,
    /// A message that was put together from pieces waits outside the ring.
    whole: AtomicBool,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Inward {
    assembly: Assembly,
    owed: u32,
    sleepers: u32,
    /// Someone waited by [`ClientEnd::begin`]: stale bytes may stay in the socket until the next wait.
    polled: bool,
    exact: bool,
}

fn moved_away(fd: OwnedFd) -> OwnedFd {
    // Refused if the limit on open files is lower: then it stays where it is.
    rustix::io::fcntl_dupfd_cloexec(&fd, OUT_OF_THE_WAY).unwrap_or(fd)
}

impl ClientEnd {
    /// From what the server passed. Also gives the descriptor for the program: it may close or duplicate it as it likes,
    /// this end has its own copy.
    ///
    /// # Errors
    ///
    /// [`ChannelError::System`] if the memory is not as agreed or no descriptor is left.
    pub fn new(fds: ClientFds) -> Result<(Self, OwnedFd), ChannelError> {
        let end = Self {
            mapping: Mapping::new(&fds.memory, FILE_BYTES)?,
            hub: Mapping::new(&fds.hub, HUB_BYTES)?,
            doorbell: moved_away(fds.doorbell),
            wake: rustix::io::fcntl_dupfd_cloexec(&fds.wake, OUT_OF_THE_WAY)
                .or_else(|_| rustix::io::fcntl_dupfd_cloexec(&fds.wake, 3))?,
            inward: Mutex::default(),
            outward: Mutex::default(),
            whole: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        };
        Ok((end, fds.wake))
    }

    /// The descriptor to sleep on.
    #[must_use]
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Whether the server was found dead or corrupt. What it sent before can still be received.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Asks the kernel whether the server still holds its end; remembers a no.
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

    /// Takes, copies or leaves the first message: `judge` says which, told its length. `buffer` takes as many bytes as it
    /// has room for.
    ///
    /// # Errors
    ///
    /// [`ChannelError::CorruptMemory`].
    pub fn receive(
        &self,
        buffer: &mut [u8],
        judge: impl FnOnce(usize) -> MessageAction,
    ) -> Result<ReceiveOutcome, ChannelError> {
        let mut inward = self.inward();
        let direction = to_client(&self.mapping);
        inward
            .assembly
            .pull(&direction.ring, || self.freed(&direction))?;
        let result = if let Some(message) = inward.assembly.whole() {
            let take = judge(message.len());
            let len = wanted(take, message.len()).min(buffer.len());
            buffer[..len].copy_from_slice(&message[..len]);
            let done = ReceiveOutcome::Message(take, message.len());
            if take == MessageAction::Consume {
                inward.assembly.pop();
            }
            self.whole
                .store(inward.assembly.is_whole(), Ordering::Release);
            done
        } else if inward.assembly.is_partial() {
            ReceiveOutcome::Empty
        } else if let Some(frame) = direction.ring.front()? {
            let take = judge(frame.len);
            let len = wanted(take, frame.len).min(buffer.len());
            direction.ring.copy(frame, &mut buffer[..len]);
            if take == MessageAction::Consume {
                direction.ring.release(frame);
                self.freed(&direction);
            }
            ReceiveOutcome::Message(take, frame.len)
        } else {
            ReceiveOutcome::Empty
        };
        if inward.exact || !inward.polled {
            // Somebody may look at the descriptor itself.
            self.settle(&mut inward);
        }
        Ok(result)
    }

    /// Sends the message made of `parts`; waits if the ring is full.
    ///
    /// # Errors
    ///
    /// [`ChannelError::Closed`] if the server is gone, [`ChannelError::TooLong`], [`ChannelError::CorruptMemory`].
    pub fn send(&self, parts: &[&[u8]]) -> Result<(), ChannelError> {
        let len = parts.iter().map(|part| part.len()).sum();
        if len > MAX_MESSAGE {
            return Err(ChannelError::TooLong(len));
        }
        if self.is_closed() {
            return Err(ChannelError::Closed);
        }
        let sleeping = server_sleeping(&self.hub);
        let direction = to_server(&self.mapping);
        let _one_writer = self.outward.lock().unwrap_or_else(PoisonError::into_inner);
        let mut offset = 0;
        while !direction.ring.push(parts, &mut offset)? {
            direction.room_wanted.store(1, Ordering::SeqCst);
            hub::ring(sleeping, &self.doorbell);
            if direction.ring.push(parts, &mut offset)? {
                break;
            }
            // What was put in by this second look is announced here, before sleeping.
            hub::ring(sleeping, &self.doorbell);
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
        hub::ring(sleeping, &self.doorbell);
        Ok(())
    }

    /// First step of waiting: true if a message waits. If not, the server need not send a byte until
    /// [`ClientEnd::before_sleep`].
    pub fn begin(&self) -> bool {
        let mut inward = self.inward();
        if self.is_ready(&mut inward) {
            return true;
        }
        inward.polled = true;
        let direction = to_client(&self.mapping);
        if direction.wake.load(Ordering::Relaxed) != QUIET {
            self.settle(&mut inward);
            if !inward.exact && inward.sleepers == 0 {
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

    /// Second step: looks for a while; true if a message waits.
    pub fn spin(&self, spin: SpinWait) -> bool {
        spin.until(|| self.is_closed() || (self.hint() && self.look()))
    }

    /// Whether a whole message waits now.
    pub fn look(&self) -> bool {
        let mut inward = self.inward();
        self.is_ready(&mut inward)
    }

    /// Last step before sleeping in the kernel on [`ClientEnd::wake_fd`] or a copy of it: from now on a byte comes with
    /// the next message. True if a message waits already: do not sleep, and do not call [`ClientEnd::after_sleep`].
    pub fn before_sleep(&self) -> bool {
        let mut inward = self.inward();
        let direction = to_client(&self.mapping);
        arm(&direction);
        self.settle(&mut inward);
        if self.is_ready(&mut inward) {
            return true;
        }
        inward.sleepers += 1;
        false
    }

    /// After the sleep. If a thread is cancelled in between, the file stays without QUIET, which is only slower.
    pub fn after_sleep(&self) {
        let mut inward = self.inward();
        inward.sleepers = inward.sleepers.saturating_sub(1);
    }

    /// From now on the descriptor itself is always right, for programs that wait for it in ways that nobody sees.
    pub fn exact(&self) {
        let mut inward = self.inward();
        if std::mem::replace(&mut inward.exact, true) {
            return;
        }
        let direction = to_client(&self.mapping);
        arm(&direction);
        self.settle(&mut inward);
        if self.is_ready(&mut inward) && inward.owed == 0 {
            // What came while we were QUIET was perhaps not announced. If it was, the server does nothing.
            direction.kick.store(1, Ordering::SeqCst);
            hub::ring(server_sleeping(&self.hub), &self.doorbell);
        }
    }

    /// Waits for a message: all steps, with the kernel's `poll`. False: the time is over, or the server is gone.
    ///
    /// # Errors
    ///
    /// [`ChannelError::System`], besides interruption, which ends the wait.
    pub fn wait(&self, spin: SpinWait, timeout: Option<&Timespec>) -> Result<bool, ChannelError> {
        if self.begin() || self.spin(spin) || self.before_sleep() {
            return Ok(self.look());
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
        Ok(self.look())
    }

    fn inward(&self) -> MutexGuard<'_, Inward> {
        self.inward.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without the lock: whether it is worth to look.
    fn hint(&self) -> bool {
        self.whole.load(Ordering::Acquire) || !to_client(&self.mapping).ring.is_empty()
    }

    /// Room was made in the ring to us.
    fn freed(&self, direction: &Direction<'_>) {
        fence(Ordering::SeqCst);
        if direction.room_wanted.load(Ordering::Relaxed) != 0 {
            direction.room_wanted.store(0, Ordering::SeqCst);
            hub::ring(server_sleeping(&self.hub), &self.doorbell);
        }
    }

    /// Whether a whole message waits. Pieces of a long one are moved out of the ring, to make room for the others.
    fn is_ready(&self, inward: &mut Inward) -> bool {
        let direction = to_client(&self.mapping);
        let looked: Result<bool, CorruptMemory> = inward
            .assembly
            .pull(&direction.ring, || self.freed(&direction))
            .and_then(|whole| {
                let partial = inward.assembly.is_partial();
                Ok(whole || (!partial && direction.ring.front()?.is_some()))
            });
        self.whole
            .store(inward.assembly.is_whole(), Ordering::Release);
        // A corrupt ring counts as ready: the read that follows tells the program.
        looked.unwrap_or(true)
    }

    /// Takes bytes out of the socket that announce nothing any more.
    fn settle(&self, inward: &mut Inward) {
        if self.is_ready(inward) {
            return;
        }
        let wake = to_client(&self.mapping).wake;
        if wake.load(Ordering::Relaxed) == SIGNALLED
            && wake
                .compare_exchange(SIGNALLED, ARMED, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        {
            inward.owed += 1;
        }
        if inward.owed == 0 {
            return;
        }
        fence(Ordering::SeqCst);
        if self.is_ready(inward) {
            return;
        }
        while inward.owed > 0 {
            match rustix::net::recv(&self.wake, &mut [0; 1], RecvFlags::DONTWAIT) {
                Ok((1.., _)) => inward.owed -= 1,
                Err(Errno::INTR) => {}
                // Still on its way: taken another time.
                Err(Errno::AGAIN) => return,
                Ok((0, _)) | Err(_) => {
                    self.closed.store(true, Ordering::Release);
                    return;
                }
            }
        }
    }
}

/// QUIET becomes ARMED. What is in the ring after this was perhaps not announced; what comes later is.
fn arm(direction: &Direction<'_>) {
    // Any other state already asks for bytes.
    let _ = direction
        .wake
        .compare_exchange(QUIET, ARMED, Ordering::SeqCst, Ordering::SeqCst);
    fence(Ordering::SeqCst);
}

fn wanted(take: MessageAction, len: usize) -> usize {
    match take {
        MessageAction::Consume => len,
        MessageAction::Peek(first) => first.min(len),
        MessageAction::Keep => 0,
    }
}
