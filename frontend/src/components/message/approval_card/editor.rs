//! The editor of a call's arguments as JSON.

use leptos::prelude::*;

use super::card::{Card, focus_soon};
use crate::{
    approval::Flaw,
    components::parts::{commands::escapes, ids::card_id, visible::warning_view},
    invisible::Found,
    reactive::memo,
    session::keep_input,
};

impl Card {
    /// Renders the arguments as JSON to edit.
    pub(super) fn editor(self) -> AnyView {
        let Self { edited, text, .. } = self;
        let field_id = format!("{}-editor", card_id(self.id));
        focus_soon(field_id.clone());
        let flaw_id = format!("{}-flaw", card_id(self.id));
        let described_by = flaw_id.clone();
        let flaw = memo(move |_| self.changed_input().err());
        let words = move || {
            flaw.get().map(|flaw| match flaw {
                Flaw::NoJson { line, column } => text.invalid_json(line, column),
                Flaw::NoObject => text.input_not_object().to_owned(),
            })
        };
        let found = memo(move |_| edited.with(|edited| edited.as_deref().map(Found::of)));
        let initial = edited.get_untracked().unwrap_or_default();
        let rows = initial.lines().count().clamp(3, 16).to_string();
        view! {
            <div class="approval-editor">
                <textarea
                    class="field"
                    id=field_id
                    data-testid="input-field"
                    rows=rows
                    spellcheck="false"
                    autocomplete="off"
                    aria-label=text.input_as_json()
                    aria-invalid=move || flaw.with(Option::is_some).to_string()
                    aria-describedby=described_by
                    prop:value=initial
                    on:input:target=move |event| {
                        let written = event.target().value();
                        keep_input(self.id, &written);
                        edited.set(Some(written));
                    }
                    on:keydown=move |event| if escapes(&event) {
                        event.stop_propagation();
                        self.leave_editor();
                    }
                ></textarea>
                {move || found.get().and_then(|found| warning_view(found, text))}
                <div class="approval-editor-footer">
                    <span class="approval-flaw" id=flaw_id role="status">{words}</span>
                    <button type="button" class="button small" data-testid="leave-input" on:click=move |_| self.leave_editor()>
                        {text.discard_input_changes()}
                    </button>
                </div>
            </div>
        }
        .into_any()
    }

    fn leave_editor(self) {
        keep_input(self.id, "");
        self.edited.set(None);
        self.take_focus();
    }
}
