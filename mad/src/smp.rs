//! Subnet management packets: headers and directed routes.

use core::fmt;
use core::str::FromStr;

use crate::ids::{AttrId, AttrMod, Lid, MKey, ParsePathError, PortNum, Tid};
use crate::mad::{Mad, MadHeader, Method, MgmtClass, Status};
use crate::wire::{part, part_mut};

/// Maximum number of hops of a directed route.
pub const MAX_HOPS: usize = 63;
/// Offset of an SMP's attribute.
pub const DATA_OFFSET: usize = 64;
/// Length of an SMP's attribute.
pub const DATA_LEN: usize = 64;
const INITIAL_PATH: usize = 128;
const RETURN_PATH: usize = 192;

crate::wire! {
    /// Directed-route SMP up to its data (class 0x81); the two path vectors follow the data.
    pub struct DirectedHeader[64] {
        /// 1 in responses; the following 15 bits are the status.
        d: bool = 32, 1;
        /// Current position on the route.
        hop_pointer: u8 = 48, 8;
        /// Number of hops.
        hop_count: u8 = 56, 8;
        /// M_Key of the target port.
        m_key: MKey = 192, 64;
        /// Permissive if the directed part starts at the requester.
        dr_slid: Lid = 256, 16;
        /// Permissive if the directed part ends at the target.
        dr_dlid: Lid = 272, 16;
    }
}

crate::wire! {
    /// LID-routed SMP up to its data (class 0x01).
    pub struct LidRoutedHeader[64] {
        /// M_Key of the target port.
        m_key: MKey = 192, 64;
    }
}

/// A directed route: the output port at each node, starting with the requester's. Without hops, the
/// local node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DrPath {
    len: u8,
    hops: [u8; MAX_HOPS],
}

impl DrPath {
    /// The requester's own node.
    pub const LOCAL: Self = Self {
        len: 0,
        hops: [0; MAX_HOPS],
    };

    /// The number of hops.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it denotes the requester's own node.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Output ports in order.
    #[must_use]
    pub fn hops(&self) -> &[u8] {
        &self.hops[..self.len()]
    }

    /// Extended by a hop through `port`; `None` beyond 63 hops.
    #[must_use]
    pub fn extend(&self, port: PortNum) -> Option<Self> {
        if self.len() == MAX_HOPS {
            return None;
        }
        let mut p = *self;
        p.hops[self.len()] = port.0;
        p.len += 1;
        Some(p)
    }

    /// The InitialPath of an SMP; `None` if HopCount is out of range.
    #[must_use]
    pub fn from_smp(mad: &Mad) -> Option<Self> {
        let count = mad.as_bytes()[7];
        if usize::from(count) > MAX_HOPS {
            return None;
        }
        let mut p = Self {
            len: count,
            hops: [0; MAX_HOPS],
        };
        let hops = usize::from(count);
        p.hops[..hops].copy_from_slice(&mad.as_bytes()[INITIAL_PATH + 1..INITIAL_PATH + 1 + hops]);
        Some(p)
    }

    /// The path of the response to a received SMP, from the receiver to the requester: its
    /// ReturnPath in reverse. `None` if HopCount is out of range, or one end of the route is a LID.
    #[must_use]
    pub fn to_requester(mad: &Mad) -> Option<Self> {
        let header = DirectedHeader::decode(mad.as_bytes());
        let hops = usize::from(header.hop_count);
        let is_directed_only = [header.dr_slid, header.dr_dlid] == [Lid::PERMISSIVE; 2];
        if !is_directed_only || hops > MAX_HOPS {
            return None;
        }
        let mut p = Self {
            len: header.hop_count,
            hops: [0; MAX_HOPS],
        };
        p.hops[..hops].copy_from_slice(&return_path(mad)[1..=hops]);
        p.hops[..hops].reverse();
        Some(p)
    }
}

/// `0,1,17`: the leading 0 denotes the local node, as in infiniband-diags.
impl fmt::Display for DrPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0")?;
        for hop in self.hops() {
            write!(f, ",{hop}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for DrPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DrPath({self})")
    }
}

impl FromStr for DrPath {
    type Err = ParsePathError;
    fn from_str(s: &str) -> Result<Self, ParsePathError> {
        let parse_error = || ParsePathError(s.to_owned());
        let mut parts = s.split(',');
        if parts.next().map(str::trim) != Some("0") {
            return Err(parse_error());
        }
        parts.try_fold(Self::LOCAL, |path, hop| {
            let port: PortNum = hop.trim().parse().map_err(|_| parse_error())?;
            path.extend(port).ok_or_else(parse_error)
        })
    }
}

/// An SMP request without its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmpRequest {
    /// Get or Set.
    pub method: Method,
    /// The attribute.
    pub attr_id: AttrId,
    /// The attribute modifier.
    pub attr_mod: AttrMod,
    /// M_Key of the target port.
    pub m_key: MKey,
    /// The attribute's data; zero in a Get.
    pub data: [u8; DATA_LEN],
}

impl SmpRequest {
    /// A Get of an attribute.
    #[must_use]
    pub const fn get(attr_id: AttrId, attr_mod: AttrMod, m_key: MKey) -> Self {
        Self {
            method: Method::Get,
            attr_id,
            attr_mod,
            m_key,
            data: [0; DATA_LEN],
        }
    }

    /// A Set of an attribute.
    #[must_use]
    pub const fn set(
        attr_id: AttrId,
        attr_mod: AttrMod,
        m_key: MKey,
        data: [u8; DATA_LEN],
    ) -> Self {
        Self {
            method: Method::Set,
            attr_id,
            attr_mod,
            m_key,
            data,
        }
    }

    fn header(&self, mgmt_class: MgmtClass, tid: Tid) -> MadHeader {
        MadHeader {
            base_version: 1,
            mgmt_class,
            class_version: 1,
            method: self.method,
            status: 0,
            class_specific: 0,
            tid,
            attr_id: self.attr_id,
            attr_mod: self.attr_mod,
        }
    }

    /// As a directed-route SMP along `path`.
    #[must_use]
    pub fn directed(&self, path: &DrPath, tid: Tid) -> Mad {
        let mut mad = Mad::new(&self.header(MgmtClass::SubnDirected, tid));
        let b = mad.as_bytes_mut();
        DirectedHeader {
            d: false,
            hop_pointer: 0,
            hop_count: path.len,
            m_key: self.m_key,
            dr_slid: Lid::PERMISSIVE,
            dr_dlid: Lid::PERMISSIVE,
        }
        .encode_onto(b);
        b[INITIAL_PATH + 1..INITIAL_PATH + 1 + path.len()].copy_from_slice(path.hops());
        *data_mut(&mut mad) = self.data;
        mad
    }

    /// As a LID-routed SMP.
    #[must_use]
    pub fn lid_routed(&self, tid: Tid) -> Mad {
        let mut mad = Mad::new(&self.header(MgmtClass::SubnLid, tid));
        LidRoutedHeader { m_key: self.m_key }.encode_onto(mad.as_bytes_mut());
        *data_mut(&mut mad) = self.data;
        mad
    }
}

/// The attribute of an SMP.
#[must_use]
pub const fn data(mad: &Mad) -> &[u8; DATA_LEN] {
    part::<DATA_OFFSET, DATA_LEN, _>(mad.as_bytes())
}

/// The attribute of an SMP, mutable.
pub const fn data_mut(mad: &mut Mad) -> &mut [u8; DATA_LEN] {
    part_mut::<DATA_OFFSET, DATA_LEN, _>(mad.as_bytes_mut())
}

/// The M_Key of an SMP.
#[must_use]
pub fn m_key(mad: &Mad) -> MKey {
    LidRoutedHeader::decode(mad.as_bytes()).m_key
}

/// ReturnPath of a directed-route SMP, element 0 (unused) included.
#[must_use]
pub fn return_path(mad: &Mad) -> &[u8] {
    &mad.as_bytes()[RETURN_PATH..]
}

/// ReturnPath of a directed-route SMP, for switches to fill in.
pub fn return_path_mut(mad: &mut Mad) -> &mut [u8] {
    &mut mad.as_bytes_mut()[RETURN_PATH..]
}

/// The response to an SMP request, with `status` and `data`.
///
/// Hop pointer and paths are unchanged; directed-route responses have D set.
#[must_use]
pub fn response(request: &Mad, status: Status, data: &[u8; DATA_LEN]) -> Mad {
    let mut mad = *request;
    let directed = mad.mgmt_class() == MgmtClass::SubnDirected;
    let b = mad.as_bytes_mut();
    b[3] = Method::GetResp.0;
    b[4..6].copy_from_slice(&(status.0 | if directed { 0x8000 } else { 0 }).to_be_bytes());
    *data_mut(&mut mad) = *data;
    mad
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_parse_in_the_form_of_infiniband_diags() {
        let path: DrPath = "0,1,17".parse().unwrap();
        assert_eq!(path.hops(), [1, 17]);
        assert_eq!(path.to_string(), "0,1,17");
        assert!(
            "1,17".parse::<DrPath>().is_err(),
            "the local node comes first"
        );
    }

    #[test]
    fn a_path_of_63_hops_does_not_grow() {
        let mut path = DrPath::LOCAL;
        for _ in 0..MAX_HOPS {
            path = path.extend(PortNum(1)).unwrap();
        }
        assert_eq!(path.extend(PortNum(1)), None);
    }

    #[test]
    fn a_directed_smp_carries_its_route() {
        let path: DrPath = "0,1,17".parse().unwrap();
        let mad = SmpRequest::get(AttrId(0x11), AttrMod(0), MKey::new(7)).directed(&path, Tid(5));
        let b = mad.as_bytes();
        assert_eq!(&b[..8], [1, 0x81, 1, 1, 0, 0, 0, 2]);
        assert_eq!(&b[32..36], [0xFF; 4], "permissive at both ends");
        assert_eq!(&b[128..132], [0, 1, 17, 0]);
        assert_eq!(DrPath::from_smp(&mad), Some(path));
        assert_eq!(m_key(&mad), MKey::new(7));
    }
}
