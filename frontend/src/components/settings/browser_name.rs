//! Recognizes a browser by its user agent.

/// Returns the names of the browser and its system; `None` if unknown.
pub(super) fn browser_name(user_agent: &str) -> Option<(&'static str, Option<&'static str>)> {
    // Most browsers also claim to be others, so the unique names are checked first.
    const BROWSERS: [(&str, &str); 9] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("FxiOS/", "Firefox"),
        ("Firefox/", "Firefox"),
        ("CriOS/", "Chrome"),
        ("Chromium/", "Chromium"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 7] = [
        ("Windows", "Windows"),
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Mac OS X", "macOS"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ];
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(sign, _)| user_agent.contains(sign)).map(|(_, name)| *name)
    };
    Some((find(&BROWSERS)?, find(&SYSTEMS)))
}

#[cfg(test)]
mod tests {
    use super::browser_name;

    #[test]
    fn browsers_are_recognized() {
        for (user_agent, name) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
                Some(("Chrome", Some("Linux"))),
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 \
                 Safari/537.36 Edg/140.0.0.0",
                Some(("Edge", Some("Windows"))),
            ),
            (
                "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0",
                Some(("Firefox", Some("Android"))),
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                 Version/18.0 Mobile/15E148 Safari/604.1",
                Some(("Safari", Some("iPhone"))),
            ),
            ("curl/8.10.1", None),
            ("", None),
        ] {
            assert_eq!(browser_name(user_agent), name, "{user_agent}");
        }
    }
}
