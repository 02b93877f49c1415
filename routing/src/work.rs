//! Work budget and cancellation of routing engines.
//!
//! This crate has no clock. An engine counts about one unit for each matrix cell, channel or
//! dependency that it visits, and stops at the limit, so that the same input gives the same result
//! on every machine. A caller with a clock cancels through a [`CancelToken`] at its deadline.
//! Partial results are discarded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Cancels engines from another thread. Clones share the state.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Cancels all work under a [`WorkBudget`] with this token. Irrevocable.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The work budget is exhausted, or the work was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetExceeded;

/// Limit and count of work units. The threads of one computation share it.
#[derive(Debug)]
pub struct WorkBudget {
    limit: u64,
    spent: AtomicU64,
    token: Option<CancelToken>,
    abandoned: Option<CancelToken>,
}

impl Default for WorkBudget {
    fn default() -> Self {
        Self::unlimited()
    }
}

impl WorkBudget {
    /// No limit and no token: [`Self::spend`] never fails.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self {
            limit: u64::MAX,
            spent: AtomicU64::new(0),
            token: None,
            abandoned: None,
        }
    }

    /// At most `limit` units.
    #[must_use]
    pub const fn limited(limit: u64) -> Self {
        Self {
            limit,
            spent: AtomicU64::new(0),
            token: None,
            abandoned: None,
        }
    }

    /// The same limit, with a token.
    #[must_use]
    pub fn with_token(self, token: CancelToken) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    /// The same limit, with a token that also cancels work without a limit, because no result is
    /// needed.
    #[must_use]
    pub fn with_abandoned(self, abandoned: CancelToken) -> Self {
        Self {
            abandoned: Some(abandoned),
            ..self
        }
    }

    /// The same limit, with the token of [`Self::with_abandoned`] of another budget.
    pub(crate) fn abandoned_with(self, other: &Self) -> Self {
        Self {
            abandoned: other.abandoned.clone(),
            ..self
        }
    }

    /// Whether no result is needed.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned
            .as_ref()
            .is_some_and(CancelToken::is_cancelled)
    }

    /// A separate budget of `percent` of the remaining units, with the same token. It reserves
    /// nothing: the caller adds the units spent of it with [`Self::spend`].
    #[must_use]
    pub fn share(&self, percent: u8) -> Self {
        let remaining = self.limit.saturating_sub(self.spent());
        Self {
            limit: if self.limit == u64::MAX {
                u64::MAX
            } else {
                remaining / 100 * u64::from(percent) + remaining % 100 * u64::from(percent) / 100
            },
            spent: AtomicU64::new(0),
            token: self.token.clone(),
            abandoned: self.abandoned.clone(),
        }
    }

    /// Adds units.
    ///
    /// # Errors
    /// The limit is exceeded, or a token is cancelled.
    pub fn spend(&self, units: u64) -> Result<(), BudgetExceeded> {
        if self.limit < u64::MAX {
            self.spent.fetch_add(units, Ordering::Relaxed);
        }
        self.check()
    }

    /// As [`Self::spend`], for a length.
    ///
    /// # Errors
    /// As [`Self::spend`].
    pub(crate) fn spend_len(&self, units: usize) -> Result<(), BudgetExceeded> {
        self.spend(units as u64)
    }

    /// Checks the limit and the token.
    ///
    /// # Errors
    /// As [`Self::spend`].
    pub fn check(&self) -> Result<(), BudgetExceeded> {
        if self.is_exceeded() {
            Err(BudgetExceeded)
        } else {
            Ok(())
        }
    }

    /// Whether the limit is exceeded or a token is cancelled.
    #[must_use]
    pub fn is_exceeded(&self) -> bool {
        let is_cancelled = |token: &Option<CancelToken>| {
            let token = token.as_ref();
            token.is_some_and(CancelToken::is_cancelled)
        };
        self.counted() > self.limit || is_cancelled(&self.token) || is_cancelled(&self.abandoned)
    }

    /// Units counted so far, at most the limit: how far several threads go beyond it depends on
    /// their timing. 0 without a limit.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.counted().min(self.limit)
    }

    fn counted(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spending_beyond_the_limit_fails() {
        let budget = WorkBudget::limited(10);
        assert_eq!(budget.spend(10), Ok(()));
        assert_eq!(budget.spend(1), Err(BudgetExceeded));
        assert_eq!(budget.spend(5), Err(BudgetExceeded));
        assert_eq!(budget.spent(), 10);
    }

    #[test]
    fn token_cancels_budget_and_shares() {
        let token = CancelToken::default();
        let budget = WorkBudget::limited(10).with_token(token.clone());
        let share = budget.share(50);
        assert_eq!((budget.check(), share.check()), (Ok(()), Ok(())));
        token.cancel();
        assert_eq!(share.check(), Err(BudgetExceeded));
        assert_eq!(budget.check(), Err(BudgetExceeded));
    }

    #[test]
    fn abandoned_work_ends_without_a_limit() {
        let token = CancelToken::default();
        let budget = WorkBudget::limited(10).with_abandoned(token.clone());
        let others = [
            budget.share(50),
            WorkBudget::unlimited().abandoned_with(&budget),
        ];
        assert!(others.iter().all(|other| other.check().is_ok()));
        token.cancel();
        assert!(others.iter().all(|other| other.check().is_err()));
        assert!(budget.is_abandoned() && budget.check().is_err());
    }

    #[test]
    fn share_is_a_percentage_of_the_remaining_units() {
        let budget = WorkBudget::limited(100);
        let _ = budget.spend(40);
        let share = budget.share(75);
        assert_eq!(share.spend(45), Ok(()));
        assert_eq!(share.spend(1), Err(BudgetExceeded));
        let _ = budget.spend(70);
        assert_eq!(budget.share(100).spend(1), Err(BudgetExceeded));
    }

    #[test]
    fn unlimited_budget_counts_nothing() {
        let budget = WorkBudget::unlimited();
        assert_eq!(budget.spend(u64::MAX), Ok(()));
        assert_eq!(budget.spend(u64::MAX), Ok(()));
        assert_eq!(budget.share(25).spend(u64::MAX), Ok(()));
        assert_eq!(budget.spent(), 0);
    }
}
