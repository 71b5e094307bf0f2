//! Reads the user's preferences from a request: the cookies that the page sets, and the languages that the browser
//! accepts.

use actix_web::{
    HttpRequest,
    http::header::{AcceptLanguage, Header as _, Preference},
};
use tallybook_frontend::{
    CALL_PREVIEWS_COOKIE, LANGUAGE_COOKIE, LAST_MODEL_COOKIE, Language, NEW_CHAT_MODEL_COOKIE, NOTIFICATIONS_COOKIE,
    NewChatModels, Preferences, SIDEBAR_COOKIE, SINGLE_KEYS_COOKIE, Sidebar, THEME_COOKIE, Theme,
};

/// Returns the preferences. The user's choice takes precedence over the browser's languages. A value that cannot be
/// read counts as absent.
pub(crate) fn of(request: &HttpRequest) -> Preferences {
    let language = request.cookie(LANGUAGE_COOKIE).and_then(|cookie| Language::from_code(cookie.value()));
    let theme = request.cookie(THEME_COOKIE).and_then(|cookie| Theme::from_name(cookie.value()));
    let sidebar = request.cookie(SIDEBAR_COOKIE).and_then(|cookie| Sidebar::from_name(cookie.value()));
    let says = |name, value| request.cookie(name).is_some_and(|cookie| cookie.value() == value);
    Preferences {
        language: language.or_else(|| asked_for(request)).unwrap_or_default(),
        theme: theme.unwrap_or_default(),
        sidebar: sidebar.unwrap_or_default(),
        single_keys: !says(SINGLE_KEYS_COOKIE, "off"),
        notifications: says(NOTIFICATIONS_COOKIE, "on"),
        call_previews: says(CALL_PREVIEWS_COOKIE, "on"),
    }
}

/// Returns the models that the user chose for new chats. The page percent-encodes their names, which can be any text.
pub(crate) fn new_chat_models(request: &HttpRequest) -> NewChatModels {
    let named = |cookie| {
        let name = request.cookie(cookie)?.value().to_owned();
        Some(name).filter(|name| !name.is_empty())
    };
    NewChatModels { default: named(NEW_CHAT_MODEL_COOKIE), last: named(LAST_MODEL_COOKIE) }
}

/// Returns the first language in the browser's order of preference that the page has.
fn asked_for(request: &HttpRequest) -> Option<Language> {
    AcceptLanguage::parse(request).ok()?.ranked().iter().find_map(|preference| match preference {
        Preference::Specific(tag) => Language::from_code(tag.as_str()),
        Preference::Any => None,
    })
}

#[cfg(test)]
mod tests {
    use actix_web::{http::header, test::TestRequest};
    use tallybook_frontend::{Language, Sidebar, Theme};

    use super::{new_chat_models, of};

    fn asking(accept: &str) -> TestRequest {
        TestRequest::default().insert_header((header::ACCEPT_LANGUAGE, accept))
    }

    #[test]
    fn the_most_preferred_available_language_is_chosen() {
        for (accept, language) in [
            ("ja", Language::Japanese),
            ("ja-JP,ja;q=0.9,en;q=0.8", Language::Japanese),
            ("en-US,en;q=0.9,ja;q=0.8", Language::English),
            ("fr, ja;q=0.5, en;q=0.4", Language::Japanese),
            ("ja;q=0.3, en;q=0.7", Language::English),
            ("fr", Language::English),
            ("*", Language::English),
            (";;;q=what", Language::English),
        ] {
            assert_eq!(of(&asking(accept).to_http_request()).language, language, "{accept}");
        }
        assert_eq!(of(&TestRequest::default().to_http_request()).language, Language::English);
    }

    #[test]
    fn names_of_models_are_read_percent_encoded() {
        let cookies = "tallybook_last_model=Sonnet%3B%20%E6%97%A5; tallybook_new_chat_model=";
        let models = new_chat_models(&asking("en").insert_header((header::COOKIE, cookies)).to_http_request());
        assert_eq!((models.default, models.last.as_deref()), (None, Some("Sonnet; 日")));
    }

    #[test]
    fn the_users_choice_comes_first_and_invalid_values_are_ignored() {
        let chosen = |language: &str, theme: &str| {
            let cookies =
                format!("other=1; tallybook_language={language};tallybook_theme={theme}; xtallybook_theme=light");
            of(&asking("ja").insert_header((header::COOKIE, cookies)).to_http_request())
        };
        assert_eq!(chosen("en", "dark").language, Language::English);
        assert_eq!(chosen("en", "dark").theme, Theme::Dark);
        assert_eq!(chosen("\"><script>", "no-such").language, Language::Japanese);
        assert_eq!(chosen("", "").theme, Theme::System);
        let sidebar =
            |cookie: &str| of(&asking("ja").insert_header((header::COOKIE, cookie)).to_http_request()).sidebar;
        assert_eq!(sidebar("tallybook_sidebar=folded"), Sidebar::Folded);
        assert_eq!(sidebar("tallybook_sidebar=no-such"), Sidebar::Shown);
        let switches = |cookie: &str| {
            let chosen = of(&asking("ja").insert_header((header::COOKIE, cookie)).to_http_request());
            (chosen.single_keys, chosen.notifications, chosen.call_previews)
        };
        assert_eq!(switches("tallybook_single_keys=off; tallybook_notifications=on"), (false, true, false));
        assert_eq!(switches("tallybook_single_keys=no; tallybook_notifications=yes"), (true, false, false));
        assert_eq!(switches("tallybook_call_previews=on"), (true, false, true));
        assert_eq!(switches("tallybook_call_previews=1"), (true, false, false));
    }
}
