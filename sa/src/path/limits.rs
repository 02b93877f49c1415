//! What a client asks of MTU, rate and life time, against what a way has (rule 11.6).
//!
//! A selector counts only together with its value. All answers carry the selector "exactly".

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::sa::path::{RateCode, Selector};

/// A selector and its value, if the client gave both.
pub type ComponentLimit<T> = Option<(Selector, T)>;

/// What a client asks of one value each; the value is what it will be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathLimits {
    /// Of the MTU.
    pub mtu: ComponentLimit<MtuCode>,
    /// Of the rate.
    pub rate: ComponentLimit<RateCode>,
    /// Of PacketLifeTime.
    pub packet_life_time: ComponentLimit<u8>,
}

/// PathValues that a path is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathValues {
    /// MTU.
    pub mtu: MtuCode,
    /// Rate.
    pub rate: RateCode,
    /// PacketLifeTime.
    pub packet_life_time: u8,
}

impl PathLimits {
    /// Whether every value is one that exists (else the request is invalid, rule 11.2).
    #[must_use]
    pub fn are_valid(&self) -> bool {
        let counts = |selector: Selector| selector != Selector::Best;
        let mtu = self
            .mtu
            .is_none_or(|(s, m)| !counts(s) || (1..=5).contains(&m.0));
        let rate = self
            .rate
            .is_none_or(|(s, r)| !counts(s) || r.rank().is_some());
        mtu && rate
    }

    /// What a path with these values is told to have; `None` if it is not what is asked for.
    #[must_use]
    pub fn apply(&self, has: PathValues) -> Option<PathValues> {
        Some(PathValues {
            mtu: MtuCode(largest(
                has.mtu.0,
                self.mtu.map(|(s, v)| (s, v.0)),
                MtuCode::Mtu256.0,
            )?),
            rate: rate(has.rate, self.rate)?,
            packet_life_time: life_time(has.packet_life_time, self.packet_life_time)?,
        })
    }
}

/// The largest value of a path up to `has` that the limit allows, where lower values are allowed too.
fn largest(has: u8, limit: ComponentLimit<u8>, least: u8) -> Option<u8> {
    match limit {
        None => Some(has),
        Some((Selector::Greater, v)) => (has > v).then_some(has),
        Some((Selector::Less, v)) => {
            let most = has.min(v.checked_sub(1)?);
            (most >= least).then_some(most)
        }
        Some((Selector::Exact, v)) => (has >= v).then_some(v),
        Some(_) => Some(has),
    }
}

fn rate(has: RateCode, limit: ComponentLimit<RateCode>) -> Option<RateCode> {
    let place = has.rank()?;
    let slower = |rank: usize| RateCode::ASCENDING.get(rank).copied();
    match limit {
        None => Some(has),
        Some((Selector::Greater, v)) => (place > v.rank()?).then_some(has),
        Some((Selector::Less, v)) => {
            let most = v.rank()?.checked_sub(1)?;
            slower(place.min(most))
        }
        // Not a lower rate that would do: what is asked for is what the link runs at.
        Some((Selector::Exact, v)) => (has == v).then_some(has),
        Some(_) => Some(has),
    }
}

/// Packets must not outlive what is promised, so a limit below what the fabric keeps cannot be met.
fn life_time(has: u8, limit: ComponentLimit<u8>) -> Option<u8> {
    match limit {
        None => Some(has),
        Some((Selector::Greater, v)) => (has > v).then_some(has),
        Some((Selector::Less, v)) => (has < v).then_some(has),
        Some((Selector::Exact, v)) => (has <= v).then_some(v),
        Some(_) => Some(has),
    }
}
