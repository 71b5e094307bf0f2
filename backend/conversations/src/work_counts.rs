//! Counts the work of this process for monitoring: turns that started and ended, steps, tool calls, and model calls,
//! both in turns and auxiliary ones. `http::metrics` exports the counts. The number of label values is bounded, no
//! matter what names come from outside.

use std::{collections::HashSet, sync::atomic::AtomicU64, time::Duration};

use parking_lot::Mutex;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
};
use tallybook_agent::{EndedToolCall, ModelCallRecord, Purpose};
use tallybook_protocol::{MessageStatus, Usage};

/// Maximum number of distinct tools, and of distinct models. A tool server may have new names each time.
const MAX_NAMES: usize = 200;
/// Label for all further names.
const OTHER: &str = "other";

/// Upper bounds of the duration buckets, in seconds: from a calculator call to a long answer.
const SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Histograms of durations, by label.
pub type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// Counts of the work of this process since its start.
pub struct WorkCounts {
    /// Successful model calls of steps.
    pub steps: Counter,
    /// Durations of turns, from a start or resume to the next pause or the end, including tools.
    pub turns: Histogram,
    /// Finished tool calls.
    pub tool_calls: Family<CallLabels, Counter>,
    /// Durations of tool calls.
    pub tool_durations: Durations<ToolLabels>,
    /// Durations of model calls.
    pub model_durations: Durations<ModelLabels>,
    /// Input, output, and cached tokens of model calls.
    pub tokens: Family<TokenLabels, Counter>,
    /// Cost of model calls, if prices are known.
    pub cost: Family<CostLabels, Counter<f64, AtomicU64>>,
    tools: Names,
    models: Names,
}

/// The tool of a call, and its final status.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CallLabels {
    tool: String,
    status: &'static str,
}

/// The tool of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolLabels {
    tool: String,
}

/// The model of a call by its provider's name, the purpose, and the outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ModelLabels {
    model: String,
    purpose: &'static str,
    outcome: &'static str,
}

/// The model and the kind of tokens. Tokens that were read from a provider's cache are also part of the input.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TokenLabels {
    model: String,
    kind: &'static str,
}

/// The model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CostLabels {
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
    /// Counts a finished turn by its duration.
    pub fn count_turn(&self, ran: Duration) {
        self.turns.observe(ran.as_secs_f64());
    }

    /// Counts a finished call. `tool` is `None` if there was no such tool, for example because the model invented it.
    pub fn count_tool_call(&self, tool: Option<&str>, end: &EndedToolCall) {
        let tool = tool.map_or(OTHER.to_owned(), |tool| self.tools.bounded(tool));
        self.tool_durations.get_or_create(&ToolLabels { tool: tool.clone() }).observe(seconds(end.duration_ms));
        self.tool_calls.get_or_create(&CallLabels { tool, status: end.status.as_str() }).inc();
    }

    /// Counts a model call of a step, or an auxiliary one.
    pub fn count_model_call(&self, call: &ModelCallRecord) {
        let has_failed = call.error.is_some();
        if call.purpose == Purpose::Answer && !has_failed {
            self.steps.inc();
        }
        let outcome = if has_failed { "failed" } else { "answered" };
        self.count_asked(&call.model, (call.purpose.as_str(), outcome), call.duration_ms, call.usage);
    }

    /// Counts a direct model call, outside any conversation. The outcome is `stopped` if the client did not wait for
    /// the end.
    pub fn count_plain_call(&self, model: &str, outcome: &'static str, duration_ms: i64, usage: Usage) {
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
            // Billionths are more precise than any bill.
            #[expect(clippy::cast_precision_loss, reason = "of a figure to look at")]
            let cost = nanos.max(0) as f64 / 1e9;
            self.cost.get_or_create(&CostLabels { model }).inc_by(cost);
        }
    }
}

fn seconds(ms: i64) -> f64 {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0)).as_secs_f64()
}

/// Names from outside. Only the first `MAX_NAMES` of them are distinguished.
#[derive(Debug, Default)]
struct Names(Mutex<HashSet<String>>);

impl Names {
    fn bounded(&self, name: &str) -> String {
        let mut known = self.0.lock();
        if !known.contains(name) {
            if known.len() >= MAX_NAMES {
                return OTHER.to_owned();
            }
            known.insert(name.to_owned());
        }
        name.to_owned()
    }
}

/// Statuses with which a turn can end.
const ENDS: [MessageStatus; 5] = [
    MessageStatus::Complete,
    MessageStatus::Stopped,
    MessageStatus::Failed,
    MessageStatus::Interrupted,
    MessageStatus::AwaitingApproval,
];

/// Counts of turns that this process has started and ended. A turn that resumes counts as started again. An end is
/// counted by the process that stored it; for an abandoned turn, that is not the process that started it.
#[derive(Clone, Debug)]
pub struct TurnCounts {
    /// Turns that were started.
    pub started: Counter,
    /// Turns that ended, by status.
    pub ended: Family<EndLabels, Counter>,
}

/// Label with the status of an ended turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct EndLabels {
    status: &'static str,
}

impl Default for TurnCounts {
    /// Initializes the counter of each status with zero, because a metric that is missing until its first use cannot be
    /// compared.
    fn default() -> Self {
        let counts = Self { started: Counter::default(), ended: Family::default() };
        for status in ENDS {
            drop(counts.of(status));
        }
        counts
    }
}

impl TurnCounts {
    pub(crate) fn count_start(&self) {
        self.started.inc();
    }

    pub(crate) fn count_end(&self, status: MessageStatus) {
        self.of(status).inc();
    }

    fn of(&self, status: MessageStatus) -> Counter {
        self.ended.get_or_create_owned(&EndLabels { status: status.as_str() })
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::{encoding::text::encode, registry::Registry};
    use tallybook_agent::EndedToolCall;
    use tallybook_protocol::ToolCallStatus;

    use crate::work_counts::{MAX_NAMES, WorkCounts};

    #[test]
    fn unlimited_tool_names_give_a_limited_number_of_label_values() {
        let counts = WorkCounts::default();
        let end = EndedToolCall {
            status: ToolCallStatus::Success,
            output: None,
            error: None,
            error_type: None,
            duration_ms: 3,
            files: Vec::new(),
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
