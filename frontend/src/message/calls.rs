//! Tool calls and reasoning that are next to each other in an answer. Each has a line, and finished ones fold under the
//! line of a group. The lines of a group stay in the document while it is closed, so that what the user did with one is
//! not lost.

use tallybook_nodes::{Element, Node};
use tallybook_protocol::{MessageStatus, ToolCallId, ToolCallStatus};

use super::{
    clocks::Clock,
    files::files,
    parts::{Slot, announced, element, icon, opener, paragraph, slot, span, span_of_time, spinner},
    view::View,
};
use crate::{
    components::parts::{icon::Icon, tally_marks::tally},
    format,
    language::Language,
    transcript::{Call, Group, Item, ItemKey, Line, Progress, ReasoningPart, lines},
};

/// A call that runs for this many seconds takes long.
const LONG_SECS: u64 = 10;
/// After this many seconds, the page offers to stop it.
const VERY_LONG_SECS: u64 = 30;

/// Returns the ID of an item's element.
pub(crate) fn element_id(key: ItemKey) -> String {
    match key {
        ItemKey::Call(id) => format!("call-{id}"),
        ItemKey::Reasoning(message, step) => format!("thought-{message}-{step}"),
    }
}

/// Renders items that have no text between them.
pub(super) fn item_run(view: View<'_>, keys: &[ItemKey]) -> Element {
    let items = find_items(&view.entry.items, keys);
    // Each call that runs announces itself.
    let run = element("div").with("class", "tools").with("aria-live", "off");
    // Folded calls show their images, too.
    let images = files(view, items.iter().filter_map(|item| item.as_call()).flat_map(|call| &call.files));
    if view.is_printed() {
        let places = items.into_iter().map(|item| printed_place(item).into()).collect();
        return run.with_children(places).with_child_if_any(images);
    }
    let mut items = items.iter();
    // The items of a group follow its line.
    let mut folding = None;
    let rendered = lines(items.as_slice()).into_iter().filter_map(|line| match line {
        Line::Group(group) => {
            folding = Some(Folding::of(view, &group));
            Some(group_line(view, &group))
        }
        Line::Item { group, .. } => Some(item_row(view, items.next()?, group.and(folding))),
    });
    let rendered = rendered.map(Node::from).collect();
    run.with_children(rendered).with_child_if_any(images)
}

/// Creates the place of a call or reasoning on a page without scripts. It is a slot, so that only one of them at a time
/// is in memory besides the HTML.
fn printed_place(item: &Item) -> Element {
    let class = match item {
        Item::Call(_) => "tool",
        Item::Reasoning(_) => "tool reasoning",
    };
    element("details").with("class", class).with("id", element_id(item.key())).slot()
}

/// Returns the items with these keys, in the order of the keys. They usually follow each other.
fn find_items<'a>(items: &'a [Item], keys: &[ItemKey]) -> Vec<&'a Item> {
    let mut next = 0;
    let found = keys.iter().filter_map(|key| {
        let is_next = items.get(next).is_some_and(|item| item.key() == *key);
        let at = if is_next { next } else { items.iter().position(|item| item.key() == *key)? };
        next = at + 1;
        items.get(at)
    });
    found.collect()
}

/// State of the group that an item is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Folding {
    is_open: bool,
    /// `true` if the group was opened at some time. Most groups never are, so their calls are not drawn before.
    is_drawn: bool,
}

impl Folding {
    fn of(view: View<'_>, group: &Group) -> Self {
        let Some(live) = view.live else { return Self { is_open: true, is_drawn: true } };
        let is_open = live.toggles.is_group_open(live.expand_all, &group.keys);
        let was_opened = group.keys.first().is_some_and(|first| live.opened_groups.contains(first));
        Self { is_open, is_drawn: is_open || was_opened || live.draws_all }
    }
}

/// Renders the line that several finished items fold under.
fn group_line(view: View<'_>, group: &Group) -> Element {
    let text = view.text;
    let unsuccessful = group.unsuccessful();
    let has_failed = unsuccessful.iter().any(|(outcome, _)| *outcome == ToolCallStatus::Error);
    let first = group.keys.first().map(|first| element_id(*first)).unwrap_or_default();
    let controls: Vec<String> = group.keys.iter().copied().map(element_id).collect();
    let line = element("button")
        .with("type", "button")
        .with("class", "tool-line")
        .with("data-testid", "tool-group")
        .with("data-action", "toggle-group")
        .with("data-key", first.clone())
        .with_mark("data-failed", has_failed)
        .with_some("title", span_of_time(view, group.span))
        .with("aria-expanded", Folding::of(view, group).is_open.to_string())
        .with("aria-controls", controls.join(" "))
        .with_child(element("span").with("class", "tool-status").with_child(tally(&group.outcomes)))
        .with_child(span("tool-name", text.tool_calls(group.calls())))
        // Spaces, which are not drawn, keep the words apart when they are read aloud.
        .with_text(" ")
        .with_child(span("tool-summary", group.summary()))
        .with_child(span("tool-space", " "))
        .with_child_if_any((!unsuccessful.is_empty()).then(|| span("tool-state", text.outcomes(&unsuccessful))))
        .with_text(" ")
        .with_child(span("tool-duration", group.duration_ms.map(|ms| format::duration(text, ms)).unwrap_or_default()))
        .with_child(chevron());
    element("div").with("class", "tool tool-group").with("id", format!("group-{first}")).with_child(line)
}

fn chevron() -> Element {
    element("span").with("class", "tool-chevron").with_child(icon(Icon::Chevron))
}

fn item_row(view: View<'_>, item: &Item, folding: Option<Folding>) -> Element {
    let class = match item {
        Item::Call(_) => "tool",
        Item::Reasoning(_) => "tool reasoning",
    };
    let row = element("div")
        .with("class", class)
        .with("id", element_id(item.key()))
        .with_mark("data-grouped", folding.is_some())
        .with_mark("hidden", folding.is_some_and(|folding| !folding.is_open));
    match item {
        Item::Call(_) if folding.is_some_and(|folding| !folding.is_drawn) => row,
        Item::Call(call) => call_row(view, row, call),
        Item::Reasoning(part) => reasoning_row(view, row, part, item.key()),
    }
}

/// Renders a call: its line; while it runs, its progress; while it waits for a decision, its card; and when it is open,
/// input and output.
fn call_row(view: View<'_>, row: Element, call: &Call) -> Element {
    let Some(live) = view.live else { return row };
    let key = ItemKey::Call(call.id);
    let waited = live.clocks.seconds(Clock::Call(call.id));
    // The arguments of a waiting call are in its card, or without a card in its details.
    let has_card = view.entry.asks_for_decisions();
    let is_open = live.toggles.is_open(live.expand_all, key, call.awaits_decision() && !has_card);
    let button = call_line(view, call, waited)
        .with("aria-expanded", is_open.to_string())
        .with("aria-controls", call_details_id(call.id))
        .with_child(chevron());
    let row = row.with_child(button);
    let is_news = !call.is_over() || live.clocks.is_watched(call.id);
    let row = if is_news { with_news(view, row, call, waited) } else { row };
    let card = (call.awaits_decision() && has_card).then(|| slot(view, Slot::Approval(call.id)));
    row.with_child_if_any(card).with_child_if_any(is_open.then(|| slot(view, Slot::Details(call.id))))
}

/// Returns the ID of the details that a call's line opens.
pub(crate) fn call_details_id(id: ToolCallId) -> String {
    format!("call-{id}-details")
}

/// Renders the line of a call: status, name, and duration. The style shows the preview of input and output if the user
/// chose that.
pub(super) fn call_line(view: View<'_>, call: &Call, waited: u64) -> Element {
    let text = view.text;
    let result = call.outcome().map(|words| span("tool-result", words));
    let arrow = result.is_some().then(|| span("tool-arrow", " → ").with("aria-hidden", "true"));
    // A call that was allowed begins when the others of its step are decided.
    let is_next = call.status == ToolCallStatus::Pending && view.entry.status == MessageStatus::AwaitingApproval;
    let (status_icon, state) = if is_next {
        (icon(Icon::Hand), text.call_allowed())
    } else {
        (outcome_icon(call.status).map_or_else(spinner, icon), text.call_status(call.status))
    };
    let measured = call.duration_ms.map(|ms| format::duration(text, ms));
    let duration = measured.or_else(|| (waited > 0).then(|| text.waited(waited))).unwrap_or_default();
    let preview = element("span")
        .with("class", "tool-preview")
        .with_child(span("tool-summary", call.summary()))
        .with_child_if_any(arrow)
        .with_child_if_any(result);
    let line = opener(view)
        .with("class", "tool-line")
        .with_some("data-testid", view.live.map(|_| "tool-call"))
        .with("data-status", call.status.as_str())
        .with_some("data-pace", Pace::after(waited).name());
    let line = if view.is_printed() {
        line
    } else {
        line.with("data-action", "toggle-item")
            .with("data-key", element_id(ItemKey::Call(call.id)))
            .with_some("title", span_of_time(view, call.span()))
    };
    line.with_child(element("span").with("class", "tool-status").with_child(status_icon))
        .with_child(span("tool-name", call.shown_name()))
        // Spaces, which are not drawn, keep the words apart when they are read aloud.
        .with_text(" ")
        .with_child(preview)
        .with_child(span("tool-space", " "))
        .with_child(span("tool-state", state))
        .with_text(" ")
        .with_child(span("tool-duration", duration))
}

/// Adds the state of a call that is not over, or that ended while the user was watching.
fn with_news(view: View<'_>, row: Element, call: &Call, waited: u64) -> Element {
    let text = view.text;
    // Announced from here, since a change inside a button is not.
    let spoken = announced(Some(format!("{}: {}", call.shown_name(), text.call_status(call.status))));
    let row =
        row.with_child(spoken).with_child_if_any(call.progress.as_ref().map(|progress| progress_bar(progress, text)));
    match Pace::after(waited) {
        Pace::Usual => row,
        Pace::Long => row.with_child(paragraph("tool-wait", text.takes_long()).with("role", "status")),
        Pace::VeryLong => {
            let is_stopping = view.live.is_some_and(|live| live.is_stopping);
            let stop = element("button")
                .with("type", "button")
                .with("class", "button small")
                .with("data-testid", "stop-call")
                .with("data-action", "stop")
                .with_mark("disabled", is_stopping)
                .with_text(if is_stopping { text.stopping() } else { text.stop() });
            let words = element("span").with("role", "status").with_text(text.takes_very_long());
            row.with_child(paragraph("tool-wait very-long", "").with_child(words).with_child(stop))
        }
    }
}

/// Renders a thin bar and what the tool says. The bar has no value if the tool does not say how much there is to do.
fn progress_bar(progress: &Progress, text: Language) -> Element {
    let bar = element("progress")
        .with("max", "100")
        .with_some("value", progress.percent.map(|percent| percent.to_string()))
        .with("aria-label", text.call_running());
    paragraph("tool-progress", "")
        .with("data-testid", "tool-progress")
        .with("aria-live", "off")
        .with_child(bar)
        .with_child(element("span").with("dir", "auto").with_text(text.progress(progress)))
}

/// The pace of a running call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Usual,
    Long,
    VeryLong,
}

impl Pace {
    fn after(seconds: u64) -> Self {
        match seconds {
            ..LONG_SECS => Self::Usual,
            LONG_SECS..VERY_LONG_SECS => Self::Long,
            VERY_LONG_SECS.. => Self::VeryLong,
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Usual => None,
            Self::Long => Some("long"),
            Self::VeryLong => Some("very-long"),
        }
    }
}

/// Returns the icon of a call's status; `None` while it runs.
pub(super) fn outcome_icon(status: ToolCallStatus) -> Option<Icon> {
    Some(match status {
        ToolCallStatus::Pending => return None,
        ToolCallStatus::AwaitingApproval => Icon::Hand,
        ToolCallStatus::Success => Icon::Check,
        ToolCallStatus::Error => Icon::Cross,
        ToolCallStatus::Denied | ToolCallStatus::Cancelled | ToolCallStatus::Unknown => Icon::Bar,
        ToolCallStatus::Interrupted => Icon::Broken,
    })
}

/// Renders a model's reasoning in one step: a line that says that it runs or how long it took, and when it is open, the
/// text.
fn reasoning_row(view: View<'_>, row: Element, part: &ReasoningPart, key: ItemKey) -> Element {
    let Some(live) = view.live else { return row };
    let text = view.text;
    let is_open = live.toggles.is_open(live.expand_all, key, false);
    let seconds = live.clocks.seconds(Clock::Reasoning(key));
    let button = element("button")
        .with("type", "button")
        .with("class", "tool-line")
        .with("data-testid", "thought")
        .with("data-action", "toggle-item")
        .with("data-key", element_id(key))
        .with("aria-expanded", is_open.to_string())
        .with("aria-controls", reasoning_id(key))
        .with_child(element("span").with("class", "tool-status").with_child(reasoning_icon(part)))
        .with_child(span("reasoning-heading", reasoning_heading(part, text)))
        .with_child(span("tool-space", ""))
        .with_child(span("tool-duration", if seconds > 0 { text.waited(seconds) } else { String::new() }))
        .with_child(chevron());
    // Announced from here, since a change inside a button is not.
    row.with_child(button)
        .with_child(announced((!part.is_over).then(|| text.thinking())))
        .with_child_if_any(is_open.then(|| slot(view, Slot::Reasoning(part.content.reasoning_id))))
}

/// Returns the ID of the text that a reasoning's line opens.
pub(crate) fn reasoning_id(key: ItemKey) -> String {
    format!("{}-words", element_id(key))
}

pub(super) fn reasoning_icon(part: &ReasoningPart) -> Element {
    if part.is_over { icon(Icon::Reasoning) } else { spinner() }
}

/// Returns what the line of a reasoning says.
pub(super) fn reasoning_heading(part: &ReasoningPart, text: Language) -> String {
    match part.content.duration_ms {
        _ if !part.is_over => text.thinking().to_owned(),
        Some(ms) => text.reasoned_for(&format::duration(text, ms)),
        None => text.reasoning().to_owned(),
    }
}
