//! `/admin/calls/{id}/reruns`: running a call again, and what its page shows of that.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header,
    web::{Form, FormConfig, Path},
};
use serde::Deserialize;
use tallybook_frontend::{Language, invisible::escaped_json};
use tallybook_protocol::ToolCallId;
use tokio::{sync::oneshot, time::timeout};

use super::{
    super::{body, caller::Admin, state::State},
    format,
    frame::{Frame, refusal},
    visible::Visible,
    words::Words,
};
use crate::book::{Book, MAX_RERUN_INPUT_BYTES, RerunId, RerunRow, RerunState, Reruns};

/// How long the answer waits for the end; then the page says that it runs.
const PATIENCE: Duration = Duration::from_secs(3);

/// The largest form: the longest input, every byte of it escaped, and its name.
const MAX_FORM_BYTES: usize = MAX_RERUN_INPUT_BYTES * 3 + 100;

/// What is filled in.
#[derive(Deserialize)]
pub(super) struct RerunForm {
    input: String,
}

/// A re-run, as it is listed.
pub(super) struct Entry {
    pub(super) address: String,
    pub(super) words: String,
    pub(super) datetime: String,
    /// Whether it is the one that is shown.
    pub(super) is_shown: bool,
}

/// What a re-run was given and gave.
pub(super) struct Shown {
    pub(super) words: String,
    /// As JSON to be edited.
    pub(super) input_field: String,
    pub(super) input: Visible,
    pub(super) result: Option<Visible>,
    pub(super) is_cut: bool,
    pub(super) is_running: bool,
}

/// What the forms of this address are.
pub(super) fn forms() -> FormConfig {
    body::forms(MAX_FORM_BYTES)
}

/// Begins it, waits a little for its end, and leads back to the call.
pub(super) async fn begin(
    state: State,
    request: HttpRequest,
    admin: Admin,
    id: Path<ToolCallId>,
    form: Form<RerunForm>,
) -> HttpResponse {
    let (reader, id, input) = (admin.0, *id, form.into_inner().input);
    let service = state.service.clone();
    let (done, is_done) = oneshot::channel();
    let work = move |book: Book| async move {
        let begun = book.begin_rerun(&reader, id, input).await?;
        let rerun = begun.id;
        service.spawn_until_draining(async move {
            begun.run().await;
            // Nobody may wait for it any more.
            let _ = done.send(());
        });
        Ok(rerun)
    };
    match state.run_book(work).await {
        Ok(rerun) => {
            let _ = timeout(PATIENCE, is_done).await;
            HttpResponse::SeeOther().insert_header((header::LOCATION, address(id, rerun))).finish()
        }
        Err(error) => refusal(Frame::of(&state, &request), &request, &error),
    }
}

fn address(call: ToolCallId, rerun: RerunId) -> String {
    format!("/admin/calls/{call}?rerun={rerun}#reruns")
}

/// What a page shows of them: all, and one whole.
pub(super) fn shown(call: ToolCallId, reruns: Reruns, words: Words, language: Language) -> (Vec<Entry>, Option<Shown>) {
    let Reruns { rows, shown } = reruns;
    let sentence = |(state, row): &(RerunState, RerunRow)| {
        let time = format::time(&row.created_at);
        words.rerun(
            *state,
            row.user_name.as_deref().unwrap_or("?"),
            &time,
            row.duration_ms.map(|ms| words.how_long(ms)),
        )
    };
    let id = shown.as_ref().map(|shown| shown.id);
    let of_shown = rows.iter().find(|(_, row)| Some(row.id) == id);
    let (words_of_shown, is_running) =
        of_shown.map(|entry| (sentence(entry), entry.0 == RerunState::Running)).unwrap_or_default();
    let entries = rows.iter().map(|entry| Entry {
        address: address(call, entry.1.id),
        words: sentence(entry),
        datetime: format::datetime(&entry.1.created_at),
        is_shown: Some(entry.1.id) == id,
    });
    let entries = entries.collect();
    let shown = shown.map(|texts| Shown {
        words: words_of_shown,
        is_running,
        input_field: escaped_json(&texts.input),
        input: Visible::new(texts.input, language),
        is_cut: texts
            .result
            .as_ref()
            .zip(texts.result_bytes)
            .is_some_and(|(text, bytes)| i64::try_from(text.len()).is_ok_and(|held| held < bytes)),
        result: texts.result.map(|result| Visible::new(result, language)),
    });
    (entries, shown)
}
