//! Both ends of a channel: every message arrives once, complete and in order, no wakeup is lost,
//! and a peer that writes invalid data or dies is an error.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use ferrosm_channel::{
    ClientEnd, MAX_MESSAGE, MessageAction, RING_BYTES, ReceiveOutcome, ServerDoorbell, ServerEnd,
    SpinWait,
};
use rustix::event::{PollFd, PollFlags, Timespec};

/// Timeout that only a lost wakeup can reach.
const BOUND: Timespec = Timespec {
    tv_sec: 30,
    tv_nsec: 0,
};

/// SplitMix64, for reproducible messages.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Mostly lengths of MADs, some of tables, few of megabytes; most are not multiples of 8.
    fn message(&mut self) -> Vec<u8> {
        let kind = self.next() % 100;
        let len = match kind {
            0..70 => self.next() % 400,
            70..95 => self.next() % 40_000,
            95..99 => self.next() % (2 * RING_BYTES as u64),
            _ => self.next() % 3_000_000,
        };
        let mut byte = self.next().to_le_bytes()[0];
        (0..len)
            .map(|_| {
                byte = byte.wrapping_mul(5).wrapping_add(1);
                byte
            })
            .collect()
    }
}

/// Splits a message at random positions, which must not affect the result.
fn split_randomly<'m>(message: &'m [u8], random: &mut Random) -> Vec<&'m [u8]> {
    let mut parts = vec![];
    let mut rest = message;
    while !rest.is_empty() {
        let at = (random.next() % 100) as usize;
        let (part, remaining) = rest.split_at(at.clamp(1, rest.len()));
        // The last part takes all if there are many.
        if parts.len() > 20 {
            parts.push(rest);
            break;
        }
        parts.push(part);
        rest = remaining;
    }
    parts
}

fn pair(doorbell: &ServerDoorbell) -> (ServerEnd, ClientEnd, std::os::fd::OwnedFd) {
    let (server, fds) = ServerEnd::pair(doorbell).unwrap();
    let (client, fd) = ClientEnd::new(fds).unwrap();
    (server, client, fd)
}

fn readable(fd: impl AsFd) -> bool {
    let zero = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    rustix::event::poll(&mut fds, Some(&zero)).unwrap();
    fds[0].revents().contains(PollFlags::IN)
}

/// Waits for a message and receives it.
fn receive(client: &ClientEnd, spin: SpinWait) -> Vec<u8> {
    let mut buffer = vec![0; 400];
    loop {
        let size = buffer.len();
        let choose = |len| {
            if len <= size {
                MessageAction::Consume
            } else {
                MessageAction::Keep
            }
        };
        match client.receive(&mut buffer, choose).unwrap() {
            ReceiveOutcome::Message(MessageAction::Consume, len) => {
                buffer.truncate(len);
                return buffer;
            }
            ReceiveOutcome::Message(_, len) => buffer.resize(len, 0),
            ReceiveOutcome::Empty => {
                let woken = client.wait(spin, Some(&BOUND)).unwrap();
                assert!(
                    woken || !client.is_closed(),
                    "the server is dead or a wakeup was lost"
                );
            }
        }
    }
}

/// Echoes messages until all were returned; messages without room are queued.
fn echo(doorbell: &ServerDoorbell, mut ends: Vec<ServerEnd>, messages: usize) {
    let mut queues: Vec<std::collections::VecDeque<Vec<u8>>> =
        ends.iter().map(|_| Default::default()).collect();
    let mut left = messages * ends.len();
    let mut message = vec![];
    while left > 0 {
        let mut worked = false;
        for (end, queue) in ends.iter_mut().zip(&mut queues) {
            // Bounded, so that the ring to the server also fills up.
            while queue.len() < 4 && end.receive(&mut message).unwrap() {
                queue.push_back(message.clone());
                worked = true;
            }
            while let Some(first) = queue.front() {
                if !end.send(&[first]).unwrap() {
                    break;
                }
                queue.pop_front();
                left -= 1;
                worked = true;
            }
        }
        if !worked {
            let idle = || !ends.iter().any(ServerEnd::is_ready);
            doorbell.sleep(None, idle).unwrap();
        }
    }
}

/// Messages of any size are returned in order, with and without polling, from several clients.
#[test]
fn messages_of_any_size_are_echoed_in_order() {
    const MESSAGES: usize = 400;
    for (seed, spin_us) in [(1, 0), (2, 30)] {
        let doorbell = ServerDoorbell::new().unwrap();
        let mut servers = vec![];
        let mut clients = vec![];
        for _ in 0..2 {
            let (server, client, _fd) = pair(&doorbell);
            servers.push(server);
            clients.push(client);
        }
        thread::scope(|scope| {
            scope.spawn(|| echo(&doorbell, servers, MESSAGES));
            for (number, client) in clients.iter().enumerate() {
                let seed = seed * 1000 + number as u64;
                scope.spawn(move || {
                    let mut random = Random(seed);
                    for _ in 0..MESSAGES {
                        let message = random.message();
                        client.send(&split_randomly(&message, &mut random)).unwrap();
                    }
                });
                scope.spawn(move || {
                    let spin = SpinWait::new(Duration::from_micros(spin_us));
                    let mut random = Random(seed);
                    for number in 0..MESSAGES {
                        let message = random.message();
                        let _ = split_randomly(&message, &mut random);
                        let echo = receive(client, spin);
                        assert!(echo == message, "seed {seed}, message {number}");
                    }
                });
            }
        });
    }
}

/// A request for a byte is withdrawn if its message is consumed first: the descriptor does not
/// become readable without a message.
#[test]
fn descriptor_is_not_readable_after_the_message_is_consumed() {
    let doorbell = ServerDoorbell::new().unwrap();
    let (mut server, client, fd) = pair(&doorbell);
    assert!(!client.begin_wait());
    assert!(server.send(&[b"quiet"]).unwrap());
    client.always_signal();
    assert_eq!(receive(&client, SpinWait::new(Duration::ZERO)), b"quiet");
    assert!(!server.receive(&mut vec![]).unwrap());
    assert!(!readable(&fd), "no message waits");
    assert!(server.send(&[b"next"]).unwrap());
    assert!(readable(&fd));
}

/// The descriptor is readable exactly while a message waits, also for programs that never poll the
/// ring.
#[test]
fn descriptor_is_readable_while_a_message_waits() {
    let doorbell = ServerDoorbell::new().unwrap();
    for polled_before in [false, true] {
        let (mut server, client, fd) = pair(&doorbell);
        let none = SpinWait::new(Duration::ZERO);
        if polled_before {
            // Starts and ends a wait: the server would not announce the next messages.
            let zero = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            assert!(!client.wait(none, Some(&zero)).unwrap());
            assert!(!client.begin_wait());
            assert!(server.send(&[b"quiet"]).unwrap());
            assert!(!readable(&fd), "no byte was requested");
            client.always_signal();
            assert!(server.is_ready(), "a byte was requested");
            assert!(!server.receive(&mut vec![]).unwrap());
            assert!(readable(&fd));
            assert_eq!(receive(&client, none), b"quiet");
        }
        for round in 0..50 {
            assert!(!readable(&fd), "round {round}");
            assert!(server.send(&[b"a"]).unwrap());
            assert!(readable(&fd));
            assert!(server.send(&[b"b", b"c"]).unwrap());
            let peeked = client
                .receive(&mut [0; 1], |_| MessageAction::Peek(1))
                .unwrap();
            assert_eq!(peeked, ReceiveOutcome::Message(MessageAction::Peek(1), 1));
            assert!(readable(&fd), "a message that was only peeked still waits");
            assert_eq!(receive(&client, none), b"a");
            assert!(readable(&fd), "the second message waits");
            assert_eq!(receive(&client, none), b"bc");
        }
        // A message of several frames: readable when it is complete, and until it is consumed.
        let long = vec![7; 2 * RING_BYTES];
        let mut sent = false;
        while !sent {
            sent = server.send(&[&long]).unwrap();
            assert_eq!(client.has_message(), sent);
        }
        assert!(readable(&fd));
        assert_eq!(
            client.receive(&mut [], |_| MessageAction::Keep).unwrap(),
            ReceiveOutcome::Message(MessageAction::Keep, long.len())
        );
        assert!(readable(&fd));
        assert!(receive(&client, none) == long);
        assert!(!readable(&fd));
    }
}

/// A thread that sleeps in the kernel is woken although another one receives messages without
/// sleeping.
#[test]
fn sleeping_thread_is_woken_while_another_polls() {
    const MESSAGES: usize = 3000;
    let doorbell = ServerDoorbell::new().unwrap();
    let (server, client, _fd) = pair(&doorbell);
    let consumed = std::sync::atomic::AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| echo(&doorbell, vec![server], MESSAGES));
        for spin_us in [0, 20] {
            let (client, consumed) = (&client, &consumed);
            scope.spawn(move || {
                let spin = SpinWait::new(Duration::from_micros(spin_us));
                let mut buffer = [0; 8];
                while consumed.load(std::sync::atomic::Ordering::SeqCst) < MESSAGES {
                    let received = client
                        .receive(&mut buffer, |_| MessageAction::Consume)
                        .unwrap();
                    if received != ReceiveOutcome::Empty {
                        let before = consumed.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        if before + 1 < MESSAGES {
                            client.send(&[&buffer]).unwrap();
                        }
                    } else {
                        // Short, because the thread without the last message is not woken.
                        let bound = Timespec {
                            tv_sec: 0,
                            tv_nsec: 200_000_000,
                        };
                        client.wait(spin, Some(&bound)).unwrap();
                    }
                }
            });
        }
        client.send(&[&[0; 8]]).unwrap();
    });
}

/// The death of the server ends waits and writes; earlier messages are still received.
#[test]
fn dead_server_is_detected() {
    let doorbell = ServerDoorbell::new().unwrap();
    let (mut server, client, fd) = pair(&doorbell);
    let none = SpinWait::new(Duration::ZERO);
    assert!(server.send(&[b"last"]).unwrap());
    assert!(client.check_alive());
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(receive(&client, none), b"last");
            let woken = client.wait(none, Some(&BOUND)).unwrap();
            assert!(!woken && client.is_closed());
        });
        drop(server);
    });
    assert!(!client.check_alive());
    assert!(readable(&fd), "end of file");
    assert!(client.send(&[b"x"]).is_err());
}

/// The death of the server ends a wait for room.
#[test]
fn dead_server_ends_a_blocked_send() {
    let doorbell = ServerDoorbell::new().unwrap();
    let (server, client, _fd) = pair(&doorbell);
    thread::scope(|scope| {
        let writer = scope.spawn(|| client.send(&[&vec![0; 2 * RING_BYTES]]));
        // The writer has filled the ring or soon will; no message is consumed.
        while !server.is_ready() {
            thread::yield_now();
        }
        drop(server);
        assert!(writer.join().unwrap().is_err());
    });
}

/// Messages of a client that died are still received, and sends to it do not block.
#[test]
fn messages_of_a_dead_client_are_received() {
    let doorbell = ServerDoorbell::new().unwrap();
    let (mut server, client, fd) = pair(&doorbell);
    client.send(&[b"whole"]).unwrap();
    assert!(!server.is_closed());
    drop((client, fd));
    let mut message = vec![];
    assert!(server.receive(&mut message).unwrap());
    assert_eq!(message, b"whole", "written before the end");
    assert!(!server.receive(&mut message).unwrap());
    assert!(server.send(&[b"to a dead client"]).unwrap());
    assert!(server.is_closed());
    // Without room, `send` returns false and the server does not wait.
    while server.send(&[&[0; 4096]]).unwrap() {}
    assert!(!server.is_ready());
}

/// A message above the maximum length.
#[test]
fn too_long_messages_are_rejected() {
    let doorbell = ServerDoorbell::new().unwrap();
    let (mut server, client, _fd) = pair(&doorbell);
    let long = vec![0; MAX_MESSAGE + 1];
    assert!(client.send(&[&long]).is_err());
    assert!(server.send(&[&long]).is_err());
    assert!(!server.is_ready());
}
