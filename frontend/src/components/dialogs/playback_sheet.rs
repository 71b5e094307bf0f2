//! The playback of an answer with its original timing, with pause, speed and steps.

use leptos::{html, prelude::*, task::spawn_local};
use tallybook_protocol::{MessageId, PlayedEvent};
use uuid::Uuid;

use crate::{
    api::{self, ApiError},
    browser,
    components::{
        dialogs::sheet_top::sheet_top,
        message::{
            MessageView,
            shown::{Played, ShownMessage},
        },
        parts::{
            listbox::{Choice, Listbox},
            load_button::LoadButton,
            own_element::OwnElement,
        },
    },
    format,
    language::{Language, use_language},
    playback::{Recording, Scene},
    reactive::{effect, memo},
    session::Loading,
    transcript::ExpandAll,
};

/// Maximum number of events that are played back.
const MAX_EVENTS: usize = 100_000;

/// The speeds of playback: names and factors.
const USUAL_SPEED: (&str, f64) = ("1", 1.0);
const SPEEDS: [(&str, f64); 5] = [("0.5", 0.5), USUAL_SPEED, ("2", 2.0), ("4", 4.0), ("8", 8.0)];

/// The state of a playback.
#[derive(Clone, Copy)]
struct Player {
    recording: StoredValue<Recording>,
    scene: StoredValue<Scene>,
    /// Milliseconds from the start.
    at: RwSignal<i64>,
    is_playing: RwSignal<bool>,
    /// Number of the last playback loop that was started. Earlier loops end.
    loops: StoredValue<u32>,
    /// The chosen one of `SPEEDS`.
    speed: RwSignal<(&'static str, f64)>,
    answer: RwSignal<crate::session::DrawnEntry>,
}

impl Player {
    fn new() -> Self {
        Self {
            recording: StoredValue::default(),
            scene: StoredValue::default(),
            at: RwSignal::new(0),
            is_playing: RwSignal::new(false),
            loops: StoredValue::new(0),
            speed: RwSignal::new(USUAL_SPEED),
            answer: RwSignal::new(None),
        }
    }

    fn duration_ms(self) -> i64 {
        self.recording.try_with_value(Recording::duration_ms).unwrap_or_default()
    }

    /// Shows the answer at this time. Returns `false` if the sheet is unmounted.
    fn go_to(self, ms: i64) -> bool {
        let ms = ms.clamp(0, self.duration_ms());
        let shown = self.recording.try_with_value(|recording| {
            self.scene.try_update_value(|scene| {
                scene.go_to(recording, recording.happened(ms));
                scene.answer()
            })
        });
        let Some(Some(answer)) = shown else { return false };
        self.at.set(ms);
        if answer != self.answer.get_untracked() {
            self.answer.set(answer);
        }
        true
    }

    /// Steps by this many changes, forward or backward.
    fn step(self, by: isize) {
        self.is_playing.set(false);
        let wanted = self.recording.with_value(|recording| {
            let now = recording.happened(self.at.get_untracked());
            // Several events may have the same time. A step always shows another state.
            let place = recording.ms_of(now);
            let mut count = now;
            while let Some(next) = count.checked_add_signed(by).filter(|next| *next <= recording.len()) {
                count = next;
                if recording.ms_of(count) != place {
                    break;
                }
            }
            recording.ms_of(count)
        });
        self.go_to(wanted);
    }

    fn play(self) {
        if self.at.get_untracked() >= self.duration_ms() {
            self.go_to(0);
        }
        self.is_playing.set(true);
        let number = self.loops.get_value().wrapping_add(1);
        self.loops.set_value(number);
        spawn_local(async move {
            let mut before = browser::now();
            loop {
                browser::next_frame().await;
                // If the user pauses and resumes within a frame, another loop plays.
                if self.is_playing.try_get_untracked() != Some(true) || self.loops.try_get_value() != Some(number) {
                    return;
                }
                let now = browser::now();
                let passed = passed_ms(now - before, self.speed.get_untracked().1);
                // The fraction of a millisecond is kept for the next frame.
                if passed == 0 {
                    continue;
                }
                before = now;
                if !self.go_to(self.at.get_untracked() + passed) {
                    return;
                }
                if self.at.get_untracked() >= self.duration_ms() {
                    self.is_playing.set(false);
                }
            }
        });
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a frame takes some milliseconds")]
fn passed_ms(ms: i64, speed: f64) -> i64 {
    (ms as f64 * speed) as i64
}

/// The sheet, which starts to play once it has loaded.
#[component]
pub(crate) fn PlaybackSheet(conversation: Uuid, message: MessageId, played: Played) -> impl IntoView {
    let text = use_language();
    let dialog = NodeRef::<html::Dialog>::new();
    let showing = Player::new();
    let loading = RwSignal::new(Loading::Running);
    let load = move || {
        loading.set(Loading::Running);
        spawn_local(async move {
            let loaded = load_events(conversation, message).await;
            loading.try_set(match loaded {
                Ok(events) if !events.is_empty() => {
                    showing.recording.try_update_value(|recording| *recording = Recording::new(&events));
                    Loading::Idle
                }
                Ok(_) => Loading::Failed(text.replay_gone().to_owned()),
                Err(error) => Loading::Failed(error.message(text)),
            });
            if loading.try_get_untracked() == Some(Loading::Idle) {
                showing.go_to(0);
                showing.play();
            }
        });
    };
    effect(move || {
        if let Some(dialog) = dialog.get() {
            // Fails only if it is already open.
            let _ = dialog.show_modal();
            load();
        }
    });
    let is_ready = memo(move |_| loading.get() == Loading::Idle);
    let has_answer = memo(move |_| showing.answer.with(Option::is_some));
    let shown = ShownMessage {
        entry: showing.answer.read_only(),
        expand_all: RwSignal::new(ExpandAll::default()),
        session: None,
    };
    view! {
        <dialog
            class="sheet playback"
            data-testid="playback"
            aria-labelledby="playback-title"
            closedby="any"
            node_ref=dialog
            on:close=move |_| played.0.set(None)
        >
            {sheet_top("playback-title", text.replay_title().to_owned(), text.replay_close())}
            {move || if is_ready.get() {
                controls(showing, text)
            } else {
                view! {
                    <LoadButton
                        name="load-playback"
                        loading=loading.into()
                        label=text.try_again().to_owned()
                        loading_label=text.replay_loading()
                        load
                    />
                }
                .into_any()
            }}
            <div class="playback-answer">
                // Another ID than that of the message on the page behind the sheet.
                {move || has_answer.get().then(|| OwnElement::from(MessageView::new(MessageId(-message.0), shown, None)))}
            </div>
        </dialog>
    }
    .into_any()
}

fn controls(player: Player, text: Language) -> AnyView {
    let duration = player.duration_ms();
    let position =
        move || format!("{} / {}", format::duration(text, player.at.get()), format::duration(text, duration));
    let toggle = move |_| {
        if player.is_playing.get_untracked() {
            player.is_playing.set(false);
        } else {
            player.play();
        }
    };
    let button = |name: &'static str, label: &'static str, by: isize| {
        view! {
            <button type="button" class="button small" data-testid=name on:click=move |_| player.step(by)>{label}</button>
        }
        .into_any()
    };
    let speeds = SPEEDS.map(|(word, _)| Choice::new(word, format!("{word}×"))).to_vec();
    let chosen = Signal::derive(move || player.speed.get().0.to_owned());
    let choose = Callback::new(move |word: String| {
        if let Some(speed) = SPEEDS.iter().find(|(known, _)| *known == word) {
            player.speed.set(*speed);
        }
    });
    let speed = Listbox::of("playback-speed", "playback-speed", text.replay_speed(), speeds, chosen, choose);
    view! {
        <div class="playback-controls">
            <button type="button" class="button small primary" data-testid="playback-toggle" on:click=toggle>
                {move || if player.is_playing.get() { text.replay_pause() } else { text.replay_play() }}
            </button>
            {button("playback-back", text.replay_back(), -1)}
            {button("playback-on", text.replay_forward(), 1)}
            {speed.view()}
            <span class="playback-time" data-testid="playback-time">{position}</span>
            <input
                type="range"
                data-testid="playback-place"
                min="0"
                max=duration
                aria-label=text.replay_position()
                aria-valuetext=position
                prop:value=move || player.at.get().to_string()
                on:input:target=move |event| {
                    player.is_playing.set(false);
                    player.go_to(event.target().value().parse().unwrap_or_default());
                }
            />
        </div>
    }
    .into_any()
}

/// Loads all events of a turn, page by page.
async fn load_events(conversation: Uuid, message: MessageId) -> Result<Vec<PlayedEvent>, ApiError> {
    let mut events = Vec::new();
    let mut after = None;
    loop {
        let page = api::playback(conversation, message, after.as_deref()).await?;
        let is_last = page.items.is_empty() || page.next.is_none();
        events.extend(page.items);
        if is_last || events.len() >= MAX_EVENTS {
            return Ok(events);
        }
        after = page.next;
    }
}
