//! Flags of partitions and of groups.

use ferrosm_core::config::partitions::Membership;
use ferrosm_core::config::partitions::partition_group::{GroupSpec, IP_QKEY};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, PKey, Sl};
use ferrosm_mad::sa::multicast::mgid;
use ferrosm_mad::sa::path::RateCode;

use super::values;
use crate::error::InputError;
use crate::input::span::Span;

/// Full members have this bit in their P_Key.
const FULL: u16 = 0x8000;

/// Flags of a partition header.
#[derive(Debug, Clone)]
pub(super) struct PartitionHeader {
    pub(super) index0: bool,
    pub(super) ipoib: bool,
    /// Membership of members without one.
    pub(super) membership: Membership,
    pub(super) flags: GroupFlags,
}

impl Default for PartitionHeader {
    fn default() -> Self {
        Self {
            index0: false,
            ipoib: false,
            membership: Membership::Limited,
            flags: GroupFlags::default(),
        }
    }
}

/// Parameters of the groups of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFlags {
    pub mtu: MtuCode,
    pub rate: RateCode,
    /// Service level.
    pub sl: Sl,
    /// Scopes, one group each; empty for the scope in the MGID.
    pub scopes: Vec<u8>,
    /// Q_Key; `None` for the default of the group's type.
    pub qkey: Option<u32>,
    pub tclass: Option<u8>,
    pub flow_label: u32,
}

impl Default for GroupFlags {
    fn default() -> Self {
        let broadcast = GroupSpec::ipoib(1);
        Self {
            mtu: broadcast.mtu,
            rate: broadcast.rate,
            sl: broadcast.sl,
            scopes: Vec::new(),
            qkey: None,
            tclass: None,
            flow_label: 0,
        }
    }
}

/// Full names of group flags. OpenSM accepts any prefix of them.
const GROUP_FLAGS: [&str; 7] = ["mtu", "rate", "scope", "Q_Key", "TClass", "sl", "FlowLabel"];

/// The flag of which the word is a prefix.
fn match_prefix<'a>(
    word: &Span<'_>,
    candidates: &[&'a str],
    warnings: &mut Vec<InputError>,
) -> Option<&'a str> {
    let text = word.text();
    let full = *candidates.iter().find(|full| full.starts_with(text))?;
    if full != text {
        warnings.push(word.warning(format!("`{text}` read as `{full}`")));
    }
    Some(full)
}

impl PartitionHeader {
    /// Applies a flag.
    pub(super) fn apply(
        &mut self,
        flag: &Span<'_>,
        warnings: &mut Vec<InputError>,
        errors: &mut Vec<InputError>,
    ) {
        let (name, value) = flag.name_and_value();
        if name.is_blank() {
            warnings.push(flag.warning("empty flag ignored"));
            return;
        }
        if name.text() == "indx0" {
            self.index0 = true;
            return;
        }
        let mut scopes = Vec::new();
        if self.flags.apply(flag, &mut scopes, warnings, errors) {
            self.flags.scopes.extend(scopes);
            return;
        }
        match match_prefix(&name, &["ipoib", "defmember"], warnings) {
            Some("ipoib") => self.ipoib = true,
            Some(_) => {
                let word = value.unwrap_or_else(|| name.empty());
                match values::membership(word.text()).filter(|_| !word.is_blank()) {
                    Some((membership, exact)) => {
                        if !exact {
                            let message = format!("`{}` read as `{membership}`", word.text());
                            warnings.push(word.warning(message));
                        }
                        self.membership = membership;
                    }
                    None => warnings.push(name.warning(format!(
                        "invalid defmember ignored (expected full, limited or both): the default is `{}`",
                        self.membership
                    ))),
                }
            }
            None => {
                let message = format!("unknown partition flag `{}` ignored", name.text());
                warnings.push(name.warning(message));
            }
        }
    }
}

impl GroupFlags {
    /// Applies a flag if it is a group flag. An invalid value is an error; OpenSM ignores it.
    pub(super) fn apply(
        &mut self,
        flag: &Span<'_>,
        scopes: &mut Vec<u8>,
        warnings: &mut Vec<InputError>,
        errors: &mut Vec<InputError>,
    ) -> bool {
        let (name, value) = flag.name_and_value();
        if name.is_blank() {
            return false;
        }
        let Some(full) = match_prefix(&name, &GROUP_FLAGS, warnings) else {
            return false;
        };
        let Some(value) = value.filter(|v| !v.is_blank()) else {
            errors.push(name.error(format!("`{full}` needs a value")));
            return true;
        };
        if let Err(message) = self.set(full, value.text(), scopes) {
            errors.push(value.error(message));
        }
        true
    }

    fn set(&mut self, flag: &str, word: &str, scopes: &mut Vec<u8>) -> Result<(), String> {
        match flag {
            "mtu" => self.mtu = values::mtu(word)?,
            "rate" => self.rate = values::rate(word)?,
            "scope" => scopes.push(values::bounded(word, "scope", 1, 15)?),
            "Q_Key" => self.qkey = Some(values::bounded(word, "Q_Key", 0, 0xFFFF_FFFF)?),
            "TClass" => self.tclass = Some(values::bounded(word, "TClass", 0, 0xFF)?),
            "sl" => self.sl = Sl(values::bounded(word, "SL", 0, 15)?),
            _ => self.flow_label = values::bounded(word, "FlowLabel", 0, 0xF_FFFF)?,
        }
        Ok(())
    }

    fn spec(&self, mgid: Gid, qkey: u32) -> GroupSpec {
        GroupSpec {
            mgid,
            mtu: self.mtu,
            rate: self.rate,
            sl: self.sl,
            qkey,
            tclass: self.tclass.unwrap_or(0),
            flow_label: self.flow_label,
        }
    }

    /// The IPv4 broadcast groups of a partition, one for each scope.
    #[must_use]
    pub fn broadcast_groups(&self, number: u16) -> Vec<GroupSpec> {
        let qkey = self.qkey.filter(|q| *q != 0).unwrap_or(IP_QKEY);
        let scopes = if self.scopes.is_empty() {
            &[mgid::LINK_LOCAL][..]
        } else {
            &self.scopes
        };
        let gids = scopes
            .iter()
            .map(|scope| mgid::broadcast(PKey(number | FULL), *scope));
        gids.map(|gid| self.spec(gid, qkey)).collect()
    }

    /// Groups with this MGID, one for each given scope.
    ///
    /// # Errors
    /// An IP group that contradicts its partition.
    pub fn groups(
        &self,
        gid: Gid,
        number: u16,
        partition: &Self,
    ) -> Result<Vec<GroupSpec>, String> {
        let mut gid = gid;
        let is_ip = matches!(gid.mgid_signature(), mgid::IPV4 | mgid::IPV6);
        let mut qkey = self.qkey.unwrap_or(0);
        if is_ip {
            let key = number | FULL;
            let mgid_pkey = gid.mgid_pkey().0;
            if mgid_pkey != 0 && mgid_pkey | FULL != key {
                return Err(format!(
                    "the MGID of an IP group must contain its partition's P_Key {key:#06x} (or 0), not {mgid_pkey:#06x}"
                ));
            }
            [gid.0[4], gid.0[5]] = key.to_be_bytes();
            if self.mtu != partition.mtu {
                return Err(format!(
                    "an IP group must have the MTU of its partition, {}, not {}",
                    partition.mtu, self.mtu
                ));
            }
            if self.rate != partition.rate {
                return Err(format!(
                    "an IP group must have the rate of its partition, {} Gb/s, not {} Gb/s",
                    partition.rate, self.rate
                ));
            }
            if qkey == 0 {
                qkey = IP_QKEY;
            }
        }
        let with_scope = |scope: &u8| {
            let mut gid = gid;
            gid.0[1] = gid.0[1] & 0xF0 | scope;
            gid
        };
        let gids = if self.scopes.is_empty() {
            vec![gid]
        } else {
            self.scopes.iter().map(with_scope).collect()
        };
        Ok(gids.into_iter().map(|gid| self.spec(gid, qkey)).collect())
    }
}
