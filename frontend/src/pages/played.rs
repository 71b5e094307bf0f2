//! An answer as it was at a moment of its making, drawn by the server for a page without scripts.

use leptos::prelude::*;
use tallybook_protocol::PlayedEvent;

use super::{page_room::PageRoom, shared::answer_view};
use crate::{
    language::Language,
    playback::{Recording, Scene},
};

/// An answer at a moment. Times are milliseconds from its beginning.
pub struct PlayedAnswer {
    /// What was to be seen, as HTML.
    pub html: String,
    /// The moment, within the recording.
    pub at_ms: i64,
    /// The moment before, when something else was to be seen; none at the beginning.
    pub before_ms: Option<i64>,
    /// The next one; none at the end.
    pub after_ms: Option<i64>,
    /// How long it takes.
    pub duration_ms: i64,
}

/// What was to be seen of a turn after so many milliseconds.
pub fn played_answer(language: Language, events: &[PlayedEvent], at_ms: i64) -> PlayedAnswer {
    let recording = Recording::new(events);
    let duration_ms = recording.duration_ms();
    let at_ms = at_ms.clamp(0, duration_ms);
    let happened = recording.happened(at_ms);
    let mut scene = Scene::default();
    scene.go_to(&recording, happened);
    let html = Owner::new().with(|| {
        provide_context(language);
        let Some(entry) = scene.answer() else { return String::new() };
        let room = PageRoom::default();
        let html = answer_view(&entry, &room, language).to_html();
        let rest = room.is_exceeded().then(|| view! { <p class="note">{language.text_left_out()}</p> });
        html + &rest.to_html()
    });
    PlayedAnswer {
        html,
        at_ms,
        before_ms: recording.ms_before(at_ms),
        after_ms: recording.ms_after(at_ms),
        duration_ms,
    }
}
