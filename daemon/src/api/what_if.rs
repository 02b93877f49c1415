//! Predictions of what a loss would do: computed on a thread of their own, one at a time, within a
//! time limit.

use core::time::Duration;
use std::sync::Arc;

use ferrosm_api::access::ClientRole;
use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::invariant::InvariantStatus;
use ferrosm_api::structure::{FabricStructure, LinkLoad};
use ferrosm_api::what_if::{SingleLossEffect, WhatIf, WhatIfQuery, WhatIfRequest};
use ferrosm_core::config::maintenance::MaintenanceTarget;
use ferrosm_core::config::partitions::Partitions;
use ferrosm_core::report::routing_failure::RoutingFailure;
use ferrosm_core::routing::what_if::{
    Cancellation, PredictedRoutes, RoutingBasis, WhatIfQuestion, what_if as predict,
};
use ferrosm_fabric::snapshot::Snapshot;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::drawing::{self, DrawingRequest};
use super::intent::Intent;
use super::intent_check;
use super::list::invalid;
use super::published::{State, ready};
use super::structure;
use crate::config::parse_engine;
use crate::invariants::Invariant;
use crate::what_if::{self, RoutedFabric};

/// Time after which a computation is stopped.
const TIME_MAX: Duration = Duration::from_secs(25);
/// Time that a client waits for the computation of another one.
const QUEUE_TIME_MAX: Duration = Duration::from_secs(2);

/// Routes computed anew, or why no engine finds any.
pub(super) type ComputedRoutes = Result<PredictedRoutes, Box<RoutingFailure>>;

/// Computes predictions. One may run at a time for clients that may only read, and one for all
/// others: a client that only reads cannot keep an operator waiting. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Predictor {
    of_viewers: Arc<Semaphore>,
    of_operators: Arc<Semaphore>,
}

impl Default for Predictor {
    fn default() -> Self {
        Self {
            of_viewers: Arc::new(Semaphore::new(1)),
            of_operators: Arc::new(Semaphore::new(1)),
        }
    }
}

/// The request of a query.
pub(super) fn request(query: &WhatIfQuery) -> WhatIfRequest {
    let list = |text: &Option<String>| {
        let parts = text.as_deref().unwrap_or_default().split(',');
        let named = parts.map(str::trim).filter(|part| !part.is_empty());
        named.map(str::to_owned).collect::<Vec<String>>()
    };
    WhatIfRequest {
        without: list(&query.without),
        engine: list(&query.engine),
        reroute: query.reroute,
        ..WhatIfRequest::default()
    }
}

/// A fabric and its routing, shared with the thread that computes.
struct SharedFabric {
    snapshot: Arc<Snapshot>,
    basis: Arc<RoutingBasis>,
    partitions: Arc<Partitions>,
    intent: Arc<Intent>,
}

impl SharedFabric {
    fn new(state: &State) -> Result<Self, ApiError> {
        let fabric = ready(state)?;
        let basis = fabric.basis.as_ref().ok_or_else(|| {
            ApiError::new(
                ErrorKind::NotReady,
                "this SM has no routing in force",
                "Ask the master; `ferrosm sms` shows which SM it is.",
            )
        })?;
        Ok(Self {
            snapshot: Arc::clone(&fabric.snapshot),
            basis: Arc::clone(basis),
            partitions: Arc::clone(&state.partitions),
            intent: Arc::clone(&state.intent),
        })
    }

    fn structure(&self) -> FabricStructure {
        let nodes = self.basis.nodes().iter();
        let slots: Vec<u32> = nodes.map(|node| node.slot()).collect();
        let graph = structure::SwitchTopology {
            topology: self.basis.graph(),
            hints: self.basis.hints(),
            slots: &slots,
        };
        structure::structure(&self.snapshot, &graph)
    }

    fn as_routed(&self) -> RoutedFabric<'_> {
        RoutedFabric {
            snapshot: &self.snapshot,
            basis: &self.basis,
            partitions: &self.partitions,
            invariants: &self.intent.invariants,
        }
    }
}

impl Predictor {
    /// What a loss would do.
    pub(super) async fn predict(
        &self,
        state: &State,
        request: WhatIfRequest,
        role: ClientRole,
    ) -> Result<WhatIf, ApiError> {
        let shared = SharedFabric::new(state)?;
        let asks_for_routing = !request.engine.is_empty() || request.reroute;
        if request.without.is_empty() && !asks_for_routing && request.added.is_empty() {
            return Err(invalid("without, engine, reroute or added is needed"));
        }
        for engine in &request.engine {
            parse_engine(engine).map_err(invalid)?;
        }
        let budget = shared.basis.budget();
        let compute = move |cancellation: &Cancellation| {
            what_if::predict(shared.as_routed(), &request, cancellation)
        };
        self.run(role, budget, compute).await?
    }

    /// What it would do to take a switch or link out of the routes.
    pub(super) async fn predict_drain(
        &self,
        state: &State,
        name: String,
    ) -> Result<WhatIf, ApiError> {
        let shared = SharedFabric::new(state)?;
        let budget = shared.basis.budget();
        let compute = move |cancellation: &Cancellation| {
            what_if::predict_drain(shared.as_routed(), &name, cancellation)
        };
        self.run(ClientRole::Operate, budget, compute).await?
    }

    /// What it would do to put a drained switch or link back; `None` if it is not in the fabric.
    pub(super) async fn predict_undrain(
        &self,
        state: &State,
        target: MaintenanceTarget,
    ) -> Result<Option<WhatIf>, ApiError> {
        let shared = SharedFabric::new(state)?;
        let budget = shared.basis.budget();
        let compute = move |cancellation: &Cancellation| {
            what_if::predict_undrain(shared.as_routed(), target, cancellation)
        };
        self.run(ClientRole::Operate, budget, compute).await
    }

    /// The invariants that hold now and would be violated with these partitions, on the routes as
    /// they are.
    pub(super) async fn violations(
        &self,
        state: &Arc<State>,
        invariants: Vec<Invariant>,
        partitions: Arc<Partitions>,
    ) -> Result<Vec<InvariantStatus>, ApiError> {
        if invariants.is_empty() {
            return Ok(Vec::new());
        }
        let state = Arc::clone(state);
        let compute =
            move |_: &Cancellation| intent_check::violations(&state, &invariants, &partitions);
        self.run(ClientRole::Operate, TIME_MAX, compute).await
    }

    /// The routes as the configured engines compute them anew, without regard to the installed
    /// ones.
    pub(super) async fn reroute(
        &self,
        state: &State,
        role: ClientRole,
    ) -> Result<ComputedRoutes, ApiError> {
        let shared = SharedFabric::new(state)?;
        let question = WhatIfQuestion {
            from_scratch: true,
            ..WhatIfQuestion::default()
        };
        let budget = shared.basis.budget();
        let compute = move |cancellation: &Cancellation| {
            let predicted = predict(&shared.basis, &question, cancellation);
            predicted.routes.map_err(Box::new)
        };
        self.run(role, budget, compute).await
    }

    /// What each single loss would do.
    pub(super) async fn single_losses(
        &self,
        state: &State,
        role: ClientRole,
    ) -> Result<Vec<SingleLossEffect>, ApiError> {
        let shared = SharedFabric::new(state)?;
        let compute = move |_: &Cancellation| what_if::single_loss_effects(shared.as_routed());
        self.run(role, TIME_MAX, compute).await
    }

    /// The structure of the fabric.
    pub(super) async fn structure(
        &self,
        state: &State,
        role: ClientRole,
    ) -> Result<FabricStructure, ApiError> {
        let shared = SharedFabric::new(state)?;
        let compute = move |_: &Cancellation| shared.structure();
        self.run(role, TIME_MAX, compute).await
    }

    /// A drawing, as SVG.
    pub(super) async fn drawing(
        &self,
        state: &Arc<State>,
        request: DrawingRequest,
        role: ClientRole,
    ) -> Result<String, ApiError> {
        let shared = SharedFabric::new(state)?;
        let state = Arc::clone(state);
        let compute = move |_: &Cancellation| -> Result<String, ApiError> {
            let fabric = ready(&state)?;
            Ok(drawing::svg(
                fabric,
                &state.maintenance,
                &shared.basis,
                shared.structure(),
                &request,
            ))
        };
        self.run(role, TIME_MAX, compute).await?
    }

    /// The load of the links.
    pub(super) async fn load(&self, state: &State, role: ClientRole) -> Result<LinkLoad, ApiError> {
        let shared = SharedFabric::new(state)?;
        let compute = move |_: &Cancellation| structure::load(&shared.snapshot, &shared.basis);
        self.run(role, TIME_MAX, compute).await
    }

    /// Runs a computation on a thread of its own. It stops the comparison of engines after
    /// `budget`.
    async fn run<T: Send + 'static>(
        &self,
        role: ClientRole,
        budget: Duration,
        compute: impl FnOnce(&Cancellation) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let permits = match role {
            ClientRole::View => &self.of_viewers,
            ClientRole::Operate | ClientRole::Admin => &self.of_operators,
        };
        let running = Arc::clone(permits).acquire_owned();
        let Ok(Ok(permit)) = timeout(QUEUE_TIME_MAX, running).await else {
            return Err(ApiError::new(
                ErrorKind::Busy,
                format!(
                    "another prediction is being computed for a client with the role {}",
                    role.name()
                ),
                "Try again in a few seconds.",
            ));
        };
        let cancellation = Cancellation::default();
        let on_thread = cancellation.clone();
        let _abandoned_with_the_client = CancelOnDrop(cancellation.clone());
        let mut computing = tokio::task::spawn_blocking(move || {
            let computed = compute(&on_thread);
            drop(permit);
            computed
        });
        let budget = budget.min(TIME_MAX);
        let mut finished = timeout(budget, &mut computing).await;
        if finished.is_err() {
            cancellation.comparison.cancel();
            finished = timeout(TIME_MAX - budget, &mut computing).await;
        }
        match finished {
            Ok(Ok(computed)) => Ok(computed),
            Ok(Err(_)) => Err(ApiError::new(
                ErrorKind::Internal,
                "the prediction failed",
                "This is a defect: please report it with the question.",
            )),
            Err(_) => Err(ApiError::new(
                ErrorKind::Busy,
                format!("the prediction takes longer than {} s", TIME_MAX.as_secs()),
                "Save the fabric (`ferrosm topology --format ibnet`) and ask offline: `ferrosm whatif --from FILE`.",
            )),
        }
    }
}

/// Stops a computation when its client is gone.
struct CancelOnDrop(Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.comparison.cancel();
        self.0.all.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that only reads and computes all the time keeps no operator waiting.
    #[test]
    fn viewers_do_not_keep_operators_waiting() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let predictor = Predictor::default();
            let _computing = Arc::clone(&predictor.of_viewers)
                .acquire_owned()
                .await
                .unwrap();
            for role in [ClientRole::Operate, ClientRole::Admin] {
                let computed = predictor.run(role, TIME_MAX, |_| 7).await;
                assert_eq!(computed.unwrap(), 7);
            }
            let refused = predictor.run(ClientRole::View, TIME_MAX, |_| 7).await;
            let error = refused.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Busy);
            assert!(error.message.contains("view"), "{error:?}");
        });
    }
}
