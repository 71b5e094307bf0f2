//! The command palette: a field above what can be chosen, in a modal `<dialog>`, which keeps the focus and gives it back. The
//! focus stays in the field; which option is chosen is told by `aria-activedescendant`. The field is there with the page, so
//! that no key is lost; the options are in `palette_options`, and take the keys that were meant for them once they are here.

use leptos::{ev::KeyboardEvent, html, prelude::*};

use crate::{components::commands::is_composing, keys::shortcut_key, language::use_language, palette::Situation};

/// The palette, to open it by.
#[derive(Clone, Copy)]
pub(crate) struct Palette {
    dialog: NodeRef<html::Dialog>,
    /// What was the case when it was opened; nothing while it is closed.
    pub(crate) situation: RwSignal<Option<Situation>>,
    /// What is in the field.
    pub(crate) query: RwSignal<String>,
    /// The option that is chosen.
    pub(crate) chosen: RwSignal<usize>,
    /// How many there are.
    pub(crate) count: RwSignal<usize>,
    /// Keys that the options have not taken yet.
    pub(crate) keys: RwSignal<Vec<Key>>,
}

/// A key that goes through the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Down,
    Up,
    First,
    Last,
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

    /// Opens it. The field has the focus before the next key comes.
    pub(crate) fn open(self, situation: Situation) {
        let Some(dialog) = self.dialog.get_untracked().filter(|dialog| !dialog.open()) else { return };
        self.ask_for(String::new());
        self.keys.set(Vec::new());
        self.situation.set(Some(situation));
        // It fails only where it is open already.
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
            "ArrowDown" => Key::Down,
            "ArrowUp" => Key::Up,
            "Home" if is_held => Key::First,
            "End" if is_held => Key::Last,
            "Enter" => Key::Choose,
            "k" | "K" if is_held || event.meta_key() => {
                event.prevent_default();
                return self.close();
            }
            _ => return,
        };
        event.prevent_default();
        self.keys.update(|keys| keys.push(key));
    }
}

/// The palette, out of sight until it is opened.
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
            // Told of later: by then it may be open again.
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
                aria-expanded="true"
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

/// The element of an option.
pub(crate) fn option_id(at: usize) -> String {
    format!("palette-option-{at}")
}
