//! The command palette: a field above options, in a modal `<dialog>`, which keeps the focus and returns it. The focus
//! stays in the field, and `aria-activedescendant` marks the chosen option. The field is in the main module, so that no
//! key press is lost. The options (`palette_options`) are lazy, and handle earlier key presses once they have loaded.

pub(crate) mod options;

use leptos::{ev::KeyboardEvent, html, prelude::*};

use crate::{
    components::parts::{commands::is_composing, list_steps::ListStep},
    keys::shortcut_key,
    language::use_language,
    palette::Situation,
};

/// The palette's state.
#[derive(Clone, Copy)]
pub(crate) struct Palette {
    dialog: NodeRef<html::Dialog>,
    /// The situation when it was opened; `None` while it is closed.
    pub(crate) situation: RwSignal<Option<Situation>>,
    /// The text of the field.
    pub(crate) query: RwSignal<String>,
    /// Index of the chosen option.
    pub(crate) chosen: RwSignal<usize>,
    /// Number of options.
    pub(crate) count: RwSignal<usize>,
    /// Key presses that the options have not handled yet.
    pub(crate) keys: RwSignal<Vec<PaletteKey>>,
}

/// A key that moves through the options, or chooses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaletteKey {
    Step(ListStep),
    Choose,
}

impl Palette {
    pub(crate) fn new() -> Self {
        Self {
            dialog: NodeRef::new(),
            situation: RwSignal::new(None),
            query: RwSignal::default(),
            chosen: RwSignal::new(0),
            count: RwSignal::new(0),
            keys: RwSignal::default(),
        }
    }

    /// Opens the palette. The field has the focus before the next key press.
    pub(crate) fn open(self, situation: Situation) {
        let Some(dialog) = self.dialog.get_untracked().filter(|dialog| !dialog.open()) else { return };
        self.ask_for(String::new());
        self.keys.set(Vec::new());
        self.situation.set(Some(situation));
        // Fails only if it is already open.
        let _ = dialog.show_modal();
    }

    pub(crate) fn close(self) {
        if let Some(dialog) = self.dialog.get_untracked() {
            dialog.close();
        }
    }

    fn ask_for(self, query: String) {
        self.query.set(query);
        self.chosen.set(0);
    }

    fn press(self, event: &KeyboardEvent) {
        let is_held = event.ctrl_key();
        let key = match shortcut_key(&event.key(), &event.code()).as_str() {
            _ if is_composing(event) => return,
            // Without Ctrl, they move the caret in the field.
            "Home" | "End" if !is_held => return,
            "Enter" => PaletteKey::Choose,
            "k" | "K" if is_held || event.meta_key() => {
                event.prevent_default();
                return self.close();
            }
            key => match ListStep::of(key) {
                Some(step) => PaletteKey::Step(step),
                None => return,
            },
        };
        event.prevent_default();
        self.keys.update(|keys| keys.push(key));
    }
}

/// The palette, hidden until it is opened.
#[component]
pub(crate) fn PaletteDialog(palette: Palette, children: Children) -> impl IntoView {
    let text = use_language();
    let Palette { dialog, situation, query, chosen, count, .. } = palette;
    view! {
        <dialog
            class="palette"
            data-testid="palette"
            aria-label=text.palette_title()
            closedby="any"
            node_ref=dialog
            // The event arrives later, and by then it may be open again.
            on:close=move |_| if dialog.get_untracked().is_none_or(|dialog| !dialog.open()) { situation.set(None) }
        >
            <input
                type="text"
                class="field"
                role="combobox"
                data-testid="palette-field"
                autocomplete="off"
                spellcheck="false"
                dir="auto"
                aria-label=text.palette_title()
                placeholder=text.palette_placeholder()
                // The list exists once the options are loaded.
                aria-expanded=move || (count.get() > 0).to_string()
                aria-autocomplete="list"
                aria-controls="palette-options"
                aria-activedescendant=move || (count.get() > 0).then(|| option_id(chosen.get()))
                prop:value=move || query.get()
                on:input:target=move |event| palette.ask_for(event.target().value())
                on:keydown=move |event| palette.press(&event)
            />
            {children()}
        </dialog>
    }
    .into_any()
}

/// Returns the element of an option.
pub(crate) fn option_id(at: usize) -> String {
    format!("palette-option-{at}")
}
