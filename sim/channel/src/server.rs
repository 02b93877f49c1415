//! Server end of an opened umad file. Never blocks.

use std::os::fd::OwnedFd;
use std::sync::atomic::{Ordering, fence};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::thread::futex;

use crate::layout::{ARMED, FILE_BYTES, SIGNALLED, to_client, to_server};
use crate::memory::{Mapping, sealed_memfd};
use crate::ring::MessageAssembly;
use crate::{ClientFds, CorruptMemory, MAX_MESSAGE, ServerDoorbell};

/// Server end of the two rings of an opened file.
#[derive(Debug)]
pub struct ServerEnd {
    mapping: Mapping,
    wake: OwnedFd,
    assembly: MessageAssembly,
    /// Number of bytes of the current message that were written to the ring.
    offset: usize,
    /// Whether the last send found no room.
    stuck: bool,
    closed: bool,
}

impl ServerEnd {
    /// Creates a pair of rings, and the descriptors for the client.
    ///
    /// # Errors
    ///
    /// Errors of the system calls.
    pub fn pair(server: &ServerDoorbell) -> std::io::Result<(Self, ClientFds)> {
        let memory = sealed_memfd("ferrosm-umad", FILE_BYTES)?;
        let mapping = Mapping::new(&memory, FILE_BYTES)?;
        // Initially the client is woken for every message.
        to_client(&mapping).wake.store(ARMED, Ordering::SeqCst);
        let (server_socket, client_socket) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let (doorbell_page, doorbell) = server.share()?;
        let end = Self {
            mapping,
            wake: server_socket,
            assembly: MessageAssembly::default(),
            offset: 0,
            stuck: false,
            closed: false,
        };
        let fds = ClientFds {
            memory,
            wake: client_socket,
            doorbell_page,
            doorbell,
        };
        Ok((end, fds))
    }

    /// Receives a message into `message`, which is cleared first. Returns false if no message is
    /// queued.
    ///
    /// Messages written before a program closed the file or died are still available: receive until
    /// false, then close.
    ///
    /// # Errors
    ///
    /// [`CorruptMemory`]: close the client's connection.
    pub fn receive(&mut self, message: &mut Vec<u8>) -> Result<bool, CorruptMemory> {
        message.clear();
        self.handle_kick();
        let direction = to_server(&self.mapping);
        let notify_room = || {
            fence(Ordering::SeqCst);
            if direction.room_wanted.load(Ordering::Relaxed) != 0 {
                direction.room_wanted.store(0, Ordering::SeqCst);
                // Fails only for an invalid address.
                let _ = futex::wake(direction.room_wanted, futex::Flags::empty(), 1 << 30);
            }
        };
        let Some(frame) = direction.ring.front()? else {
            return Ok(false);
        };
        if frame.rest > 0 || self.assembly.is_partial() {
            let is_complete = self.assembly.pull(&direction.ring, notify_room)?;
            if is_complete {
                *message = self.assembly.take_message();
            }
            return Ok(is_complete);
        }
        message.resize(frame.len, 0);
        direction.ring.copy(frame, message);
        direction.ring.release(frame);
        notify_room();
        Ok(true)
    }

    /// Sends a message made of `parts`. Returns false if there is no room for all of it; then call
    /// again with the same message when [`ServerEnd::is_ready`]. A message larger than the ring is
    /// sent over several calls.
    ///
    /// # Errors
    ///
    /// [`CorruptMemory`]: close the client's connection. Also for a message longer than
    /// [`MAX_MESSAGE`].
    pub fn send(&mut self, parts: &[&[u8]]) -> Result<bool, CorruptMemory> {
        if parts.iter().map(|part| part.len()).sum::<usize>() > MAX_MESSAGE {
            return Err(CorruptMemory("message to the program too long"));
        }
        let before = self.offset;
        let direction = to_client(&self.mapping);
        let mut is_complete = direction.ring.push(parts, &mut self.offset)?;
        if !is_complete {
            direction.room_wanted.store(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            is_complete = direction.ring.push(parts, &mut self.offset)?;
        }
        if is_complete || self.offset != before {
            self.signal();
        }
        self.stuck = !is_complete;
        if is_complete {
            self.offset = 0;
        }
        Ok(is_complete)
    }

    /// Whether [`ServerEnd::receive`] or a repeated [`ServerEnd::send`] may succeed now. Cheap, for
    /// the loop over all clients and for [`ServerDoorbell::sleep`].
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let out = to_client(&self.mapping);
        !to_server(&self.mapping).ring.is_empty()
            || (self.stuck && out.room_wanted.load(Ordering::Acquire) == 0)
            || out.kick.load(Ordering::Relaxed) != 0
    }

    /// Whether a wakeup could not be sent because the program has closed the file. Only sending
    /// detects this; usually the server first sees the end of the request socket.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Wakes the client if it is armed.
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
            // A client that fills the socket by changing `wake` has enough bytes to wake up.
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(_) => self.closed = true,
        }
    }

    /// Sends the byte that the client requested (`kick`) for a message that arrived while it was
    /// not armed.
    fn handle_kick(&mut self) {
        let direction = to_client(&self.mapping);
        if direction.kick.load(Ordering::Relaxed) != 0
            && direction.kick.swap(0, Ordering::SeqCst) != 0
        {
            self.send_byte();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientEnd, MessageAction};

    /// SplitMix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Boundary values and random numbers.
    fn boundary_value(state: &mut u64) -> u32 {
        let bits = random(state);
        let pick = [
            0,
            1,
            7,
            8,
            9,
            0x3_fff8,
            0x4_0000,
            0x4_0008,
            0x7fff_fff8,
            u32::MAX,
        ];
        match bits % 16 {
            index @ 0..10 => pick[usize::try_from(index).unwrap()],
            10..13 => u32::try_from(bits >> 40).unwrap() & !7,
            _ => u32::try_from(bits >> 32).unwrap(),
        }
    }

    /// Whatever a peer writes into the memory, both ends return a result or an error, within
    /// bounds.
    #[test]
    fn corrupt_memory_gives_errors_within_bounds() {
        let doorbell = ServerDoorbell::new().unwrap();
        let mut errors = 0;
        for seed in 0..300 {
            let state = &mut (seed * 7919);
            let (mut server, fds) = ServerEnd::pair(&doorbell).unwrap();
            let (client, _fd) = ClientEnd::new(fds).unwrap();
            let mut message = vec![];
            for _ in 0..20 {
                // Not by `ClientEnd::send`, which would wait for room.
                let _ = to_server(&server.mapping).ring.push(&[&[1; 300]], &mut 0);
                server.send(&[&[2; 300]]).ok();
                match random(state) % 3 {
                    0 => {
                        let word = usize::try_from(random(state) % 16).unwrap() * 16;
                        let value = boundary_value(state);
                        server.mapping.control()[word].store(value, Ordering::SeqCst);
                    }
                    1 => {
                        // The header of the next frame.
                        let direction = to_server(&server.mapping);
                        let head = direction.ring.head.load(Ordering::SeqCst);
                        let cell = (head as usize % crate::RING_BYTES) / 8;
                        let header = u64::from(boundary_value(state))
                            | (u64::from(boundary_value(state)) << 32);
                        direction.ring.cells[cell].store(header, Ordering::SeqCst);
                    }
                    _ => {
                        let cell = usize::try_from(random(state)).unwrap() % 4096;
                        server.mapping.data()[cell].store(random(state), Ordering::SeqCst);
                    }
                }
                let _ = server.is_ready();
                errors += usize::from(server.receive(&mut message).is_err());
                assert!(message.len() <= MAX_MESSAGE);
                errors += usize::from(server.send(&[&[3; 20_000]]).is_err());
                let _ = client.begin_wait();
                errors += usize::from(
                    client
                        .receive(&mut [0; 400], |_| MessageAction::Consume)
                        .is_err(),
                );
            }
        }
        assert!(
            errors > 100,
            "only {errors} errors: does the test corrupt anything?"
        );
    }

    /// A head beyond the tail and an unaligned tail are errors.
    #[test]
    fn invalid_ring_positions_are_corrupt() {
        let doorbell = ServerDoorbell::new().unwrap();
        let (mut server, fds) = ServerEnd::pair(&doorbell).unwrap();
        let (client, _fd) = ClientEnd::new(fds).unwrap();
        to_client(&server.mapping)
            .ring
            .head
            .store(8, Ordering::SeqCst);
        assert!(server.send(&[b"x"]).is_err());
        to_server(&server.mapping)
            .ring
            .tail
            .store(4, Ordering::SeqCst);
        assert!(server.receive(&mut vec![]).is_err());
        assert!(client.send(&[b"x"]).is_err());
    }

    /// Short frames of a split message are an error.
    #[test]
    fn short_frames_of_a_split_message_are_corrupt() {
        let doorbell = ServerDoorbell::new().unwrap();
        let (mut server, fds) = ServerEnd::pair(&doorbell).unwrap();
        let _client = ClientEnd::new(fds).unwrap();
        let ring = to_server(&server.mapping).ring;
        ring.cells[0].store((8 << 32) | 8, Ordering::SeqCst);
        ring.tail.store(16, Ordering::SeqCst);
        assert!(server.receive(&mut vec![]).is_err());
    }
}
