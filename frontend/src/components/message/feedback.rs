//! The user's feedback on an answer: shows and stores ratings, and asks for the reason of a bad one.

use leptos::{
    ev::{KeyboardEvent, SubmitEvent},
    html,
    prelude::*,
    task::spawn_local,
};
use tallybook_protocol::{Feedback, MAX_FEEDBACK_CHARS, MessageId, Rating};

use crate::{
    api, browser,
    components::{
        message::shown::{OptionalEntry, read},
        parts::{
            commands::escapes,
            icon::{Draw, Icon},
            typing::is_touched,
        },
    },
    goal::element_id,
    language::use_language,
    message::button_id,
    mount_schedule::in_next_frame,
    session::{Place, Session},
};

/// The rating of an answer, while the user gives or changes it.
#[derive(Clone, Copy)]
pub(crate) struct AnswerRating {
    id: MessageId,
    entry: OptionalEntry,
    /// The text with which the field for the reason was opened; `None` while it is closed.
    reason: RwSignal<Option<String>>,
    /// The feedback that the user gave last.
    wanted: StoredValue<Option<Feedback>>,
    is_being_stored: StoredValue<bool>,
}

impl AnswerRating {
    pub(crate) fn new(id: MessageId, entry: OptionalEntry) -> Self {
        let (wanted, is_being_stored) = (StoredValue::new(None), StoredValue::new(false));
        Self { id, entry, reason: RwSignal::new(None), wanted, is_being_stored }
    }

    /// Returns `true` while the field for the reason is open. Tracked.
    pub(crate) fn is_reason_asked(self) -> bool {
        self.reason.with(Option::is_some)
    }

    /// Rates the answer, or removes this rating.
    pub(crate) fn press(self, session: Session, rating: Rating) {
        let is_given = self.given().is_some_and(|given| given.rating == rating);
        self.reason.set((rating == Rating::Down && !is_given).then(String::new));
        self.store(session, (!is_given).then_some(Feedback { rating, reason: None }));
    }

    fn given(self) -> Option<Feedback> {
        untrack(|| read(self.entry, |entry| entry.feedback.clone()))
    }

    /// Shows the feedback, and stores it. If that fails, the stored feedback is shown again, and the field for the
    /// reason gets its text back.
    fn store(self, session: Session, wanted: Option<Feedback>) {
        let Place::Open(uuid) = session.place.get_untracked() else { return };
        let mut stored = self.given();
        session.show_feedback(self.id, wanted.clone(), None);
        self.wanted.set_value(wanted);
        if self.is_being_stored.get_value() {
            return;
        }
        self.is_being_stored.set_value(true);
        spawn_local(async move {
            // Requests follow one another, so that the last one is the user's last choice.
            let error = loop {
                // The message may be unmounted by now.
                let Some(wanted) = self.wanted.try_get_value() else { return };
                if wanted == stored {
                    break None;
                }
                if let Err(error) = api::set_feedback(uuid, self.id, wanted.as_ref()).await {
                    self.reason.try_set(wanted.and_then(|wanted| wanted.reason));
                    break Some(error);
                }
                stored = wanted;
            };
            self.is_being_stored.try_set_value(false);
            session.show_feedback(self.id, stored, error);
        });
    }
}

/// Renders the field for the reason of a bad rating. Enter sends it, Escape closes it; the rating stays either way.
#[component]
pub(crate) fn ReasonForm(rating: AnswerRating, session: Session) -> impl IntoView {
    let text = use_language();
    let field = NodeRef::<html::Input>::new();
    let message = element_id(rating.id);
    let (field_id, hint_id) = (format!("{message}-reason"), format!("{message}-reason-hint"));
    let focused = field_id.clone();
    in_next_frame(move || {
        // On a touch screen, this would open the keyboard.
        if !is_touched() {
            browser::focus(&focused);
        }
    });
    let close = move || {
        rating.reason.set(None);
        let more = button_id(rating.id);
        in_next_frame(move || {
            browser::focus(&more);
        });
    };
    let send = move |event: SubmitEvent| {
        event.prevent_default();
        let reason = field.get_untracked().map(|field| field.value().trim().to_owned()).unwrap_or_default();
        if !reason.is_empty() {
            rating.store(session, Some(Feedback { rating: Rating::Down, reason: Some(reason) }));
        }
        close();
    };
    view! {
        <form class="feedback" on:submit=send>
            <input
                type="text"
                class="field"
                id=field_id
                data-testid="feedback-reason"
                autocomplete="off"
                dir="auto"
                maxlength=MAX_FEEDBACK_CHARS
                aria-label=text.feedback_reason()
                aria-describedby=hint_id.clone()
                placeholder=text.feedback_reason()
                value=rating.reason.get_untracked()
                node_ref=field
                on:keydown=move |event: KeyboardEvent| {
                    if escapes(&event) {
                        event.stop_propagation();
                        close();
                    }
                }
            />
            <button type="submit" class="button" data-testid="feedback-send">
                {text.send()}
            </button>
            <button
                type="button"
                class="button icon-only quiet"
                data-testid="feedback-close"
                aria-label=text.feedback_close()
                title=text.feedback_close()
                on:click=move |_| close()
            >
                <Draw icon=Icon::Cross />
            </button>
            <p class="feedback-hint" id=hint_id>
                {text.feedback_hint()}
            </p>
        </form>
    }
    .into_any()
}
