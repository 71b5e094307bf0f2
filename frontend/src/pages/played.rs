//! Renders an answer at one moment of its playback, for a page without scripts.

use tallybook_nodes::{element, write_html};
use tallybook_protocol::PlayedEvent;

use super::shared::printed;
use crate::{
    language::Language,
    message::{OWN_FILES, PageLimit, write_printed},
    playback::{Recording, Scene},
};

/// An answer at one moment of its playback. Times are in milliseconds from its start.
pub struct PlayedAnswer {
    /// The HTML of the answer at that moment.
    pub html: String,
    /// The moment, which is within the recording.
    pub at_ms: i64,
    /// The previous moment at which something changed; `None` at the start.
    pub before_ms: Option<i64>,
    /// The next moment at which something changes; `None` at the end.
    pub after_ms: Option<i64>,
    /// The duration of the recording.
    pub duration_ms: i64,
}

/// Renders the answer of a turn as it was after `at_ms` milliseconds.
pub fn played_answer(language: Language, events: &[PlayedEvent], at_ms: i64) -> PlayedAnswer {
    let recording = Recording::new(events);
    let duration_ms = recording.duration_ms();
    let at_ms = at_ms.clamp(0, duration_ms);
    let happened = recording.happened(at_ms);
    let mut scene = Scene::default();
    scene.go_to(&recording, happened);
    let (mut html, mut room) = (String::new(), PageLimit::default());
    if let Some(entry) = scene.answer() {
        write_printed(printed(&entry, language, OWN_FILES), &mut room, &mut html);
    }
    if room.is_exceeded() {
        let rest = element("p").with("class", "note").with_text(language.text_left_out());
        write_html(&[rest.into()], &mut html);
    }
    PlayedAnswer {
        html,
        at_ms,
        before_ms: recording.ms_before(at_ms),
        after_ms: recording.ms_after(at_ms),
        duration_ms,
    }
}
