//! The server's end of one opened umad file.
//!
//! Owned by the thread that serves. Never blocks.

use std::os::fd::OwnedFd;
use std::sync::atomic::{Ordering, fence};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::thread::futex;

use crate::layout::{ARMED, FILE_BYTES, SIGNALLED, to_client, to_server};
use crate::memory::{Mapping, sealed_memfd};
use crate::ring::Assembly;
use crate::{ClientFds, Corrupt, Hub, MAX_MESSAGE};

/// Server's end of the two rings of an opened file.
#[derive(Debug)]
pub struct ServerEnd {
    mapping: Mapping,
    wake: OwnedFd,
    assembly: Assembly,
    /// Bytes of the message under way that are already in the ring.
    offset: usize,
    /// The last send found no room.
    stuck: bool,
    closed: bool,
}

impl ServerEnd {
    /// A new pair of rings, and what the client must be passed.
    ///
    /// # Errors
    ///
    /// What the kernel says if it has no file descriptor or memory left.
    pub fn pair(hub: &Hub) -> std::io::Result<(Self, ClientFds)> {
        let memory = sealed_memfd("ferrosm-umad", FILE_BYTES)?;
        let mapping = Mapping::new(&memory, FILE_BYTES)?;
        // Until the client says otherwise it wants to be woken for every message.
        to_client(&mapping).wake.store(ARMED, Ordering::SeqCst);
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let (hub, doorbell) = hub.share()?;
        let end = Self {
            mapping,
            wake: ours,
            assembly: Assembly::default(),
            offset: 0,
            stuck: false,
            closed: false,
        };
        let fds = ClientFds {
            memory,
            wake: theirs,
            hub,
            doorbell,
        };
        Ok((end, fds))
    }

    /// Takes one whole message out of the ring into `message`, which is cleared first. False: none waits.
    ///
    /// What a program wrote before it closed or died is still here: receive until false, then close.
    ///
    /// # Errors
    ///
    /// [`Corrupt`]: give the client up.
    pub fn receive(&mut self, message: &mut Vec<u8>) -> Result<bool, Corrupt> {
        message.clear();
        self.kicked();
        let direction = to_server(&self.mapping);
        let freed = || {
            fence(Ordering::SeqCst);
            if direction.room_wanted.load(Ordering::Relaxed) != 0 {
                direction.room_wanted.store(0, Ordering::SeqCst);
                // Fails only for a bad address.
                let _ = futex::wake(direction.room_wanted, futex::Flags::empty(), 1 << 30);
            }
        };
        if self.assembly.pull(&direction.ring, freed)? {
            *message = self.assembly.take();
            return Ok(true);
        }
        if self.assembly.is_partial() {
            return Ok(false);
        }
        let Some(frame) = direction.ring.front()? else {
            return Ok(false);
        };
        message.resize(frame.len, 0);
        direction.ring.copy(frame, message);
        direction.ring.release(frame);
        freed();
        Ok(true)
    }

    /// Puts the message made of `parts` into the ring. True: it is in. False: there is no room for all of it; call again with
    /// the same message, unchanged, when [`ServerEnd::is_ready`] says so. (A message larger than the ring goes in piece
    /// by piece over several calls.)
    ///
    /// # Errors
    ///
    /// [`Corrupt`]: give the client up. Also for a message longer than [`MAX_MESSAGE`].
    pub fn send(&mut self, parts: &[&[u8]]) -> Result<bool, Corrupt> {
        if parts.iter().map(|part| part.len()).sum::<usize>() > MAX_MESSAGE {
            return Err(Corrupt("a message to the program is too long"));
        }
        let before = self.offset;
        let direction = to_client(&self.mapping);
        let mut whole = direction.ring.push(parts, &mut self.offset)?;
        if !whole {
            direction.room_wanted.store(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            whole = direction.ring.push(parts, &mut self.offset)?;
        }
        if whole || self.offset != before {
            self.signal();
        }
        self.stuck = !whole;
        if whole {
            self.offset = 0;
        }
        Ok(whole)
    }

    /// Whether [`ServerEnd::receive`] or a repeated [`ServerEnd::send`] may achieve something now. A few loads; for the
    /// loop over all clients and for [`Hub::sleep`].
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let out = to_client(&self.mapping);
        !to_server(&self.mapping).ring.is_empty()
            || (self.stuck && out.room_wanted.load(Ordering::Acquire) == 0)
            || out.kick.load(Ordering::Relaxed) != 0
    }

    /// Whether the program's last file descriptor was found closed when it should have been woken. The usual sign is the
    /// end of the request socket; this one may come earlier or never.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Wakes the client if it wants to be woken.
    fn signal(&mut self) {
        fence(Ordering::SeqCst);
        let wake = to_client(&self.mapping).wake;
        if wake.load(Ordering::Relaxed) == ARMED
            && wake
                .compare_exchange(ARMED, SIGNALLED, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        {
            self.send_byte();
        }
    }

    fn send_byte(&mut self) {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match rustix::io::retry_on_intr(|| rustix::net::send(&self.wake, &[1], flags)) {
            // A client that fills the socket by writing states of `wake` has enough bytes to wake up.
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(_) => self.closed = true,
        }
    }

    /// The client asks for a byte: messages may have come while it wanted none.
    fn kicked(&mut self) {
        let direction = to_client(&self.mapping);
        if direction.kick.load(Ordering::Relaxed) != 0
            && direction.kick.swap(0, Ordering::SeqCst) != 0
        {
            self.signal();
        }
    }
}
