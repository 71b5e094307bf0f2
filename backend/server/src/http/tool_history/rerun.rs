//! HTTP handler for `/admin/calls/{id}/reruns`, which re-runs a call. Also prepares the re-runs for the call's page.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Form, FormConfig, Path},
};
use serde::Deserialize;
use tallybook_frontend::{Language, invisible::escaped_json};
use tallybook_protocol::ToolCallId;
use tallybook_tool_history::{MAX_RERUN_INPUT_BYTES, RerunId, RerunRow, RerunState, Reruns, ToolHistory};
use tokio::{sync::oneshot, time::timeout};

use super::{
    super::{body, caller::Admin, state::State},
    format,
    i18n::Messages,
    layout::{Frame, redirect, refusal},
    untrusted_text::Visible,
};

/// Maximum time that the response waits for the end of the re-run. After that, the page shows the re-run as running.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum size of the form, in bytes: the longest input with every byte percent-encoded, and the field's name.
const MAX_FORM_BYTES: usize = MAX_RERUN_INPUT_BYTES * 3 + 100;

/// The re-run form.
#[derive(Deserialize)]
pub(crate) struct RerunForm {
    input: String,
}

/// A re-run in the list.
pub(crate) struct Entry {
    pub(crate) address: String,
    pub(crate) text: String,
    pub(crate) datetime: String,
    /// `true` if this re-run is the one shown in full.
    pub(crate) is_shown: bool,
}

/// The input and the result of a re-run.
pub(crate) struct Shown {
    pub(crate) text: String,
    /// The input as JSON, for the form of the next re-run.
    pub(crate) input_field: String,
    pub(crate) input: Visible,
    pub(crate) result: Option<Visible>,
    pub(crate) is_cut: bool,
    pub(crate) is_running: bool,
}

/// Returns the settings for the forms of this route.
pub(crate) fn forms() -> FormConfig {
    body::forms(MAX_FORM_BYTES)
}

/// Starts a re-run, waits up to `TIMEOUT` for its end, and redirects to the call's page.
pub(crate) async fn begin(
    state: State,
    request: HttpRequest,
    admin: Admin,
    id: Path<ToolCallId>,
    form: Form<RerunForm>,
) -> HttpResponse {
    let (reader, id, input) = (admin.0, *id, form.into_inner().input);
    let service = state.service.clone();
    let (done, is_done) = oneshot::channel();
    let work = move |history: ToolHistory| async move {
        let begun = history.begin_rerun(&reader, id, input).await?;
        let rerun = begun.id;
        service.spawn_until_draining(async move {
            begun.run().await;
            // Fails if the response no longer waits, because the receiver is then dropped.
            let _ = done.send(());
        });
        Ok(rerun)
    };
    match state.run_tool_history(work).await {
        Ok(rerun) => {
            let _ = timeout(TIMEOUT, is_done).await;
            redirect(address(id, rerun))
        }
        Err(error) => refusal(Frame::of(&state, &request), &request, &error),
    }
}

fn address(call: ToolCallId, rerun: RerunId) -> String {
    format!("/admin/calls/{call}?rerun={rerun}#reruns")
}

/// Returns the list of re-runs, and the one to show in full.
pub(crate) fn shown(
    call: ToolCallId,
    reruns: Reruns,
    texts: Messages,
    language: Language,
) -> (Vec<Entry>, Option<Shown>) {
    let Reruns { rows, shown } = reruns;
    let sentence = |(state, row): &(RerunState, RerunRow)| {
        let time = format::time(&row.created_at);
        texts.rerun(
            *state,
            row.user_name.as_deref().unwrap_or("?"),
            &time,
            row.duration_ms.map(|ms| texts.duration_text(ms)),
        )
    };
    let id = shown.as_ref().map(|shown| shown.id);
    let of_shown = rows.iter().find(|(_, row)| Some(row.id) == id);
    let (words_of_shown, is_running) =
        of_shown.map(|entry| (sentence(entry), entry.0 == RerunState::Running)).unwrap_or_default();
    let entries = rows.iter().map(|entry| Entry {
        address: address(call, entry.1.id),
        text: sentence(entry),
        datetime: format::datetime(&entry.1.created_at),
        is_shown: Some(entry.1.id) == id,
    });
    let entries = entries.collect();
    let shown = shown.map(|texts| Shown {
        text: words_of_shown,
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
