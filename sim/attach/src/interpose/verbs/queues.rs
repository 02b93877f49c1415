//! Protection domains, memory regions, completions, queue pairs, address handles.
//!
//! Protection domains and memory regions have no effect: the simulated adapter accesses all of the
//! program's memory.

use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::Arc;

use ferrosm_channel::verbs::{OutgoingDatagram, WireGlobalRoute, WireQpParameters};
use libc::{POLLIN, pollfd, size_t};
use rustix::io::Errno;

use super::{boxed_or_null, context_of, error_number};
use crate::config::config;
use crate::next::fail;
use crate::verbs::abi::{self, Wc, mask, status};
use crate::verbs::memory::SgList;
use crate::verbs::queue::{Channel, Completions, Endpoint, state};

#[repr(C)]
struct CompChannel {
    ibv: abi::CompChannel,
    channel: Arc<Channel>,
}

#[repr(C)]
struct Cq {
    ibv: abi::Cq,
    completions: Completions,
}

#[repr(C)]
struct Qp {
    ibv: abi::Qp,
    endpoint: Arc<Endpoint>,
    cap: abi::QpCap,
    signals_all: bool,
}

#[repr(C)]
struct Ah {
    ibv: abi::Ah,
    attr: abi::AhAttr,
}

/// Message for unsupported types of queue pairs.
const ONLY_UD: &str = "ferrosm attach: the simulated adapter supports only queue pairs of type UD without a shared receive queue (SRQ)\n";

/// # Safety
///
/// A completion queue of this library.
unsafe fn completions<'a>(cq: *mut abi::Cq) -> &'a Completions {
    // SAFETY: promised by the caller.
    unsafe { &(*cq.cast::<Cq>()).completions }
}

/// # Safety
///
/// A queue pair of this library.
unsafe fn endpoint<'a>(qp: *mut abi::Qp) -> &'a Arc<Endpoint> {
    // SAFETY: promised by the caller.
    unsafe { &(*qp.cast::<Qp>()).endpoint }
}

/// # Safety
///
/// `list` has `count` entries, which are the program's buffers as in a work request.
unsafe fn sg_list(list: *const abi::Sge, count: c_int) -> SgList {
    let list = match usize::try_from(count) {
        // SAFETY: promised by the caller.
        Ok(count) if count > 0 && !list.is_null() => unsafe {
            std::slice::from_raw_parts(list, count)
        },
        Ok(_) | Err(_) => &[],
    };
    // SAFETY: promised by the caller.
    unsafe { SgList::new(list) }
}

pub(super) unsafe extern "C" fn poll_cq(cq: *mut abi::Cq, limit: c_int, out: *mut Wc) -> c_int {
    let max = usize::try_from(limit).unwrap_or(0);
    // SAFETY: a completion queue, and room for `limit` completions.
    unsafe {
        let completed = completions(cq).poll(max);
        std::ptr::copy_nonoverlapping(completed.as_ptr(), out, completed.len());
        // saturates: at most `limit`.
        c_int::try_from(completed.len()).unwrap_or(c_int::MAX)
    }
}

pub(super) unsafe extern "C" fn req_notify_cq(cq: *mut abi::Cq, _solicited_only: c_int) -> c_int {
    // SAFETY: a completion queue.
    unsafe { completions(cq) }.arm();
    0
}

/// The message of a work request, or the status of its completion.
///
/// # Safety
///
/// A work request of the program.
unsafe fn message(wr: &abi::SendWr) -> Result<OutgoingDatagram, u32> {
    if wr.opcode != abi::WR_SEND || wr.ah.is_null() {
        return Err(status::LOC_QP_OP_ERR);
    }
    // SAFETY: an address handle of this library, and the program's buffers.
    let (attr, payload) = unsafe {
        let list = sg_list(wr.sg_list, wr.num_sge);
        if list.byte_len() > ferrosm_channel::verbs::MAX_DATAGRAM {
            return Err(status::LOC_LEN_ERR);
        }
        ((*wr.ah.cast::<Ah>()).attr, list.gather())
    };
    let route = WireGlobalRoute {
        dgid: abi::gid_bytes(attr.grh.dgid),
        sgid_index: attr.grh.sgid_index.into(),
        flow_label: attr.grh.flow_label,
        traffic_class: attr.grh.traffic_class.into(),
        hop_limit: attr.grh.hop_limit.into(),
    };
    Ok(OutgoingDatagram {
        dlid: attr.dlid,
        dest_qpn: wr.remote_qpn,
        q_key: wr.remote_qkey,
        sl: attr.sl.into(),
        path_bits: attr.src_path_bits.into(),
        route: (attr.is_global != 0).then_some(route),
        payload,
    })
}

pub(super) unsafe extern "C" fn post_send(
    qp: *mut abi::Qp,
    first: *mut abi::SendWr,
    bad: *mut *mut abi::SendWr,
) -> c_int {
    let mut next = first;
    while !next.is_null() {
        // SAFETY: a queue pair, its completion queue, and a chain of work requests.
        unsafe {
            let wr = &*next;
            let queue_pair = &*qp.cast::<Qp>();
            let state = queue_pair.endpoint.parameters().state;
            if state != state::RTS && state != state::ERR {
                bad.write(next);
                return error_number(Err(Errno::INVAL));
            }
            let status = if state == state::ERR {
                status::WR_FLUSH_ERR
            } else {
                message(wr).map_or_else(
                    |status| status,
                    |message| queue_pair.endpoint.send(&message),
                )
            };
            let is_signalled = queue_pair.signals_all || wr.send_flags & abi::SEND_SIGNALED != 0;
            if is_signalled || status != status::SUCCESS {
                completions(queue_pair.ibv.send_cq).push(Wc {
                    wr_id: wr.wr_id,
                    status,
                    opcode: abi::WC_SEND,
                    qp_num: queue_pair.ibv.qp_num,
                    ..Wc::default()
                });
            }
            next = wr.next;
        }
    }
    0
}

pub(super) unsafe extern "C" fn post_recv(
    qp: *mut abi::Qp,
    first: *mut abi::RecvWr,
    bad: *mut *mut abi::RecvWr,
) -> c_int {
    let mut next = first;
    while !next.is_null() {
        // SAFETY: a queue pair and a chain of work requests.
        unsafe {
            let wr = &*next;
            let list = sg_list(wr.sg_list, wr.num_sge);
            if let Err(errno) = endpoint(qp).post_receive(wr.wr_id, list) {
                bad.write(next);
                return error_number(Err(errno));
            }
            next = wr.next;
        }
    }
    0
}

/// # Safety
///
/// The program's structures.
unsafe fn create_qp(pd: *mut abi::Pd, init: &abi::QpInitAttr) -> Result<Qp, Errno> {
    let config = config().ok_or(Errno::NOSYS)?;
    if init.qp_type != abi::QPT_UD || !init.srq.is_null() {
        // Without stderr, the message is lost.
        let _ = rustix::io::write(rustix::stdio::stderr(), ONLY_UD.as_bytes());
        return Err(Errno::OPNOTSUPP);
    }
    if init.send_cq.is_null() || init.recv_cq.is_null() {
        return Err(Errno::INVAL);
    }
    // SAFETY: a domain of this library, with an open context.
    let context = unsafe { (*pd).context };
    // SAFETY: as above.
    let device = unsafe { context_of(context) }.index;
    let max_receives = init.cap.max_recv_wr as usize;
    let endpoint = Arc::new(Endpoint::create(config, device, max_receives)?);
    // SAFETY: a completion queue of this library.
    unsafe { completions(init.recv_cq) }.add(&endpoint)?;
    // SAFETY: as above.
    unsafe { completions(init.send_cq) }.add_sender();
    Ok(Qp {
        ibv: abi::Qp {
            context,
            qp_context: init.qp_context,
            pd,
            send_cq: init.send_cq,
            recv_cq: init.recv_cq,
            srq: null_mut(),
            handle: endpoint.qpn,
            qp_num: endpoint.qpn,
            state: state::RESET.cast_signed(),
            qp_type: init.qp_type,
            mutex: [0; 5],
            cond: [0; 6],
            events_completed: 0,
        },
        endpoint,
        cap: abi::QpCap {
            max_inline_data: 0,
            ..init.cap
        },
        signals_all: init.sq_sig_all != 0,
    })
}

/// Parameters of a queue pair after `attr` is applied.
fn apply_attributes(old: WireQpParameters, attr: &abi::QpAttr, mask: c_int) -> WireQpParameters {
    let mut next = old;
    if mask & mask::STATE != 0 {
        next.state = attr.qp_state.cast_unsigned();
    }
    if mask & mask::PORT != 0 {
        next.port = attr.port_num.into();
    }
    if mask & mask::PKEY_INDEX != 0 {
        next.pkey_index = attr.pkey_index.into();
    }
    if mask & mask::QKEY != 0 {
        next.q_key = attr.qkey;
    }
    next
}

/// Address of the sender of a message.
///
/// # Safety
///
/// An open context; `grh` is the GRH before the message, if the completion has the flag.
unsafe fn sender_address(
    context: *mut abi::IbvContext,
    port: u8,
    wc: &Wc,
    grh: *const u8,
) -> Result<abi::AhAttr, Errno> {
    let mut attr = abi::AhAttr {
        dlid: wc.slid,
        sl: wc.sl,
        src_path_bits: wc.dlid_path_bits,
        port_num: port,
        ..abi::AhAttr::default()
    };
    if wc.wc_flags & abi::WC_GRH != 0 {
        // SAFETY: promised by the caller.
        let grh = unsafe { &*grh.cast::<[u8; 40]>() };
        let gid_at = |at: usize| grh[at..].first_chunk::<16>().copied().unwrap_or_default();
        // SAFETY: promised by the caller.
        let gids = unsafe { context_of(context) }.port(port.into())?.gids;
        let gid_index = gids.iter().position(|gid| *gid == gid_at(24));
        let first_word = u32::from_be_bytes([grh[0], grh[1], grh[2], grh[3]]);
        attr.is_global = 1;
        attr.grh = abi::IbvGlobalRoute {
            dgid: abi::gid_words(gid_at(8)),
            flow_label: first_word & 0xF_FFFF,
            sgid_index: gid_index
                .and_then(|i| u8::try_from(i).ok())
                .ok_or(Errno::INVAL)?,
            hop_limit: 0xFF,
            traffic_class: (first_word >> 20 & 0xFF) as u8,
        };
    }
    Ok(attr)
}

/// # Safety
///
/// A domain of this library.
unsafe fn address_handle(pd: *mut abi::Pd, attr: abi::AhAttr) -> Ah {
    Ah {
        ibv: abi::Ah {
            // SAFETY: promised by the caller.
            context: unsafe { (*pd).context },
            pd,
            handle: 0,
        },
        attr,
    }
}

/// # Safety
///
/// The program's memory.
unsafe fn memory_region(pd: *mut abi::Pd, addr: *mut c_void, length: size_t) -> abi::Mr {
    abi::Mr {
        // SAFETY: a domain of this library.
        context: unsafe { (*pd).context },
        pd,
        addr,
        length,
        handle: 0,
        lkey: 1,
        rkey: 1,
    }
}

/// Frees an object of this library.
///
/// # Safety
///
/// Made by `boxed_or_null` as a `T`, and not used afterwards.
unsafe fn free<T>(object: *mut c_void) -> c_int {
    // SAFETY: promised by the caller.
    drop(unsafe { Box::from_raw(object.cast::<T>()) });
    0
}

replace! {
    /// Creates a protection domain.
    fn ibv_alloc_pd(next; context: *mut abi::IbvContext) -> *mut abi::Pd, else null_mut(); {
        if config().is_none() {
            // SAFETY: passed on, as in all that follows.
            return unsafe { next(context) };
        }
        boxed_or_null(Ok(abi::Pd { context, handle: 0 }))
    }

    /// Destroys the object.
    fn ibv_dealloc_pd(next; pd: *mut abi::Pd) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(pd) };
        }
        // SAFETY: made above.
        unsafe { free::<abi::Pd>(pd.cast()) }
    }

    /// Creates a memory region.
    fn ibv_reg_mr(next; pd: *mut abi::Pd, addr: *mut c_void, length: size_t, access: c_int) -> *mut abi::Mr, else null_mut(); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(pd, addr, length, access) };
        }
        // SAFETY: the program's.
        boxed_or_null(Ok(unsafe { memory_region(pd, addr, length) }))
    }

    /// Creates a memory region with an I/O virtual address, which must equal the address.
    fn ibv_reg_mr_iova(
        next; pd: *mut abi::Pd, addr: *mut c_void, length: size_t, iova: u64, access: c_int
    ) -> *mut abi::Mr, else null_mut(); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(pd, addr, length, iova, access) };
        }
        if iova != addr as u64 {
            return boxed_or_null(Err(Errno::OPNOTSUPP));
        }
        // SAFETY: the program's.
        boxed_or_null(Ok(unsafe { memory_region(pd, addr, length) }))
    }

    /// As `ibv_reg_mr_iova`, with optional access flags.
    fn ibv_reg_mr_iova2(
        next; pd: *mut abi::Pd, addr: *mut c_void, length: size_t, iova: u64, access: u32
    ) -> *mut abi::Mr, else null_mut(); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(pd, addr, length, iova, access) };
        }
        if iova != addr as u64 {
            return boxed_or_null(Err(Errno::OPNOTSUPP));
        }
        // SAFETY: the program's.
        boxed_or_null(Ok(unsafe { memory_region(pd, addr, length) }))
    }

    /// Destroys the object.
    fn ibv_dereg_mr(next; mr: *mut abi::Mr) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(mr) };
        }
        // SAFETY: made above.
        unsafe { free::<abi::Mr>(mr.cast()) }
    }

    /// Creates a completion channel.
    fn ibv_create_comp_channel(next; context: *mut abi::IbvContext) -> *mut abi::CompChannel, else null_mut(); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context) };
        }
        boxed_or_null(Channel::new().map(|channel| CompChannel {
            ibv: abi::CompChannel { context, fd: channel.epoll.as_raw_fd(), refcnt: 0 },
            channel: Arc::new(channel),
        })).cast()
    }

    /// Destroys the object.
    fn ibv_destroy_comp_channel(next; channel: *mut abi::CompChannel) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(channel) };
        }
        // SAFETY: made above.
        unsafe { free::<CompChannel>(channel.cast()) }
    }

    /// Creates a completion queue.
    fn ibv_create_cq(
        next; context: *mut abi::IbvContext, cqe: c_int, cq_context: *mut c_void, channel: *mut abi::CompChannel,
        vector: c_int
    ) -> *mut abi::Cq, else null_mut(); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, cqe, cq_context, channel, vector) };
        }
        let cq: *mut Cq = boxed_or_null(Ok(Cq {
            ibv: abi::Cq {
                context,
                channel,
                cq_context,
                handle: 0,
                cqe,
                mutex: [0; 5],
                cond: [0; 6],
                comp_events_completed: 0,
                async_events_completed: 0,
            },
            completions: Completions::default(),
        }));
        if !channel.is_null() {
            // SAFETY: a channel of this library, and a queue that is not yet in use.
            let connected = unsafe {
                let channel = Arc::clone(&(*channel.cast::<CompChannel>()).channel);
                (*cq).completions.connect(channel, cq.cast())
            };
            if let Err(errno) = connected {
                fail(errno);
                // SAFETY: made above.
                unsafe { free::<Cq>(cq.cast()) };
                return null_mut();
            }
        }
        cq.cast()
    }

    /// Destroys the object.
    fn ibv_destroy_cq(next; cq: *mut abi::Cq) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(cq) };
        }
        // SAFETY: a completion queue.
        let completions = unsafe { completions(cq) };
        if completions.is_in_use() {
            return error_number(Err(Errno::BUSY));
        }
        completions.disconnect();
        // SAFETY: made above.
        unsafe { free::<Cq>(cq.cast()) }
    }

    /// The next completion queue of a channel with a notification; waits in libc's `poll`, a
    /// cancellation point.
    fn ibv_get_cq_event(
        next; channel: *mut abi::CompChannel, cq: *mut *mut abi::Cq, cq_context: *mut *mut c_void
    ) -> c_int, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(channel, cq, cq_context) };
        }
        loop {
            // SAFETY: a channel of this library; its queues disconnect before they are destroyed.
            unsafe {
                let comp_channel = &*channel.cast::<CompChannel>();
                if let Some(queue_id) = comp_channel.channel.ready() {
                    let completion_queue = queue_id.cast::<abi::Cq>();
                    if completions(completion_queue).take_notification() {
                        cq.write(completion_queue);
                        cq_context.write((*completion_queue).cq_context);
                        return 0;
                    }
                    continue;
                }
                if comp_channel.channel.is_nonblocking() {
                    return fail(Errno::AGAIN);
                }
                let mut fds = [pollfd { fd: comp_channel.ibv.fd, events: POLLIN, revents: 0 }];
                if libc::poll(fds.as_mut_ptr(), 1, -1) < 0 {
                    return -1;
                }
            }
        }
    }

    /// No effect: no call waits for acknowledgements.
    fn ibv_ack_cq_events(next; cq: *mut abi::Cq, count: u32) -> (), else (); {
        if config().is_none() {
            // SAFETY: passed on.
            unsafe { next(cq, count) }
        }
    }

    /// Creates a queue pair for datagrams.
    fn ibv_create_qp(next; pd: *mut abi::Pd, init: *mut abi::QpInitAttr) -> *mut abi::Qp, else null_mut(); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(pd, init) };
        }
        // SAFETY: the program's structures.
        let qp = boxed_or_null(unsafe { create_qp(pd, &*init) });
        if !qp.is_null() {
            // SAFETY: just made; the program gets the actual capacities.
            unsafe { (*init).cap = (*qp).cap };
        }
        qp.cast()
    }

    /// Modifies state and keys of a queue pair.
    fn ibv_modify_qp(next; qp: *mut abi::Qp, attr: *mut abi::QpAttr, mask: c_int) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(qp, attr, mask) };
        }
        // SAFETY: a queue pair, and the program's structure.
        let endpoint = unsafe { endpoint(qp) };
        // SAFETY: as above.
        let modified = apply_attributes(endpoint.parameters(), unsafe { &*attr }, mask);
        let result = endpoint.modify(modified);
        if result.is_ok() {
            // SAFETY: a queue pair.
            unsafe { (*qp).state = modified.state.cast_signed() };
            if modified.state == state::ERR {
                // SAFETY: its completion queue.
                let completions = unsafe { completions((*qp).recv_cq) };
                endpoint.flush().into_iter().for_each(|wc| completions.push(wc));
            }
        }
        error_number(result)
    }

    /// Queries the parameters of a queue pair.
    fn ibv_query_qp(
        next; qp: *mut abi::Qp, attr: *mut abi::QpAttr, mask: c_int, init: *mut abi::QpInitAttr
    ) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(qp, attr, mask, init) };
        }
        // SAFETY: a queue pair, and room for both structures.
        unsafe {
            let queue_pair = &*qp.cast::<Qp>();
            let parameters = queue_pair.endpoint.parameters();
            attr.write(abi::QpAttr {
                qp_state: parameters.state.cast_signed(),
                cur_qp_state: parameters.state.cast_signed(),
                qkey: parameters.q_key,
                cap: queue_pair.cap,
                pkey_index: u16::try_from(parameters.pkey_index).unwrap_or(0),
                port_num: u8::try_from(parameters.port).unwrap_or(0),
                ..abi::QpAttr::default()
            });
            init.write(abi::QpInitAttr {
                qp_context: queue_pair.ibv.qp_context,
                send_cq: queue_pair.ibv.send_cq,
                recv_cq: queue_pair.ibv.recv_cq,
                srq: null_mut(),
                cap: queue_pair.cap,
                qp_type: queue_pair.ibv.qp_type,
                sq_sig_all: c_int::from(queue_pair.signals_all),
            });
        }
        0
    }

    /// Destroys a queue pair with its completions.
    fn ibv_destroy_qp(next; qp: *mut abi::Qp) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(qp) };
        }
        // SAFETY: made above, with its completion queues.
        unsafe {
            completions((*qp).recv_cq).remove(endpoint(qp));
            completions((*qp).send_cq).remove_sender();
            if (*qp).send_cq != (*qp).recv_cq {
                completions((*qp).send_cq).remove(endpoint(qp));
            }
            free::<Qp>(qp.cast())
        }
    }

    /// Creates an address handle.
    fn ibv_create_ah(next; pd: *mut abi::Pd, attr: *mut abi::AhAttr) -> *mut abi::Ah, else null_mut(); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(pd, attr) };
        }
        // SAFETY: the program's structures.
        boxed_or_null(Ok(unsafe { address_handle(pd, *attr) })).cast()
    }

    /// The address of a message's sender.
    fn ibv_init_ah_from_wc(
        next; context: *mut abi::IbvContext, port: u8, wc: *mut Wc, grh: *mut u8, attr: *mut abi::AhAttr
    ) -> c_int, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, port, wc, grh, attr) };
        }
        // SAFETY: the program's structures.
        let address = unsafe { sender_address(context, port, &*wc, grh) };
        // SAFETY: room for the address.
        super::minus_one_with_errno(address.map(|found| unsafe { attr.write(found) }))
    }

    /// Creates an address handle for a message's sender.
    fn ibv_create_ah_from_wc(
        next; pd: *mut abi::Pd, wc: *mut Wc, grh: *mut u8, port: u8
    ) -> *mut abi::Ah, else null_mut(); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(pd, wc, grh, port) };
        }
        // SAFETY: the program's structures.
        let address = unsafe { sender_address((*pd).context, port, &*wc, grh) };
        // SAFETY: as above.
        boxed_or_null(address.map(|attr| unsafe { address_handle(pd, attr) })).cast()
    }

    /// Destroys the object.
    fn ibv_destroy_ah(next; ah: *mut abi::Ah) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(ah) };
        }
        // SAFETY: made above.
        unsafe { free::<Ah>(ah.cast()) }
    }

    /// Attaches a queue pair to a multicast group.
    fn ibv_attach_mcast(next; qp: *mut abi::Qp, gid: *const [u8; 16], lid: u16) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(qp, gid, lid) };
        }
        // SAFETY: a queue pair and a GID.
        error_number(unsafe { endpoint(qp).multicast(true, *gid, lid) })
    }

    /// Detaches a queue pair from a multicast group.
    fn ibv_detach_mcast(next; qp: *mut abi::Qp, gid: *const [u8; 16], lid: u16) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(qp, gid, lid) };
        }
        // SAFETY: a queue pair and a GID.
        error_number(unsafe { endpoint(qp).multicast(false, *gid, lid) })
    }
}
