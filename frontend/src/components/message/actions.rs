//! Actions of clicks in a message. The clicked element names its action in `data-action`.

use std::{sync::Arc, time::Duration};

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{MessageId, PlanStepId, Rating, ToolCallId};
use wasm_bindgen::JsCast;
use web_sys::{Element, MouseEvent};

use super::{menu::MenuOwner, state::MessageState};
use crate::{
    browser,
    components::{
        dialogs::{
            file_viewer::{FileView, ViewedFiles},
            usage_sheet::UsageOf,
        },
        message::{
            copy, explanation, fork,
            shown::{Played, Used, read},
        },
        parts::typing::{focus_composer, leave_button},
    },
    goal::element_id,
    message::{Copied, CopyOutcome, OWN_FILES, Recovery, View, button_id, menu_items},
    mount_schedule::in_next_frame,
    session::{AttachedFile, Edited, Phase, Place, Session, Step},
    transcript::{Entry, ItemKey},
};

/// Time for which a button says that it copied something.
const COPIED_FOR: Duration = Duration::from_secs(2);

impl MessageState {
    /// Carries out what was pressed.
    pub(super) fn press(&self, event: &MouseEvent) {
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let pressed = target.and_then(|target| target.closest("[data-action]").ok().flatten());
        let Some(pressed) = pressed else { return copy::on_click(event) };
        let key = pressed.get_attribute("data-key").unwrap_or_default();
        let open = pressed.get_attribute("aria-expanded").as_deref() != Some("true");
        match pressed.get_attribute("data-action").unwrap_or_default().as_str() {
            "toggle-item" => self.toggle_item(&key, open),
            "toggle-group" => self.toggle_group(&key, open),
            "toggle-step" => self.toggle_step(&key, open),
            "fold" => self.is_unfolded.set(open),
            "copy-answer" => self.copy(Copied::Answer),
            "copy-question" => self.copy(Copied::Question),
            "copy-link" => self.copy(Copied::Link),
            "view-file" => self.view_file(&key),
            "more" => self.open_menu(&pressed),
            action => {
                if let Some(session) = self.shown.session {
                    self.act(session, action);
                }
            }
        }
    }

    fn toggle_item(&self, key: &str, open: bool) {
        if let Some(key) = parse_key(key) {
            self.toggles.update(|toggles| toggles.set(self.shown.expand_all.get_untracked(), key, open));
        }
    }

    fn toggle_group(&self, first: &str, open: bool) {
        let Some(first) = parse_key(first) else { return };
        self.opened_groups.update(|opened| {
            opened.insert(first);
        });
        self.toggles.update(|toggles| toggles.set_group(self.shown.expand_all.get_untracked(), &[first], open));
    }

    fn toggle_step(&self, step: &str, open: bool) {
        let Ok(step) = step.parse().map(PlanStepId) else { return };
        self.toggles.update(|toggles| toggles.set_step(self.shown.expand_all.get_untracked(), step, open));
    }

    fn view_file(&self, id: &str) {
        let Some(FileView(view)) = self.file_view else { return };
        let files = untrack(|| read(self.shown.entry, Entry::all_files));
        if let Some(at) = files.iter().position(|file| file.id.to_string() == id) {
            view.set(Some(ViewedFiles { files, at }));
        }
    }

    fn copy(&self, copied: Copied) {
        let content = match copied {
            Copied::Answer => untrack(|| read(self.shown.entry, |entry| entry.answer().to_owned())),
            Copied::Question => untrack(|| read(self.shown.entry, |entry| entry.text.clone())),
            Copied::Link => browser::address_of(&element_id(self.id)),
        };
        let shown = self.copied;
        spawn_local(async move {
            let is_done = browser::copy(&content).await.is_ok();
            // The message may be gone by now.
            if shown.try_set(Some(CopyOutcome { copied, is_done })).is_none() {
                browser::sleep(COPIED_FOR).await;
                shown.try_set(None);
            }
        });
    }

    /// Does what needs a session. Most of it does nothing while a turn runs.
    fn act(&self, session: Session, action: &str) {
        let id = self.id;
        let is_idle = session.phase.get_untracked() == Phase::Idle;
        match action {
            "stop" => {
                session.stop();
                leave_button();
            }
            "usage" => self.show_usage(session),
            "fork" => fork::fork(session, id, self.fork),
            "rate-up" => self.rate(session, Rating::Up),
            "rate-down" => self.rate(session, Rating::Down),
            "older-version" => self.step(session, Step::Older),
            "newer-version" => self.step(session, Step::Newer),
            "continue" => self.recover(session, Recovery::Continue),
            "retry" => self.recover(session, Recovery::Retry),
            "ask-for-rest" => self.recover(session, Recovery::AskForRest),
            _ if !is_idle => {}
            "regenerate" => {
                session.regenerate(id);
                focus_composer();
            }
            "explain" => explanation::ask(session, id, self.explanation, self.text),
            "play-again" => self.play(),
            "edit" => {
                let (text, files) =
                    untrack(|| read(self.shown.entry, |entry| (entry.text.clone(), entry.files.clone())));
                let files = files.into_iter().map(AttachedFile::stored).collect();
                session.begin_edit(Some(Edited { id, text, files, is_changed: false, is_from_field: false }));
            }
            _ => {}
        }
    }

    fn open_menu(&self, button: &Element) {
        let (Some(menu), Some(session), Some(entry)) =
            (self.menu, self.shown.session, self.shown.entry.get_untracked())
        else {
            return;
        };
        let view = View { id: self.id, entry: &entry, text: self.text, files: OWN_FILES, live: None };
        let items = menu_items(view, session.phase.get_untracked() != Phase::Idle);
        let state = *self;
        let press = Arc::new(move |event: &MouseEvent| state.press(event));
        menu.open(MenuOwner { id: self.id, is_open: self.is_menu_open, press }, items, button);
    }

    fn rate(&self, session: Session, rating: Rating) {
        self.rating.press(session, rating);
        let more = button_id(self.id);
        // The button of a removed rating is gone.
        in_next_frame(move || {
            browser::focus_if_free(&more);
        });
    }

    fn recover(&self, session: Session, recovery: Recovery) {
        match recovery {
            Recovery::Continue => session.continue_turn(),
            Recovery::Retry => session.regenerate(self.id),
            Recovery::AskForRest => session.send(self.text.continue_message()),
        }
        focus_composer();
    }

    fn step(&self, session: Session, step: Step) {
        let siblings = untrack(|| read(self.shown.entry, |entry| entry.siblings.clone()));
        session.step(self.id, &siblings, step);
    }

    fn show_usage(&self, session: Session) {
        if let (Place::Open(conversation), Some(Used(shown))) = (session.place.get_untracked(), self.used) {
            shown.set(Some(UsageOf { conversation, message: Some(self.id) }));
        }
    }

    fn play(&self) {
        if let Some(Played(played)) = self.played {
            played.set(Some(self.id));
        }
    }
}

/// Returns the item that an element's ID names, as `call-12` or `thought-5-1`.
fn parse_key(key: &str) -> Option<ItemKey> {
    if let Some(id) = key.strip_prefix("call-") {
        return Some(ItemKey::Call(ToolCallId(id.parse().ok()?)));
    }
    let (message, step) = key.strip_prefix("thought-")?.rsplit_once('-')?;
    Some(ItemKey::Reasoning(MessageId(message.parse().ok()?), step.parse().ok()?))
}
