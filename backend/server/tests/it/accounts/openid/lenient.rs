//! Identity providers send claims in many types. Only those that prove something must be as the standard says.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_accounts::{OpenIdSettings, SignUp};

use super::{
    assert_refused,
    browser::Browser,
    provider::{CLIENT_ID, MockIdentityProvider, Odd, Person},
    team,
};
use crate::support::{Engine, on_every_engine, rows};

on_every_engine! {
    /// Claims and fields that prove nothing may have any type.
    async fn claims_that_prove_nothing_may_have_any_type(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Open, provider.settings()).await;
        let odd = Odd {
            description: json!({
                "scopes_supported": "openid email", "claims_supported": {"sub": true}, "response_types_supported": "code",
                "id_token_signing_alg_values_supported": null, "request_parameter_supported": "false",
            }),
            ..Odd::default()
        };
        provider.say(odd);
        assert_eq!(Browser::new(&team).sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        let token = |token: Value| Odd { token, ..Odd::default() };
        let answer = |answer: Value| Odd { answer, ..Odd::default() };
        let person = |person: Value| Odd { person, ..Odd::default() };
        for odd in [
            token(json!({"updated_at": "2026-11-23T10:59:07.841Z"})),
            token(json!({"updated_at": "yesterday", "auth_time": "1764150000", "amr": "pwd", "acr": 1})),
            token(json!({"iat": "2026-11-23T10:59:07Z", "nbf": true})),
            token(json!({"aud": CLIENT_ID})),
            token(json!({"aud": [CLIENT_ID, "384719837198"], "azp": CLIENT_ID})),
            token(json!({"aud": [CLIENT_ID], "azp": CLIENT_ID})),
            token(json!({"exp": "4102444800"})),
            token(json!({"exp": 4_102_444_800.5})),
            token(json!({"email_verified": "yes", "preferred_username": 7, "email": ["a@example.org"], "name": {}})),
            token(json!({"address": "none", "phone_number_verified": "false", "locale": 1, "picture": false, "groups": [1]})),
            token(json!({"urn:zitadel:roles": {"admin": {"1": "x"}}, "realm_access": null})),
            answer(json!({"expires_in": "300"})),
            answer(json!({"expires_in": 3599.5, "token_type": "bearer"})),
            answer(json!({"scope": ["openid", "email"]})),
            answer(json!({"scope": null, "token_type": null, "refresh_token": 7, "not-before-policy": 0})),
            person(json!({"updated_at": "2026-11-23T10:59:07.841Z", "email_verified": "true", "email": "a@example.org"})),
            person(json!({"address": [], "email": 1, "groups": "none"})),
        ] {
            provider.say(odd.clone());
            let answer = Browser::new(&team).sign_in("/sign-in/away").await;
            assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{odd:?}");
        }
        assert_eq!(rows!(team.app, (String,), "SELECT subject FROM identities"), [("somebody".to_owned(),)]);
    }

    /// Auth0 and Authentik write their issuer URL with a trailing slash.
    async fn the_issuer_setting_may_omit_the_trailing_slash(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Open, provider.settings()).await;
        let own_address = json!(format!("{}/", provider.url()));
        let description = json!({ "issuer": own_address });
        provider.say(Odd { description: description.clone(), token: json!({ "iss": own_address }), ..Odd::default() });
        assert_eq!(Browser::new(&team).sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        // Tokens must contain exactly the issuer that the provider's metadata contains.
        provider.say(Odd { description, token: json!({ "iss": provider.url() }), ..Odd::default() });
        let mut browser = Browser::new(&team);
        let answer = browser.sign_in("/sign-in/away").await;
        assert_refused(&mut browser, answer, 401, "does not prove your identity").await;
    }

    /// Tokens are refused if they are for another client, or if a claim that proves something is absent or has the
    /// wrong type.
    async fn invalid_tokens_are_refused(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Open, provider.settings()).await;
        for token in [
            json!({"azp": "another"}),
            json!({"aud": [CLIENT_ID], "azp": "another"}),
            json!({"aud": [CLIENT_ID, "another"], "azp": "another"}),
            json!({"aud": [CLIENT_ID, "another"]}),
            json!({"aud": "another", "azp": CLIENT_ID}),
            json!({"aud": null}),
            json!({"azp": [CLIENT_ID]}),
            json!({"exp": null}),
            json!({"exp": "soon"}),
            json!({"nonce": null}),
            json!({"iss": ["https://id.example.org"]}),
            json!({"sub": ["somebody"]}),
            json!({"at_hash": 7}),
        ] {
            provider.say(Odd { token: token.clone(), ..Odd::default() });
            let mut browser = Browser::new(&team);
            let answer = browser.sign_in("/sign-in/away").await;
            assert_refused(&mut browser, answer, 401, "does not prove your identity").await;
        }
        assert_eq!(rows!(team.app, (i64,), "SELECT COUNT(*) FROM identities"), [(0,)]);
        let noted = "SELECT user_id, subject FROM audit_log WHERE action = 'sign_in_failed'";
        assert_eq!(rows!(team.app, (i64, String), noted), [(0, "127.0.0.1".to_owned())], "once an hour from an address");
    }

    /// The address and its verification may be in different responses if both are about the same address.
    async fn an_email_address_may_be_verified_in_either_response(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let openid = OpenIdSettings { email_domains: vec!["example.org".to_owned()], ..provider.settings() };
        let team = team(&engine, SignUp::Open, openid).await;
        provider.person(Person { username: Some("ann"), ..Person::named("s-1") });
        let (address, other) = ("a@example.org", "b@example.org");
        for (token, person, comes_in) in [
            (json!({"email": address}), json!({"email": address, "email_verified": true}), true),
            (json!({"email": address}), json!({"email": null, "email_verified": "true"}), true),
            (json!({"email": address, "email_verified": "true"}), json!({}), true),
            (json!({}), json!({"email": address, "email_verified": "True"}), true),
            (json!({"email": other}), json!({"email": address, "email_verified": true}), false),
            (json!({"email": address, "email_verified": false}), json!({"email": address, "email_verified": true}), false),
            (json!({"email": address}), json!({"email": address, "email_verified": "no"}), false),
            (json!({"email": address}), json!({"email": address, "email_verified": true, "sub": "s-2"}), false),
        ] {
            provider.say(Odd { token: token.clone(), person: person.clone(), ..Odd::default() });
            let answer = Browser::new(&team).sign_in("/sign-in/away").await;
            let expected = if comes_in { StatusCode::SEE_OTHER } else { StatusCode::FORBIDDEN };
            assert_eq!(answer.status(), expected, "{token} {person}");
        }
    }
}
