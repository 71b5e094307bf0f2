//! The `Listbox`, which replaces native `<select>` elements: a select-only combobox as the ARIA Authoring Practices
//! describe it. Its button keeps the focus and shows the chosen value. The list is a native popover, so the browser
//! closes it. Keys move through the list, and Enter or Space chooses.

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
    components::parts::{
        commands::has_modifier,
        icon::{Draw, Icon},
        list_steps::{AtEnd, ListStep},
    },
    format::lower,
    mount_schedule::in_next_frame,
};

/// Maximum pause between typed letters that count as the beginning of one word, in milliseconds.
const WORD_MS: i64 = 700;

/// A value that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    /// Details in smaller text; may be empty.
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

/// A listbox with its button.
pub(crate) struct Listbox {
    /// ID of the button. The IDs of the list and its options begin with it.
    pub(crate) id: String,
    /// The test id of the button.
    pub(crate) name: &'static str,
    /// Classes of the button.
    pub(crate) class: &'static str,
    /// The accessible name of the button, which is also its tooltip.
    pub(crate) label: String,
    pub(crate) choices: Arc<dyn Fn() -> Vec<Choice> + Send + Sync>,
    /// The chosen value.
    pub(crate) chosen: Signal<String>,
    /// The text of the button.
    pub(crate) shown: Signal<String>,
    /// IDs of the elements that describe the button.
    pub(crate) described_by: Signal<String>,
    pub(crate) is_invalid: Signal<bool>,
    pub(crate) is_disabled: Signal<bool>,
    pub(crate) choose: Callback<String>,
}

impl Listbox {
    /// Creates a listbox whose button shows the label of the chosen value.
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
            described_by: String::new().into(),
            is_invalid: false.into(),
            is_disabled: false.into(),
            choose,
        }
    }

    /// Renders the button, and the list while it is open.
    pub(crate) fn view(self) -> AnyView {
        let Self { id, name, class, label, choices, chosen, shown, described_by, is_invalid, is_disabled, choose } =
            self;
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
        let handle = ListboxHandle { button, is_open, active, options, typed: StoredValue::default(), choose };
        let show = option_id.clone();
        let follow = move |at: usize| {
            let id = show(at);
            in_next_frame(move || browser::scroll_into_view(&id));
        };
        let begin = follow.clone();
        // The options are rendered before the browser opens the popover, which it does after this event.
        let open = move |_: MouseEvent| {
            if !is_open.get_untracked() {
                let all = choices();
                let at = chosen.with_untracked(|chosen| all.iter().position(|choice| choice.value == *chosen));
                active.set(at.unwrap_or(0));
                options.set(all);
                is_open.set(true);
                begin(at.unwrap_or(0));
                // Safari does not focus a button that is clicked.
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
                    aria-describedby=move || Some(described_by.get()).filter(|ids| !ids.is_empty())
                    aria-invalid=move || is_invalid.get().then_some("true")
                    popovertarget=list_id.clone()
                    disabled=move || !browser::IS_HERE || is_disabled.get()
                    node_ref=button
                    on:click=open
                    on:keydown=move |event| if let Some(at) = handle.press(&event) { follow(at) }
                    // Firefox clicks a button when Space is released.
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

/// Renders the options, each group below its heading.
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

pub(crate) fn option_view(
    choice: &Choice,
    at: usize,
    chosen: Signal<String>,
    active: RwSignal<usize>,
    id: String,
) -> AnyView {
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

/// Returns the index of the clicked option.
pub(crate) fn pressed(event: &MouseEvent) -> Option<usize> {
    let place = event.target()?.dyn_into::<Element>().ok()?;
    place.closest("[data-at]").ok()??.get_attribute("data-at")?.parse().ok()
}

/// The state of a listbox that key presses change.
#[derive(Clone, Copy)]
struct ListboxHandle {
    button: NodeRef<html::Button>,
    is_open: RwSignal<bool>,
    active: RwSignal<usize>,
    options: RwSignal<Vec<Choice>>,
    /// The typed beginning of a label, and the time of its last letter.
    typed: StoredValue<(String, i64)>,
    choose: Callback<String>,
}

impl ListboxHandle {
    /// Handles a key press. Returns the index of the active option if it may have changed.
    fn press(self, event: &KeyboardEvent) -> Option<usize> {
        let (key, is_open) = (event.key(), self.is_open.get_untracked());
        let is_character = key.chars().count() == 1 && !has_modifier(event);
        // Within a name, a space or a sign is part of it, as in `Model 3`.
        let is_letter = is_character && (key.chars().all(char::is_alphanumeric) || is_open && self.is_typing());
        let opens = matches!(&*key, "Enter" | " " | "ArrowDown" | "ArrowUp" | "Home" | "End");
        if key == "Escape" && is_open {
            // The browser closes the list. The page must not stop the answer, too.
            event.stop_propagation();
            return None;
        }
        if !is_letter {
            self.typed.set_value((String::new(), 0));
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
        let (at, count) = (self.active.get_untracked(), self.options.with_untracked(Vec::len));
        let next = match &*key {
            "Enter" => {
                self.take(at);
                return None;
            }
            " " if !is_letter => {
                self.take(at);
                return None;
            }
            "ArrowUp" if event.alt_key() => {
                self.take(at);
                return None;
            }
            key => match ListStep::of(key) {
                Some(step) => step.from(Some(at), count, AtEnd::Stay)?,
                None => self.find(key)?,
            },
        };
        self.active.set(next);
        Some(next)
    }

    /// Returns `true` while the user types the beginning of a label.
    fn is_typing(self) -> bool {
        self.typed.with_value(|(typed, at)| !typed.is_empty() && browser::now() - *at <= WORD_MS)
    }

    /// Returns the index of the next option that begins with the typed text.
    fn find(self, letter: &str) -> Option<usize> {
        let now = browser::now();
        let typed = self.typed.try_update_value(|(typed, at)| {
            if now - *at > WORD_MS {
                typed.clear();
            }
            *at = now;
            typed.push_str(&lower(letter));
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

    /// Opens or closes the list by clicking the button, as the popover API requires.
    fn toggle(self) {
        if let Some(button) = self.button.get_untracked() {
            let button: &HtmlElement = &button;
            button.click();
        }
    }
}

/// Returns the index of the next label that begins with `typed`. A single or repeated letter searches after the active
/// label, so that it steps through all of them; a longer text searches from the active label on.
fn find(labels: &[String], active: usize, typed: &str) -> Option<usize> {
    let first = typed.chars().next()?;
    let is_repeated = typed.chars().all(|letter| letter == first);
    let wanted = if is_repeated { first.to_string() } else { typed.to_owned() };
    let start = if is_repeated { active + 1 } else { active };
    let mut places = (0..labels.len()).map(|step| (start + step) % labels.len());
    places.find(|&place| lower(&labels[place]).starts_with(&wanted))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn letters_find_the_next_option_that_begins_with_them() {
        let labels = ["Sonnet", "Opus", "GPT", "Sonar"].map(str::to_owned);
        assert_eq!(find(&labels, 0, "s"), Some(3), "the next label");
        assert_eq!(find(&labels, 3, "s"), Some(0), "continues at the beginning");
        assert_eq!(find(&labels, 3, "ss"), Some(0), "a repeated letter steps on");
        assert_eq!(find(&labels, 3, "sonn"), Some(0));
        assert_eq!(find(&labels, 3, "sona"), Some(3), "the active label may match");
        assert_eq!(find(&labels, 0, "x"), None);
        assert_eq!(find(&[], 0, "x"), None);
    }
}
