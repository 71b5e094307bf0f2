//! Applies the server's events to a transcript. Applying an event again changes nothing, in whatever order events are
//! repeated. So a client may join late, reconnect, and receive events twice.

use std::sync::Arc;

use tallybook_protocol::{
    ChatEvent, ContentDelta, MessageEnd, MessageFile, MessageId, MessageStart, MessageStatus, Reasoning,
    ReasoningDelta, Snapshot, ToolCallEnd, ToolCallProgress, ToolCallStart, ToolCallStatus, TurnError, Usage,
};

use super::{Activity, Entry, Item, ItemKey, Progress, ReasoningPart, Transcript, approval, item::StoredItems, plan};

/// Applies one event. Repeated and unknown events change nothing.
pub fn fold(transcript: &mut Transcript, event: ChatEvent) {
    match &event {
        ChatEvent::ToolCallPreparing(_)
        | ChatEvent::ToolCallProgress(_)
        | ChatEvent::ToolCallReview(_)
        | ChatEvent::ModelRetry(_)
        | ChatEvent::Unknown => {}
        // The model has finished the reported activity.
        _ => set_activity(transcript, None),
    }
    match event {
        ChatEvent::ToolCallPreparing(call) => set_activity(transcript, Some(Activity::WritingCall(call))),
        ChatEvent::ModelRetry(retry) => set_activity(transcript, Some(Activity::Retrying(retry))),
        ChatEvent::MessageStart(start) => message_start(transcript, start),
        ChatEvent::ToolCallStart(start) => tool_call_start(transcript, start),
        ChatEvent::ToolCallEnd(end) => tool_call_end(transcript, end),
        ChatEvent::ReasoningDelta(delta) => reasoning_delta(transcript, &delta),
        ChatEvent::ContentDelta(delta) => content_delta(transcript, &delta),
        ChatEvent::MessageEnd(end) => message_end(transcript, end),
        ChatEvent::Error(error) => turn_error(transcript, error),
        ChatEvent::Snapshot(snapshot) => apply_snapshot(transcript, snapshot),
        ChatEvent::ToolCallProgress(progress) => tool_call_progress(transcript, progress),
        ChatEvent::ApprovalRequested(asked) => approval::requested(transcript, asked),
        ChatEvent::ApprovalDecided(decided) => approval::decided(transcript, decided),
        ChatEvent::ToolCallReview(review) => approval::reviewed(transcript, review),
        ChatEvent::Plan(plan) => plan::planned(transcript, plan),
        ChatEvent::PlanStep(changed) => plan::step_changed(transcript, &changed),
        ChatEvent::Unknown => {}
    }
}

/// Sets the activity. Does nothing if it is the same, because writing to an entry copies it.
fn set_activity(transcript: &mut Transcript, activity: Option<Activity>) {
    let held = transcript.target.and_then(|id| transcript.find(id)).map(|entry| &entry.activity);
    if held.is_some_and(|held| *held != activity)
        && let Some(entry) = transcript.streaming_target()
    {
        entry.activity = activity;
    }
}

fn message_start(transcript: &mut Transcript, start: MessageStart) {
    if is_news(transcript, &start) {
        transcript.truncate_after(start.parent_id);
        let user = Entry {
            siblings: start.user_siblings,
            files: start.files,
            ..Entry::user(start.user_message_id, start.content)
        };
        let (siblings, author) = (start.assistant_siblings, start.provider.zip(start.model));
        let assistant = Entry { siblings, author, ..Entry::assistant(start.assistant_message_id) };
        transcript.entries.extend([user, assistant].map(Arc::new));
    }
    transcript.set_target(start.assistant_message_id);
}

/// Returns `true` if a turn is new and follows a shown message. A known turn that is no longer shown has a later
/// version in its place: of two versions, only the later one lists the other as a sibling. IDs do not show which came
/// first.
fn is_news(transcript: &Transcript, start: &MessageStart) -> bool {
    let is_later =
        |shown: &Entry, id, versions: &[MessageId]| shown.siblings.contains(&id) && !versions.contains(&shown.id);
    let is_known = |shown: &Entry| {
        shown.id == start.assistant_message_id
            || is_later(shown, start.assistant_message_id, &start.assistant_siblings)
            || is_later(shown, start.user_message_id, &start.user_siblings)
    };
    let is_below = |parent| transcript.entries.iter().any(|entry| entry.id == parent);
    (transcript.entries.is_empty() || start.parent_id.is_none_or(is_below))
        && !transcript.entries.iter().any(|entry| is_known(entry))
}

fn tool_call_start(transcript: &mut Transcript, start: ToolCallStart) {
    if let Some(held) = transcript.find_call(start.tool_call_id) {
        if held.awaits_decision() {
            transcript.change_call(start.tool_call_id, |call| call.begin(&start));
        }
        return;
    }
    if let Some(entry) = transcript.streaming_target() {
        entry.items.push(Item::Call(Arc::new(start.into())));
    }
}

fn tool_call_end(transcript: &mut Transcript, end: ToolCallEnd) {
    if transcript.find_call(end.tool_call_id).is_some_and(|call| !call.is_over()) {
        transcript.change_call(end.tool_call_id, |call| call.end(end));
    }
}

/// Stores the progress of a call. Ignores it unless the call is running.
fn tool_call_progress(transcript: &mut Transcript, progress: ToolCallProgress) {
    let id = progress.tool_call_id;
    let progress = Some(Progress::from(progress));
    let is_news = transcript
        .find_call(id)
        .is_some_and(|call| call.status == ToolCallStatus::Pending && call.progress != progress);
    if is_news {
        transcript.change_call(id, |call| call.progress = progress);
    }
}

fn reasoning_delta(transcript: &mut Transcript, delta: &ReasoningDelta) {
    let Some(entry) = transcript.target.and_then(|id| transcript.find(id)) else { return };
    let message = entry.id;
    let held = entry
        .items
        .iter()
        .position(|item| matches!(item, Item::Reasoning(part) if part.content.reasoning_id == delta.reasoning_id));
    let grown = match held.map(|at| &entry.items[at]) {
        Some(Item::Reasoning(part)) => part.grown(delta),
        _ => Some(ReasoningPart::started_by(message, delta)),
    };
    // Writing copies the entry, so nothing is written if nothing changed.
    let (Some(grown), Some(entry)) = (grown, transcript.streaming_target()) else { return };
    let grown = Item::Reasoning(Arc::new(grown));
    match held {
        Some(at) => entry.items[at] = grown,
        None => entry.items.push(grown),
    }
}

fn content_delta(transcript: &mut Transcript, delta: &ContentDelta) {
    let Ok(offset) = usize::try_from(delta.offset) else { return };
    let Some(entry) = transcript.streaming_target() else { return };
    // Text that is already here is dropped. Text after a gap is not added, and `expected_len` records that it is
    // missing.
    let new_text = entry.text.len().checked_sub(offset).and_then(|held| delta.delta.get(held..));
    if let Some(new_text) = new_text {
        entry.text.push_str(new_text);
    }
    transcript.expected_len = transcript.expected_len.max(offset.saturating_add(delta.delta.len()));
}

fn message_end(transcript: &mut Transcript, end: MessageEnd) {
    let entry = transcript.find_or_add(end.assistant_message_id);
    entry.text = end.content;
    if entry.is_streaming() {
        // This is the start of the turn, or unknown. The time of the end is not in the event.
        entry.at_ms = None;
    }
    entry.status = end.status;
    entry.error = end.error;
    entry.error_code = end.error_code;
    entry.stop_reason = end.stop_reason;
    let (calls, reasoning) = (end.tool_calls, end.reasoning);
    let stored = StoredItems { message: end.assistant_message_id, calls, reasoning, is_over: true };
    entry.items = stored.items(&entry.items);
    entry.plan = end.plan.map(Arc::new);
    entry.usage = Some(end.usage).filter(|usage| *usage != Usage::default());
    entry.author = end.provider.zip(end.model).or(entry.author.take());
    entry.mode = end.mode;
    entry.context = end.context;
    if !end.files.is_empty() {
        set_question_files(transcript, end.assistant_message_id, end.files);
    }
}

/// Sets the files of the question above an answer, which now have the parts that the model received.
fn set_question_files(transcript: &mut Transcript, answer: MessageId, files: Vec<MessageFile>) {
    let Some(at) = transcript.entries.iter().position(|entry| entry.id == answer) else { return };
    let question = at.checked_sub(1).map(|at| &mut transcript.entries[at]);
    if let Some(question) = question.filter(|entry| entry.files != files) {
        Arc::make_mut(question).files = files;
    }
}

fn turn_error(transcript: &mut Transcript, error: TurnError) {
    // An error without a message concerns this subscriber, not the turn.
    let Some(id) = error.assistant_message_id else { return };
    let entry = transcript.find_or_add(id);
    if !entry.is_streaming() {
        return;
    }
    entry.status = MessageStatus::Failed;
    entry.error = Some(error.error);
    entry.error_code = Some(error.code);
    for call in entry.calls_mut().filter(|call| !call.is_over()) {
        Arc::make_mut(call).status = ToolCallStatus::Interrupted;
    }
    for item in &mut entry.items {
        if let Item::Reasoning(part) = item {
            Arc::make_mut(part).is_over = true;
        }
    }
}

fn apply_snapshot(transcript: &mut Transcript, snapshot: Snapshot) {
    let runs = snapshot.status == MessageStatus::Streaming;
    transcript.set_target(snapshot.assistant_message_id);
    let entry = transcript.find_or_add(snapshot.assistant_message_id);
    if snapshot.epoch < entry.epoch || (snapshot.epoch == entry.epoch && runs && !entry.is_streaming()) {
        // An old snapshot, repeated after the turn has ended or was resumed.
        return;
    }
    let (message, calls, reasoning) = (snapshot.assistant_message_id, snapshot.tool_calls, snapshot.reasoning);
    let stored = StoredItems { message, calls, reasoning, is_over: !runs };
    if snapshot.epoch > entry.epoch {
        // The turn was interrupted and is resumed from its last complete step. What it wrote after that step is
        // discarded.
        let siblings = std::mem::take(&mut entry.siblings);
        let items = stored.items(&entry.items);
        let (epoch, text, status) = (snapshot.epoch, snapshot.content, snapshot.status);
        let (author, plan) = (snapshot.provider.zip(snapshot.model), snapshot.plan.map(Arc::new));
        // If the resumed turn fails, its event has no usage, so that of the earlier run stays.
        let (mode, usage) = (entry.mode, entry.usage);
        let resumed = Entry { text, items, plan, mode, status, siblings, author, epoch, ..Entry::assistant(entry.id) };
        *entry = Entry { usage, ..resumed };
        transcript.expected_len = 0;
        return;
    }
    // A turn's text only grows, unless some of it turns into reasoning. So if the known text begins with the
    // snapshot's, the snapshot is an old one.
    let is_new = |part: &Reasoning| {
        let key = ItemKey::Reasoning(message, part.reasoning_id);
        !entry.items.iter().any(|item| item.key() == key)
    };
    let is_taken_back = runs && stored.reasoning.iter().any(is_new);
    let is_shorter = is_taken_back && snapshot.content.len() < entry.text.len();
    if !runs || is_taken_back || !entry.text.starts_with(&snapshot.content) {
        entry.text = snapshot.content;
    }
    let mut held = std::mem::take(&mut entry.items);
    for item in stored.items(&[]) {
        let known = held.iter().position(|known| known.key() == item.key()).map(|at| held.remove(at));
        entry.items.push(match known {
            Some(known) => item.merged(known),
            None => item,
        });
    }
    if runs {
        entry.items.append(&mut held);
    }
    entry.plan = plan::merged(entry.plan.take(), snapshot.plan);
    entry.status = snapshot.status;
    entry.author = snapshot.provider.zip(snapshot.model).or(entry.author.take());
    if is_shorter {
        transcript.expected_len = entry.text.len();
    }
}
