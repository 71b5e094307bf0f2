//! Users who can sign in with the identity provider: those who are linked or invited, and with open sign-up everyone
//! that the provider knows.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_accounts::{OpenIdSettings, SignUp};
use tallybook_mock_llm::MockLlm;
use tokio::time::timeout;

use super::{
    super::{
        admin_changes::{acknowledge, changes},
        kit::{ADMIN, PASSWORD, Team, Who, kind_of},
    },
    assert_refused,
    browser::{Browser, location},
    provider::{MockIdentityProvider, Person},
    settings, team,
};
use crate::support::{Engine, TIMEOUT, TestApp, execute, on_every_engine, rows};

on_every_engine! {
    /// The owner, who is signed in, links an identity, and can then sign in with the provider alone.
    async fn an_owner_links_an_identity(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::default(), provider.settings()).await;
        provider.person(Person { username: Some(ADMIN), email: Some("root@example.org"), is_verified: true, ..Person::named("s-1") });
        let mut stranger = Browser::new(&team);
        let page = stranger.get("/sign-in?next=%2Fc%2F1").await.text().await.unwrap();
        assert!(page.contains("Sign in with Example") && !page.contains("<ID>"), "{page}");
        assert!(page.contains("href=\"/sign-in/away?next=%2Fc%2F1\"") && page.contains("name=\"password\""), "{page}");

        // An equal name and an equal address prove nothing.
        let answer = stranger.sign_in("/sign-in/away").await;
        assert_refused(&mut stranger, answer, 403, "No account is linked to your identity").await;

        let root = team.sign_in(ADMIN).await;
        let mut owner = Browser::of(&team, &root);
        let back = owner.begin_linking().await;
        let linked = owner.get(&back).await;
        assert_eq!((linked.status(), location(&linked).as_str()), (StatusCode::SEE_OTHER, "/settings"));
        let list = team.json(&root, Method::GET, "/api/identities", Value::Null, 200).await;
        assert_eq!((list["items"].as_array().unwrap().len(), &list["items"][0]["subject"]), (1, &json!("s-1")));
        assert_eq!((&list["items"][0]["label"], &list["items"][0]["issuer"]), (&json!("root@example.org"), &json!(provider.url())));
        // Linking twice has the same effect as linking once.
        let back = owner.begin_linking().await;
        assert_eq!(owner.get(&back).await.status(), StatusCode::SEE_OTHER);

        let answer = stranger.sign_in("/sign-in/away?next=%2Fc%2F1%3Fx%3D2").await;
        assert_eq!((answer.status(), location(&answer).as_str()), (StatusCode::SEE_OTHER, "/c/1?x=2"));
        assert_eq!(stranger.name().await.as_deref(), Some(ADMIN));
        // Another account cannot take the same identity.
        let (other, other_id) = team.user(&root, "otto").await;
        let mut otto = Browser::of(&team, &other);
        let back = otto.begin_linking().await;
        let refused = otto.get(&back).await;
        assert_eq!(refused.status(), StatusCode::CONFLICT);
        let html = refused.text().await.unwrap();
        assert!(html.contains("already linked to another account") && html.contains("href=\"/settings\""), "{html}");
        // An admin cannot link an identity to another account either, because the admin could then sign in as its
        // owner.
        let path = format!("/api/users/{other_id}/identities");
        team.json(&root, Method::POST, &path, json!({"subject": "s-9"}), 405).await;

        let id = list["items"][0]["id"].as_i64().unwrap();
        team.json(&other, Method::DELETE, &format!("/api/identities/{id}"), Value::Null, 404).await;
        team.json(&root, Method::DELETE, &format!("/api/identities/{id}"), Value::Null, 204).await;
        let mut again = Browser::new(&team);
        let answer = again.sign_in("/sign-in/away").await;
        assert_refused(&mut again, answer, 403, "No account is linked to your identity").await;
        // The audit log has both changes.
        let noted = rows!(team.app, (String, String), "SELECT action, subject FROM audit_log WHERE action LIKE 'identity%' ORDER BY id");
        assert_eq!(noted, [("identity_linked".to_owned(), String::new()), ("identity_unlinked".to_owned(), String::new())]);
    }

    /// With open sign-up, the first sign-in creates an account. A name that is taken stays with its account.
    async fn open_sign_up_creates_an_account_at_the_first_sign_in(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Open, provider.settings()).await;
        provider.person(Person { username: Some("Root"), ..Person::named("s-1") });
        let mut first = Browser::new(&team);
        assert_eq!(first.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        assert_eq!(first.name().await.as_deref(), Some("root-2"));
        let me: Value = first.get("/api/me").await.json().await.unwrap();
        assert_eq!((&me["role"], &me["issuer"]), (&json!("user"), &json!("Example <ID>")));
        let mut again = Browser::new(&team);
        again.sign_in("/sign-in/away").await;
        assert_eq!(again.name().await.as_deref(), Some("root-2"), "the same user");
        provider.person(Person { username: Some("root"), ..Person::named("s-2") });
        let mut second = Browser::new(&team);
        second.sign_in("/sign-in/away").await;
        assert_eq!(second.name().await.as_deref(), Some("root-3"), "another user with the same name");

        // Several concurrent first sign-ins create one account.
        provider.person(Person::named("s-3"));
        let mut browsers = [Browser::new(&team), Browser::new(&team), Browser::new(&team)];
        let answers = futures_util::future::join_all(browsers.iter_mut().map(|browser| browser.sign_in("/sign-in/away"))).await;
        assert!(answers.iter().all(|answer| answer.status() == StatusCode::SEE_OTHER), "{answers:?}");
        let users = rows!(team.app, (String,), "SELECT name FROM users WHERE name LIKE 'user%'");
        assert_eq!(users, [("user".to_owned(),)]);

        // The last way to sign in cannot be removed. An identity of a previously configured provider does not count.
        execute!(
            team.app,
            "INSERT INTO identities (user_id, issuer, subject, label, created_at) \
             SELECT user_id, 'https://former.example', subject, label, created_at FROM identities"
        );
        let identities: Value = first.get("/api/identities").await.json().await.unwrap();
        let path = format!("/api/identities/{}", identities["items"][0]["id"]);
        let refused = first.send(Method::DELETE, &path).await;
        assert_eq!((refused.status(), kind_of(refused).await.as_str()), (StatusCode::CONFLICT, "/problems/only-way-in"));
        let change = json!({"current": "", "new": PASSWORD});
        let unchanged = team.send(&first.who(), Method::PUT, "/api/me/password", change).await;
        assert_eq!(kind_of(unchanged).await, "/problems/no-password");
        assert_eq!(team.try_sign_in("root-2", "").await.status(), StatusCode::UNAUTHORIZED);

        // Without a password, only a session that has just begun can delete the account.
        let delete = async |who: &Who| team.send(who, Method::DELETE, "/api/me", json!({"password": ""})).await;
        team.age_sessions().await;
        let refused = delete(&again.who()).await;
        assert_eq!((refused.status(), kind_of(refused).await.as_str()), (StatusCode::FORBIDDEN, "/problems/sign-in-again"));
        provider.person(Person { username: Some("Root"), ..Person::named("s-1") });
        again.sign_in("/sign-in/away").await;
        assert_eq!(delete(&again.who()).await.status(), StatusCode::NO_CONTENT);
        assert_eq!(team.get(&first.who(), "/api/me").await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(again.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        assert_ne!(again.name().await.as_deref(), Some("root-2"), "the same identity begins a new account");
    }

    /// An admin who only has an identity of a previous provider cannot sign in. So the last other admin cannot be
    /// removed.
    async fn an_admin_of_a_previous_provider_is_not_the_last_admin(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::default(), provider.settings()).await;
        let root = team.sign_in(ADMIN).await;
        let (_, olga) = team.user(&root, "olga").await;
        execute!(
            team.app,
            "INSERT INTO identities (user_id, issuer, subject, label, created_at) \
             SELECT id, 'https://former.example', 's-1', 's-1', created_at FROM users WHERE name = 'olga'"
        );
        execute!(team.app, "UPDATE users SET password_hash = NULL WHERE name = 'olga'");
        let (own, hers) = ("/api/users/1".to_owned(), format!("/api/users/{olga}"));
        let role = |role: &str| json!({"role": role});
        team.json(&root, Method::PATCH, &hers, role("admin"), 200).await;
        team.json(&root, Method::PATCH, &own, role("user"), 409).await;
        team.json(&root, Method::DELETE, "/api/me", json!({"password": PASSWORD}), 409).await;
        team.json(&root, Method::PATCH, &hers, role("user"), 200).await;
        team.json(&root, Method::PATCH, &hers, role("admin"), 200).await;
        // Once she has an identity of the current provider, she counts as an admin.
        execute!(
            team.app,
            sqlx::AssertSqlSafe(format!(
                "INSERT INTO identities (user_id, issuer, subject, label, created_at) \
                 SELECT id, '{}', 's-2', 's-2', created_at FROM users WHERE name = 'olga'",
                provider.url()
            ))
        );
        team.json(&root, Method::PATCH, &own, role("user"), 200).await;

        // If no admin can sign in, the next start prints a setup link again.
        execute!(team.app, "DELETE FROM identities WHERE subject = 's-2'");
        team.app.shut_down().await;
        let model = MockLlm::start().await.unwrap();
        let start = TestApp::builder(&engine)
            .with_mock(&model)
            .with_accounts(settings(SignUp::default(), provider.settings()))
            .spawn_with_setup_link();
        assert!(start.await.1.is_some());
    }

    /// A deactivated user cannot sign in with an identity either. An admin can unlink the identity.
    async fn admins_deactivate_users_and_unlink_identities(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Closed, provider.settings()).await;
        let root = team.sign_in(ADMIN).await;
        let (who, id) = team.user(&root, "olga").await;
        provider.person(Person::named("s-7"));
        let mut owner = Browser::of(&team, &who);
        let back = owner.begin_linking().await;
        assert_eq!(owner.get(&back).await.status(), StatusCode::SEE_OTHER);
        let mut olga = Browser::new(&team);
        assert_eq!(olga.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        assert_eq!(olga.name().await.as_deref(), Some("olga"));
        team.json(&root, Method::DELETE, &format!("/api/users/{id}"), Value::Null, 204).await;
        let mut olga = Browser::new(&team);
        let answer = olga.sign_in("/sign-in/away").await;
        assert_refused(&mut olga, answer, 403, "This account is deactivated").await;
        let path = format!("/api/users/{id}/identities");
        let linked = team.json(&root, Method::GET, &path, Value::Null, 200).await;
        let path = format!("{path}/{}", linked["items"][0]["id"]);
        team.json(&root, Method::DELETE, &path, Value::Null, 204).await;
        let answer = olga.sign_in("/sign-in/away").await;
        assert_refused(&mut olga, answer, 403, "No account is linked to your identity").await;
    }

    /// Unlinking an identity ends the sessions that may have begun with it, and their streams. If the owner unlinks it,
    /// the current session stays open; if an admin does, all sessions end.
    async fn unlinking_ends_sessions(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::default(), provider.settings()).await;
        let root = team.sign_in(ADMIN).await;
        let (olga, id) = team.user(&root, "olga").await;
        let program = team.program(&olga).await;
        provider.person(Person::named("s-7"));
        let status = async |who: &Who| team.get(who, "/api/me").await.status();
        let link = async || {
            let mut owner = Browser::of(&team, &olga);
            let back = owner.begin_linking().await;
            assert_eq!(owner.get(&back).await.status(), StatusCode::SEE_OTHER);
            let linked = team.json(&olga, Method::GET, "/api/identities", Value::Null, 200).await;
            linked["items"][0]["id"].to_string()
        };

        let linked = link().await;
        let mut thief = Browser::new(&team);
        assert_eq!(thief.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        let mut stream = team.get(&thief.who(), "/api/events").await;
        stream.chunk().await.unwrap().expect("the stream is open");
        team.json(&olga, Method::DELETE, &format!("/api/identities/{linked}"), Value::Null, 204).await;
        assert_eq!(status(&thief.who()).await, StatusCode::UNAUTHORIZED);
        timeout(TIMEOUT, stream.text()).await.expect("the stream ends").unwrap();
        assert_eq!(status(&olga).await, StatusCode::OK);

        let linked = link().await;
        team.json(&root, Method::DELETE, &format!("/api/users/{id}/identities/{linked}"), Value::Null, 204).await;
        assert_eq!(status(&olga).await, StatusCode::UNAUTHORIZED);
        for who in [&root, &program] {
            assert_eq!(status(who).await, StatusCode::OK);
        }
    }

    async fn an_owner_sees_that_an_identity_was_unlinked(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::default(), provider.settings()).await;
        let root = team.sign_in(ADMIN).await;
        let (olga, id) = team.user(&root, "olga").await;
        provider.person(Person::named("s-7"));
        let mut owner = Browser::of(&team, &olga);
        let back = owner.begin_linking().await;
        assert_eq!(owner.get(&back).await.status(), StatusCode::SEE_OTHER);
        assert_eq!(changes(&team, &olga).await, [Value::Null; 0], "she linked it herself");
        let linked = team.json(&olga, Method::GET, "/api/identities", Value::Null, 200).await;
        let path = format!("/api/users/{id}/identities/{}", linked["items"][0]["id"]);
        team.json(&root, Method::DELETE, &path, Value::Null, 204).await;
        let olga = team.sign_in("olga").await;
        let announced = changes(&team, &olga).await;
        assert_eq!(announced.len(), 1, "{announced:?}");
        assert_eq!((&announced[0]["kind"], &announced[0]["by"]), (&json!("identity_unlinked"), &json!(ADMIN)));
        acknowledge(&team, &olga, &announced[0]["id"]).await;
        assert_eq!(changes(&team, &olga).await, [Value::Null; 0]);
    }

    /// An invitation can be accepted once with the provider, and the account gets the role of the invitation.
    async fn an_invitation_can_be_accepted_with_the_provider(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Invitation, provider.settings()).await;
        let root = team.sign_in(ADMIN).await;
        let made = team.json(&root, Method::POST, "/api/invitations", json!({"role": "admin"}), 201).await;
        let url = made["url"].as_str().unwrap();
        let mut guest = Browser::new(&team);
        let page = guest.get(url).await.text().await.unwrap();
        let token = url.split_once("token=").unwrap().1;
        let away = format!("/sign-in/away?token={token}");
        assert!(page.contains(&format!("href=\"{away}\"")), "{page}");
        provider.person(Person { email: Some("Guest@example.org"), ..Person::named("s-8") });
        assert_eq!(guest.sign_in(&away).await.status(), StatusCode::SEE_OTHER);
        let me: Value = guest.get("/api/me").await.json().await.unwrap();
        assert_eq!((&me["name"], &me["role"]), (&json!("guest@example.org"), &json!("admin")));
        provider.person(Person::named("s-9"));
        let mut late = Browser::new(&team);
        let answer = late.sign_in(&away).await;
        assert_eq!(answer.status(), StatusCode::GONE);
        assert_eq!(late.name().await, None);
    }

    /// Until there is an admin, only the setup link creates an account.
    async fn the_provider_cannot_create_the_first_admin(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let model = MockLlm::start().await.unwrap();
        let (app, link) = TestApp::builder(&engine)
            .with_mock(&model)
            .with_accounts(settings(SignUp::Open, provider.settings()))
            .spawn_with_setup_link()
            .await;
        let (team, link) = (Team::of(app), link.unwrap());
        for path in ["/sign-in/away", "/sign-in/callback?code=1&state=2"] {
            assert_eq!(team.get(&Who::default(), path).await.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
        }
        let setup = team.get(&Who::default(), link.trim_start_matches(&team.app.address)).await.text().await.unwrap();
        assert!(!setup.contains("/sign-in/away"), "{setup}");
        assert_eq!(provider.described(), 0);
    }

    /// If email domains are configured, only verified addresses count.
    async fn email_domains_require_a_verified_address(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let openid = OpenIdSettings { email_domains: vec!["example.org".to_owned()], ..provider.settings() };
        let team = team(&engine, SignUp::Open, openid).await;
        for (email, is_verified) in [(None, true), (Some("a@example.org"), false), (Some("a@evil.example"), true)] {
            provider.person(Person { email, is_verified, ..Person::named("s-1") });
            let mut browser = Browser::new(&team);
            let answer = browser.sign_in("/sign-in/away").await;
            assert_refused(&mut browser, answer, 403, "verified email address").await;
        }
        provider.person(Person { email: Some("a@example.org"), is_verified: true, ..Person::named("s-1") });
        assert_eq!(Browser::new(&team).sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);

        // A password proves no email address, so it must not get around the domains.
        let sign_in = team.get(&Who::default(), "/sign-in").await.text().await.unwrap();
        assert!(!sign_in.contains("/invitation"), "{sign_in}");
        assert_eq!(team.get(&Who::default(), "/invitation").await.status(), StatusCode::FORBIDDEN);
        let request = team.request(&Who::default(), Method::POST, "/invitation");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let filled = request.body(format!("token=&name=eve&password={PASSWORD}")).send().await.unwrap();
        assert_eq!(filled.status(), StatusCode::FORBIDDEN);
        // An admin's invitation still works.
        let admin = team.sign_in(ADMIN).await;
        let invitation = team.json(&admin, Method::POST, "/api/invitations", json!({}), 201).await;
        team.sign_up(invitation["url"].as_str().unwrap(), "eve", PASSWORD).await;
    }
}
