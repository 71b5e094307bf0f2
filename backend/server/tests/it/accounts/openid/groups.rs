//! The groups that the identity provider names.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_accounts::{OpenIdSettings, SignUp};
use tallybook_mock_llm::MockLlm;

use super::{
    super::{
        groups::{add_opal, group, names, set_members},
        kit::{ADMIN, Team, with_admin},
    },
    browser::Browser,
    provider::{CLIENT_ID, CLIENT_SECRET, MockIdentityProvider, Odd, Person},
    settings,
};
use crate::{
    bad_input::assert_problem,
    support::{Engine, Program, TestApp, eventually, on_every_engine, rows},
};

on_every_engine! {
    async fn the_environment_names_the_claim(engine: Engine) {
        with_admin(&engine).await;
        let (model, provider) = (MockLlm::start().await.unwrap(), MockIdentityProvider::start().await);
        let mut command = Program::command(&engine, &model);
        command.env("ACCOUNTS", "on").env("SIGN_UP", "open").env("OIDC_ISSUER", provider.url());
        command.env("OIDC_CLIENT_ID", CLIENT_ID).env("OIDC_CLIENT_SECRET", CLIENT_SECRET).env("OIDC_SCOPES", "email");
        let team = Team::of(TestApp::launch_command(&engine, command.env("OIDC_GROUPS_CLAIM", "realm.groups")));
        provider.say(Odd { token: json!({"realm": {"groups": ["/staff"]}, "groups": ["/crew"]}), ..Odd::default() });
        assert_eq!(Browser::new(&team).sign_in("/sign-in/away").await.status(), 303);
        let admin = team.sign_in(ADMIN).await;
        let groups = team.json(&admin, Method::GET, "/api/groups", Value::Null, 200).await;
        let shown = &groups["items"][0];
        assert_eq!((&shown["name"], &shown["origin"], &shown["members"]), (&json!("/staff"), &json!("oidc"), &json!(1)), "{groups}");
        assert_eq!(groups["items"].as_array().unwrap().len(), 1);
    }

    /// The identity provider sets a user's groups at each sign-in. Groups that admins made stay as they are.
    async fn a_sign_in_sets_the_groups_that_the_provider_names(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let openid = OpenIdSettings { groups_claim: Some("realm.groups".to_owned()), ..provider.settings() };
        let model = MockLlm::start().await.unwrap();
        let team = Team::start_with(&engine, &model, settings(SignUp::Open, openid)).await;
        let admin = team.sign_in(ADMIN).await;
        add_opal(&team, &admin, &model).await;
        let prepared = json!({"name": "/staff", "origin": "oidc", "grants": ["model:Opal"]});
        let prepared = team.json(&admin, Method::POST, "/api/groups", prepared, 201).await;
        let own = group(&team, &admin, "/crew", &[], &[]).await;

        let groups_of_ann = async || {
            let sql = "SELECT g.origin || ' ' || g.name FROM group_members m JOIN user_groups g ON g.id = m.group_id \
                       JOIN users u ON u.id = m.user_id ORDER BY g.origin, g.name";
            let found = rows!(team.app, (String,), sql);
            found.into_iter().map(|(group,)| group).collect::<Vec<_>>()
        };
        let sign_in = async |groups: Value| {
            provider.person(Person { username: Some("ann"), ..Person::named("s-1") });
            provider.say(Odd { token: json!({"realm": {"groups": groups}}), ..Odd::default() });
            let mut browser = Browser::new(&team);
            assert_eq!(browser.sign_in("/sign-in/away").await.status(), 303);
            browser.who()
        };
        let ann = sign_in(json!(["/staff", "/crew", 7, " ", "x".repeat(201)])).await;
        assert_eq!(groups_of_ann().await, ["oidc /crew", "oidc /staff"]);
        assert!(names(&team, &ann, "/api/models").await.contains(&"Opal".to_owned()));

        let id = team.json(&admin, Method::GET, "/api/users", Value::Null, 200).await["items"][1]["id"].as_i64().unwrap();
        set_members(&team, &admin, own, &[id]).await;
        let ann = sign_in(json!(["/crew"])).await;
        assert_eq!(groups_of_ann().await, ["oidc /crew", "page /crew"]);
        assert!(!names(&team, &ann, "/api/models").await.contains(&"Opal".to_owned()));
        // If the provider cannot be asked for the groups, they stay as they are. Here it answers for another user.
        provider.say(Odd { person: json!({"sub": "s-2"}), ..Odd::default() });
        let mut browser = Browser::new(&team);
        assert_eq!(browser.sign_in("/sign-in/away").await.status(), 303);
        assert_eq!(groups_of_ann().await, ["oidc /crew", "page /crew"]);
        sign_in(Value::Null).await;
        assert_eq!(groups_of_ann().await, ["page /crew"]);

        let path = format!("/api/groups/{}", prepared["id"]);
        let refused = team.send(&admin, Method::PUT, &format!("{path}/members"), json!({"user_ids": [id]})).await;
        assert_problem(refused, 409, "members-from-provider").await;
        sign_in(json!(["/staff"])).await;
        // The page can remove members, too, and notices that the sign-in has changed them.
        let group_of = async || team.json(&admin, Method::GET, &path, Value::Null, 200).await;
        let post = async |fields: String| {
            let request = team.request(&admin, Method::POST, &format!("/admin/groups/{}", prepared["id"]));
            let form = "application/x-www-form-urlencoded";
            request.header("content-type", form).body(fields).send().await.unwrap().status().as_u16()
        };
        assert_eq!(post(format!("version={}&members=&grant=upload", prepared["version"])).await, 412);
        let shown = group_of().await;
        assert_eq!(post(format!("version={}&members=ann%0D%0Aroot&grant=upload", shown["version"])).await, 409);
        assert_eq!((&group_of().await["members"], &group_of().await["grants"]), (&json!(1), &shown["grants"]));
        assert_eq!(post(format!("version={}&members=ann&grant=upload", shown["version"])).await, 303);
        assert_eq!((&group_of().await["members"], &group_of().await["grants"]), (&json!(1), &json!(["upload"])));
        set_members(&team, &admin, prepared["id"].as_i64().unwrap(), &[]).await;
        assert_eq!(groups_of_ann().await, ["page /crew"]);
        let refused = team.send(&admin, Method::PATCH, &path, json!({"name": "other"})).await;
        assert_problem(refused, 422, "invalid-group").await;
        let log = rows!(team.app, (String,), "SELECT subject FROM audit_log WHERE action = 'groups_synced' ORDER BY id");
        assert_eq!(log.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["/crew, /staff", "/crew", "", "/staff"]);
    }
}

/// The groups of a sign-in on one server apply to the same session on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_applies_the_groups_of_a_sign_in() {
    for engine in Engine::every_mysql_with_tables().await {
        let provider = MockIdentityProvider::start().await;
        let openid = OpenIdSettings { groups_claim: Some("groups".to_owned()), ..provider.settings() };
        let model = MockLlm::start().await.unwrap();
        let here = Team::start_with(&engine, &model, settings(SignUp::Open, openid.clone())).await;
        let there = Team::join(&engine, &model, settings(SignUp::Open, openid)).await;
        let admin = here.sign_in(ADMIN).await;
        add_opal(&here, &admin, &model).await;
        let staff = json!({"name": "/staff", "origin": "oidc", "grants": ["model:Opal", "upload"]});
        here.json(&admin, Method::POST, "/api/groups", staff, 201).await;
        let bob = here.user(&admin, "bob").await.0;
        let has_opal = async |who| names(&there, who, "/api/models").await.contains(&"Opal".to_owned());
        eventually("the model and its grant arrive", async || has_opal(&admin).await && !has_opal(&bob).await).await;

        let sign_in = async |groups: Value| {
            provider.person(Person { username: Some("ann"), ..Person::named("s-1") });
            provider.say(Odd { token: json!({"groups": groups}), ..Odd::default() });
            let mut browser = Browser::new(&here);
            assert_eq!(browser.sign_in("/sign-in/away").await.status(), 303);
            browser.who()
        };
        let first = sign_in(json!(["/staff"])).await;
        let upload = async || there.send(&first, Method::POST, "/api/files?name=a.txt", json!("a")).await.status();
        assert_eq!((has_opal(&first).await, upload().await.as_u16()), (true, 201));
        // The next sign-in also changes what the first session may do.
        let second = sign_in(json!(["/crew"])).await;
        assert_eq!((has_opal(&first).await, has_opal(&second).await, upload().await.as_u16()), (false, false, 403));
    }
}
