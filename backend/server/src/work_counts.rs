//! What was done in this process: steps, tool calls, and what models took, in turns and beside them, for monitoring. Where the
//! figures are shown is not decided here. Whatever a label holds, there is a bounded number of them.

use std::{
    collections::HashSet,
    sync::{Mutex, atomic::AtomicU64},
    time::Duration,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
};
use tallybook_agent::{EndedToolCall, ModelCallRecord, Purpose};
use tallybook_protocol::Usage;

use crate::journal::lock;

/// Tools, or models, that are told apart. A server of tools may have new names each time.
const MAX_NAMES: usize = 200;
/// What stands for all others.
const OTHER: &str = "other";

/// Seconds that tools and models take: from what a calculator takes to what a long answer does.
const SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Durations, by whatever they are of.
pub(crate) type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// What was done. Of a process, from its start on.
pub(crate) struct WorkCounts {
    /// Answers of models that turns took a step by.
    pub(crate) steps: Counter,
    /// How long turns ran at a time, with their tools.
    pub(crate) turns: Histogram,
    /// Tool calls that have ended.
    pub(crate) tool_calls: Family<CallLabels, Counter>,
    /// How long they ran.
    pub(crate) tool_durations: Durations<ToolLabels>,
    /// How long models took for an answer.
    pub(crate) model_durations: Durations<ModelLabels>,
    /// Tokens that models took and gave.
    pub(crate) tokens: Family<TokenLabels, Counter>,
    /// What models cost, where prices are known.
    pub(crate) cost: Family<CostLabels, Counter<f64, AtomicU64>>,
    tools: Names,
    models: Names,
}

/// Which tool a call was of, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CallLabels {
    tool: String,
    status: &'static str,
}

/// Which tool a call was of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ToolLabels {
    tool: String,
}

/// Which model was asked, by its provider's name, and what for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ModelLabels {
    model: String,
    purpose: &'static str,
    outcome: &'static str,
}

/// Whose tokens, and of which kind: those read from a provider's cache are among the input, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct TokenLabels {
    model: String,
    kind: &'static str,
}

/// Whose cost.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CostLabels {
    model: String,
}

impl Default for WorkCounts {
    fn default() -> Self {
        Self {
            steps: Counter::default(),
            turns: histogram(),
            tool_calls: Family::default(),
            tool_durations: Family::new_with_constructor(histogram),
            model_durations: Family::new_with_constructor(histogram),
            tokens: Family::default(),
            cost: Family::default(),
            tools: Names::default(),
            models: Names::default(),
        }
    }
}

fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

impl WorkCounts {
    pub(crate) fn count_turn(&self, ran: Duration) {
        self.turns.observe(ran.as_secs_f64());
    }

    /// Counts a call that has ended. A tool that nobody offered, such as one that a model made up, has no name here.
    pub(crate) fn count_tool_call(&self, tool: Option<&str>, end: &EndedToolCall) {
        let tool = tool.map_or(OTHER.to_owned(), |tool| self.tools.bounded(tool));
        self.tool_durations.get_or_create(&ToolLabels { tool: tool.clone() }).observe(seconds(end.duration_ms));
        self.tool_calls.get_or_create(&CallLabels { tool, status: end.status.as_str() }).inc();
    }

    pub(crate) fn count_model_call(&self, call: &ModelCallRecord) {
        let has_failed = call.error.is_some();
        if call.purpose == Purpose::Answer && !has_failed {
            self.steps.inc();
        }
        let outcome = if has_failed { "failed" } else { "answered" };
        self.count_asked(&call.model, (call.purpose.as_str(), outcome), call.duration_ms, call.usage);
    }

    /// Counts a model that was asked once, outside of every conversation. One that nobody waited for to the end was stopped.
    pub(crate) fn count_plain_call(&self, model: &str, outcome: &'static str, duration_ms: i64, usage: Usage) {
        self.count_asked(model, ("plain", outcome), duration_ms, usage);
    }

    fn count_asked(
        &self,
        model: &str,
        (purpose, outcome): (&'static str, &'static str),
        duration_ms: i64,
        usage: Usage,
    ) {
        let model = self.models.bounded(model);
        let labels = ModelLabels { model: model.clone(), purpose, outcome };
        self.model_durations.get_or_create(&labels).observe(seconds(duration_ms));
        for (kind, tokens) in
            [("input", usage.input_tokens), ("output", usage.output_tokens), ("cached", usage.cached_tokens)]
        {
            let tokens = u64::try_from(tokens).unwrap_or(0);
            self.tokens.get_or_create(&TokenLabels { model: model.clone(), kind }).inc_by(tokens);
        }
        if let Some(nanos) = usage.cost_nanos {
            // Billionths are more exact than anybody is billed.
            #[expect(clippy::cast_precision_loss, reason = "of a figure to look at")]
            let cost = nanos.max(0) as f64 / 1e9;
            self.cost.get_or_create(&CostLabels { model }).inc_by(cost);
        }
    }
}

fn seconds(ms: i64) -> f64 {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0)).as_secs_f64()
}

/// Names from outside, of which only so many are told apart.
#[derive(Debug, Default)]
struct Names(Mutex<HashSet<String>>);

impl Names {
    fn bounded(&self, name: &str) -> String {
        let mut known = lock(&self.0);
        if !known.contains(name) {
            if known.len() >= MAX_NAMES {
                return OTHER.to_owned();
            }
            known.insert(name.to_owned());
        }
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::{encoding::text::encode, registry::Registry};
    use tallybook_agent::EndedToolCall;
    use tallybook_protocol::ToolCallStatus;

    use super::{MAX_NAMES, WorkCounts};

    #[test]
    fn names_without_end_are_a_bounded_number_of_figures() {
        let counts = WorkCounts::default();
        let end = EndedToolCall {
            status: ToolCallStatus::Success,
            output: None,
            error: None,
            error_type: None,
            duration_ms: 3,
        };
        for number in 0..2 * MAX_NAMES {
            counts.count_tool_call(Some(&format!("tool{number}")), &end);
            counts.count_tool_call(None, &end);
        }
        let (mut registry, mut text) = (Registry::default(), String::new());
        registry.register("calls", "", counts.tool_calls.clone());
        encode(&mut text, &registry).unwrap();
        assert_eq!(text.matches("calls_total{").count(), MAX_NAMES + 1);
    }
}
