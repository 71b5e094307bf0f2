//! Signing in by OpenID Connect, at an issuer that the test runs, and the attacks on it.

use std::{collections::BTreeMap, time::Duration};

use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Value, json};
use tallybook::accounts::{AccountsSettings, OpenIdSettings, SignUp};
use tallybook_mock_llm::MockLlm;

use super::{
    issuer::{Fault, Issuer, Person},
    kit::{ADMIN, Team, Who, kind_of, required},
};
use crate::support::{Engine, TestApp, eventually, on_every_engine, rows};

fn settings(sign_up: SignUp, openid: OpenIdSettings) -> AccountsSettings {
    AccountsSettings { sign_up, openid: Some(openid), ..required() }
}

/// A browser: it keeps cookies, and goes where its owner has it go.
struct Browser<'a> {
    team: &'a Team,
    cookies: BTreeMap<String, String>,
}

impl<'a> Browser<'a> {
    fn new(team: &'a Team) -> Self {
        Self { team, cookies: BTreeMap::new() }
    }

    /// In which somebody is signed in.
    fn of(team: &'a Team, who: &Who) -> Self {
        let (name, value) = who.cookie.as_ref().unwrap().split_once('=').unwrap();
        Self { team, cookies: [(name.to_owned(), value.to_owned())].into() }
    }

    fn who(&self) -> Who {
        let cookie: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Who { cookie: Some(cookie.join("; ")), key: None }
    }

    async fn send(&mut self, method: Method, path: &str) -> Response {
        let response = self.team.request(&self.who(), method, path).send().await.unwrap();
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

    async fn get(&mut self, path: &str) -> Response {
        self.send(Method::GET, path).await
    }

    /// At the issuer: the address by which it sends the browser back, as a path of this server's.
    async fn at_issuer(&self, address: &str) -> String {
        let answer = self.team.client.get(address).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::FOUND, "the issuer was asked well: {}", answer.text().await.unwrap());
        let back = location(&answer);
        back.strip_prefix(&self.team.app.address).expect("it sends the browser back here").to_owned()
    }

    /// Goes to the issuer, and gives the address by which it is sent back.
    async fn depart(&mut self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{path}");
        self.at_issuer(&location(&answer)).await
    }

    /// Signs in by the issuer.
    async fn sign_in(&mut self, path: &str) -> Response {
        let back = self.depart(path).await;
        self.get(&back).await
    }

    /// Links who one is there to the account that is signed in.
    async fn begin_linking(&mut self) -> String {
        let answer = self.send(Method::POST, "/api/identities").await;
        assert_eq!(answer.status(), StatusCode::CREATED);
        let answer: Value = answer.json().await.unwrap();
        self.at_issuer(answer["url"].as_str().unwrap()).await
    }

    async fn name(&mut self) -> Option<String> {
        let answer = self.get("/api/me").await;
        let me: Value = answer.json().await.unwrap();
        me["name"].as_str().map(ToOwned::to_owned)
    }
}

fn location(response: &Response) -> String {
    response.headers()["location"].to_str().unwrap().to_owned()
}

async fn team(engine: &Engine, sign_up: SignUp, openid: OpenIdSettings) -> Team {
    Team::start_with(engine, &MockLlm::start().await.unwrap(), settings(sign_up, openid)).await
}

/// Nobody came in, and a reader is told why on the page for signing in.
async fn assert_refused(browser: &mut Browser<'_>, response: Response, status: u16, words: &str) {
    assert_eq!(response.status().as_u16(), status, "{words}");
    let html = response.text().await.unwrap();
    assert!(html.contains(words) && html.contains("name=\"password\""), "{words} is not in {html}");
    assert_eq!(browser.name().await, None, "{words}");
    assert!(browser.cookies.is_empty(), "{:?}", browser.cookies);
}

on_every_engine! {
    /// By its owner, who is signed in, and then back by the issuer alone.
    async fn an_account_is_linked_by_its_owner(engine: Engine) {
        let issuer = Issuer::start().await;
        let team = team(&engine, SignUp::default(), issuer.settings()).await;
        issuer.person(Person { username: Some(ADMIN), email: Some("root@example.org"), is_verified: true, ..Person::named("s-1") });
        let mut stranger = Browser::new(&team);
        let page = stranger.get("/sign-in?next=%2Fc%2F1").await.text().await.unwrap();
        assert!(page.contains("Sign in with Example") && !page.contains("<ID>") && !page.contains("<script"), "{page}");
        assert!(page.contains("href=\"/sign-in/away?next=%2Fc%2F1\"") && page.contains("name=\"password\""), "{page}");

        // An equal name and address are nobody's proof.
        let answer = stranger.sign_in("/sign-in/away").await;
        assert_refused(&mut stranger, answer, 403, "No account here belongs to you").await;

        let root = team.sign_in(ADMIN).await;
        let mut owner = Browser::of(&team, &root);
        let back = owner.begin_linking().await;
        let linked = owner.get(&back).await;
        assert_eq!((linked.status(), location(&linked).as_str()), (StatusCode::SEE_OTHER, "/settings"));
        let list = team.json(&root, Method::GET, "/api/identities", Value::Null, 200).await;
        assert_eq!((list["items"].as_array().unwrap().len(), &list["items"][0]["subject"]), (1, &json!("s-1")));
        assert_eq!((&list["items"][0]["label"], &list["items"][0]["issuer"]), (&json!("root@example.org"), &json!(issuer.url())));
        // Twice is once.
        let back = owner.begin_linking().await;
        assert_eq!(owner.get(&back).await.status(), StatusCode::SEE_OTHER);

        let answer = stranger.sign_in("/sign-in/away?next=%2Fc%2F1%3Fx%3D2").await;
        assert_eq!((answer.status(), location(&answer).as_str()), (StatusCode::SEE_OTHER, "/c/1?x=2"));
        assert_eq!(stranger.name().await.as_deref(), Some(ADMIN));
        // Nobody else's account takes the same identity.
        let (other, other_id) = team.person(&root, "otto").await;
        let mut otto = Browser::of(&team, &other);
        let back = otto.begin_linking().await;
        let refused = otto.get(&back).await;
        assert_eq!(refused.status(), StatusCode::CONFLICT);
        let html = refused.text().await.unwrap();
        assert!(html.contains("linked to this identity already") && html.contains("href=\"/settings\""), "{html}");
        let path = format!("/api/users/{other_id}/identities");
        team.json(&root, Method::POST, &path, json!({"subject": "s-1"}), 409).await;

        let id = list["items"][0]["id"].as_i64().unwrap();
        team.json(&other, Method::DELETE, &format!("/api/identities/{id}"), Value::Null, 404).await;
        team.json(&root, Method::DELETE, &format!("/api/identities/{id}"), Value::Null, 204).await;
        let mut again = Browser::new(&team);
        let answer = again.sign_in("/sign-in/away").await;
        assert_refused(&mut again, answer, 403, "No account here belongs to you").await;
        // What was done is on record.
        let noted = rows!(team.app, (String, String), "SELECT action, subject FROM audit_log WHERE action LIKE 'identity%' ORDER BY id");
        assert_eq!(noted, [("identity_linked".to_owned(), "root@example.org".to_owned()), ("identity_unlinked".to_owned(), String::new())]);
    }

    /// Where everybody may make an account, the first sign-in makes one; a name that is taken stays whose it is.
    async fn where_sign_up_is_open_whoever_the_issuer_knows_comes_in(engine: Engine) {
        let issuer = Issuer::start().await;
        let team = team(&engine, SignUp::Open, issuer.settings()).await;
        issuer.person(Person { username: Some("Root"), ..Person::named("s-1") });
        let mut first = Browser::new(&team);
        assert_eq!(first.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        assert_eq!(first.name().await.as_deref(), Some("root-2"));
        let me: Value = first.get("/api/me").await.json().await.unwrap();
        assert_eq!((&me["role"], &me["issuer"]), (&json!("user"), &json!("Example <ID>")));
        let mut again = Browser::new(&team);
        again.sign_in("/sign-in/away").await;
        assert_eq!(again.name().await.as_deref(), Some("root-2"), "the same person");
        issuer.person(Person { username: Some("root"), ..Person::named("s-2") });
        let mut second = Browser::new(&team);
        second.sign_in("/sign-in/away").await;
        assert_eq!(second.name().await.as_deref(), Some("root-3"), "another person of the same name");

        // Several first sign-ins at once make one account.
        issuer.person(Person::named("s-3"));
        let mut browsers = [Browser::new(&team), Browser::new(&team), Browser::new(&team)];
        let answers = futures_util::future::join_all(browsers.iter_mut().map(|browser| browser.sign_in("/sign-in/away"))).await;
        assert!(answers.iter().all(|answer| answer.status() == StatusCode::SEE_OTHER), "{answers:?}");
        let users = rows!(team.app, (String,), "SELECT name FROM users WHERE name LIKE 'user%'");
        assert_eq!(users, [("user".to_owned(),)]);

        // The only way in stays, until there is another.
        let identities: Value = first.get("/api/identities").await.json().await.unwrap();
        let path = format!("/api/identities/{}", identities["items"][0]["id"]);
        let refused = first.send(Method::DELETE, &path).await;
        assert_eq!((refused.status(), kind_of(refused).await.as_str()), (StatusCode::CONFLICT, "/problems/only-way-in"));
        let gone = team.send(&first.who(), Method::DELETE, "/api/me", json!({"password": ""})).await;
        assert_eq!(kind_of(gone).await, "/problems/no-password");
        assert_eq!(team.try_sign_in("root-2", "").await.status(), StatusCode::UNAUTHORIZED);
    }

    /// Whoever is deactivated stays out, and what an admin links lets in.
    async fn admins_link_and_deactivate(engine: Engine) {
        let issuer = Issuer::start().await;
        let team = team(&engine, SignUp::Closed, issuer.settings()).await;
        let root = team.sign_in(ADMIN).await;
        let (_, id) = team.person(&root, "olga").await;
        let path = format!("/api/users/{id}/identities");
        team.json(&root, Method::POST, &path, json!({"subject": "with space "}), 422).await;
        let linked = team.json(&root, Method::POST, &path, json!({"subject": "s-7"}), 201).await;
        issuer.person(Person::named("s-7"));
        let mut olga = Browser::new(&team);
        assert_eq!(olga.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        assert_eq!(olga.name().await.as_deref(), Some("olga"));
        team.json(&root, Method::DELETE, &format!("/api/users/{id}"), Value::Null, 204).await;
        let mut olga = Browser::new(&team);
        let answer = olga.sign_in("/sign-in/away").await;
        assert_refused(&mut olga, answer, 403, "This account is deactivated").await;
        let path = format!("{path}/{}", linked["items"][0]["id"]);
        team.json(&root, Method::DELETE, &path, Value::Null, 204).await;
        let answer = olga.sign_in("/sign-in/away").await;
        assert_refused(&mut olga, answer, 403, "No account here belongs to you").await;
    }

    /// By an admin's link and the issuer, once, and with the link's role.
    async fn an_invitation_is_accepted_by_the_issuer(engine: Engine) {
        let issuer = Issuer::start().await;
        let team = team(&engine, SignUp::Invitation, issuer.settings()).await;
        let root = team.sign_in(ADMIN).await;
        let made = team.json(&root, Method::POST, "/api/invitations", json!({"role": "admin"}), 201).await;
        let url = made["url"].as_str().unwrap();
        let mut guest = Browser::new(&team);
        let page = guest.get(url).await.text().await.unwrap();
        let token = url.split_once("token=").unwrap().1;
        let away = format!("/sign-in/away?token={token}");
        assert!(page.contains(&format!("href=\"{away}\"")), "{page}");
        issuer.person(Person { email: Some("Guest@example.org"), ..Person::named("s-8") });
        assert_eq!(guest.sign_in(&away).await.status(), StatusCode::SEE_OTHER);
        let me: Value = guest.get("/api/me").await.json().await.unwrap();
        assert_eq!((&me["name"], &me["role"]), (&json!("guest@example.org"), &json!("admin")));
        issuer.person(Person::named("s-9"));
        let mut late = Browser::new(&team);
        let answer = late.sign_in(&away).await;
        assert_eq!(answer.status(), StatusCode::GONE);
        assert_eq!(late.name().await, None);
    }

    /// Until there is an admin, the setup link alone makes one.
    async fn the_first_admin_does_not_come_by_the_issuer(engine: Engine) {
        let issuer = Issuer::start().await;
        let model = MockLlm::start().await.unwrap();
        let (app, link) = TestApp::spawn_with_accounts(&engine, &model, settings(SignUp::Open, issuer.settings())).await;
        let (team, link) = (Team::of(app), link.unwrap());
        for path in ["/sign-in/away", "/sign-in/callback?code=1&state=2"] {
            assert_eq!(team.get(&Who::default(), path).await.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
        }
        let setup = team.get(&Who::default(), link.trim_start_matches(&team.app.address)).await.text().await.unwrap();
        assert!(!setup.contains("/sign-in/away"), "{setup}");
        assert_eq!(issuer.described(), 0);
    }

    /// Only verified addresses count.
    async fn domains_let_in_whose_address_is_verified(engine: Engine) {
        let issuer = Issuer::start().await;
        let openid = OpenIdSettings { email_domains: vec!["example.org".to_owned()], ..issuer.settings() };
        let team = team(&engine, SignUp::Open, openid).await;
        for (email, is_verified) in [(None, true), (Some("a@example.org"), false), (Some("a@evil.example"), true)] {
            issuer.person(Person { email, is_verified, ..Person::named("s-1") });
            let mut browser = Browser::new(&team);
            let answer = browser.sign_in("/sign-in/away").await;
            assert_refused(&mut browser, answer, 403, "verified e-mail address").await;
        }
        issuer.person(Person { email: Some("a@example.org"), is_verified: true, ..Person::named("s-1") });
        assert_eq!(Browser::new(&team).sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
    }

    /// Whatever does not prove who somebody is lets nobody in, and leaves nothing behind.
    async fn what_an_issuer_does_wrong_lets_nobody_in(engine: Engine) {
        let issuer = Issuer::start().await;
        let team = team(&engine, SignUp::Open, issuer.settings()).await;
        for fault in [
            Fault::WrongNonce,
            Fault::WrongAudience,
            Fault::WrongIssuer,
            Fault::Expired,
            Fault::WrongSignature,
            Fault::NoIdToken,
            Fault::WrongAccessToken,
            Fault::BadSubject,
        ] {
            issuer.fail(fault);
            let mut browser = Browser::new(&team);
            let answer = browser.sign_in("/sign-in/away").await;
            assert_refused(&mut browser, answer, 401, "does not prove who you are").await;
        }
        issuer.fail(Fault::Denied);
        let mut browser = Browser::new(&team);
        let answer = browser.sign_in("/sign-in/away").await;
        assert_refused(&mut browser, answer, 401, "did not sign you in").await;
        assert_eq!(rows!(team.app, (i64,), "SELECT COUNT(*) FROM identities"), [(0,)]);
        assert_eq!(rows!(team.app, (i64,), "SELECT COUNT(*) FROM users"), [(1,)]);
        issuer.fail(Fault::None);
        assert_eq!(browser.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
    }

    /// A way back is good once, in the browser that it was begun in, and for what it was begun for.
    async fn a_way_back_is_one_browsers_and_once(engine: Engine) {
        let issuer = Issuer::start().await;
        let team = team(&engine, SignUp::Open, issuer.settings()).await;
        let stale = "began in another browser";
        let mut browser = Browser::new(&team);
        let back = browser.depart("/sign-in/away").await;
        // Who has found the address has no cookie, or the one of a way of its own.
        let mut thief = Browser::new(&team);
        let answer = thief.get(&back).await;
        assert_refused(&mut thief, answer, 400, stale).await;
        thief.depart("/sign-in/away").await;
        let answer = thief.get(&back).await;
        assert_refused(&mut thief, answer, 400, stale).await;
        // Nor does a way back go together with the cookie of another one in the same browser.
        let held = browser.cookies.clone();
        let other = browser.depart("/sign-in/away?next=%2Fother").await;
        let answer = browser.get(&back).await;
        assert_refused(&mut browser, answer, 400, stale).await;
        browser.cookies.clone_from(&held);
        let answer = browser.get(&other).await;
        assert_refused(&mut browser, answer, 400, stale).await;
        // What was changed in it, such as where it leads to, is noticed.
        for (name, value) in &held {
            let changed = format!("{}.s{}", value.rsplit_once('.').unwrap().0, "2f63");
            browser.cookies.insert(name.clone(), changed);
        }
        let answer = browser.get(&back).await;
        assert_refused(&mut browser, answer, 400, stale).await;

        browser.cookies.clone_from(&held);
        let wrong = back.replace(&issuer.url().replace(':', "%3A").replace('/', "%2F"), "https%3A%2F%2Fevil.example");
        assert_ne!(wrong, back);
        let answer = browser.get(&wrong).await;
        assert_refused(&mut browser, answer, 401, "does not prove").await;
        browser.cookies.clone_from(&held);
        assert_eq!(browser.get(&back).await.status(), StatusCode::SEE_OTHER);
        // Replayed, without the cookie and with it.
        let mut replay = Browser::new(&team);
        let answer = replay.get(&back).await;
        assert_refused(&mut replay, answer, 400, stale).await;
        replay.cookies = held;
        let answer = replay.get(&back).await;
        assert_refused(&mut replay, answer, 401, "does not prove").await;
    }

    /// Whoever plants a cookie is not signed in with its victim, and links nothing to the victim's account.
    async fn a_session_that_somebody_planted_is_not_the_one_that_begins(engine: Engine) {
        let issuer = Issuer::start().await;
        let team = team(&engine, SignUp::Open, issuer.settings()).await;
        let mut victim = Browser::new(&team);
        let planted = "a".repeat(64);
        victim.cookies.insert("tallybook_session".to_owned(), planted.clone());
        assert_eq!(victim.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        assert_ne!(victim.cookies["tallybook_session"], planted);
        let first = victim.who();
        // Signing in anew ends the session of before.
        assert_eq!(victim.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        assert_eq!(team.get(&first, "/api/me").await.status(), StatusCode::UNAUTHORIZED);

        // A linking that the attacker began is not ended in the victim's session, cookie and all.
        let root = team.sign_in(ADMIN).await;
        let (mallory, _) = team.person(&root, "mallory").await;
        let mut attacker = Browser::of(&team, &mallory);
        issuer.person(Person::named("attacker"));
        let back = attacker.begin_linking().await;
        let mut victim = Browser::of(&team, &root);
        victim.cookies.insert("tallybook_sign_in".to_owned(), attacker.cookies["tallybook_sign_in"].clone());
        let refused = victim.get(&back).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
        let list = team.json(&root, Method::GET, "/api/identities", Value::Null, 200).await;
        assert_eq!(list["items"], json!([]));
        // Other sites' pages begin none either.
        let begin = team.request(&root, Method::POST, "/api/identities").header("origin", "https://evil.example");
        assert_eq!(begin.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    }
}

/// The browser is never led to another site.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_way_back_leads_nowhere_else() {
    let issuer = Issuer::start().await;
    let team = team(&Engine::sqlite(), SignUp::Open, issuer.settings()).await;
    let long = format!("/{}", "a".repeat(2000));
    for (next, leads_to) in [
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        (long.as_str(), "/"),
        ("/c/1?a=%62#x", "/c/1?a=%62"),
    ] {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
        let answer = Browser::new(&team).sign_in(&format!("/sign-in/away?{query}")).await;
        assert_eq!((answer.status(), location(&answer).as_str()), (StatusCode::SEE_OTHER, leads_to), "{next}");
    }
}

/// An issuer that is down, or says what makes no sense, is a sentence on the page; passwords work, and so does everything when
/// it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_issuer_that_cannot_be_worked_with_is_a_sentence() {
    let issuer = Issuer::start().await;
    for fault in [Fault::Down, Fault::Slow, Fault::Huge, Fault::Redirects, Fault::OtherIssuer, Fault::ScriptPage] {
        issuer.fail(fault);
        let openid = OpenIdSettings { patience: Duration::from_millis(500), ..issuer.settings() };
        let team = team(&Engine::sqlite(), SignUp::Open, openid).await;
        let before = issuer.described();
        let mut browser = Browser::new(&team);
        for _ in 0..3 {
            let answer = browser.get("/sign-in/away").await;
            assert_refused(&mut browser, answer, 503, "cannot be reached at the moment").await;
        }
        assert!(issuer.described() - before < 3, "{fault:?}: it is left alone for a while");
        team.sign_in(ADMIN).await;
        issuer.fail(Fault::None);
        eventually("it is asked again", async || browser.get("/sign-in/away").await.status() == StatusCode::SEE_OTHER)
            .await;
    }
}

/// The same of one that gives no token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_cannot_be_redeemed_is_a_sentence() {
    let issuer = Issuer::start().await;
    for fault in [Fault::SlowToken, Fault::PlainToken] {
        issuer.fail(fault);
        let openid = OpenIdSettings { patience: Duration::from_millis(500), ..issuer.settings() };
        let team = team(&Engine::sqlite(), SignUp::Open, openid).await;
        let mut browser = Browser::new(&team);
        let answer = browser.sign_in("/sign-in/away").await;
        assert_refused(&mut browser, answer, 503, "cannot be reached at the moment").await;
    }
}

/// Nothing listens there, and the server starts and serves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_issuer_that_is_not_there_keeps_nobody_from_starting() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let issuer = Issuer::start().await;
    let openid = OpenIdSettings { issuer: format!("http://{free}"), ..issuer.settings() };
    let team = team(&Engine::sqlite(), SignUp::Open, openid).await;
    let mut browser = Browser::new(&team);
    let request = team.client.get(team.app.url("/sign-in/away")).header("accept-language", "ja");
    let html = request.send().await.unwrap().text().await.unwrap();
    assert!(html.contains("接続できません") && html.contains("&#60;ID&#62;でサインイン"), "{html}");
    let answer = browser.get("/sign-in/away").await;
    assert_refused(&mut browser, answer, 503, "cannot be reached at the moment").await;
}

/// Without an issuer there is no such way, and no word of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_issuer_nothing_is_offered() {
    let team = Team::start(&Engine::sqlite(), &MockLlm::start().await.unwrap()).await;
    let mut browser = Browser::new(&team);
    let page = browser.get("/sign-in").await.text().await.unwrap();
    assert!(!page.contains("/sign-in/away"), "{page}");
    assert_eq!(browser.get("/sign-in/away").await.status(), StatusCode::NOT_FOUND);
    let root = team.sign_in(ADMIN).await;
    let me = team.json(&root, Method::GET, "/api/me", Value::Null, 200).await;
    assert_eq!(me["issuer"], Value::Null);
    team.json(&root, Method::POST, "/api/identities", Value::Null, 404).await;
}

/// A key that the issuer has had since it was last asked is asked for, though not whenever somebody comes with one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_key_of_the_issuers_does_not_keep_people_out_for_long() {
    let issuer = Issuer::start().await;
    let team = team(&Engine::sqlite(), SignUp::Open, issuer.settings()).await;
    assert_eq!(Browser::new(&team).sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
    let described = issuer.described();
    issuer.rotate();
    assert_eq!(Browser::new(&team).sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
    assert_eq!(issuer.described(), described + 1);
    issuer.rotate();
    for _ in 0..3 {
        let mut browser = Browser::new(&team);
        let answer = browser.sign_in("/sign-in/away").await;
        assert_refused(&mut browser, answer, 401, "does not prove").await;
    }
    assert_eq!(issuer.described(), described + 1, "within a minute it is not asked again");
}

/// The cookie of the way belongs to this host alone, and its secret is in no address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_browser_holds_is_told_to_nobody() {
    let issuer = Issuer::start().await;
    let team = team(&Engine::sqlite(), SignUp::Open, issuer.settings()).await;
    let mut browser = Browser::new(&team);
    let answer = browser.get("/sign-in/away").await;
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Max-Age=600"),
        "{cookie}"
    );
    let address = Url::parse(&location(&answer)).unwrap();
    let secret = browser.cookies["tallybook_sign_in"].split('.').next().unwrap().to_owned();
    assert!(secret.len() == 64 && !address.as_str().contains(&secret), "{address}");
}
