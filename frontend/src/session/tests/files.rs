//! Files of messages: their uploads, and messages that wait for them.

use tallybook_protocol::{FileInfo, FileKind, FileStatus, MessageFile, MessageStatus::Complete};

use super::*;
use crate::session::{
    files::{AttachedFile, FilesOf, MAX_FILES, Upload, message_file, ready_files},
    shown::Edited,
    storage::Elsewhere,
};

pub(super) fn stored(number: u128) -> FileInfo {
    FileInfo {
        id: Uuid::from_u128(number),
        name: format!("{number}.png"),
        media_type: "image/png".to_owned(),
        bytes: 5,
        sha256: String::new(),
        kind: FileKind::Image,
        width: Some(1),
        height: Some(1),
        pages: None,
        truncated: false,
        status: FileStatus::Ready,
        error: None,
    }
}

fn file(number: u128) -> MessageFile {
    message_file(stored(number))
}

/// Attaches files with these numbers, which are also their keys.
fn attach(here: &mut TestPage, numbers: &[u128]) {
    let attached = |number: &u128| AttachedFile::new(number.to_string(), format!("{number}.png"), 5);
    here.act(Action::Attach(FilesOf::Draft, numbers.iter().map(attached).collect()));
}

fn upload(here: &mut TestPage, number: u128) {
    here.feed(Input::Uploaded(number.to_string(), Box::new(Ok(stored(number)))));
}

fn uploads(here: &TestPage) -> Vec<&str> {
    let mut keys = Vec::new();
    for effect in &here.done {
        if let Effect::Upload(key) = effect {
            keys.push(key.as_str());
        }
    }
    keys
}

/// Returns the message that is being sent.
fn sent(here: &TestPage) -> UnsentMessage {
    match here.waits_for().1 {
        Request::Send(_, message) | Request::Create(message) => message,
        other => panic!("no message is being sent: {other:?}"),
    }
}

fn attached(here: &TestPage) -> Vec<&str> {
    here.state.files.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn two_files_are_uploaded_at_a_time_and_the_message_waits_for_all() {
    let mut here = TestPage::new(Place::NewChat, "");
    attach(&mut here, &[1, 2, 3]);
    assert_eq!(uploads(&here), ["1", "2"]);
    here.send("What is this?");
    assert_eq!(here.state.phase(), Phase::Idle, "nothing is sent yet");
    upload(&mut here, 1);
    assert_eq!(uploads(&here), ["1", "2", "3"]);
    upload(&mut here, 3);
    assert_eq!((here.state.phase(), here.state.draft.as_str()), (Phase::Idle, "What is this?"));
    upload(&mut here, 2);
    assert_eq!(sent(&here).files, [file(1), file(2), file(3)], "in the order in which they were attached");
    assert_eq!((here.state.draft.as_str(), attached(&here)), ("", vec![]));
}

#[test]
fn a_message_can_consist_of_files_alone() {
    let mut here = TestPage::open("Q1");
    attach(&mut here, &[1]);
    upload(&mut here, 1);
    here.send("");
    let request = sent(&here).to_request();
    assert_eq!((request.content.as_str(), request.parts.len()), ("", 1));
}

#[test]
fn typing_cancels_a_message_that_waits_for_its_files() {
    let mut here = TestPage::open("Q1");
    attach(&mut here, &[1]);
    here.send("What is");
    here.act(Action::Write("What is this?".to_owned()));
    upload(&mut here, 1);
    assert_eq!((here.state.phase(), here.state.draft.as_str()), (Phase::Idle, "What is this?"));
}

#[test]
fn a_failed_upload_keeps_the_message_until_it_is_retried_or_removed() {
    let mut here = TestPage::open("Q1");
    attach(&mut here, &[1, 2]);
    here.send("Compare");
    here.feed(Input::Uploaded("1".to_owned(), Box::new(Err(ApiError::Unreachable))));
    upload(&mut here, 2);
    assert_eq!((here.state.draft.as_str(), here.state.notice.is_some()), ("Compare", true));
    here.act(Action::RetryUpload("1".to_owned()));
    assert_eq!(uploads(&here), ["1", "2", "1"]);
    here.feed(Input::Uploaded("1".to_owned(), Box::new(Err(refused(415)))));
    here.act(Action::RetryUpload("1".to_owned()));
    assert_eq!(uploads(&here).len(), 3, "the server would refuse it again");
    here.act(Action::RemoveFile(FilesOf::Draft, "1".to_owned()));
    here.act(Action::SendDraft("id".to_owned()));
    assert_eq!(sent(&here).files, [file(2)]);
}

#[test]
fn a_removed_file_is_deleted_if_it_was_uploaded_for_this_message() {
    let mut here = TestPage::open("Q1");
    attach(&mut here, &[1, 2]);
    upload(&mut here, 1);
    here.act(Action::RemoveFile(FilesOf::Draft, "1".to_owned()));
    here.act(Action::RemoveFile(FilesOf::Draft, "2".to_owned()));
    let deleted = |here: &TestPage| {
        let effects = here.done.iter().filter(|effect| matches!(effect, Effect::DeleteFile(_)));
        effects.cloned().collect::<Vec<_>>()
    };
    assert_eq!(deleted(&here), [Effect::DeleteFile(file(1).id)], "the other upload had not ended");
    attach(&mut here, &[3]);
    upload(&mut here, 3);
    here.send("Q2");
    here.answer(Response::Started(Err(refused(422))));
    here.act(Action::RemoveFile(FilesOf::Draft, file(3).id.to_string()));
    assert_eq!((attached(&here), deleted(&here).len()), (vec![], 1), "a message may contain it");
}

#[test]
fn a_file_that_the_server_no_longer_has_is_marked_and_the_rest_stays() {
    let mut here = TestPage::open("Q1");
    attach(&mut here, &[1, 2]);
    upload(&mut here, 1);
    upload(&mut here, 2);
    here.send("Compare");
    let detail = format!("No file has the ID {}.", file(2).id);
    let error = ApiError::Refused { status: 422, code: "no-such-file".to_owned(), detail };
    here.answer(Response::Started(Err(error)));
    assert_eq!((here.state.draft.as_str(), here.state.files[0].ready()), ("Compare", Some(&file(1))));
    assert!(matches!(here.state.files[1].upload, Upload::Failed { can_retry: false, .. }));
    assert!(here.state.notice.as_ref().unwrap().contains("2.png"), "{:?}", here.state.notice);
    here.act(Action::RemoveFile(FilesOf::Draft, file(2).id.to_string()));
    here.act(Action::SendDraft("id".to_owned()));
    assert_eq!(sent(&here).files, [file(1)]);
}

#[test]
fn a_message_has_at_most_ten_files() {
    let mut here = TestPage::open("Q1");
    let numbers: Vec<u128> = (1..=12).collect();
    attach(&mut here, &numbers);
    assert_eq!((here.state.files.len(), here.state.notice.is_some()), (MAX_FILES, true));
    assert!(here.done.contains(&Effect::ForgetFile("12".to_owned())));
}

#[test]
fn a_refused_message_returns_its_files_to_the_field() {
    let mut here = TestPage::open("Q1");
    attach(&mut here, &[1]);
    upload(&mut here, 1);
    here.send("What is this?");
    attach(&mut here, &[2]);
    here.answer(Response::Started(Err(refused(422))));
    assert_eq!((here.state.draft.as_str(), attached(&here)), ("What is this?", vec!["1.png", "2.png"]));
}

#[test]
fn uploaded_files_survive_a_reload() {
    let mut here = TestPage::open("Q1");
    attach(&mut here, &[1, 2]);
    upload(&mut here, 1);
    let again = here.reloaded();
    assert_eq!(again.state.files[0].ready(), Some(&file(1)));
    assert!(matches!(again.state.files[1].upload, Upload::Failed { can_retry: false, .. }), "its content is gone");
}

#[test]
fn the_files_of_a_message_leave_the_field_once_it_is_stored() {
    let mut here = TestPage::open("Q1");
    attach(&mut here, &[1]);
    upload(&mut here, 1);
    here.send("Q2");
    let mut again = here.reloaded();
    assert_eq!(attached(&again), ["1.png"], "it is not known to be stored");
    let mut found = conversation(&[(1, "Q1", Complete), (2, "Q2", Complete)]);
    found.messages[2].files = vec![file(1)];
    again.answer(Response::Loaded(Ok(Some(found))));
    assert_eq!((again.state.draft.as_str(), attached(&again)), ("", vec![]));
}

#[test]
fn a_queued_message_keeps_its_files() {
    let mut here = TestPage::open("Q1");
    here.send("Q2");
    here.answer(Response::Started(Ok(())));
    here.events(vec![start(2, "Q2")]);
    attach(&mut here, &[1]);
    upload(&mut here, 1);
    here.send("Q3");
    assert_eq!((here.state.queue.messages[0].files.as_slice(), attached(&here)), (&[file(1)][..], vec![]));
    let again = here.reloaded();
    assert_eq!(again.state.queue.messages[0].files, [file(1)]);
    here.feed(news(FeedKind::ConversationDeleted));
    assert_eq!((here.state.place.clone(), attached(&here)), (Place::Deleted, vec!["1.png"]));
}

/// Opens a conversation and starts editing its question, which has the files 1 and 2.
fn editing() -> TestPage {
    let mut found = conversation(&[(1, "Q1", Complete)]);
    found.messages[0].files = vec![file(1), file(2)];
    let mut here = TestPage::opened(found);
    let edited = Edited {
        id: MessageId(10),
        text: "Q1".to_owned(),
        files: [1, 2].map(|number| AttachedFile::stored(file(number))).to_vec(),
        is_changed: false,
        is_from_field: false,
    };
    here.act(Action::BeginEdit(Some(edited)));
    here
}

#[test]
fn an_edit_keeps_the_files_that_were_not_removed() {
    let mut here = editing();
    here.act(Action::RemoveFile(FilesOf::Edit, file(1).id.to_string()));
    assert_eq!(ready_files(&here.reloaded().state.edited.unwrap().files), [file(2)]);
    here.act(Action::Edit(MessageId(10), "Q1, again".to_owned(), "id".to_owned()));
    assert_eq!(sent(&here).files, [file(2)]);
    assert!(!here.done.contains(&Effect::DeleteFile(file(1).id)), "the other version of the question has it");
}

#[test]
fn an_edit_adds_files_and_is_sent_when_they_are_uploaded() {
    let mut here = editing();
    here.act(Action::Attach(FilesOf::Edit, vec![AttachedFile::new("3".to_owned(), "3.png".to_owned(), 5)]));
    assert_eq!((uploads(&here), attached(&here)), (vec!["3"], vec![]));
    let edit = || Action::Edit(MessageId(10), "Q1, again".to_owned(), "id".to_owned());
    here.act(edit());
    assert_eq!((here.state.phase(), here.state.notice.is_some()), (Phase::Idle, true), "nothing is sent yet");
    upload(&mut here, 3);
    here.act(edit());
    assert_eq!(sent(&here).files, [file(1), file(2), file(3)]);
}

#[test]
fn a_canceled_edit_deletes_the_files_that_were_added() {
    let mut here = editing();
    here.act(Action::Attach(FilesOf::Edit, vec![AttachedFile::new("3".to_owned(), "3.png".to_owned(), 5)]));
    upload(&mut here, 3);
    here.act(Action::BeginEdit(None));
    let deleted = here.done.iter().filter(|effect| matches!(effect, Effect::DeleteFile(_)));
    assert_eq!(deleted.collect::<Vec<_>>(), [&Effect::DeleteFile(file(3).id)]);
}

#[test]
fn a_change_in_another_tab_keeps_failed_uploads_and_cancels_a_message_that_waits() {
    let mut here = TestPage::open("Q1");
    attach(&mut here, &[1]);
    here.feed(Input::Uploaded("1".to_owned(), Box::new(Err(ApiError::Unreachable))));
    here.feed(Input::Elsewhere(Elsewhere::Files(Vec::new())));
    assert_eq!(attached(&here), ["1.png"]);
    here.act(Action::RetryUpload("1".to_owned()));
    here.send("Q2");
    here.feed(Input::Elsewhere(Elsewhere::Draft("Q2, changed".to_owned())));
    upload(&mut here, 1);
    assert_eq!((here.state.draft.as_str(), here.state.phase()), ("Q2, changed", Phase::Idle), "it was not sent");
}
