//! A choice that does something at once, such as asking another model. Arrow keys and letters change a closed list as they go
//! through it, so that what they lead to waits for a button.

use leptos::{ev::Event, prelude::*};

/// The choice in a list, and whether a key made it.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    by_key: StoredValue<bool>,
    /// The value that a key chose and that waits for the button; empty if none does.
    pending: RwSignal<String>,
}

impl Choice {
    pub(crate) fn new() -> Self {
        Self { by_key: StoredValue::new(false), pending: RwSignal::default() }
    }

    /// A key was pressed in the list, or a finger or mouse was.
    pub(crate) fn pressed(self, by_key: bool) {
        self.by_key.set_value(by_key);
    }

    /// Another value was chosen: gives it if that is certain. `unchanged` is the value that stands for no change.
    pub(crate) fn changed(self, event: &Event, unchanged: &str) -> Option<String> {
        let value = event_target_value(event);
        let is_certain = !self.by_key.get_value();
        let waits = !is_certain && value != unchanged;
        self.pending.set(if waits { value.clone() } else { String::new() });
        (is_certain && value != unchanged).then_some(value)
    }

    /// The button that confirms what a key chose; nothing when there is nothing to confirm.
    pub(crate) fn button(
        self,
        name: &'static str,
        label: &'static str,
        act: impl Fn(String) + Copy + Send + 'static,
    ) -> AnyView {
        let view = move || {
            (!self.pending.with(String::is_empty)).then(|| {
                view! {
                    <button
                        type="button"
                        class="button small"
                        data-testid=name
                        on:click=move |_| act(self.pending.try_update(std::mem::take).unwrap_or_default())
                    >
                        {label}
                    </button>
                }
            })
        };
        view.into_any()
    }
}
