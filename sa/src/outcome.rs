//! What became of requests: outcomes, and their counts.

use super::request_kind::RequestKind;

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// Answered from the view.
    Answered,
    /// Forwarded to the SM thread.
    Forwarded,
    /// Not answered: no view, not a request, or a wrong SM_Key.
    Dropped,
    /// Rejected: the query exceeds the work or reply size of one request.
    TooLarge,
    /// Dropped because a limit of waiting requests or the request rate was exceeded.
    Overload,
}

impl RequestOutcome {
    /// All outcomes, in the order of their discriminants.
    pub const ALL: [Self; 5] = [
        Self::Answered,
        Self::Forwarded,
        Self::Dropped,
        Self::TooLarge,
        Self::Overload,
    ];

    /// The label of metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Forwarded => "forwarded",
            Self::Dropped => "dropped",
            Self::TooLarge => "too_large",
            Self::Overload => "overload",
        }
    }
}

/// Requests of a client by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestCounts {
    /// Answered from the view.
    pub answered: u64,
    /// Forwarded to the SM thread.
    pub forwarded: u64,
    /// Not answered.
    pub dropped: u64,
    /// Rejected: the query exceeds the work or reply size of one request.
    pub too_large: u64,
    /// Dropped because a limit of waiting requests or the request rate was exceeded.
    pub overload: u64,
}

impl RequestCounts {
    /// Counts a request.
    pub const fn add(&mut self, outcome: RequestOutcome) {
        let count = match outcome {
            RequestOutcome::Answered => &mut self.answered,
            RequestOutcome::Forwarded => &mut self.forwarded,
            RequestOutcome::Dropped => &mut self.dropped,
            RequestOutcome::TooLarge => &mut self.too_large,
            RequestOutcome::Overload => &mut self.overload,
        };
        *count += 1;
    }

    /// Adds other counts.
    pub const fn append(&mut self, other: Self) {
        self.answered += other.answered;
        self.forwarded += other.forwarded;
        self.dropped += other.dropped;
        self.too_large += other.too_large;
        self.overload += other.overload;
    }

    /// All requests.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.answered + self.forwarded + self.dropped + self.too_large + self.overload
    }
}

/// Requests of a client by outcome, and their most frequent kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientLoad {
    counts: RequestCounts,
    /// The kind of more than half of the requests, if there is one (Boyer and Moore, "MJRTY",
    /// 1981), and its lead.
    majority: Option<RequestKind>,
    lead: u32,
}

impl ClientLoad {
    /// Counts a request.
    pub fn add(&mut self, kind: RequestKind, outcome: RequestOutcome) {
        self.counts.add(outcome);
        if self.majority == Some(kind) {
            self.lead = self.lead.saturating_add(1);
        } else if self.lead == 0 {
            (self.majority, self.lead) = (Some(kind), 1);
        } else {
            self.lead -= 1;
        }
    }

    /// The most frequent kind is determined anew.
    pub(super) const fn begin_interval(&mut self) {
        self.lead = 0;
    }

    /// Requests by outcome.
    #[must_use]
    pub const fn counts(&self) -> RequestCounts {
        self.counts
    }

    /// All requests.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.counts.total()
    }

    /// The kind that most requests have, if it leads.
    #[must_use]
    pub const fn most_frequent(&self) -> Option<RequestKind> {
        if self.lead > 0 { self.majority } else { None }
    }
}
