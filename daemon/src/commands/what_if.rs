//! `ferrosm whatif`: what a loss of nodes or links would do, by the running service or for a fabric
//! file.

use core::time::Duration;
use std::collections::BTreeSet;

use ferrosm_api::answer::Page;
use ferrosm_api::what_if::{LossPrediction, SingleLossEffect, SingleLossSurvey, WhatIf};
use hyper::Method;
use serde::de::DeserializeOwned;

use super::service::{self, failure};
use crate::api::client::{ApiEndpoint, Call, ReceivedAnswer};
use crate::cli::WhatIfArgs;
use crate::failure::Failure;
#[cfg(feature = "simulator")]
use crate::offline::{self, OfflineRouting, args::OfflineArgs};
use crate::output::progress::Terminal;
use crate::output::{self, json, what_if as text};

/// Time to wait for a prediction beyond that for any answer.
const PREDICTION_WAIT: Duration = Duration::from_secs(10);
/// Most objects of a page.
const PAGE_LIMIT: usize = 100_000;

/// Runs the command.
///
/// # Errors
/// If no service answers, a name is unknown or ambiguous, something is cut off, or no engine finds
/// a routing.
pub fn run(args: &WhatIfArgs) -> Result<(), Failure> {
    if args.without.is_empty() && args.engine.is_empty() && !args.n_1 {
        let message = "no loss is named: use --without, --engine or --n-1";
        return Err(Failure::Usage(message.to_owned()));
    }
    let source = Source::open(args)?;
    if args.n_1 {
        return survey(args, &source);
    }
    let prediction = source.predict(&args.without, &args.engine)?;
    if args.json {
        output::print(&json::pretty(&prediction))?;
    } else {
        output::print(&text::prediction(&prediction))?;
    }
    if prediction.pairs_cut_off > 0 || prediction.after.is_none() {
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
            prediction: source.predict(core::slice::from_ref(&loss.without), &[])?,
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
    File(Box<OfflineRouting>),
}

impl<'a> Source<'a> {
    fn open(args: &'a WhatIfArgs) -> Result<Self, Failure> {
        #[cfg(feature = "simulator")]
        if let Some(from) = &args.from {
            let routed = offline::route(from, &OfflineArgs::with_engines(&["auto"]))?;
            return match routed.failure() {
                Some(failure) => Err(failure),
                None => Ok(Self::File(Box::new(routed))),
            };
        }
        let endpoint = service::endpoint(&args.service)?;
        Ok(Self::Service { args, endpoint })
    }

    fn predict(&self, without: &[String], engines: &[String]) -> Result<WhatIf, Failure> {
        match self {
            Self::Service { args, endpoint } => {
                let lists = [("without", without), ("engine", engines)];
                let query: Vec<(&str, String)> = lists
                    .into_iter()
                    .filter(|(_, list)| !list.is_empty())
                    .map(|(name, list)| (name, list.join(",")))
                    .collect();
                let received = ask::<WhatIf>(args, endpoint, "whatif", &query)?;
                Ok(received.answer.body)
            }
            #[cfg(feature = "simulator")]
            Self::File(routed) => predict_offline(routed, without, engines),
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
fn routed_fabric(routed: &OfflineRouting) -> Result<crate::what_if::RoutedFabric<'_>, Failure> {
    let basis = routed.basis.as_ref().ok_or_else(|| {
        Failure::with_hint(
            "the fabric has no switch: nothing is routed",
            "Name a fabric with switches.",
        )
    })?;
    Ok(crate::what_if::RoutedFabric {
        snapshot: &routed.snapshot,
        basis,
    })
}

#[cfg(feature = "simulator")]
fn predict_offline(
    routed: &OfflineRouting,
    without: &[String],
    engines: &[String],
) -> Result<WhatIf, Failure> {
    use ferrosm_core::routing::what_if::Cancellation;

    let fabric = routed_fabric(routed)?;
    let cancellation = Cancellation::default();
    let comparison = cancellation.comparison.clone();
    // The end of the time limit stops only the comparison of engines.
    let timer = offline::progress::RoutingProgress::hidden(fabric.basis.budget(), comparison);
    let predicted = crate::what_if::predict(fabric, without, engines, &cancellation);
    drop(timer);
    predicted.map_err(|error| Failure::with_hint(error.message, error.remedy))
}
