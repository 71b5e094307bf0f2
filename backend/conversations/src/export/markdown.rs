//! Writes a conversation as Markdown for reading. The user's text is quoted, the model's text is sanitized Markdown,
//! and inputs and outputs of tools are fenced. No text can escape from its block.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use tallybook_protocol::{
    ApprovalScope, ContextTruncation, ConversationSummary, DeciderKind, Decision, Message, MessageFile, MessageStatus,
    Reasoning, Role, ToolCall, ToolCallDecision, ToolCallReview, ToolCallStatus, Verdict,
};

use crate::export::{
    plan::{Mark, marks, plan_block},
    sanitize::{is_open, plain, sanitize},
};

/// Returns the beginning of the file.
pub(crate) fn head(summary: &ConversationSummary) -> String {
    format!("# {}\n\nA conversation in Tallybook, begun {}.\n", plain(&summary.title), time(summary.created_at))
}

/// Returns a notice that the last answer's prompt did not contain the messages before this position, and the summary
/// that replaced them, if there was one.
pub(crate) fn truncation_notice(truncation: &ContextTruncation) -> String {
    let mut text = String::new();
    match &truncation.summary {
        Some(summary) => {
            push_block(
                &mut text,
                "*For the latest answer, the model received this summary instead of the messages above:*",
            );
            push_block(&mut text, &quoted(summary));
        }
        None => push_block(&mut text, "*Earlier messages were left out to fit the model's context.*"),
    }
    text
}

/// Adds the names of files that a message or a tool call has. Their content is not part of the text.
fn push_files(text: &mut String, what: &str, files: &[MessageFile]) {
    let lines = files.iter().map(|file| {
        let context = file.context.as_ref().map(|context| format!(", {context}")).unwrap_or_default();
        format!("- {what}: {} ({}, {} bytes{context})", plain(&file.name), plain(&file.media_type), file.bytes)
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    if !lines.is_empty() {
        push_block(text, &lines);
    }
}

/// A message that is written piece by piece: its beginning, each tool call at its position in the text, and its end.
pub(crate) struct MessageWriter {
    message: Message,
    /// Number of bytes of the answer's text written so far.
    written: usize,
    /// Number of tool calls written so far.
    calls: i64,
    /// Markers of the plan that are not written yet.
    marks: Vec<Mark>,
}

impl MessageWriter {
    /// Creates a writer for a message whose tool calls follow one by one.
    pub(crate) fn new(message: Message) -> Self {
        let marks = message.plan.as_ref().map(|plan| marks(plan, &message.content)).unwrap_or_default();
        Self { message, written: 0, calls: 0, marks }
    }

    /// Returns the role and the time, a user's text in full, and an answer's plan.
    pub(crate) fn begin(&self) -> String {
        let Message { role, created_at, content, .. } = &self.message;
        let who = match role {
            Role::User => "You",
            Role::Assistant => "Assistant",
        };
        let mut text = format!("\n## {who} · {}\n", time(*created_at));
        if *role == Role::User {
            if !content.is_empty() || self.message.files.is_empty() {
                push_block(&mut text, &quoted(content));
            }
            push_files(&mut text, "Attached", &self.message.files);
        }
        if self.message.lacks_plan() {
            push_block(&mut text, "*The model could not make a plan, so it answered without one.*");
        }
        if let Some(plan) = &self.message.plan {
            push_block(&mut text, &plan_block(plan));
        }
        text
    }

    /// Returns a tool call of an answer, with the text and reasoning since the previous one.
    pub(crate) fn call(&mut self, call: &ToolCall) -> String {
        let mut text = String::new();
        self.push_reasoning_before(&mut text, self.calls);
        self.push_text(&mut text, call.offset);
        push_call(&mut text, call);
        self.calls += 1;
        text
    }

    /// Adds the reasoning, and the markers of the plan's steps, that come before the tool call with this number. The
    /// text before each of them is added first.
    fn push_reasoning_before(&mut self, text: &mut String, calls: i64) {
        let all = std::mem::take(&mut self.message.reasoning);
        let (here, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|reasoning| reasoning.calls_before <= calls);
        self.message.reasoning = later;
        for reasoning in &here {
            self.push_marks(text, calls, reasoning.offset);
            self.push_text(text, reasoning.offset);
            push_reasoning(text, reasoning);
        }
        self.push_marks(text, calls, i64::MAX);
    }

    fn push_marks(&mut self, text: &mut String, calls: i64, offset: i64) {
        let is_here = |mark: &Mark| mark.calls_before <= calls && mark.offset <= offset;
        let (here, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.marks).into_iter().partition(is_here);
        self.marks = later;
        for mark in here {
            self.push_text(text, mark.offset);
            push_block(text, &mark.line);
        }
    }

    fn push_text(&mut self, text: &mut String, offset: i64) {
        let place = place(&self.message.content, offset).max(self.written);
        push_text(text, &self.message.content[self.written..place]);
        self.written = place;
    }

    /// Returns the rest of an answer, and its status if it is not complete.
    pub(crate) fn end(mut self) -> String {
        let mut text = String::new();
        if self.message.role == Role::User {
            return text;
        }
        self.push_reasoning_before(&mut text, i64::MAX);
        self.push_text(&mut text, i64::MAX);
        let Message { status, error, .. } = &self.message;
        let ending = match status {
            MessageStatus::Complete | MessageStatus::Unknown => None,
            MessageStatus::Streaming => Some("This answer was still being written."),
            MessageStatus::Stopped => Some("This answer was stopped."),
            MessageStatus::Failed => Some("This answer failed."),
            MessageStatus::AwaitingApproval => Some("This answer has tool calls that need approval."),
            MessageStatus::Interrupted => Some("The answer was interrupted."),
        };
        if let Some(ending) = ending {
            push_block(&mut text, &format!("*{ending}*"));
        }
        if let Some(error) = error {
            push_block(&mut text, &fenced("text", error));
        }
        text
    }
}

/// Returns the byte position of `offset` in the text, moved back to a character boundary.
fn place(content: &str, offset: i64) -> usize {
    content.floor_char_boundary(usize::try_from(offset.max(0)).unwrap_or(usize::MAX))
}

fn push_text(text: &mut String, content: &str) {
    // Spaces before the first word may be significant.
    let content = content.trim_end().trim_start_matches(['\r', '\n']);
    if content.is_empty() {
        return;
    }
    match sanitize(content) {
        Some(content) if is_open(&content) => push_block(text, &quoted(&content)),
        Some(content) => push_block(text, &content),
        None => push_block(text, &fenced("text", content)),
    }
}

/// Adds the model's reasoning, always as plain text.
fn push_reasoning(text: &mut String, reasoning: &Reasoning) {
    let took = reasoning.duration_ms.map(|ms| format!(" for {} s", (ms + 500) / 1000)).unwrap_or_default();
    push_block(text, &format!("**Thought**{took}"));
    push_block(text, &fenced("text", &reasoning.text));
    if reasoning.truncated {
        push_block(text, "*The rest was not stored.*");
    }
}

fn push_call(text: &mut String, call: &ToolCall) {
    let mut line = format!("**Tool call** {} · {}", code(&call.tool_name), status(call.status));
    if let Some(duration_ms) = call.duration_ms {
        let _ = write!(line, " · {duration_ms} ms");
    }
    push_block(text, &line);
    if let Some(proposed) = &call.proposed_input {
        push_part(text, "Input proposed by the model", "json", proposed.as_str());
    }
    push_part(text, "Input", "json", call.input.as_str());
    if !call.reviews.is_empty() {
        let lines: Vec<String> = call.reviews.iter().map(review_line).collect();
        push_part(text, "Reviews", "text", &lines.join("\n"));
    }
    if let Some(decision) = &call.decision {
        push_block(text, &decision_line(decision));
    }
    for (name, part) in [("Output", &call.output), ("Error", &call.error)] {
        if let Some(part) = part {
            push_part(text, name, "text", part);
        }
    }
    push_files(text, "Returned", &call.files);
}

/// Formats the decider, time and scope of a decision.
fn decision_line(decision: &ToolCallDecision) -> String {
    let what = match (decision.decision, decision.scope) {
        (Decision::Approve, None) => "Allowed once",
        (Decision::Approve, Some(ApprovalScope::Conversation)) => "Allowed in this conversation",
        (Decision::Approve, Some(ApprovalScope::Always)) => "Always allowed",
        (Decision::Deny, _) => "Denied",
    };
    let by = match decision.decided_by_kind {
        DeciderKind::User | DeciderKind::Unknown => format!("by {}", code(&decision.decided_by)),
        DeciderKind::Review => "by the reviewing models".to_owned(),
        DeciderKind::Timeout => "because the approval timed out".to_owned(),
    };
    format!("{what} {by} · {}", time(decision.decided_at))
}

/// Formats the vote of a reviewing model.
fn review_line(ToolCallReview { model, verdict, reason, .. }: &ToolCallReview) -> String {
    let verdict = match verdict {
        Verdict::Approve => "approves",
        Verdict::Reject => "rejects",
        Verdict::Abstain | Verdict::Unknown => "abstains",
    };
    format!("{model} {verdict}: {reason}").trim_end_matches([':', ' ']).to_owned()
}

fn push_part(text: &mut String, name: &str, language: &str, part: &str) {
    push_block(text, &format!("{name}:"));
    push_block(text, &fenced(language, part));
}

/// Adds a block between blank lines.
fn push_block(text: &mut String, block: &str) {
    text.push('\n');
    text.push_str(block);
    text.push('\n');
}

fn status(status: ToolCallStatus) -> &'static str {
    match status {
        ToolCallStatus::Pending => "running",
        ToolCallStatus::AwaitingApproval => "waiting for approval",
        ToolCallStatus::Success => "done",
        ToolCallStatus::Error => "failed",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
        ToolCallStatus::Interrupted => "interrupted: it may have run",
        ToolCallStatus::Unknown => "unknown",
    }
}

fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// Returns a block quote that no text in it can end.
fn quoted(text: &str) -> String {
    // A lone carriage return also ends a line.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.trim_matches('\n').split('\n').map(|line| format!("> {line}").trim_end().to_owned());
    // Sanitized after quoting, not before: a Markdown parser can take the `>` of the next line for the end of a tag.
    sanitize(&lines.collect::<Vec<_>>().join("\n")).unwrap_or_else(|| fenced("text", &text))
}

/// Returns a code block whose fence is longer than any in the text.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

/// Returns inline code.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Parser, Tag};
    use tallybook_protocol::{AnswerMode, MessageId, RawJson, ToolCallId};
    use uuid::Uuid;

    use crate::export::markdown::{
        ConversationSummary, DateTime, Message, MessageStatus, MessageWriter, Role, ToolCall, ToolCallStatus, head,
        quoted,
    };

    /// Writes a whole message.
    fn message(message: &Message) -> String {
        let mut writer = MessageWriter::new(message.clone());
        let mut text = writer.begin();
        message.tool_calls.iter().for_each(|call| text.push_str(&writer.call(call)));
        text + &writer.end()
    }

    fn summary(title: &str) -> ConversationSummary {
        let at = DateTime::UNIX_EPOCH;
        ConversationSummary {
            uuid: Uuid::nil(),
            title: title.to_owned(),
            running: false,
            awaiting_approval: false,
            pinned: false,
            archived: false,
            model: None,
            created_at: at,
            updated_at: at,
        }
    }

    fn message_of(role: Role, content: &str, tool_calls: Vec<ToolCall>) -> Message {
        Message {
            id: MessageId(1),
            role,
            epoch: 1,
            content: content.to_owned(),
            files: Vec::new(),
            status: MessageStatus::Complete,
            error: None,
            error_code: None,
            stop_reason: None,
            tool_calls,
            reasoning: Vec::new(),
            plan: None,
            mode: AnswerMode::React,
            usage: None,
            siblings: Vec::new(),
            provider: None,
            model: None,
            context: None,
            feedback: None,
            created_at: DateTime::UNIX_EPOCH,
            completed_at: None,
        }
    }

    fn call(offset: i64, name: &str, input: &str, output: Option<&str>, error: Option<&str>) -> ToolCall {
        ToolCall {
            tool_call_id: ToolCallId(1),
            tool_name: name.to_owned(),
            input: RawJson::from_text(input),
            input_bytes: None,
            proposed_input: None,
            offset,
            status: if error.is_some() { ToolCallStatus::Error } else { ToolCallStatus::Success },
            output: output.map(str::to_owned),
            output_bytes: None,
            error: error.map(str::to_owned),
            error_type: None,
            truncated: false,
            duration_ms: Some(12),
            started_at: DateTime::UNIX_EPOCH,
            reviews: Vec::new(),
            decision: None,
            files: Vec::new(),
        }
    }

    #[test]
    fn the_markdown_export_of_a_conversation() {
        let calls = vec![
            call(8, "add", r#"{"a":1,"b":2}"#, Some("3"), None),
            call(8, "divide", r#"{"a":1,"b":0}"#, None, Some("invalid_b: division by zero")),
        ];
        let question = message_of(Role::User, "What is 1 + 2?\n\nAnd 1 ÷ 0?", Vec::new());
        let answer = message_of(Role::Assistant, "Adding. \n\nIt is **3**; nothing is divided by 0.", calls);
        let stopped =
            Message { status: MessageStatus::Stopped, ..message_of(Role::Assistant, "```\nnever closed", Vec::new()) };
        let file =
            [head(&summary("Sums_and *more*")), message(&question), message(&answer), message(&stopped)].concat();
        insta::assert_snapshot!(file);
    }

    #[test]
    fn a_quote_marker_on_the_next_line_does_not_end_a_tag() {
        assert_eq!(quoted("<!a\n<"), "> \\<!a\n> \\<");
    }

    proptest! {
        /// Whatever a conversation contains, its file has only Tallybook's headings, and nothing that runs or loads.
        #[test]
        fn links_and_images_stay_within_their_line(
            title in "[a<!#`*\\[\\]()\n~-]{0,12}",
            pieces in proptest::collection::vec("[a<>!`~\\[\\]()\r\n /-]{0,16}|<script>|```|~~~|<!--|-->|<b>|!\\[x\\]\\(y\\)", 0..12),
            offset in 0_i64..40,
        ) {
            let text = pieces.concat();
            let calls = vec![call(offset, &text, &text, Some(&text), Some(&text))];
            let question = message(&message_of(Role::User, &text, Vec::new()));
            let file = [head(&summary(&title)), question, message(&message_of(Role::Assistant, &text, calls))].concat();
            let mut headings = 0;
            for (event, range) in Parser::new(&file).into_offset_iter() {
                match event {
                    Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Image { .. }) => {
                        prop_assert!(false, "{} in {file}", &file[range]);
                    }
                    Event::Start(Tag::Heading { .. }) if file[range.clone()].starts_with('#') => headings += 1,
                    _ => {}
                }
            }
            prop_assert_eq!(headings, 3, "{}", file);
        }
    }
}
