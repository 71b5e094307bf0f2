//! Parses calls after a mark. Only the end of their JSON or of their parentheses ends them. The forms are:
//! - Mistral's `[TOOL_CALLS]` before a list of calls
//! - Mistral's `[TOOL_CALLS]` before a name, `[ARGS]` and the arguments
//! - Llama's `<|python_tag|>` before a call in JSON or in Python's form

use tallybook_tools::ToolSpec;

use super::{
    block::Verdict,
    call::{self, Call, Position},
    json::{JsonScan, Progress},
    python::{self, ArgumentsScan},
};
use crate::{
    limits::{MAX_HELD_BYTES, MAX_TOOL_NAME_CHARS},
    names,
};

/// Separator between a name and its arguments.
const ARGS: &str = "[ARGS]";
/// Separator between a name and the ID of its call, which some models write before the arguments.
const CALL_ID: &str = "[CALL_ID]";
/// Maximum length of the text before the arguments, in bytes.
const MAX_HEAD_BYTES: usize = 4 * MAX_TOOL_NAME_CHARS + 64;

/// The text that is held back after a mark.
#[derive(Debug)]
pub(crate) struct Marked {
    /// The mark, with the text that is held back before it.
    pub(crate) opening: String,
    pub(crate) body: String,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Before the JSON or the parentheses, possibly in a name.
    Head,
    /// In the JSON, which starts at `from`.
    Json { from: usize, scan: JsonScan },
    /// In the parentheses after a name, which start at `from`.
    Python { from: usize, scan: ArgumentsScan },
}

impl Marked {
    pub(crate) fn new(opening: String) -> Self {
        Self { opening, body: String::new(), phase: Phase::Head }
    }

    /// Returns the complete held text, as the model wrote it.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.opening, self.body)
    }

    pub(crate) fn push(&mut self, c: char, tools: &[ToolSpec]) -> Verdict {
        let at = self.body.len();
        self.body.push(c);
        if self.body.len() > MAX_HELD_BYTES {
            return Verdict::Code;
        }
        match &mut self.phase {
            Phase::Head if c == '{' || (c == '[' && self.body.trim_start() == "[") => {
                let mut scan = JsonScan::new();
                scan.push(c);
                self.phase = Phase::Json { from: at, scan };
                Verdict::Open
            }
            Phase::Head if c == '(' && may_be_called(&self.body[..at], tools) => {
                let mut scan = ArgumentsScan::default();
                scan.push(c);
                self.phase = Phase::Python { from: at, scan };
                Verdict::Open
            }
            Phase::Head if may_be_head(&self.body, c) => Verdict::Open,
            Phase::Head => Verdict::Code,
            Phase::Json { from, scan } => match scan.push(c) {
                Progress::More => Verdict::Open,
                Progress::Broken => Verdict::Code,
                Progress::Done => {
                    let (head, json) = self.body.split_at(*from);
                    calls(head.trim(), json, tools).map_or(Verdict::Ordinary, Verdict::Calls)
                }
            },
            Phase::Python { from, scan } => match scan.push(c) {
                None => Verdict::Open,
                Some(false) => Verdict::Code,
                Some(true) => {
                    let (head, arguments) = self.body.split_at(*from);
                    python_call(head, arguments, tools).map_or(Verdict::Ordinary, |call| Verdict::Calls(vec![call]))
                }
            },
        }
    }
}

/// Returns `true` if the text after a mark may still precede JSON. `c` is its last character.
fn may_be_head(body: &str, c: char) -> bool {
    let is_name = c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | '[' | ']' | ' ');
    body.len() <= MAX_HEAD_BYTES && (is_name || body.trim().is_empty())
}

/// Returns the calls in the JSON after this head. If the head names a tool, that tool is called; otherwise the JSON
/// names it.
fn calls(head: &str, json: &str, tools: &[ToolSpec]) -> Option<Vec<Call>> {
    if head.is_empty() {
        return call::find(json, Position::ToolBlock, tools);
    }
    let named = head.strip_suffix(ARGS)?;
    let written = named.split_once(CALL_ID).map_or(named, |(name, _)| name).trim();
    if written.is_empty() || written.contains(['[', ']']) {
        return None;
    }
    let name = names::resolve(written, tools).unwrap_or(written).to_owned();
    Some(vec![Call { name, input_text: json.to_owned() }])
}

/// Returns `true` if the text before a parenthesis marks a call or is the name of a tool. Otherwise the text is code.
fn may_be_called(head: &str, tools: &[ToolSpec]) -> bool {
    let (name, is_call) = python::name(head);
    !name.is_empty() && (is_call || names::resolve(name, tools).is_some())
}

/// Returns the call in Python's form. Arguments that aren't literals are returned unchanged if the text is certainly a
/// call; the agent answers them with an error. Otherwise returns `None` for them.
fn python_call(head: &str, arguments: &str, tools: &[ToolSpec]) -> Option<Call> {
    let (written, is_call) = python::name(head);
    let name = names::resolve(written, tools).unwrap_or(written).to_owned();
    let input_text = python::object(arguments).or_else(|| is_call.then(|| arguments.to_owned()))?;
    Some(Call { name, input_text })
}
