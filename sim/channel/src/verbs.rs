//! Messages between verbs programs and the server: requests about devices and queue pairs, and the
//! messages in the rings of queue pairs and watched devices. Encoding and decoding only.

use crate::codec::{Decoder, Encoder, Malformed};

/// Maximum payload of a datagram.
pub const MAX_DATAGRAM: usize = 256;

/// A request of a verbs program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerbsRequest {
    /// Lists the devices of the host. Reply: [`VerbsReply::Devices`].
    Devices,
    /// Queries a port with its tables. Reply: [`VerbsReply::Port`] or an error number.
    Port {
        /// Device index on the host.
        device: u32,
        /// Port number, from 1; 0 for a switch.
        port: u32,
    },
    /// Makes this connection receive the [`WireAsyncEvent`]s of a device through the ring. Reply:
    /// [`crate::frames::ServerReply::Opened`] with descriptors, or an error number.
    Watch {
        /// Device index.
        device: u32,
    },
    /// Makes this connection a queue pair: [`OutgoingDatagram`] and [`ReceivedDatagram`] pass
    /// through the rings. Reply: [`VerbsReply::QueuePair`] with descriptors, or an error number.
    CreateQueuePair {
        /// Device index.
        device: u32,
    },
    /// Modifies the connection's queue pair after all earlier messages were sent. Reply, also of
    /// the following requests: [`crate::frames::ServerReply::Done`] or an error number.
    ModifyQueuePair(WireQpParameters),
    /// Attaches the queue pair to a multicast group or detaches it.
    Multicast {
        /// Attach or detach.
        attach: bool,
        /// MGID.
        mgid: [u8; 16],
        mlid: u16,
    },
}

/// State and keys of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireQpParameters {
    /// `enum ibv_qp_state`: 0 reset, 1 init, 2 ready to receive, 3 ready to send; other values are
    /// an error.
    pub state: u32,
    /// Port number.
    pub port: u32,
    /// Index of its P_Key in the port's table.
    pub pkey_index: u32,
    pub q_key: u32,
}

/// A reply to a [`VerbsRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerbsReply {
    /// Devices of the host.
    Devices(Vec<DeviceAttributes>),
    Port(Box<PortAttributes>),
    /// QPN of a new queue pair.
    QueuePair(u32),
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceAttributes {
    /// Name, as in sysfs.
    pub name: String,
    /// Firmware version.
    pub firmware: String,
    /// Node type: 1 CA, 2 switch, 3 router.
    pub node_type: u32,
    pub node_guid: u64,
    pub system_image_guid: u64,
    pub vendor_id: u32,
    pub device_id: u32,
    /// Hardware revision.
    pub revision: u32,
    /// Number of external ports of a CA; 1 for port 0 of a switch.
    pub ports: u32,
    /// Size of a port's P_Key table.
    pub pkey_table_len: u32,
}

/// A port, with the codes of PortInfo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortAttributes {
    /// PortState.
    pub state: u32,
    /// PortPhysicalState.
    pub phys_state: u32,
    /// MTUCap.
    pub max_mtu: u32,
    /// NeighborMTU.
    pub active_mtu: u32,
    /// CapabilityMask.
    pub capabilities: u32,
    /// CapabilityMask2.
    pub capabilities2: u32,
    /// P_KeyViolations.
    pub pkey_violations: u32,
    /// Q_KeyViolations.
    pub qkey_violations: u32,
    pub lid: u32,
    pub lmc: u32,
    /// MasterSMLID.
    pub sm_lid: u32,
    /// MasterSMSL.
    pub sm_sl: u32,
    pub subnet_timeout: u32,
    pub init_type_reply: u32,
    pub vl_cap: u32,
    /// LinkWidthActive.
    pub width: u32,
    /// Speed code of verbs: 1 SDR, 2 DDR, 4 QDR, 8 FDR10, 16 FDR, 32 EDR, 64 HDR, 128 NDR, 256 XDR.
    pub speed: u32,
    /// GID table; empty entries are zero.
    pub gids: Vec<[u8; 16]>,
    /// P_Key table.
    pub pkeys: Vec<u16>,
}

impl PortAttributes {
    fn numbers(&mut self) -> [&mut u32; 17] {
        [
            &mut self.state,
            &mut self.phys_state,
            &mut self.max_mtu,
            &mut self.active_mtu,
            &mut self.capabilities,
            &mut self.capabilities2,
            &mut self.pkey_violations,
            &mut self.qkey_violations,
            &mut self.lid,
            &mut self.lmc,
            &mut self.sm_lid,
            &mut self.sm_sl,
            &mut self.subnet_timeout,
            &mut self.init_type_reply,
            &mut self.vl_cap,
            &mut self.width,
            &mut self.speed,
        ]
    }
}

impl VerbsRequest {
    pub(crate) fn encode(&self, out: &mut Encoder) {
        match self {
            Self::Devices => out.number(1),
            Self::Port { device, port } => out.number(2).number(*device).number(*port),
            Self::Watch { device } => out.number(3).number(*device),
            Self::CreateQueuePair { device } => out.number(4).number(*device),
            Self::ModifyQueuePair(parameters) => out
                .number(5)
                .number(parameters.state)
                .number(parameters.port)
                .number(parameters.pkey_index)
                .number(parameters.q_key),
            Self::Multicast { attach, mgid, mlid } => out
                .number(6)
                .number(u32::from(*attach))
                .number((*mlid).into())
                .raw(mgid),
        };
    }

    pub(crate) fn decode(input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(match input.number()? {
            1 => Self::Devices,
            2 => Self::Port {
                device: input.number()?,
                port: input.number()?,
            },
            3 => Self::Watch {
                device: input.number()?,
            },
            4 => Self::CreateQueuePair {
                device: input.number()?,
            },
            5 => Self::ModifyQueuePair(WireQpParameters {
                state: input.number()?,
                port: input.number()?,
                pkey_index: input.number()?,
                q_key: input.number()?,
            }),
            6 => Self::Multicast {
                attach: input.number()? != 0,
                mlid: input.number16()?,
                mgid: input.array()?,
            },
            _ => return Err(Malformed("request")),
        })
    }
}

impl VerbsReply {
    pub(crate) fn encode(&self, out: &mut Encoder) {
        match self {
            Self::Devices(devices) => {
                out.number(1);
                for device in devices {
                    out.bytes(device.name.as_bytes())
                        .bytes(device.firmware.as_bytes())
                        .number(device.node_type)
                        .raw(&device.node_guid.to_le_bytes())
                        .raw(&device.system_image_guid.to_le_bytes())
                        .number(device.vendor_id)
                        .number(device.device_id)
                        .number(device.revision)
                        .number(device.ports)
                        .number(device.pkey_table_len);
                }
            }
            Self::Port(port) => {
                out.number(2);
                for number in port.clone().numbers() {
                    out.number(*number);
                }
                out.bytes(port.gids.as_flattened());
                for pkey in &port.pkeys {
                    out.number((*pkey).into());
                }
            }
            Self::QueuePair(number) => {
                out.number(3).number(*number);
            }
        }
    }

    pub(crate) fn decode(input: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(match input.number()? {
            1 => {
                let mut devices = Vec::new();
                while !input.is_empty() {
                    devices.push(DeviceAttributes {
                        name: input.text()?,
                        firmware: input.text()?,
                        node_type: input.number()?,
                        node_guid: u64::from_le_bytes(input.array()?),
                        system_image_guid: u64::from_le_bytes(input.array()?),
                        vendor_id: input.number()?,
                        device_id: input.number()?,
                        revision: input.number()?,
                        ports: input.number()?,
                        pkey_table_len: input.number()?,
                    });
                }
                Self::Devices(devices)
            }
            2 => {
                let mut port = PortAttributes::default();
                for number in port.numbers() {
                    *number = input.number()?;
                }
                let (gids, []) = input.bytes()?.as_chunks() else {
                    return Err(Malformed("reply"));
                };
                port.gids = gids.to_vec();
                while !input.is_empty() {
                    port.pkeys.push(input.number16()?);
                }
                Self::Port(Box::new(port))
            }
            3 => Self::QueuePair(input.number()?),
            _ => return Err(Malformed("reply")),
        })
    }
}

/// Global route of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireGlobalRoute {
    /// Destination GID.
    pub dgid: [u8; 16],
    /// Index of the source GID in the port's table.
    pub sgid_index: u32,
    pub flow_label: u32,
    pub traffic_class: u32,
    pub hop_limit: u32,
}

/// A message to the server: a datagram to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutgoingDatagram {
    /// Destination LID.
    pub dlid: u16,
    /// Destination QPN.
    pub dest_qpn: u32,
    pub q_key: u32,
    /// Service level.
    pub sl: u32,
    /// Low bits of the source LID.
    pub path_bits: u32,
    pub route: Option<WireGlobalRoute>,
    pub payload: Vec<u8>,
}

/// A message from the server: a received datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedDatagram {
    /// Source LID.
    pub slid: u16,
    /// Source QPN.
    pub src_qpn: u32,
    /// Service level.
    pub sl: u32,
    /// Low bits of the destination LID.
    pub path_bits: u32,
    /// Index of the queue pair's P_Key in the port's table.
    pub pkey_index: u32,
    /// GRH as on the wire.
    pub grh: Option<[u8; 40]>,
    pub payload: Vec<u8>,
}

/// A message from the server: an event of a watched device's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireAsyncEvent {
    /// `enum ibv_event_type`.
    pub kind: u32,
    /// Port number.
    pub port: u32,
}

impl OutgoingDatagram {
    /// Encodes a message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.number(self.dlid.into())
            .number(self.dest_qpn)
            .number(self.q_key)
            .number(self.sl)
            .number(self.path_bits)
            .number(u32::from(self.route.is_some()));
        if let Some(route) = &self.route {
            out.raw(&route.dgid)
                .number(route.sgid_index)
                .number(route.flow_label)
                .number(route.traffic_class)
                .number(route.hop_limit);
        }
        out.raw(&self.payload);
        out.into_bytes()
    }

    /// # Errors
    ///
    /// [`Malformed`].
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut input = Decoder::new(message, "datagram to send");
        Ok(Self {
            dlid: input.number16()?,
            dest_qpn: input.number()?,
            q_key: input.number()?,
            sl: input.number()?,
            path_bits: input.number()?,
            route: match input.number()? {
                0 => None,
                _ => Some(WireGlobalRoute {
                    dgid: input.array()?,
                    sgid_index: input.number()?,
                    flow_label: input.number()?,
                    traffic_class: input.number()?,
                    hop_limit: input.number()?,
                }),
            },
            payload: input.rest().to_vec(),
        })
    }
}

impl ReceivedDatagram {
    /// Encodes a message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.number(self.slid.into())
            .number(self.src_qpn)
            .number(self.sl)
            .number(self.path_bits)
            .number(self.pkey_index)
            .number(u32::from(self.grh.is_some()));
        if let Some(grh) = &self.grh {
            out.raw(grh);
        }
        out.raw(&self.payload);
        out.into_bytes()
    }

    /// # Errors
    ///
    /// [`Malformed`].
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut input = Decoder::new(message, "datagram");
        Ok(Self {
            slid: input.number16()?,
            src_qpn: input.number()?,
            sl: input.number()?,
            path_bits: input.number()?,
            pkey_index: input.number()?,
            grh: match input.number()? {
                0 => None,
                _ => Some(input.array()?),
            },
            payload: input.rest().to_vec(),
        })
    }
}

impl WireAsyncEvent {
    /// Encodes a message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.number(self.kind).number(self.port);
        out.into_bytes()
    }

    /// # Errors
    ///
    /// [`Malformed`].
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let mut input = Decoder::new(message, "event");
        Ok(Self {
            kind: input.number()?,
            port: input.number()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::{ClientRequest, ServerReply};

    fn port() -> PortAttributes {
        let mut port = PortAttributes {
            gids: vec![[1; 16], [2; 16]],
            pkeys: vec![0xFFFF, 0, 0x7FFF],
            ..PortAttributes::default()
        };
        for (value, number) in (100..).zip(port.numbers()) {
            *number = value;
        }
        port
    }

    #[test]
    fn requests_and_replies_round_trip_in_their_frames() {
        let calls = [
            VerbsRequest::Devices,
            VerbsRequest::Port { device: 1, port: 2 },
            VerbsRequest::Watch { device: 3 },
            VerbsRequest::CreateQueuePair { device: 4 },
            VerbsRequest::ModifyQueuePair(WireQpParameters {
                state: 3,
                port: 1,
                pkey_index: 2,
                q_key: 0x8001_0000,
            }),
            VerbsRequest::Multicast {
                attach: true,
                mgid: [0xFF; 16],
                mlid: 0xC001,
            },
        ];
        for call in calls {
            let request = ClientRequest::Verbs(call);
            let bytes = request.encode();
            assert_eq!(ClientRequest::decode(&bytes).as_ref(), Ok(&request));
            for cut in 0..bytes.len() {
                assert!(
                    ClientRequest::decode(&bytes[..cut]).is_err(),
                    "{request:?} {cut}"
                );
            }
        }
        let device = DeviceAttributes {
            name: "mlx5_0".to_owned(),
            firmware: "1.0.0".to_owned(),
            node_type: 1,
            node_guid: u64::MAX,
            system_image_guid: 1,
            vendor_id: 2,
            device_id: 3,
            revision: 4,
            ports: 5,
            pkey_table_len: 6,
        };
        for reply in [
            VerbsReply::Devices(vec![]),
            VerbsReply::Devices(vec![device.clone(), device]),
            VerbsReply::Port(Box::new(port())),
            VerbsReply::QueuePair(0xFF_FFFE),
        ] {
            let reply = ServerReply::Verbs(reply);
            let bytes = reply.encode();
            assert_eq!(ServerReply::decode(&bytes).as_ref(), Ok(&reply));
            for cut in 0..bytes.len() {
                assert_ne!(ServerReply::decode(&bytes[..cut]).as_ref(), Ok(&reply));
            }
        }
    }

    #[test]
    fn messages_round_trip_and_truncated_headers_are_rejected() {
        for route in [None, Some(WireGlobalRoute::default())] {
            let send = OutgoingDatagram {
                dlid: 0xC000,
                dest_qpn: 0xFF_FFFF,
                q_key: 7,
                sl: 1,
                path_bits: 2,
                route,
                payload: vec![9; 256],
            };
            let bytes = send.encode();
            assert_eq!(OutgoingDatagram::decode(&bytes).as_ref(), Ok(&send));
            for cut in 0..bytes.len() - send.payload.len() {
                assert!(OutgoingDatagram::decode(&bytes[..cut]).is_err(), "{cut}");
            }
        }
        for grh in [None, Some([3; 40])] {
            let received = ReceivedDatagram {
                slid: 1,
                src_qpn: 2,
                sl: 3,
                path_bits: 4,
                pkey_index: 5,
                grh,
                payload: vec![],
            };
            let bytes = received.encode();
            assert_eq!(ReceivedDatagram::decode(&bytes).as_ref(), Ok(&received));
            for cut in 0..bytes.len() {
                assert!(ReceivedDatagram::decode(&bytes[..cut]).is_err(), "{cut}");
            }
        }
        let event = WireAsyncEvent { kind: 9, port: 1 };
        assert_eq!(WireAsyncEvent::decode(&event.encode()), Ok(event));
        assert!(WireAsyncEvent::decode(&event.encode()[..7]).is_err());
    }
}
