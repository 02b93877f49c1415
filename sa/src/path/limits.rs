//! Selectors for MTU, rate and PacketLifeTime (docs/sm-behaviour.md 11.6).
//!
//! A selector requires its value component. Replies have the selector "exactly".

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::sa::path::{RateCode, Selector};

use crate::refusal::{Bound, SaRefusal};

/// A selector and its value, if the query has both.
pub type ComponentLimit<T> = Option<(Selector, T)>;

/// Requested limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathLimits {
    pub mtu: ComponentLimit<MtuCode>,
    pub rate: ComponentLimit<RateCode>,
    pub packet_life_time: ComponentLimit<u8>,
}

/// Values of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathValues {
    pub mtu: MtuCode,
    pub rate: RateCode,
    pub packet_life_time: u8,
}

impl PathLimits {
    /// Whether all values are defined (otherwise the request is invalid, docs/sm-behaviour.md
    /// 11.2).
    #[must_use]
    pub fn are_valid(&self) -> bool {
        let uses_value = |selector: Selector| selector != Selector::Best;
        let mtu = self
            .mtu
            .is_none_or(|(s, m)| !uses_value(s) || (1..=5).contains(&m.0));
        let rate = self
            .rate
            .is_none_or(|(s, r)| !uses_value(s) || r.rank().is_some());
        mtu && rate
    }

    /// The values to report for a path whose own values are `actual`.
    ///
    /// # Errors
    /// The path does not satisfy the limits.
    pub fn apply(&self, actual: PathValues) -> Result<PathValues, SaRefusal> {
        let (mtu, rate, packet_life_time) = self.best(actual);
        if let (Some(mtu), Some(rate), Some(packet_life_time)) = (mtu, rate, packet_life_time) {
            return Ok(PathValues {
                mtu,
                rate,
                packet_life_time,
            });
        }
        Err(if mtu.is_none() {
            refuse(SaRefusal::PathMtu, self.mtu, actual.mtu)
        } else if rate.is_none() {
            refuse(SaRefusal::PathRate, self.rate, actual.rate)
        } else {
            let limit = self.packet_life_time;
            refuse(SaRefusal::PathLifeTime, limit, actual.packet_life_time)
        })
    }

    /// The value to report of each component; `None` where the path does not satisfy the limit.
    fn best(&self, actual: PathValues) -> (Option<MtuCode>, Option<RateCode>, Option<u8>) {
        let mtu_limit = self.mtu.map(|(s, v)| (s, v.0));
        let mtu = largest(actual.mtu.0, mtu_limit, MtuCode::Mtu256.0);
        let rate = rate(actual.rate, self.rate);
        let packet_life_time = life_time(actual.packet_life_time, self.packet_life_time);
        (mtu.map(MtuCode), rate, packet_life_time)
    }
}

fn refuse<T: Copy>(
    refusal: fn(Bound<T>) -> SaRefusal,
    limit: ComponentLimit<T>,
    actual: T,
) -> SaRefusal {
    let (selector, requested) = limit.unwrap_or((Selector::Exact, actual));
    refusal(Bound {
        selector,
        requested,
        actual,
    })
}

/// The largest value up to `actual` that satisfies the limit: a path may be used with a lower MTU.
fn largest(actual: u8, limit: ComponentLimit<u8>, min: u8) -> Option<u8> {
    match limit {
        None => Some(actual),
        Some((Selector::Greater, v)) => (actual > v).then_some(actual),
        Some((Selector::Less, v)) => {
            let max = actual.min(v.checked_sub(1)?);
            (max >= min).then_some(max)
        }
        Some((Selector::Exact, v)) => (actual >= v).then_some(v),
        Some(_) => Some(actual),
    }
}

fn rate(actual: RateCode, limit: ComponentLimit<RateCode>) -> Option<RateCode> {
    let rank = actual.rank()?;
    let by_rank = |rank: usize| RateCode::ASCENDING.get(rank).copied();
    match limit {
        None => Some(actual),
        Some((Selector::Greater, v)) => (rank > v.rank()?).then_some(actual),
        Some((Selector::Less, v)) => {
            let max = v.rank()?.checked_sub(1)?;
            by_rank(rank.min(max))
        }
        // A lower rate is not reported: the link's rate must be equal.
        Some((Selector::Exact, v)) => (actual == v).then_some(actual),
        Some(_) => Some(actual),
    }
}

/// A PacketLifeTime below the fabric's cannot be guaranteed.
fn life_time(actual: u8, limit: ComponentLimit<u8>) -> Option<u8> {
    match limit {
        None => Some(actual),
        Some((Selector::Greater, v)) => (actual > v).then_some(actual),
        Some((Selector::Less, v)) => (actual < v).then_some(actual),
        Some((Selector::Exact, v)) => (actual <= v).then_some(v),
        Some(_) => Some(actual),
    }
}
