//! A list to choose one value from, in place of a native `<select>`: ARIA's select-only combobox. Its button keeps the focus
//! and names what is chosen. The list is the browser's own popover, so it closes by itself. Keys move through the list and
//! choose nothing until Enter or Space is pressed.

use std::sync::Arc;

use leptos::{
    ev::{KeyboardEvent, MouseEvent},
    html,
    prelude::*,
};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::{
    browser,
    components::icon::{Draw, Icon},
    in_turn::in_next_frame,
};

/// Letters that are typed within so many milliseconds are the beginning of one word.
const WORD_MS: i64 = 700;

/// So many options are one page of the list.
const PAGE: usize = 8;

/// A value that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    /// What else is known of it, in smaller text; empty if nothing is.
    pub(crate) about: String,
    /// The language of the label, if that is not the page's.
    pub(crate) lang: Option<&'static str>,
    /// The heading of its group; empty for none.
    pub(crate) group: &'static str,
}

impl Choice {
    /// A value with its label.
    pub(crate) fn new(value: impl Into<String>, label: impl Into<String>) -> Self {
        Self { value: value.into(), label: label.into(), ..Self::default() }
    }
}

/// A list and the button that opens it.
pub(crate) struct Listbox {
    /// The id of the button; those of the list and its options begin with it.
    pub(crate) id: String,
    /// The test id of the button.
    pub(crate) name: &'static str,
    /// Classes of the button.
    pub(crate) class: &'static str,
    /// What is chosen here, for screen readers and as a tooltip.
    pub(crate) label: String,
    pub(crate) choices: Arc<dyn Fn() -> Vec<Choice> + Send + Sync>,
    /// The chosen value.
    pub(crate) chosen: Signal<String>,
    /// What the button says.
    pub(crate) shown: Signal<String>,
    pub(crate) is_invalid: Signal<bool>,
    pub(crate) is_disabled: Signal<bool>,
    pub(crate) choose: Callback<String>,
}

impl Listbox {
    /// A list whose button says what is chosen.
    pub(crate) fn of(
        id: &str,
        name: &'static str,
        label: &str,
        choices: Vec<Choice>,
        chosen: Signal<String>,
        choose: Callback<String>,
    ) -> Self {
        let choices = Arc::new(choices);
        let all = Arc::clone(&choices);
        let shown = Signal::derive(move || {
            let found = chosen.with(|chosen| choices.iter().find(|choice| choice.value == *chosen).cloned());
            found.map(|choice| choice.label).unwrap_or_default()
        });
        Self {
            id: id.to_owned(),
            name,
            class: "field",
            label: label.to_owned(),
            choices: Arc::new(move || all.to_vec()),
            chosen,
            shown,
            is_invalid: false.into(),
            is_disabled: false.into(),
            choose,
        }
    }

    /// Draws the button, and the list while it is open.
    pub(crate) fn view(self) -> AnyView {
        let Self { id, name, class, label, choices, chosen, shown, is_invalid, is_disabled, choose } = self;
        let list_id = format!("{id}-list");
        let option_id = {
            let list_id = list_id.clone();
            move |at: usize| format!("{list_id}-{at}")
        };
        let button = NodeRef::<html::Button>::new();
        let list = NodeRef::<html::Div>::new();
        let is_open = RwSignal::new(false);
        let active = RwSignal::new(0);
        let options = RwSignal::new(Vec::<Choice>::new());
        let handle = Handle { button, is_open, active, options, typed: StoredValue::default(), choose };
        let show = option_id.clone();
        let follow = move |at: usize| {
            let id = show(at);
            in_next_frame(move || browser::scroll_into_view(&id));
        };
        let begin = follow.clone();
        // The list is drawn before the browser opens it, which it does once this press has been heard.
        let open = move |_: MouseEvent| {
            if !is_open.get_untracked() {
                let all = choices();
                let at = chosen.with_untracked(|chosen| all.iter().position(|choice| choice.value == *chosen));
                active.set(at.unwrap_or(0));
                options.set(all);
                is_open.set(true);
                begin(at.unwrap_or(0));
                // Some browsers give a button that is pressed no focus.
                if let Some(button) = button.get_untracked() {
                    let _ = button.focus();
                }
            }
        };
        let active_id = option_id.clone();
        view! {
            <div class="listbox has-menu">
                <button
                    type="button"
                    class=format!("listbox-button {class}")
                    id=id
                    role="combobox"
                    data-testid=name
                    data-value=move || chosen.get()
                    aria-label=label.clone()
                    title=label.clone()
                    aria-haspopup="listbox"
                    aria-expanded=move || is_open.get().to_string()
                    aria-controls=list_id.clone()
                    aria-activedescendant=move || is_open.get().then(|| active_id(active.get()))
                    aria-invalid=move || is_invalid.get().then_some("true")
                    popovertarget=list_id.clone()
                    disabled=move || !browser::IS_HERE || is_disabled.get()
                    node_ref=button
                    on:click=open
                    on:keydown=move |event| if let Some(at) = handle.press(&event) { follow(at) }
                    // Some browsers press a button when Space is let go.
                    on:keyup=|event: KeyboardEvent| if event.key() == " " { event.prevent_default() }
                    on:focusout=move |_| handle.close()
                >
                    <span class="listbox-value" dir="auto">{move || shown.get()}</span>
                    <Draw icon=Icon::Chevron />
                </button>
                <div
                    class="menu listbox-list"
                    id=list_id
                    role="listbox"
                    aria-label=label
                    popover="auto"
                    node_ref=list
                    // The button keeps the focus.
                    on:mousedown=|event| event.prevent_default()
                    on:click=move |event| if let Some(at) = pressed(&event) { handle.take(at) }
                    on:toggle=move |_| {
                        let is_shown = list.get_untracked().is_some_and(|list| list.matches(":popover-open") == Ok(true));
                        is_open.set(is_shown);
                    }
                >
                    {move || is_open.get().then(|| options_view(&options.get_untracked(), chosen, active, &option_id))}
                </div>
            </div>
        }
        .into_any()
    }
}

/// The options, each group below its heading.
fn options_view(
    options: &[Choice],
    chosen: Signal<String>,
    active: RwSignal<usize>,
    option_id: &(impl Fn(usize) -> String + Clone + Send + 'static),
) -> AnyView {
    let mut views = Vec::new();
    let mut at = 0;
    for group in options.chunk_by(|one, other| one.group == other.group) {
        let drawn: Vec<AnyView> = group
            .iter()
            .map(|choice| {
                let view = option_view(choice, at, chosen, active, option_id(at));
                at += 1;
                view
            })
            .collect();
        let heading = group.first().map(|choice| choice.group).unwrap_or_default();
        views.push(if heading.is_empty() {
            drawn.into_any()
        } else {
            view! {
                <div role="group" aria-label=heading>
                    <div class="listbox-group" aria-hidden="true">{heading}</div>
                    {drawn}
                </div>
            }
            .into_any()
        });
    }
    views.into_any()
}

fn option_view(choice: &Choice, at: usize, chosen: Signal<String>, active: RwSignal<usize>, id: String) -> AnyView {
    let Choice { value, label, about, lang, .. } = choice.clone();
    let is_chosen = chosen.with_untracked(|chosen| *chosen == value);
    view! {
        <div
            class="listbox-option"
            id=id
            role="option"
            lang=lang
            data-at=at.to_string()
            data-value=value
            data-active=move || (active.get() == at).then_some("")
            aria-selected=is_chosen.to_string()
            on:mouseenter=move |_| active.set(at)
        >
            <span class="listbox-check">{is_chosen.then(|| view! { <Draw icon=Icon::Check /> })}</span>
            <span class="listbox-label" dir="auto">{label}</span>
            {(!about.is_empty()).then(|| view! { " "<span class="listbox-about">{about}</span> })}
        </div>
    }
    .into_any()
}

/// The place in the list of the option that was pressed.
fn pressed(event: &MouseEvent) -> Option<usize> {
    let place = event.target()?.dyn_into::<Element>().ok()?;
    place.closest("[data-at]").ok()??.get_attribute("data-at")?.parse().ok()
}

/// A list, as keys find it.
#[derive(Clone, Copy)]
struct Handle {
    button: NodeRef<html::Button>,
    is_open: RwSignal<bool>,
    active: RwSignal<usize>,
    options: RwSignal<Vec<Choice>>,
    /// The beginning of a word, and when its last letter was typed.
    typed: StoredValue<(String, i64)>,
    choose: Callback<String>,
}

impl Handle {
    /// Does what a key asks for. Returns the option that is the active one then, if that may be another.
    fn press(self, event: &KeyboardEvent) -> Option<usize> {
        let (key, is_open) = (event.key(), self.is_open.get_untracked());
        let has_modifier = event.ctrl_key() || event.meta_key() || event.alt_key();
        let is_letter = key.chars().count() == 1 && key.chars().all(char::is_alphanumeric) && !has_modifier;
        let opens = matches!(&*key, "Enter" | " " | "ArrowDown" | "ArrowUp" | "Home" | "End");
        if key == "Escape" && is_open {
            // The browser closes the list, and the page hears nothing of it.
            event.stop_propagation();
            return None;
        }
        if !(opens || is_letter || is_open && matches!(&*key, "PageUp" | "PageDown")) {
            return None;
        }
        event.prevent_default();
        event.stop_propagation();
        if !is_open {
            self.toggle();
            if matches!(&*key, "Enter" | " " | "ArrowDown" | "ArrowUp") {
                return None;
            }
        }
        let (at, last) = (self.active.get_untracked(), self.options.with_untracked(Vec::len).checked_sub(1)?);
        let next = match &*key {
            "Enter" | " " => {
                self.take(at);
                return None;
            }
            "ArrowUp" if event.alt_key() => {
                self.take(at);
                return None;
            }
            "ArrowDown" => (at + 1).min(last),
            "ArrowUp" => at.saturating_sub(1),
            "PageDown" => (at + PAGE).min(last),
            "PageUp" => at.saturating_sub(PAGE),
            "Home" => 0,
            "End" => last,
            letter => self.find(letter)?,
        };
        self.active.set(next);
        Some(next)
    }

    /// Finds the next option that begins with what was typed.
    fn find(self, letter: &str) -> Option<usize> {
        let now = browser::now();
        let typed = self.typed.try_update_value(|(typed, at)| {
            if now - *at > WORD_MS {
                typed.clear();
            }
            *at = now;
            typed.push_str(&letter.to_lowercase());
            typed.clone()
        })?;
        let labels =
            self.options.with_untracked(|all| all.iter().map(|choice| choice.label.clone()).collect::<Vec<_>>());
        find(&labels, self.active.get_untracked(), &typed)
    }

    /// Chooses an option and closes the list.
    fn take(self, at: usize) {
        let value = self.options.with_untracked(|all| all.get(at).map(|choice| choice.value.clone()));
        self.close();
        if let Some(value) = value {
            self.choose.run(value);
        }
    }

    fn close(self) {
        if self.is_open.get_untracked() {
            self.toggle();
            self.is_open.set(false);
        }
    }

    /// Has the browser open or close the list, as a press of the button does.
    fn toggle(self) {
        if let Some(button) = self.button.get_untracked() {
            let button: &HtmlElement = &button;
            button.click();
        }
    }
}

/// Finds what begins with `typed`: after the active one for a first letter, so that the same letter leads through all of
/// them; else from there on.
fn find(labels: &[String], active: usize, typed: &str) -> Option<usize> {
    let first = typed.chars().next()?;
    let is_repeated = typed.chars().all(|letter| letter == first);
    let wanted = if is_repeated { first.to_string() } else { typed.to_owned() };
    let start = if is_repeated { active + 1 } else { active };
    let mut places = (0..labels.len()).map(|step| (start + step) % labels.len());
    places.find(|&place| labels[place].to_lowercase().starts_with(&wanted))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn letters_find_the_next_option_that_begins_with_them() {
        let labels = ["Sonnet", "Opus", "GPT", "Sonar"].map(str::to_owned);
        assert_eq!(find(&labels, 0, "s"), Some(3), "the next one");
        assert_eq!(find(&labels, 3, "s"), Some(0), "from the beginning again");
        assert_eq!(find(&labels, 3, "ss"), Some(0), "a letter that is repeated leads on");
        assert_eq!(find(&labels, 3, "sonn"), Some(0));
        assert_eq!(find(&labels, 3, "sona"), Some(3), "it may stay where it is");
        assert_eq!(find(&labels, 0, "x"), None);
        assert_eq!(find(&[], 0, "x"), None);
    }
}
