//! The work of routing engines: counted in units, limited, and cancelled from outside.
//!
//! This crate knows no time. An engine counts a unit for about every matrix cell, channel or dependency that it visits and
//! stops once a limit is reached, so that the same input gives the same result on every machine. A caller with a clock also
//! cancels through a [`CancelToken`] when its time is up. What an engine has computed until then is discarded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Stops engines from another thread. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Stops everything that counts its work against a [`WorkBudget`] with this token. It cannot be undone.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// An engine has used up its budget, or was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetExceeded;

/// Units that may be spent, and those that were. Threads of one computation share it.
#[derive(Debug)]
pub struct WorkBudget {
    limit: u64,
    spent: AtomicU64,
    token: Option<CancelToken>,
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
        }
    }

    /// At most `limit` units.
    #[must_use]
    pub const fn limited(limit: u64) -> Self {
        Self {
            limit,
            spent: AtomicU64::new(0),
            token: None,
        }
    }

    /// The same limit, cancelled by a token as well.
    #[must_use]
    pub fn with_token(self, token: CancelToken) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    /// A budget of its own of so many hundredths of what is left, with the same token. Nothing is reserved: the caller
    /// reports with [`Self::spend`] what was spent of it.
    #[must_use]
    pub fn share(&self, percent: u8) -> Self {
        let left = self.limit.saturating_sub(self.spent());
        Self {
            limit: if self.limit == u64::MAX {
                u64::MAX
            } else {
                left / 100 * u64::from(percent) + left % 100 * u64::from(percent) / 100
            },
            spent: AtomicU64::new(0),
            token: self.token.clone(),
        }
    }

    /// Counts units.
    ///
    /// # Errors
    /// Once more than the limit were counted, or the token is cancelled.
    pub fn spend(&self, units: u64) -> Result<(), BudgetExceeded> {
        if self.limit < u64::MAX {
            self.spent.fetch_add(units, Ordering::Relaxed);
        }
        self.check()
    }

    /// As [`Self::spend`], for lengths.
    ///
    /// # Errors
    /// As [`Self::spend`].
    pub(crate) fn spend_len(&self, units: usize) -> Result<(), BudgetExceeded> {
        self.spend(u64::try_from(units).unwrap_or(u64::MAX))
    }

    /// Counts nothing.
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

    /// Whether engines must stop.
    #[must_use]
    pub fn is_exceeded(&self) -> bool {
        self.spent() > self.limit || self.token.as_ref().is_some_and(CancelToken::is_cancelled)
    }

    /// Units counted so far; 0 where there is no limit.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spending_more_than_the_limit_fails() {
        let budget = WorkBudget::limited(10);
        assert_eq!(budget.spend(10), Ok(()));
        assert_eq!(budget.spend(1), Err(BudgetExceeded));
        assert_eq!(budget.spent(), 11);
    }

    #[test]
    fn a_token_stops_its_budget_and_all_shares() {
        let token = CancelToken::default();
        let budget = WorkBudget::limited(10).with_token(token.clone());
        let share = budget.share(50);
        assert_eq!((budget.check(), share.check()), (Ok(()), Ok(())));
        token.cancel();
        assert_eq!(share.check(), Err(BudgetExceeded));
        assert_eq!(budget.check(), Err(BudgetExceeded));
    }

    #[test]
    fn a_share_is_a_part_of_what_is_left() {
        let budget = WorkBudget::limited(100);
        let _ = budget.spend(40);
        let share = budget.share(75);
        assert_eq!(share.spend(45), Ok(()));
        assert_eq!(share.spend(1), Err(BudgetExceeded));
        let _ = budget.spend(70);
        assert_eq!(budget.share(100).spend(1), Err(BudgetExceeded));
    }

    #[test]
    fn no_limit_counts_nothing() {
        let budget = WorkBudget::unlimited();
        assert_eq!(budget.spend(u64::MAX), Ok(()));
        assert_eq!(budget.spend(u64::MAX), Ok(()));
        assert_eq!(budget.share(25).spend(u64::MAX), Ok(()));
        assert_eq!(budget.spent(), 0);
    }
}
