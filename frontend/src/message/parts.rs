//! Small elements that all parts of messages use, and the slots that other code fills.

use std::{collections::BTreeMap, ops::Range};

use tallybook_nodes::Element;
pub(super) use tallybook_nodes::element;
use tallybook_protocol::{ContextTruncation, MessageId, Role, ToolCallId};

use super::view::View;
use crate::{
    browser::LocalTime,
    components::parts::icon::Icon,
    goal,
    language::Language,
    transcript::{Entry, Segment},
};

/// Start of the IDs of slots.
const SLOT: &str = "slot-";

/// Start of the IDs of Markdown places.
const PROSE: &str = "prose-";

/// Creates the element of a message, with a notice before the message if there is one.
pub(super) fn article(view: View<'_>) -> Element {
    let article = element("article").with("class", "message");
    let Some(live) = view.live.filter(|_| !view.is_printed()) else {
        return article.with("data-role", role_name(view.entry.role));
    };
    article
        .with("id", goal::element_id(view.id))
        .with("data-role", role_name(view.entry.role))
        .with("data-status", view.entry.status.as_str())
        .with_child_if_any(live.context.as_ref().map(|context| context_notice(context, view.text)))
}

/// Renders the notice that earlier messages were left out of the model's context, or summarized.
fn context_notice(context: &ContextTruncation, text: Language) -> Element {
    let Some(summary) = &context.summary else {
        return paragraph("context-notice", text.earlier_left_out()).with("data-testid", "told");
    };
    element("details")
        .with("id", "context-notice")
        .with("class", "context-notice")
        .with("data-testid", "told")
        .with_child(element("summary").with_text(text.earlier_summarized()))
        .with_child(element("p").with_text(text.earlier_summary_hint()))
        .with_child(element("blockquote").with("dir", "auto").with_text(summary.as_str()))
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// Creates a `span` with text.
pub(super) fn span(class: &'static str, text: impl Into<String>) -> Element {
    element("span").with("class", class).with_text(text)
}

/// Creates a `span` for text from outside, which may be in any direction.
pub(super) fn foreign(text: impl Into<String>) -> Element {
    element("span").with("dir", "auto").with_text(text)
}

/// Creates a paragraph with text.
pub(super) fn paragraph(class: &'static str, text: impl Into<String>) -> Element {
    element("p").with("class", class).with_text(text)
}

/// Creates text that only screen readers announce, when it changes.
pub(super) fn announced(text: Option<impl Into<String>>) -> Element {
    let status = element("span").with("class", "visually-hidden").with("role", "status");
    match text {
        Some(text) => status.with_text(text),
        None => status,
    }
}

/// Draws an icon in the color of the text around it.
pub(super) fn icon(icon: Icon) -> Element {
    let path = element("path").with("d", icon.path());
    element("svg")
        .with("class", "icon")
        .with("viewBox", "0 0 16 16")
        .with("aria-hidden", "true")
        .with("focusable", "false")
        .with_child(path)
}

/// Creates the sign of something that runs.
pub(super) fn spinner() -> Element {
    element("span").with("class", "spinner").with("aria-hidden", "true")
}

/// Creates a labeled paragraph: the label, and text from outside.
pub(super) fn labeled(class: &'static str, label: &'static str, text: impl Into<String>) -> Element {
    element("p").with("class", class).with_child(span("plan-label", label)).with_text(" ").with_child(foreign(text))
}

/// Creates a time as the user writes it, if that is known.
pub(super) fn time(view: View<'_>, ms: i64) -> Option<Element> {
    let LocalTime { short, full, iso } = view.live?.times.full.get(&ms)?.clone();
    Some(element("time").with("datetime", iso).with("title", full).with_text(short))
}

/// Returns the times at which something began and ended, as the user writes them, if that is known.
pub(super) fn span_of_time(view: View<'_>, span: Option<(i64, i64)>) -> Option<String> {
    let (of_day, (start, end)) = (&view.live?.times.of_day, span?);
    Some(view.text.ran_at(of_day.get(&start)?, of_day.get(&end)?))
}

/// A part that is mounted in a message when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Slot {
    /// The form that edits a question.
    Edit,
    /// The card of a call that waits for a decision.
    Approval(ToolCallId),
    /// Input and output of an opened call.
    Details(ToolCallId),
    /// The text of opened reasoning, by the number of its step.
    Reasoning(i64),
    /// The model of the answer, with the models that could answer again.
    Author,
    /// The explanation of the answer.
    Explanation,
    /// The field for the reason of a bad rating.
    Reason,
}

impl Slot {
    fn name(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Approval(_) => "approval",
            Self::Details(_) => "details",
            Self::Reasoning(_) => "reasoning",
            Self::Author => "author",
            Self::Explanation => "explanation",
            Self::Reason => "reason",
        }
    }

    fn number(self) -> i64 {
        match self {
            Self::Approval(id) | Self::Details(id) => id.0,
            Self::Reasoning(step) => step,
            Self::Edit | Self::Author | Self::Explanation | Self::Reason => 0,
        }
    }

    /// Returns the ID of its element in a message.
    pub(crate) fn element_id(self, message: MessageId) -> String {
        format!("{SLOT}{message}-{}-{}", self.name(), self.number())
    }

    /// Returns the slot whose element has this ID.
    pub(crate) fn of_element(id: &str) -> Option<Self> {
        let (rest, number) = id.strip_prefix(SLOT)?.rsplit_once('-')?;
        // The IDs of copied calls are negative.
        let (rest, sign) = rest.strip_suffix('-').map_or((rest, 1), |rest| (rest, -1));
        let (_, name) = rest.rsplit_once('-')?;
        let number = sign * number.parse::<i64>().ok()?;
        let slots = [
            Self::Edit,
            Self::Approval(ToolCallId(number)),
            Self::Details(ToolCallId(number)),
            Self::Reasoning(number),
            Self::Author,
            Self::Explanation,
            Self::Reason,
        ];
        slots.into_iter().find(|slot| slot.name() == name)
    }
}

/// Creates an empty slot.
pub(super) fn slot(view: View<'_>, slot: Slot) -> Element {
    let tag = if slot == Slot::Author { "span" } else { "div" };
    element(tag).with("class", "slot").with("id", slot.element_id(view.id)).slot()
}

/// A stretch of Markdown in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prose<'a> {
    /// Its Markdown.
    pub(crate) text: &'a str,
    /// `true` if it will not grow any more.
    pub(crate) is_complete: bool,
}

/// Creates the place of the Markdown in a range of the message's text.
pub(super) fn prose(view: View<'_>, range: &Range<usize>) -> Element {
    let Range { start, end } = *range;
    let is_complete = is_complete(view.entry, || view.entry.grows_from(), start, end);
    element("div")
        .with("class", "prose")
        .with("id", format!("{PROSE}{}-{start}", view.id))
        // Announced once it is complete, not word by word.
        .with_some("aria-busy", (!is_complete).then_some("true"))
        .slot()
}

/// The stretches of Markdown in a message.
pub(crate) struct Stretches<'a> {
    entry: &'a Entry,
    /// Ends of the stretches by their starts, in bytes of the message's text.
    ends: BTreeMap<usize, usize>,
    grows_from: usize,
}

impl<'a> Stretches<'a> {
    /// Finds the stretches of a message.
    pub(crate) fn of(entry: &'a Entry) -> Self {
        let segments = entry.all_segments().into_iter();
        let ends = segments.filter_map(|segment| match segment {
            Segment::Text(range) => Some((range.start, range.end)),
            Segment::Items(_) | Segment::Plan => None,
        });
        Self { entry, ends: ends.collect(), grows_from: entry.grows_from() }
    }

    /// Returns `true` if the places of the Markdown are the same as in another state of the message.
    pub(crate) fn has_same_places(&self, other: &Self) -> bool {
        let place = |stretches: &Self, start: usize, end: usize| {
            (start, is_complete(stretches.entry, || stretches.grows_from, start, end))
        };
        let places = self.ends.iter().map(|(start, end)| place(self, *start, *end));
        places.eq(other.ends.iter().map(|(start, end)| place(other, *start, *end)))
    }

    /// Returns the Markdown for the element with this ID, if it is the place of some.
    pub(crate) fn find(&self, id: &str) -> Option<Prose<'a>> {
        let (_, start) = id.strip_prefix(PROSE)?.rsplit_once('-')?;
        let start: usize = start.parse().ok()?;
        let end = *self.ends.get(&start)?;
        let is_complete = is_complete(self.entry, || self.grows_from, start, end);
        Some(Prose { text: self.entry.text.get(start..end)?, is_complete })
    }
}

/// Returns `true` if the text from `start` to `end` will not grow. Text with an item after it does not, nor does that
/// of a plan's step that has ended. `grows_from` is called for the last text only, because it computes the whole
/// layout.
pub(super) fn is_complete(entry: &Entry, grows_from: impl FnOnce() -> usize, start: usize, end: usize) -> bool {
    !(entry.is_streaming() && end == entry.text.len() && start >= grows_from())
}

/// Creates a line that opens something: a button, or on a page without scripts the summary of `details`.
pub(super) fn opener(view: View<'_>) -> Element {
    if view.is_printed() { element("summary") } else { element("button").with("type", "button") }
}
