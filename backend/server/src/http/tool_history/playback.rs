//! HTTP handler for `/admin/calls/{id}/playback`: plays back the turn around a call. With scripts, the page plays in
//! place. Without scripts, each page redirects to the next one after a second.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web};
use askama::Template;
use serde::Deserialize;
use tallybook_frontend::{Language, PlayedAnswer, invisible::escaped, played_answer};
use tallybook_protocol::ToolCallId;
use tallybook_tool_history::{CallPlayback, ToolHistory};

use super::{
    super::{caller::Admin, query::Query, state::State},
    i18n::Messages,
    layout::{Frame, answer, refusal},
};

/// Playback speeds, as multiples of the original speed.
const SPEEDS: [i64; 4] = [1, 2, 4, 16];

#[derive(Deserialize)]
pub(crate) struct Moment {
    /// Position, in milliseconds from the beginning of the recording.
    #[serde(default)]
    at: i64,
    /// Playback speed; paused if absent.
    speed: Option<i64>,
}

/// A link to another position or speed.
struct ControlLink {
    /// HTML id. It is the same at every position, so that the script can keep the focus.
    id: String,
    text: String,
    /// URL; `None` if the link would change nothing.
    address: Option<String>,
    is_here: bool,
}

#[derive(Template)]
#[template(path = "tool_history/playback.html")]
struct PlaybackPage {
    frame: Frame,
    tool: String,
    call: String,
    /// URL that the page loads next by itself if scripts are off.
    next: Option<String>,
    place: String,
    at_ms: i64,
    duration_ms: i64,
    /// Next position at which the answer changes, in milliseconds from the beginning.
    after_ms: Option<i64>,
    /// Playback speed; `None` if paused.
    speed: Option<i64>,
    /// The steps and the speeds, each group with its label.
    controls: [(&'static str, Vec<ControlLink>); 2],
    /// The answer at this position, as HTML that `tallybook_frontend` rendered.
    answer: String,
    /// Notice that the events are no longer stored, or that only their beginning can be played.
    note: Option<&'static str>,
}

pub(crate) async fn show(
    state: State,
    request: HttpRequest,
    admin: Admin,
    id: web::Path<ToolCallId>,
    Query(moment): Query<Moment>,
) -> HttpResponse {
    let (reader, id) = (admin.0, *id);
    let frame = Frame::of(&state, &request);
    match state
        .run_tool_history(move |history: ToolHistory| async move { history.open_playback(&reader, id).await })
        .await
    {
        Ok(playback) => answer(StatusCode::OK, &page(frame, id, &playback, &moment)),
        Err(error) => refusal(frame, &request, &error),
    }
}

fn page(frame: Frame, id: ToolCallId, playback: &CallPlayback, moment: &Moment) -> PlaybackPage {
    let texts = frame.texts;
    let PlayedAnswer { html, at_ms, before_ms, after_ms, duration_ms } =
        played_answer(frame.language, &playback.events, moment.at);
    let speed = moment.speed.filter(|speed| SPEEDS.contains(speed) && after_ms.is_some());
    let call = format!("/admin/calls/{id}");
    let address = |at: i64, speed: Option<i64>| {
        let speed = speed.map_or_else(String::new, |speed| format!("&speed={speed}"));
        format!("{call}/playback?at={at}{speed}")
    };
    let way = |id: &str, text: &str, address: Option<String>, is_here: bool| ControlLink {
        id: format!("way-{id}"),
        text: text.to_owned(),
        address,
        is_here,
    };
    let step = |id: &str, text: &str, at: Option<i64>| way(id, text, at.map(|at| address(at, None)), false);
    let steps = vec![
        step("first", texts.first_moment(), before_ms.map(|_| 0)),
        step("back", texts.moment_before(), before_ms),
        step("on", texts.moment_after(), after_ms),
        step("last", texts.last_moment(), after_ms.map(|_| duration_ms)),
    ];
    let pause = way("pause", texts.pause(), speed.map(|_| address(at_ms, None)), speed.is_none());
    let begin = if after_ms.is_some() { at_ms } else { 0 };
    let play = SPEEDS.map(|each| {
        let is_here = speed == Some(each);
        let address = (!is_here && duration_ms > 0).then(|| address(begin, Some(each)));
        way(&each.to_string(), &texts.play_at(each), address, is_here)
    });
    let next = speed.map(|speed| {
        let at = duration_ms.min(at_ms.saturating_add(speed * 1000));
        address(at, Some(speed).filter(|_| at < duration_ms))
    });
    let note = match (playback.events.is_empty(), playback.is_whole) {
        (true, _) => Some(texts.no_record()),
        (false, false) => Some(texts.record_cut()),
        (false, true) => None,
    };
    PlaybackPage {
        tool: escaped(&playback.tool).into_owned(),
        place: texts.moment_of(at_ms, duration_ms),
        controls: [(texts.steps(), steps), (texts.speed(), std::iter::once(pause).chain(play).collect())],
        frame,
        call,
        next,
        at_ms,
        duration_ms,
        after_ms,
        speed,
        answer: html,
        note,
    }
}

impl Messages {
    const fn steps(self) -> &'static str {
        match self.0 {
            Language::English => "Steps",
            Language::Japanese => "移動",
        }
    }

    const fn speed(self) -> &'static str {
        match self.0 {
            Language::English => "Speed",
            Language::Japanese => "再生速度",
        }
    }

    fn play_at(self, speed: i64) -> String {
        match self.0 {
            Language::English => format!("Play {speed}×"),
            Language::Japanese => format!("{speed}倍速で再生"),
        }
    }

    fn moment_of(self, at_ms: i64, duration_ms: i64) -> String {
        let seconds = |ms: i64| format!("{}.{}", ms / 1000, ms % 1000 / 100);
        let (at, whole) = (seconds(at_ms), seconds(duration_ms));
        match self.0 {
            Language::English => format!("{at} s of {whole} s (long pauses are shortened)"),
            Language::Japanese => format!("{at}秒/{whole}秒（長い待ち時間は短縮）"),
        }
    }
}
