//! The public URL of this server, for links that are used outside the page: to approvals, invitations, and the first
//! admin's setup.

use std::{fmt, str::FromStr};

use url::Url;

/// A URL such as `https://chat.example.org`, without a final slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

/// The error for a URL that cannot be a server's. Its message describes the valid format.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("write the URL of the page, such as https://chat.example.org: http or https, without path, query or user name")]
pub struct PublicUrlError;

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(text).map_err(|_| PublicUrlError)?;
        let is_bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        if is_bare && is_web { Ok(Self(url.origin().ascii_serialization())) } else { Err(PublicUrlError) }
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use crate::http::public_url::PublicUrl;

    #[test]
    fn an_address_is_a_scheme_and_a_host() {
        for (text, address) in [
            ("https://chat.example.org", "https://chat.example.org"),
            ("https://chat.example.org/", "https://chat.example.org"),
            ("HTTP://Chat.Example.org:8080", "http://chat.example.org:8080"),
            ("https://chat.example.org:443", "https://chat.example.org"),
            ("http://[::1]:3000", "http://[::1]:3000"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().to_string(), address);
        }
        for text in
            ["", "chat.example.org", "ftp://a.b", "https://a.b/c", "https://a.b/?c", "https://u:p@a.b", "javascript:x"]
        {
            assert!(text.parse::<PublicUrl>().is_err(), "{text}");
        }
    }
}
