//! Client tests: each test runs this program again with the preload library. That process calls
//! libc's functions on a umad device.
#![allow(unsafe_code, reason = "the tests call libc's functions")]

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::server::{ANSWER, HEADER, MEASURE, STOP, Server, TEST_CLASS};
use crate::{attached, text};

/// Set in the attached process.
const INSIDE: &str = "ATTACHED_TEST_CLIENT";
const ENABLE_PKEY: u64 = 0x1B03;
const REGISTER_AGENT2: u64 = 0xC028_1B04;
const UNREGISTER_AGENT: u64 = 0x4004_1B02;

/// Runs `inside` in an attached process of this test; a panic in either process fails the test.
fn run_attached(name: &str, spin_us: &str, inside: fn()) {
    if std::env::var_os(INSIDE).is_some() {
        inside();
        return;
    }
    let server = Server::start(&format!("{name}-{spin_us}"));
    let output = attached(&server, std::env::current_exe().unwrap())
        .args([&format!("client::{name}"), "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .env("FERROSM_ATTACH_SPIN_US", spin_us)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("1 passed"), "{}", text(&output));
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

fn open_path(path: &CStr, flags: c_int) -> c_int {
    // SAFETY: a terminated path.
    unsafe { libc::open(path.as_ptr(), flags) }
}

fn ioctl(fd: c_int, request: u64, arg: &mut [u8]) -> c_int {
    let arg: *mut c_void = if arg.is_empty() {
        std::ptr::null_mut()
    } else {
        arg.as_mut_ptr().cast()
    };
    // SAFETY: the argument is as long as the request says.
    unsafe { libc::ioctl(fd, request, arg) }
}

fn register(fd: c_int) -> u32 {
    let mut agent = [0; 40];
    agent[8] = TEST_CLASS;
    assert_eq!(ioctl(fd, REGISTER_AGENT2, &mut agent), 0, "{}", errno());
    u32::from_ne_bytes(*agent.first_chunk().unwrap())
}

/// Opens the umad device and registers an agent, which gets ID 0.
fn open_device(flags: c_int) -> c_int {
    let fd = open_path(c"/dev/infiniband/umad0", libc::O_RDWR | flags);
    assert!(fd >= 0, "{}", errno());
    assert_eq!(ioctl(fd, ENABLE_PKEY, &mut []), 0);
    register(fd);
    fd
}

fn message(agent: u32, command: u16, modifier: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; HEADER + len];
    bytes[..4].copy_from_slice(&agent.to_ne_bytes());
    let mad = &mut bytes[HEADER..];
    mad[..4].copy_from_slice(&[1, TEST_CLASS, 1, 1]);
    mad[16..18].copy_from_slice(&command.to_be_bytes());
    mad[20..24].copy_from_slice(&u32::try_from(modifier).unwrap().to_be_bytes());
    bytes
}

fn write(fd: c_int, bytes: &[u8]) -> isize {
    // SAFETY: a valid buffer.
    unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) }
}

fn read(fd: c_int, bytes: &mut [u8]) -> isize {
    // SAFETY: a valid buffer.
    unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) }
}

/// Polls one descriptor for a message; returns the result and `revents`.
fn poll(fd: c_int, timeout_ms: c_int) -> (c_int, i16) {
    let mut fds = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry.
    let count = unsafe { libc::poll(&raw mut fds, 1, timeout_ms) };
    (count, fds.revents)
}

fn send_command(fd: c_int, command: u16, modifier: usize) {
    let bytes = message(0, command, modifier, 256);
    assert_eq!(
        write(fd, &bytes),
        isize::try_from(bytes.len()).unwrap(),
        "{}",
        errno()
    );
}

/// Timeout that only a lost wakeup can reach.
const TIMEOUT_MS: c_int = 30_000;

/// EINVAL, EIO, EAGAIN and ENOSPC as in the kernel; a failed read loses no message.
#[test]
fn reads_and_writes_follow_the_kernels_rules() {
    run_attached("reads_and_writes_follow_the_kernels_rules", "30", || {
        let fd = open_device(libc::O_NONBLOCK);
        let short = vec![0; HEADER + 35];
        assert_eq!((write(fd, &short), errno()), (-1, libc::EINVAL));
        let unregistered = message(7, ANSWER, 256, 256);
        assert_eq!((write(fd, &unregistered), errno()), (-1, libc::EIO));
        let invalid_agent = message(99, ANSWER, 256, 256);
        assert_eq!((write(fd, &invalid_agent), errno()), (-1, libc::EINVAL));
        let mut buffer = vec![0; HEADER + 5000];
        assert_eq!((read(fd, &mut buffer), errno()), (-1, libc::EAGAIN));
        assert_eq!(poll(fd, 0), (0, 0));

        send_command(fd, ANSWER, 5000);
        for _ in 0..2 {
            assert_eq!(poll(fd, TIMEOUT_MS), (1, libc::POLLIN));
            assert_eq!(
                (read(fd, &mut buffer[..HEADER - 1]), errno()),
                (-1, libc::EINVAL)
            );
            assert_eq!(
                (read(fd, &mut buffer[..HEADER + 255]), errno()),
                (-1, libc::EINVAL)
            );
            buffer.fill(0xEE);
            let result = read(fd, &mut buffer[..HEADER + 256 + 8]);
            assert_eq!((result, errno()), (-1, libc::ENOSPC));
            let length = u32::from_ne_bytes(*buffer[16..].first_chunk().unwrap());
            assert_eq!(length as usize, HEADER + 5000);
            assert_eq!(buffer[HEADER + 255], 255);
            assert_eq!(
                buffer[HEADER + 256],
                0xEE,
                "the first 256 bytes of the MAD only"
            );
        }
        assert_eq!(read(fd, &mut buffer), (HEADER + 5000) as isize);
        assert_eq!(buffer[HEADER + 4999], 4999usize.to_le_bytes()[0]);
        assert_eq!(poll(fd, 0), (0, 0));

        let id = register(fd);
        assert_eq!(ioctl(fd, UNREGISTER_AGENT, &mut id.to_ne_bytes()), 0);
        let unregistered = message(id, ANSWER, 256, 256);
        assert_eq!((write(fd, &unregistered), errno()), (-1, libc::EIO));
        assert_eq!(
            (ioctl(fd, 0x1BFF, &mut []), errno()),
            (-1, libc::EINVAL),
            "error number of the server"
        );
        assert_eq!(
            (ioctl(fd, libc::TCGETS, &mut [0; 64]), errno()),
            (-1, libc::ENOTTY)
        );
        // SAFETY: a descriptor of our own.
        assert_eq!(unsafe { libc::close(fd) }, 0);
        assert_eq!((read(fd, &mut buffer), errno()), (-1, libc::EBADF));
        assert_eq!(open_path(c"/dev/infiniband/umad1", libc::O_RDWR), -1);
        assert_eq!(errno(), libc::ENXIO);
    });
}

/// Messages of megabytes, larger than the rings, pass in both directions with blocking calls.
#[test]
fn megabyte_messages_pass_both_ways() {
    run_attached("megabyte_messages_pass_both_ways", "30", || {
        let fd = open_device(0);
        let long = message(0, MEASURE, 0, 3_000_000);
        assert_eq!(write(fd, &long), long.len() as isize);
        let mut buffer = vec![0; HEADER + 2_000_000];
        assert_eq!(read(fd, &mut buffer), (HEADER + 256) as isize);
        let len = u32::from_be_bytes(*buffer[HEADER + 20..].first_chunk().unwrap());
        assert_eq!(len, 3_000_000);
        send_command(fd, ANSWER, 2_000_000);
        assert_eq!(read(fd, &mut buffer), (HEADER + 2_000_000) as isize);
        assert_eq!(buffer[HEADER + 1_999_999], 1_999_999usize.to_le_bytes()[0]);
    });
}

/// Duplicates of a descriptor refer to the device; closing the last one closes it.
#[test]
fn duplicates_refer_to_the_device() {
    run_attached("duplicates_refer_to_the_device", "0", || {
        let fd = open_device(libc::O_NONBLOCK);
        // SAFETY: descriptors of our own, here and below.
        let copies = unsafe { [libc::dup(fd), libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 50)] };
        // SAFETY: as above.
        unsafe { libc::close(fd) };
        for copy in copies {
            send_command(copy, ANSWER, 256);
            assert_eq!(poll(copy, TIMEOUT_MS), (1, libc::POLLIN));
            assert_eq!(read(copy, &mut [0; HEADER + 256]), (HEADER + 256) as isize);
        }
        // Another file reuses the number of a duplicate.
        let null = open_path(c"/dev/null", libc::O_RDONLY);
        // SAFETY: as above.
        assert_eq!(unsafe { libc::dup2(null, copies[0]) }, copies[0]);
        assert_eq!(read(copies[0], &mut [0; 64]), 0);
        send_command(copies[1], ANSWER, 256);
        assert_eq!(poll(copies[1], TIMEOUT_MS), (1, libc::POLLIN));
    });
}

/// `select`, `epoll` and `poll` of several files give correct results, also in alternation.
#[test]
fn all_waiting_functions_work() {
    run_attached("all_waiting_functions_work", "30", || {
        let fd = open_device(libc::O_NONBLOCK);
        let other = open_device(libc::O_NONBLOCK);
        let mut buffer = [0; HEADER + 256];
        for _ in 0..3 {
            send_command(fd, ANSWER, 256);
            let mut fds = [fd, other].map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN | libc::POLLOUT,
                revents: 0,
            });
            loop {
                // SAFETY: two entries.
                assert_eq!(unsafe { libc::poll(fds.as_mut_ptr(), 2, TIMEOUT_MS) }, 2);
                assert_eq!(fds[1].revents, libc::POLLOUT);
                if fds[0].revents == libc::POLLIN | libc::POLLOUT {
                    break;
                }
            }
            assert!(read(fd, &mut buffer) > 0);
        }
        // A message that arrived during polling is announced when the program uses epoll.
        send_command(fd, ANSWER, 256);
        send_command(fd, ANSWER, 256);
        assert_eq!(poll(fd, TIMEOUT_MS), (1, libc::POLLIN));
        // SAFETY: plain calls with valid pointers.
        unsafe {
            let epoll = libc::epoll_create1(0);
            let mut event = libc::epoll_event {
                events: libc::EPOLLIN as u32,
                u64: 1,
            };
            assert_eq!(
                libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event),
                0
            );
            for _ in 0..2 {
                assert_eq!(libc::epoll_wait(epoll, &raw mut event, 1, TIMEOUT_MS), 1);
                assert!(read(fd, &mut buffer) > 0);
            }
            for _ in 0..100 {
                assert_eq!(libc::epoll_wait(epoll, &raw mut event, 1, 0), 0);
                send_command(fd, ANSWER, 256);
                assert_eq!(libc::epoll_wait(epoll, &raw mut event, 1, TIMEOUT_MS), 1);
                assert!(read(fd, &mut buffer) > 0);
            }
            send_command(other, ANSWER, 256);
            let mut set: libc::fd_set = std::mem::zeroed();
            libc::FD_SET(other, &raw mut set);
            let count = libc::select(
                other + 1,
                &raw mut set,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            );
            assert_eq!(count, 1);
        }
        assert!(read(other, &mut buffer) > 0);
    });
}

extern "C" fn poll_without_timeout(fd: *mut c_void) -> *mut c_void {
    poll(fd as usize as c_int, -1);
    std::ptr::null_mut()
}

extern "C" fn read_blocking(fd: *mut c_void) -> *mut c_void {
    read(fd as usize as c_int, &mut [0; HEADER + 256]);
    std::ptr::null_mut()
}

/// OpenSM ends its receiver thread by `pthread_cancel`, at any wait. The device remains usable.
#[test]
fn waiting_threads_can_be_cancelled() {
    for spin_us in ["0", "30"] {
        run_attached("waiting_threads_can_be_cancelled", spin_us, || {
            let fd = open_device(0);
            let mut buffer = [0; HEADER + 256];
            for start in [poll_without_timeout, read_blocking] {
                // SAFETY: a thread whose function only waits.
                unsafe {
                    let mut thread = std::mem::zeroed();
                    let arg = fd as usize as *mut c_void;
                    let started =
                        libc::pthread_create(&raw mut thread, std::ptr::null(), start, arg);
                    assert_eq!(started, 0);
                    assert_eq!(libc::pthread_cancel(thread), 0);
                    let mut result = std::ptr::null_mut();
                    assert_eq!(libc::pthread_join(thread, &raw mut result), 0);
                    assert_eq!(result as isize, -1, "PTHREAD_CANCELED");
                }
                send_command(fd, ANSWER, 256);
                assert_eq!(poll(fd, TIMEOUT_MS), (1, libc::POLLIN));
                assert!(read(fd, &mut buffer) > 0);
            }
        });
    }
}

/// One thread reads and others write, as in OpenSM.
#[test]
fn threads_share_a_device() {
    for spin_us in ["0", "30"] {
        run_attached("threads_share_a_device", spin_us, || {
            const REQUESTS_PER_THREAD: usize = 1000;
            let fd = open_device(libc::O_NONBLOCK);
            let outstanding = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for _ in 0..REQUESTS_PER_THREAD {
                            while outstanding.load(Ordering::SeqCst) >= 8 {
                                std::thread::yield_now();
                            }
                            outstanding.fetch_add(1, Ordering::SeqCst);
                            send_command(fd, ANSWER, 256);
                        }
                    });
                }
                let mut buffer = [0; HEADER + 256];
                for number in 0..2 * REQUESTS_PER_THREAD {
                    while read(fd, &mut buffer) < 0 {
                        assert_eq!(errno(), libc::EAGAIN);
                        assert_eq!(poll(fd, TIMEOUT_MS), (1, libc::POLLIN), "message {number}");
                    }
                    outstanding.fetch_sub(1, Ordering::SeqCst);
                }
            });
        });
    }
}

/// The death of the server wakes a waiting thread, and every call fails as for a removed device.
#[test]
fn calls_fail_after_the_server_dies() {
    run_attached("calls_fail_after_the_server_dies", "30", || {
        let fd = open_device(0);
        let mut buffer = [0; HEADER + 256];
        let bytes = message(0, STOP, 0, 256);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (count, revents) = poll(fd, TIMEOUT_MS);
                assert!(
                    count == 1 && revents & libc::POLLHUP != 0,
                    "{count} {revents}"
                );
            });
            write(fd, &bytes);
        });
        assert_eq!((read(fd, &mut buffer), errno()), (-1, libc::EIO));
        assert_eq!((write(fd, &bytes), errno()), (-1, libc::EIO));
        assert_eq!(
            (ioctl(fd, ENABLE_PKEY, &mut []), errno()),
            (-1, libc::EPIPE)
        );
        assert_eq!(open_path(c"/dev/infiniband/umad0", libc::O_RDWR), -1);
        assert_eq!(errno(), libc::ENXIO);
    });
}

/// IsSM is set while a process has the file open; only one process can open it.
#[test]
fn issm_is_exclusive_until_closed() {
    run_attached("issm_is_exclusive_until_closed", "30", || {
        let first = open_path(c"/dev/infiniband/issm0", libc::O_RDWR);
        assert!(first >= 0);
        let second = open_path(c"/dev/infiniband/issm0", libc::O_RDWR | libc::O_NONBLOCK);
        assert_eq!((second, errno()), (-1, libc::EAGAIN));
        // SAFETY: a descriptor of our own.
        unsafe { libc::close(first) };
        // The server notices the close a moment later.
        let was_reopened = (0..100_000).any(|_| {
            std::thread::yield_now();
            open_path(c"/dev/infiniband/issm0", libc::O_RDWR | libc::O_NONBLOCK) >= 0
        });
        assert!(was_reopened);
    });
}

/// sysfs: files are read from the server, missing files do not exist, and no file can be written.
#[test]
fn sysfs_files_are_read_from_the_server() {
    run_attached("sysfs_files_are_read_from_the_server", "30", || {
        let read_text = |path: &str| std::fs::read_to_string(path);
        let lid = read_text("/sys/class/infiniband/sim0/ports/1/lid").unwrap();
        assert_eq!(lid, "0x11\n");
        assert!(read_text("/sys/class/infiniband/sim1/node_guid").is_err());
        let ports: Vec<_> = std::fs::read_dir("/sys/class/infiniband/sim0/ports")
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(ports, ["1"]);
        assert!(
            std::fs::metadata("/sys/class/infiniband/sim0")
                .unwrap()
                .is_dir()
        );
        assert!(std::fs::metadata("/sys/class/infiniband_verbs").is_err());
        let written = std::fs::write("/sys/class/infiniband/sim0/ports/1/lid", "1");
        assert_eq!(written.unwrap_err().raw_os_error(), Some(libc::EACCES));
        // SAFETY: terminated strings; the stream is closed.
        unsafe {
            let path = c"/sys/class/infiniband/sim0/hca_type";
            for (mode, expected) in [(c"r", 0), (c"re", libc::FD_CLOEXEC)] {
                let file = libc::fopen(path.as_ptr(), mode.as_ptr());
                assert_eq!(libc::fcntl(libc::fileno(file), libc::F_GETFD), expected);
                libc::fclose(file);
            }
            let file = libc::fopen(path.as_ptr(), c"r".as_ptr());
            assert!(!file.is_null());
            let mut line = [0; 32];
            assert!(!libc::fgets(line.as_mut_ptr(), 32, file).is_null());
            assert_eq!(CStr::from_ptr(line.as_ptr()), c"MT4123\n");
            libc::fclose(file);
        }
    });
}
