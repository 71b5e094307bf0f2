//! The `Combobox`: a text field with a list of suggestions, as the ARIA Authoring Practices describe it. The field
//! keeps the focus, and its text need not be in the list. The list is below the field in the page's flow, so it needs
//! no room above other elements.

use leptos::{ev::KeyboardEvent, prelude::*};

use crate::{
    browser,
    components::parts::{
        commands::is_composing,
        list_steps::{AtEnd, ListStep},
        listbox::{Choice, option_view, pressed},
    },
    format::lower,
    language::use_language,
    mount_schedule::in_next_frame,
    reactive::{effect, memo},
};

/// Maximum number of options in the document.
const MAX_OPTIONS: usize = 100;

/// A text field with suggestions.
pub(crate) struct Combobox {
    /// ID of the field. The IDs of the list and its options begin with it.
    pub(crate) id: &'static str,
    /// The accessible name of the list.
    pub(crate) list_label: &'static str,
    /// The text of the field.
    pub(crate) value: Signal<String>,
    pub(crate) choices: Signal<Vec<Choice>>,
    /// ID of the elements that describe the field.
    pub(crate) described_by: Signal<String>,
    pub(crate) is_invalid: Signal<bool>,
    /// Called with each text that the user types.
    pub(crate) write: Callback<String>,
    /// Called with the value of a chosen option.
    pub(crate) choose: Callback<String>,
}

/// The state that key presses change.
#[derive(Clone, Copy)]
struct ComboboxHandle {
    id: &'static str,
    is_open: RwSignal<bool>,
    /// The text that the options must contain: what the user typed since the list was opened.
    query: RwSignal<String>,
    active: RwSignal<usize>,
    shown: Memo<Matches>,
    choose: Callback<String>,
}

impl Combobox {
    /// Renders the field, and the list while it is open.
    pub(crate) fn view(self) -> AnyView {
        let Self { id, list_label, value, choices, described_by, is_invalid, write, choose } = self;
        let text = use_language();
        let (is_open, active) = (RwSignal::new(false), RwSignal::new(0));
        let query = RwSignal::new(String::new());
        let shown = memo(move |_| choices.with(|choices| query.with(|query| matches(choices, query, MAX_OPTIONS))));
        let handle = ComboboxHandle { id, is_open, query, active, shown, choose };
        let list_id = format!("{id}-list");
        let is_shown = memo(move |_| is_open.get() && shown.with(|shown| !shown.options.is_empty()));
        // New suggestions start at their beginning.
        effect(move || {
            choices.track();
            active.set(0);
            if is_open.get_untracked() {
                in_next_frame(move || browser::scroll_into_view(&box_id(id)));
            }
        });
        let note = move || {
            let (count, of) = shown.with(|shown| (shown.options.len(), shown.count));
            (is_shown.get() && of > count).then(|| text.first_of(count, of))
        };
        let options = {
            let list_id = list_id.clone();
            move || {
                let list_id = list_id.clone();
                is_shown.get().then(|| {
                    let options = shown.get().options.into_iter().enumerate();
                    let options =
                        options.map(|(at, choice)| option_view(&choice, at, value, active, option_id(id, at)));
                    view! {
                        <div
                            class="combobox-list"
                            id=list_id
                            role="listbox"
                            aria-label=list_label
                            // The field keeps the focus.
                            on:mousedown=|event| event.prevent_default()
                            on:click=move |event| if let Some(at) = pressed(&event) { handle.take(at) }
                        >
                            {options.collect_view()}
                        </div>
                    }
                    .into_any()
                })
            }
        };
        view! {
            <div class="combobox" id=box_id(id)>
                <input
                    type="text"
                    class="field"
                    id=id
                    data-testid=id
                    role="combobox"
                    autocomplete="off"
                    autocapitalize="off"
                    spellcheck="false"
                    maxlength="200"
                    aria-autocomplete="list"
                    aria-expanded=move || is_shown.get().to_string()
                    aria-controls=move || is_shown.get().then(|| list_id.clone())
                    aria-activedescendant=move || is_shown.get().then(|| option_id(id, active.get()))
                    aria-describedby=move || described_by.get()
                    aria-invalid=move || is_invalid.get().then_some("true")
                    prop:value=move || value.get()
                    on:input:target=move |event| {
                        let typed = event.target().value();
                        query.set(typed.clone());
                        active.set(0);
                        is_open.set(true);
                        write.run(typed);
                    }
                    on:focus=move |_| handle.open()
                    on:click=move |_| handle.open()
                    on:blur=move |_| is_open.set(false)
                    on:keydown=move |event| handle.press(&event)
                />
                {options}
                <p class="sheet-note" role="status">{note}</p>
            </div>
        }
        .into_any()
    }
}

impl ComboboxHandle {
    /// Opens the list with all suggestions, at the chosen one.
    fn open(self) {
        if self.is_open.get_untracked() {
            return;
        }
        self.query.set(String::new());
        self.active.set(0);
        self.is_open.set(true);
        // The list may be below the visible part of a dialog.
        in_next_frame(move || browser::scroll_into_view(&box_id(self.id)));
    }

    fn press(self, event: &KeyboardEvent) {
        if is_composing(event) {
            return;
        }
        let key = event.key();
        let is_shown = self.is_open.get_untracked() && self.shown.with_untracked(|shown| !shown.options.is_empty());
        if !is_shown {
            if matches!(&*key, "ArrowDown" | "ArrowUp") {
                event.prevent_default();
                self.open();
            }
            return;
        }
        let count = self.shown.with_untracked(|shown| shown.options.len());
        let at = self.active.get_untracked().min(count.saturating_sub(1));
        let next = match &*key {
            "Enter" => {
                event.prevent_default();
                return self.take(at);
            }
            // Closes the list, and not the dialog around it.
            "Escape" => {
                event.prevent_default();
                event.stop_propagation();
                return self.is_open.set(false);
            }
            // They move the caret in the field.
            "Home" | "End" => return,
            key => ListStep::of(key).and_then(|step| step.from(Some(at), count, AtEnd::Stay)),
        };
        let Some(next) = next else { return };
        event.prevent_default();
        self.active.set(next);
        in_next_frame(move || browser::scroll_into_view(&option_id(self.id, next)));
    }

    /// Chooses an option and closes the list.
    fn take(self, at: usize) {
        let value = self.shown.with_untracked(|shown| shown.options.get(at).map(|choice| choice.value.clone()));
        self.is_open.set(false);
        if let Some(value) = value {
            self.choose.run(value);
        }
    }
}

fn box_id(id: &str) -> String {
    format!("{id}-box")
}

fn option_id(id: &str, at: usize) -> String {
    format!("{id}-option-{at}")
}

/// The options that match a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Matches {
    /// The first of them.
    options: Vec<Choice>,
    /// Number of all of them.
    count: usize,
}

/// Returns the choices whose label or value contains each word of `query`. An exact match comes first.
fn matches(choices: &[Choice], query: &str, max: usize) -> Matches {
    let query = lower(query.trim());
    let words: Vec<&str> = query.split_whitespace().collect();
    let contains_all = |choice: &&Choice| {
        let (label, value) = (lower(&choice.label), lower(&choice.value));
        words.iter().all(|word| label.contains(word) || value.contains(word))
    };
    let is_exact = |choice: &&Choice| lower(&choice.value) == query || lower(&choice.label) == query;
    let (exact, others): (Vec<&Choice>, Vec<&Choice>) = choices.iter().filter(contains_all).partition(is_exact);
    let count = exact.len() + others.len();
    Matches { options: exact.into_iter().chain(others).take(max).cloned().collect(), count }
}

#[cfg(test)]
mod tests {
    use super::{Choice, matches};

    #[test]
    fn each_word_must_match_and_an_exact_match_comes_first() {
        let choices = ["gpt-5-mini", "gpt-5", "claude-sonnet-5"].map(|model| Choice::new(model, model));
        let found =
            |query| matches(&choices, query, 10).options.into_iter().map(|choice| choice.value).collect::<Vec<_>>();
        assert_eq!(found(""), ["gpt-5-mini", "gpt-5", "claude-sonnet-5"]);
        assert_eq!(found("GPT-5 "), ["gpt-5", "gpt-5-mini"]);
        assert_eq!(found("5 son"), ["claude-sonnet-5"]);
        assert!(found("llama").is_empty());
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let choices: Vec<Choice> = (0..2000).map(|number| Choice::new(format!("m{number}"), "Model")).collect();
        let found = matches(&choices, "model", 100);
        assert_eq!((found.options.len(), found.count), (100, 2000));
    }
}
