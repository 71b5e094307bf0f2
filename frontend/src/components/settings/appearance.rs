//! The section for theme, language and keys, which this browser keeps.

use leptos::prelude::*;

use super::section::section;
use crate::{
    components::{
        dialogs::help::{self, HelpSheet},
        parts::switches::{CallPreviewsSwitch, NotificationSwitch, SingleKeysSwitch},
        sidebar::footer::{language_field, theme_field},
    },
    language::Language,
};

pub(super) fn section_view(sheet: HelpSheet, text: Language) -> AnyView {
    let looks = view! {
        <div class="setting-row"><span aria-hidden="true">{text.theme_label()}</span>{theme_field("setting-theme")}</div>
        <div class="setting-row">
            <span aria-hidden="true">{text.language_label()}</span>
            {language_field("setting-language")}
        </div>
        <CallPreviewsSwitch />
    };
    let keyboard = view! {
        <SingleKeysSwitch />
        <NotificationSwitch />
        <button type="button" class="button small" aria-haspopup="dialog" on:click=move |_| help::toggle(sheet)>
            {text.show_shortcuts()}
        </button>
    };
    view! {
        {section("appearance", text.appearance(), text.appearance_about(), looks.into_any())}
        {section("keyboard", text.keyboard(), text.keyboard_about(), keyboard.into_any())}
    }
    .into_any()
}
