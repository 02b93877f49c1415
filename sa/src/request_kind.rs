//! Kinds of requests, by attribute and method, as metrics count them. Their number is fixed:
//! unknown attributes and methods share one kind.

use std::collections::BTreeMap;

use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;

use super::message::SaRequest;

/// Attributes that are counted apart; others are counted together.
const ATTRIBUTES: [AttrId; 21] = [
    id::CLASS_PORT_INFO,
    id::INFORM_INFO,
    id::INFORM_INFO_RECORD,
    id::GUID_INFO,
    id::LFT,
    id::LINK,
    id::MC_MEMBER,
    id::MFT,
    id::MULTI_PATH,
    id::NODE,
    id::NOTICE,
    id::PATH,
    id::PKEY_TABLE,
    id::PORT_INFO,
    id::RANDOM_FORWARDING,
    id::SERVICE,
    id::SL_TO_VL,
    id::SM_INFO,
    id::SWITCH_INFO,
    id::TRACE,
    id::VL_ARBITRATION,
];

/// Methods that are counted apart.
const METHODS: [Method; 7] = [
    Method::Get,
    Method::Set,
    Method::GetTable,
    Method::GetTraceTable,
    Method::GetMulti,
    Method::Delete,
    Method::ReportResp,
];

/// Label of other attributes and methods.
const OTHER: &str = "other";

/// The attribute and the method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKind(u8);

impl RequestKind {
    /// Number of kinds.
    pub const COUNT: usize = (ATTRIBUTES.len() + 1) * (METHODS.len() + 1);
    /// The kind of messages that are not SA requests.
    pub const OTHER: Self = Self(175);

    /// All kinds, by index.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=Self::OTHER.0).map(Self)
    }

    /// The kind of a request.
    #[must_use]
    pub fn of(request: &SaRequest<'_>) -> Self {
        Self::new(request.attr, request.method)
    }

    /// The kind of an attribute and a method.
    #[must_use]
    pub fn new(attr: AttrId, method: Method) -> Self {
        let attribute = ATTRIBUTES
            .iter()
            .position(|a| *a == attr)
            .unwrap_or(ATTRIBUTES.len());
        let method = METHODS.iter().position(|m| *m == method);
        let index = attribute * (METHODS.len() + 1) + method.unwrap_or(METHODS.len());
        u8::try_from(index).map_or(Self::OTHER, Self)
    }

    /// Its index, below [`Self::COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The name of the attribute.
    #[must_use]
    pub fn attribute(self) -> &'static str {
        let attr = ATTRIBUTES.get(self.index() / (METHODS.len() + 1));
        attr.and_then(|attr| id::name(*attr)).unwrap_or(OTHER)
    }

    /// The name of the method.
    #[must_use]
    pub fn method(self) -> &'static str {
        let method = METHODS.get(self.index() % (METHODS.len() + 1));
        method.and_then(|method| method.name()).unwrap_or(OTHER)
    }
}

const _: () = assert!(RequestKind::OTHER.index() + 1 == RequestKind::COUNT);

/// Requests by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindCounts {
    total: u64,
    by_kind: BTreeMap<RequestKind, u64>,
}

impl KindCounts {
    /// Counts a request.
    pub fn add(&mut self, kind: RequestKind) {
        self.total += 1;
        *self.by_kind.entry(kind).or_default() += 1;
    }

    /// Requests of all kinds.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Requests of each kind.
    pub fn iter(&self) -> impl Iterator<Item = (RequestKind, u64)> {
        self.by_kind.iter().map(|(kind, count)| (*kind, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_index_and_labels() {
        let mut labels = std::collections::BTreeSet::new();
        for (i, kind) in RequestKind::all().enumerate() {
            assert_eq!(kind.index(), i);
            assert!(labels.insert((kind.attribute(), kind.method())), "{kind:?}");
        }
        assert_eq!(labels.len(), RequestKind::COUNT);
        for attr in ATTRIBUTES {
            for method in METHODS {
                let kind = RequestKind::new(attr, method);
                let names = (Some(kind.attribute()), Some(kind.method()));
                assert_eq!(names, (id::name(attr), method.name()));
            }
        }
        let unknown = RequestKind::new(AttrId(0xFF99), Method(0x77));
        assert_eq!(unknown, RequestKind::OTHER);
        assert_eq!((unknown.attribute(), unknown.method()), ("other", "other"));
    }
}
