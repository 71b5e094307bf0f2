//! Messages as HTML: what is shown of them, and with what state.

use std::sync::Arc;

use tallybook_nodes::write_html;
use tallybook_protocol::{
    AnswerMode, ChatEvent, Feedback, FileKind, MessageEnd, MessageFile, MessageId, MessageStart, MessageStatus, Rating,
    ToolCall, ToolCallId, ToolCallStatus, Usage,
};
use uuid::Uuid;

use super::{Copied, CopyOutcome, Live, Slot, Times, View, parts::is_complete};
use crate::{
    browser::LocalTime,
    language::Language,
    transcript::{Entry, ItemKey, Transcript, fold},
};

fn html(entry: &Entry, live: Option<&Live>) -> String {
    let mut html = String::new();
    let view = View { id: entry.id, entry, text: Language::English, files: super::OWN_FILES, live };
    write_html(&[super::render(view).into()], &mut html);
    html
}

fn menu(entry: &Entry, is_busy: bool) -> String {
    let mut html = String::new();
    let view = View { id: entry.id, entry, text: Language::English, files: super::OWN_FILES, live: None };
    write_html(&super::menu_items(view, is_busy), &mut html);
    html
}

fn conversation(change: impl FnOnce(&mut MessageEnd)) -> Vec<Arc<Entry>> {
    let mut end = MessageEnd {
        assistant_message_id: MessageId(2),
        content: "It is 3.".to_owned(),
        tool_calls: Vec::new(),
        reasoning: Vec::new(),
        plan: None,
        status: MessageStatus::Complete,
        error: None,
        error_code: None,
        stop_reason: None,
        usage: Usage::default(),
        provider: None,
        model: None,
        mode: AnswerMode::React,
        context: None,
        files: Vec::new(),
        conversation_deleted: false,
    };
    change(&mut end);
    let start = MessageStart {
        user_message_id: MessageId(1),
        assistant_message_id: MessageId(2),
        conversation_id: uuid::Uuid::nil(),
        content: "What is 1 + 2?".to_owned(),
        parent_id: None,
        files: Vec::new(),
        user_siblings: vec![MessageId(1), MessageId(3)],
        assistant_siblings: Vec::new(),
        provider: None,
        model: None,
    };
    let mut transcript = Transcript::default();
    fold(&mut transcript, ChatEvent::MessageStart(start));
    fold(&mut transcript, ChatEvent::MessageEnd(end));
    transcript.entries().to_vec()
}

fn call(id: i64) -> ToolCall {
    ToolCall {
        tool_call_id: ToolCallId(id),
        tool_name: "add".to_owned(),
        input: tallybook_protocol::RawJson::from_text(r#"{"a":1,"b":2}"#),
        input_bytes: None,
        offset: 0,
        status: ToolCallStatus::Success,
        output: Some("3".to_owned()),
        output_bytes: None,
        error: None,
        error_type: None,
        truncated: false,
        duration_ms: Some(4),
        started_at: chrono::DateTime::UNIX_EPOCH,
        proposed_input: None,
        reviews: Vec::new(),
        decision: None,
        files: Vec::new(),
    }
}

fn image(number: u128) -> MessageFile {
    MessageFile {
        id: Uuid::from_u128(number),
        name: format!("<{number}>.png"),
        kind: FileKind::Image,
        media_type: "image/png".to_owned(),
        bytes: 5,
        width: Some(2400),
        height: Some(1200),
        pages: None,
        truncated: false,
        context: None,
    }
}

/// The layout of the whole answer is computed for its last text only.
#[test]
fn texts_before_the_last_one_are_complete_without_the_layout() {
    let mut entry = conversation(|_| {})[1].as_ref().clone();
    entry.status = MessageStatus::Streaming;
    let end = entry.text.len();
    assert!(is_complete(&entry, || panic!("this text is followed by another"), 0, end - 1));
    assert!(!is_complete(&entry, || 0, 0, end));
    assert!(is_complete(&entry, || end, 0, end));
}

#[test]
fn files_are_shown_with_their_name_and_what_the_model_received() {
    let mut entry = conversation(|_| {})[0].as_ref().clone();
    entry.text.clear();
    let context = Some("pages 1–12 of 40".to_owned());
    let document = MessageFile { kind: FileKind::Document, pages: Some(40), context, ..image(2) };
    entry.files = vec![image(1), document];
    let html = html(&entry, Some(&Live { has_actions: true, ..Live::default() }));
    assert!(html.contains(r#"alt="&lt;1&gt;.png" width="240" height="120""#), "{html}");
    assert!(html.contains("&lt;2&gt;.png") && html.contains("5 bytes · pages 1–12 of 40"), "{html}");
    assert!(!html.contains("bubble"), "a message of files alone has no text: {html}");
}

#[test]
fn images_of_tools_are_shown_also_if_their_calls_are_folded() {
    let calls = [1_u32, 2].map(|id| ToolCall { files: vec![image(id.into())], ..call(id.into()) });
    let answer = conversation(|end| end.tool_calls = calls.to_vec())[1].clone();
    let html = html(&answer, Some(&Live::default()));
    for id in [1, 2] {
        assert!(html.contains(&format!("/api/files/{}/content?variant=thumb", Uuid::from_u128(id))), "{html}");
    }
}

#[test]
fn a_message_outside_of_a_conversation_offers_nothing_but_to_copy_it() {
    let entries = conversation(|end| end.status = MessageStatus::Stopped);
    let live = Live::default();
    let html: String = entries.iter().map(|entry| html(entry, Some(&live))).collect();
    assert!(html.contains("What is 1 + 2?") && html.contains("copy-answer"), "{html}");
    for action in ["regenerate", "edit", "continue", "older-version", "copy-link", "play-again", "rate-up"] {
        assert!(!html.contains(&format!("data-action=\"{action}\"")), "{action} in {html}");
    }
}

#[test]
fn times_are_written_as_the_user_writes_them_if_that_is_known() {
    let answer = &conversation(|end| end.tool_calls = vec![call(7)])[1];
    let time = LocalTime { short: "9:05".to_owned(), full: "1 January, 9:05".to_owned(), iso: "1970".to_owned() };
    let times = Times {
        full: [(60_000, time)].into(),
        of_day: [(0, "9:00:00"), (4, "9:00:01")].map(|(ms, time)| (ms, time.to_owned())).into(),
    };
    let live = Live { heard_ms: 60_000, ..Live::default() };
    let known = html(answer, Some(&Live { times: times.into(), ..live.clone() }));
    assert!(known.contains(r#"<time datetime="1970" title="1 January, 9:05">9:05</time>"#), "{known}");
    assert!(known.contains("Ran from 9:00:00 to 9:00:01"), "{known}");
    let unknown = html(answer, Some(&live));
    assert!(!unknown.contains("<time") && !unknown.contains("Ran from"), "{unknown}");
}

#[test]
fn a_copy_button_says_what_it_did() {
    let answer = &conversation(|_| ())[1];
    let after = |is_done| {
        let copied = Some(CopyOutcome { copied: Copied::Answer, is_done });
        html(answer, Some(&Live { copied, ..Live::default() }))
    };
    assert!(after(true).contains(r#"aria-label="Copied""#), "{}", after(true));
    assert!(after(false).contains(r#"aria-label="Press again to copy""#), "the browser refused: {}", after(false));
}

#[test]
fn a_message_of_a_conversation_offers_what_can_be_done_with_it() {
    let entries = conversation(|end| {
        end.tool_calls = vec![call(7)];
        end.usage = Usage { input_tokens: 12, output_tokens: 3, ..Usage::default() };
    });
    let live = Live { has_actions: true, ..Live::default() };
    let [question, answer] = [0, 1].map(|at| html(&entries[at], Some(&live)));
    for action in ["edit", "copy-question", "copy-link", "older-version", "newer-version"] {
        assert!(question.contains(&format!("data-action=\"{action}\"")), "{action} in {question}");
    }
    assert!(question.contains("1/2"), "{question}");
    for action in ["copy-answer", "regenerate", "more", "usage", "toggle-item"] {
        assert!(answer.contains(&format!("data-action=\"{action}\"")), "{action} in {answer}");
    }
    let menu = menu(&entries[1], false);
    for action in ["copy-link", "explain", "fork", "play-again", "rate-up", "rate-down", "usage"] {
        let action = format!("data-action=\"{action}\"");
        assert!(menu.contains(&action), "{action} in {menu}");
        assert!(action.contains("usage") || !answer.contains(&action), "{action} in {answer}");
    }
    assert!(!menu.contains("aria-disabled"), "{menu}");
    assert_eq!(self::menu(&entries[1], true).matches("aria-disabled").count(), 2, "a running turn disables some items");
    assert!(!answer.contains("older-version"), "there is one version: {answer}");
}

#[test]
fn slots_are_found_by_their_elements() {
    // A played answer and a copied call have negative IDs.
    for (message, number) in [(5, 12), (-5, 12), (5, -12), (-5, -12)] {
        let call = ToolCallId(number);
        for slot in [Slot::Details(call), Slot::Approval(call), Slot::Reasoning(3), Slot::Edit, Slot::Author] {
            let id = slot.element_id(MessageId(message));
            assert_eq!(Slot::of_element(&id), Some(slot), "{id}");
        }
    }
    for id in ["slot-", "slot-5-details-", "slot-5-other-1", "slot-5-details-x", "details-1"] {
        assert_eq!(Slot::of_element(id), None, "{id}");
    }
}

#[test]
fn a_message_without_text_offers_no_copy_of_it() {
    let mut question = Entry::clone(&conversation(|_| {})[0]);
    question.text = String::new();
    question.files = vec![image(1)];
    let html = html(&question, Some(&Live { has_actions: true, ..Live::default() }));
    assert!(html.contains("data-action=\"edit\"") && !html.contains("copy-question"), "{html}");
}

#[test]
fn an_answer_that_has_ended_can_be_rated() {
    let live = Live { has_actions: true, ..Live::default() };
    let answer = |text: &str, status: MessageStatus, feedback: Option<Feedback>| {
        let mut entry = Entry::clone(&conversation(|_| {})[1]);
        (entry.text, entry.status, entry.feedback) = (text.to_owned(), status, feedback);
        entry
    };
    let button = |html: &str, name: &str| {
        let html = html.split_once(&format!("data-testid=\"{name}\"")).map(|(_, rest)| rest.to_owned());
        html.and_then(|rest| Some(rest.split_once('>')?.0.to_owned()))
    };
    let ended_early = [MessageStatus::Stopped, MessageStatus::Interrupted, MessageStatus::Failed];
    for status in [MessageStatus::Complete].into_iter().chain(ended_early) {
        let answer = answer("It is 3.", status, None);
        let (shown, menu) = (html(&answer, Some(&live)), menu(&answer, false));
        for name in ["rate-up", "rate-down"] {
            let button = button(&menu, name).unwrap_or_else(|| panic!("{name}: {menu}"));
            assert!(button.contains("aria-checked=\"false\"") && !shown.contains(name), "{button} {shown}");
        }
    }
    for status in [MessageStatus::Streaming, MessageStatus::AwaitingApproval] {
        assert_eq!(button(&menu(&answer("It is 3.", status, None), false), "rate-up"), None, "{status:?}");
    }
    for status in ended_early {
        assert_eq!(button(&menu(&answer("", status, None), false), "rate-up"), None, "{status:?} without text");
    }
    let reason = Some("It is <3>.".to_owned());
    let rated = answer("It is 3.", MessageStatus::Complete, Some(Feedback { rating: Rating::Down, reason }));
    let (shown, menu) = (html(&rated, Some(&live)), menu(&rated, false));
    let (up, checked) = (button(&menu, "rate-up").unwrap(), button(&menu, "rate-down").unwrap());
    assert!(up.contains("aria-checked=\"false\"") && checked.contains("aria-checked=\"true\""), "{menu}");
    let down = button(&shown, "rate-down").unwrap();
    assert!(down.contains("aria-pressed=\"true\"") && !shown.contains("rate-up"), "{shown}");
    assert!(down.contains("title=\"Bad answer: It is &lt;3&gt;.\""), "{down}");
    assert!(!shown.contains("slot-2-reason"), "the field is closed: {shown}");
    let asked = Live { is_reason_asked: true, ..live.clone() };
    let entry = &conversation(|_| {})[1];
    assert!(html(entry, Some(&asked)).contains("id=\"slot-2-reason-0\""));
}

#[test]
fn calls_are_closed_until_they_are_opened_and_finished_ones_fold() {
    let entries = conversation(|end| end.tool_calls = vec![call(7), call(8)]);
    let mut live = Live::default();
    let closed = html(&entries[1], Some(&live));
    assert!(closed.contains("data-testid=\"tool-group\"") && closed.contains("2 tool calls"), "{closed}");
    assert!(
        !closed.contains("data-testid=\"tool-call\""),
        "no call of a group that was never opened is drawn: {closed}"
    );
    let [first, second] = [7, 8].map(|id| ItemKey::Call(ToolCallId(id)));
    live.toggles.set_group(live.expand_all, &[first, second], true);
    let opened = html(&entries[1], Some(&live));
    assert_eq!(opened.matches("data-testid=\"tool-call\"").count(), 2, "{opened}");
    assert!(!opened.contains("details-7"), "{opened}");
    live.toggles.set(live.expand_all, first, true);
    assert!(html(&entries[1], Some(&live)).contains("id=\"slot-2-details-7\""));
    // Closed again, the calls stay in the document, hidden.
    live.opened_groups.insert(first);
    live.toggles.set_group(live.expand_all, &[first], false);
    let closed = html(&entries[1], Some(&live));
    assert_eq!((closed.matches("data-testid=\"tool-call\"").count(), closed.matches("hidden=\"\"").count()), (2, 2));
}

#[test]
fn a_page_without_scripts_has_details_and_no_buttons() {
    let entries = conversation(|end| end.tool_calls = vec![call(7)]);
    let answer = html(&entries[1], None);
    assert!(
        answer.contains("<details class=\"tool\" id=\"call-7\"></details>") && !answer.contains("<button"),
        "{answer}"
    );
    let mut printed = String::new();
    let view =
        View { id: MessageId(2), entry: &entries[1], text: Language::English, files: super::OWN_FILES, live: None };
    super::write_printed(view, &mut super::PageLimit::default(), &mut printed);
    assert!(printed.contains("<summary") && printed.contains("It is 3.") && printed.contains("\"a\""), "{printed}");
}

#[test]
fn what_is_written_in_a_message_is_text() {
    let mut entry = (*conversation(|_| {})[0]).clone();
    "<b>\"&".clone_into(&mut entry.text);
    let shown = html(&entry, Some(&Live::default()));
    assert!(shown.contains("&lt;b&gt;") && !shown.contains("<b>"), "{shown}");
}
