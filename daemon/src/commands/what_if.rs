//! `ferrosm whatif`: what a loss of nodes or links would do, by the running service or for a fabric
//! file.

use core::time::Duration;
use std::collections::BTreeSet;
#[cfg(feature = "simulator")]
use std::sync::Arc;

use ferrosm_api::answer::{PAGE_LIMIT_MAX, Page};
use ferrosm_api::what_if::{
    LossPrediction, SingleLossEffect, SingleLossSurvey, WhatIf, WhatIfRequest,
};
#[cfg(feature = "simulator")]
use ferrosm_core::config::partitions::Partitions;
use hyper::Method;
use serde::de::DeserializeOwned;

#[cfg(feature = "simulator")]
use super::config;
use super::service::{self, failure};
use crate::api::client::{ApiEndpoint, Call, ReceivedAnswer};
#[cfg(feature = "simulator")]
use crate::cabling::{
    change::{CablingChange, change},
    fabric::CabledFabric,
};
use crate::cli::WhatIfArgs;
#[cfg(feature = "simulator")]
use crate::config::Settings;
use crate::failure::Failure;
#[cfg(feature = "simulator")]
use crate::invariants::Invariant;
#[cfg(feature = "simulator")]
use crate::offline::{self, OfflineRouting, args::OfflineArgs, spec};
use crate::output::progress::Terminal;
use crate::output::{self, json, what_if as text};

/// Time to wait for a prediction beyond that for any answer.
const PREDICTION_WAIT: Duration = Duration::from_secs(10);
/// Most objects of a page.
const PAGE_LIMIT: usize = PAGE_LIMIT_MAX;

/// Runs the command.
///
/// # Errors
/// If no service answers, a name is unknown or ambiguous, something is cut off, or no engine finds
/// a routing.
pub fn run(args: &WhatIfArgs) -> Result<(), Failure> {
    let names_change = !args.without.is_empty() || args.with.is_some();
    if !names_change && args.engine.is_empty() && !args.reroute && !args.n_1 {
        let message = "no change is named: use --without, --with, --engine, --reroute or --n-1";
        return Err(Failure::Usage(message.to_owned()));
    }
    let source = Source::open(args)?;
    if args.n_1 {
        return survey(args, &source);
    }
    let prediction = source.predict(&source.request(args)?)?;
    if args.json {
        output::print(&json::pretty(&prediction))?;
    } else {
        output::print(&text::prediction(&prediction))?;
    }
    let is_violating = !prediction.violations.is_empty();
    if prediction.pairs_cut_off > 0 || prediction.after.is_none() || is_violating {
        return Err(Failure::Status(1));
    }
    Ok(())
}

/// Each single loss.
fn survey(args: &WhatIfArgs, source: &Source<'_>) -> Result<(), Failure> {
    let losses = source.single_losses()?;
    let mut classes = BTreeSet::new();
    let to_predict: Vec<&SingleLossEffect> = losses
        .iter()
        .filter(|loss| args.full || classes.insert(loss.class))
        .collect();
    let bar = Terminal::detect().bar();
    let mut predictions = Vec::new();
    for (done, loss) in to_predict.iter().enumerate() {
        bar.show_steps("predictions", done, to_predict.len());
        predictions.push(LossPrediction {
            name: loss.name.clone(),
            class: loss.class,
            prediction: source.predict(&WhatIfRequest {
                without: vec![loss.without.clone()],
                ..WhatIfRequest::default()
            })?,
        });
    }
    bar.clear();
    let survey = SingleLossSurvey {
        losses,
        predictions,
    };
    match args.json {
        true => output::print(&json::pretty(&survey)),
        false => output::print(&text::survey(&survey)),
    }
}

/// Who predicts.
enum Source<'a> {
    Service {
        args: &'a WhatIfArgs,
        endpoint: ApiEndpoint,
    },
    #[cfg(feature = "simulator")]
    File(Box<RoutedFile>),
}

/// A fabric file, routed.
#[cfg(feature = "simulator")]
struct RoutedFile {
    routing: OfflineRouting,
    partitions: Arc<Partitions>,
    invariants: Vec<Invariant>,
}

impl<'a> Source<'a> {
    fn open(args: &'a WhatIfArgs) -> Result<Self, Failure> {
        #[cfg(feature = "simulator")]
        if let Some(from) = &args.from {
            let settings = match &args.service.config {
                Some(_) => config::source(args.service.config.as_deref())?.resolve(|_| {})?,
                None => Settings::default(),
            };
            let routing = offline::route(from, &OfflineArgs::with_engines(&["auto"]))?;
            return match routing.failure() {
                Some(failure) => Err(failure),
                None => Ok(Self::File(Box::new(RoutedFile {
                    routing,
                    partitions: Arc::clone(&settings.sm.partitions),
                    invariants: settings.invariants(),
                }))),
            };
        }
        let endpoint = service::endpoint(&args.service)?;
        Ok(Self::Service { args, endpoint })
    }

    /// What is lost and added.
    fn request(&self, args: &WhatIfArgs) -> Result<WhatIfRequest, Failure> {
        let request = WhatIfRequest {
            without: args.without.clone(),
            engine: args.engine.clone(),
            reroute: args.reroute,
            ..WhatIfRequest::default()
        };
        #[cfg(feature = "simulator")]
        if let Some(with) = &args.with {
            return self.changed_to(with, request);
        }
        Ok(request)
    }

    /// Adds to a request what differs between the fabric and one of a file.
    #[cfg(feature = "simulator")]
    fn changed_to(&self, with: &str, mut request: WhatIfRequest) -> Result<WhatIfRequest, Failure> {
        let observed = spec::observed(&offline::fabric::load(with)?);
        let then = CabledFabric::of_snapshot(&spec::snapshot(&observed, None, None));
        let CablingChange { without, added } = change(&self.cables()?, &then);
        if without.is_empty() && added.is_empty() && request.without.is_empty() {
            return Err(Failure::with_hint(
                format!("{with} has the nodes and cables of the fabric"),
                "Add or remove some, or use --without.",
            ));
        }
        request.without.extend(without);
        request.added = added;
        Ok(request)
    }

    /// The nodes and cables of the fabric.
    #[cfg(feature = "simulator")]
    fn cables(&self) -> Result<CabledFabric, Failure> {
        match self {
            Self::Service { args, .. } => super::cabling::of_service(&args.service),
            Self::File(routed) => Ok(CabledFabric::of_snapshot(&routed.routing.snapshot)),
        }
    }

    fn predict(&self, request: &WhatIfRequest) -> Result<WhatIf, Failure> {
        match self {
            Self::Service { args, endpoint } => {
                let call = Call {
                    endpoint,
                    method: Method::POST,
                    resource: "whatif",
                    query: &[],
                    wait: PREDICTION_WAIT,
                };
                let body = serde_json::to_vec(request)
                    .map_err(|e| Failure::runtime(format!("cannot encode the request: {e}")))?;
                let received = call
                    .send_body::<WhatIf>(body)
                    .map_err(|e| failure(&args.service, endpoint, e))?;
                Ok(received.answer.body)
            }
            #[cfg(feature = "simulator")]
            Self::File(routed) => predict_offline(routed, request),
        }
    }

    fn single_losses(&self) -> Result<Vec<SingleLossEffect>, Failure> {
        match self {
            Self::Service { args, endpoint } => {
                let mut losses = Vec::new();
                let mut cursor: Option<String> = None;
                loop {
                    let mut query = vec![("limit", PAGE_LIMIT.to_string())];
                    query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
                    let page = ask::<Page<SingleLossEffect>>(
                        args,
                        endpoint,
                        "whatif/single-losses",
                        &query,
                    )?;
                    losses.extend(page.answer.body.items);
                    cursor = page.answer.body.next;
                    if cursor.is_none() {
                        return Ok(losses);
                    }
                }
            }
            #[cfg(feature = "simulator")]
            Self::File(routed) => {
                let fabric = routed_fabric(routed)?;
                Ok(crate::what_if::single_loss_effects(fabric))
            }
        }
    }
}

fn ask<T: DeserializeOwned>(
    args: &WhatIfArgs,
    endpoint: &ApiEndpoint,
    resource: &str,
    query: &[(&str, String)],
) -> Result<ReceivedAnswer<T>, Failure> {
    let call = Call {
        endpoint,
        method: Method::GET,
        resource,
        query,
        wait: PREDICTION_WAIT,
    };
    call.send().map_err(|e| failure(&args.service, endpoint, e))
}

#[cfg(feature = "simulator")]
fn routed_fabric(routed: &RoutedFile) -> Result<crate::what_if::RoutedFabric<'_>, Failure> {
    let basis = routed.routing.basis.as_ref().ok_or_else(|| {
        Failure::with_hint(
            "the fabric has no switch: nothing is routed",
            "Name a fabric with switches.",
        )
    })?;
    Ok(crate::what_if::RoutedFabric {
        snapshot: &routed.routing.snapshot,
        basis,
        partitions: &routed.partitions,
        invariants: &routed.invariants,
    })
}

#[cfg(feature = "simulator")]
fn predict_offline(routed: &RoutedFile, request: &WhatIfRequest) -> Result<WhatIf, Failure> {
    use ferrosm_core::routing::what_if::Cancellation;

    let fabric = routed_fabric(routed)?;
    let cancellation = Cancellation::default();
    let comparison = cancellation.comparison.clone();
    // The end of the time limit stops only the comparison of engines.
    let timer = offline::progress::RoutingProgress::hidden(fabric.basis.budget(), comparison);
    let predicted = crate::what_if::predict(fabric, request, &cancellation);
    drop(timer);
    predicted.map_err(|error| Failure::with_hint(error.message, error.remedy))
}
