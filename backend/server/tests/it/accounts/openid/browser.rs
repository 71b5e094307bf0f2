//! A browser that signs in at the server through the identity provider.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use super::super::kit::{PASSWORD, Team, Who};

/// A browser that stores cookies and requests the addresses that the test names.
pub(crate) struct Browser<'a> {
    team: &'a Team,
    pub(crate) cookies: BTreeMap<String, String>,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(team: &'a Team) -> Self {
        Self { team, cookies: BTreeMap::new() }
    }

    /// Creates a browser in which a user is signed in.
    pub(crate) fn of(team: &'a Team, who: &Who) -> Self {
        let (name, value) = who.cookie.as_ref().unwrap().split_once('=').unwrap();
        Self { team, cookies: [(name.to_owned(), value.to_owned())].into() }
    }

    pub(crate) fn who(&self) -> Who {
        let cookie: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Who { cookie: Some(cookie.join("; ")), key: None }
    }

    pub(crate) async fn send(&mut self, method: Method, path: &str) -> Response {
        let request = self.team.request(&self.who(), method, path);
        self.receive(request).await
    }

    async fn receive(&mut self, request: RequestBuilder) -> Response {
        let response = request.send().await.unwrap();
        for cookie in response.headers().get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
            if cookie.contains("Max-Age=0") {
                self.cookies.remove(name);
            }
        }
        response
    }

    pub(crate) async fn get(&mut self, path: &str) -> Response {
        self.send(Method::GET, path).await
    }

    /// Requests an address at the identity provider. Returns the callback address to which it sends the browser, as a
    /// path on this server.
    async fn at_provider(&self, address: &str) -> String {
        let answer = self.team.client.get(address).send().await.unwrap();
        assert_eq!(
            answer.status(),
            StatusCode::FOUND,
            "the provider accepts the request: {}",
            answer.text().await.unwrap()
        );
        let back = location(&answer);
        back.strip_prefix(&self.team.app.address).expect("it sends the browser back here").to_owned()
    }

    /// Goes to the identity provider, and returns the callback address as a path.
    pub(crate) async fn depart(&mut self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{path}");
        self.at_provider(&location(&answer)).await
    }

    /// Signs in with the identity provider.
    pub(crate) async fn sign_in(&mut self, path: &str) -> Response {
        let back = self.depart(path).await;
        self.get(&back).await
    }

    /// Starts to link the identity to the signed-in account, and returns the callback address as a path.
    pub(crate) async fn begin_linking(&mut self) -> String {
        self.begin_linking_with(PASSWORD).await
    }

    /// Starts to link the identity with this password, and returns the callback address as a path.
    pub(crate) async fn begin_linking_with(&mut self, password: &str) -> String {
        let answer = self.ask_to_link(password).await;
        assert_eq!(answer.status(), StatusCode::CREATED);
        let answer: Value = answer.json().await.unwrap();
        self.at_provider(answer["url"].as_str().unwrap()).await
    }

    /// Sends the request to link an identity, and returns the response.
    pub(crate) async fn ask_to_link(&mut self, password: &str) -> Response {
        let request = self.team.request(&self.who(), Method::POST, "/api/identities");
        self.receive(request.json(&json!({"password": password}))).await
    }

    pub(crate) async fn name(&mut self) -> Option<String> {
        let answer = self.get("/api/me").await;
        let me: Value = answer.json().await.unwrap();
        me["name"].as_str().map(ToOwned::to_owned)
    }
}

pub(crate) fn location(response: &Response) -> String {
    response.headers()["location"].to_str().unwrap().to_owned()
}
