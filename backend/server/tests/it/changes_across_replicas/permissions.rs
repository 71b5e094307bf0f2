//! Changed groups and budgets on another server of the database.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};
use tallybook_mock_mcp::MockMcp;

use super::LIMIT;
use crate::{
    accounts::{
        groups::{group, names, set_members},
        kit::{PASSWORD, Team, Who},
    },
    bad_input::assert_problem,
    support::{Engine, within},
};

/// Two servers of one database, with the users ann and bob.
struct Servers {
    model: MockLlm,
    here: Team,
    there: Team,
    admin: Who,
    ann: (Who, i64),
    bob: (Who, i64),
}

impl Servers {
    async fn start(engine: &Engine) -> Self {
        let model = MockLlm::start().await.unwrap();
        let (here, there, admin) = Team::start_two(engine, &model).await;
        let (ann, bob) = (here.user(&admin, "ann").await, here.user(&admin, "bob").await);
        Self { model, here, there, admin, ann, bob }
    }

    async fn delete_group(&self, id: i64) {
        self.here.json(&self.admin, Method::DELETE, &format!("/api/groups/{id}"), Value::Null, 204).await;
    }
}

/// Returns the user's rights on a server.
async fn rights(team: &Team, who: &Who) -> Value {
    team.json(who, Method::GET, "/api/me", Value::Null, 200).await["rights"].clone()
}

fn all_rights(has: bool) -> Value {
    json!({"make_keys": has, "upload": has, "share": has})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn granted_tools_and_rights_and_a_deleted_group_apply_on_the_other_server() {
    for engine in Engine::every_mysql_with_tables().await {
        let servers = Servers::start(&engine).await;
        let Servers { model, here, there, admin, ann: (ann, ann_id), bob: (bob, bob_id) } = &servers;
        let tools = MockMcp::start(&[]).await.unwrap();
        let new = json!({"name": "files", "url": tools.url(), "risk": "low"});
        here.json(admin, Method::POST, "/api/admin/tool-servers", new, 201).await;
        let has_tool = async |who| names(there, who, "/api/tools").await.contains(&"files__echo".to_owned());
        within(LIMIT, "the tool server is connected", async || has_tool(ann).await).await;
        let conversation = there.conversation(ann).await;
        model.reply([text("Yes.")]);
        there.ask(ann, &conversation, "Go?").await;
        // Sends the requests that take a right to the other server.
        let shares = format!("/api/conversations/{conversation}/shares");
        let assert_statuses = async |status: u16| {
            let key = json!({"name": "mine", "password": PASSWORD});
            for (path, body) in [(&*shares, json!({})), ("/api/keys", key), ("/api/files?name=a.txt", json!("a"))] {
                let answer = there.send(ann, Method::POST, path, body).await;
                assert_eq!(answer.status().as_u16(), status, "{path}");
                if status == 403 {
                    assert_problem(answer, 403, "not-permitted").await;
                }
            }
        };
        assert_statuses(201).await;

        let grants = ["tool_server:files", "make_keys", "upload", "share"];
        let staff = group(here, admin, "Staff", &grants, &[*bob_id]).await;
        within(LIMIT, "the tools are only for members", async || !has_tool(ann).await).await;
        assert!(has_tool(bob).await);
        assert_eq!((rights(there, ann).await, rights(there, bob).await), (all_rights(false), all_rights(true)));
        assert_statuses(403).await;

        // Members are read for each request.
        set_members(here, admin, staff, &[*ann_id]).await;
        assert!(has_tool(ann).await && !has_tool(bob).await);
        assert_eq!((rights(there, ann).await, rights(there, bob).await), (all_rights(true), all_rights(false)));
        assert_statuses(201).await;

        servers.delete_group(staff).await;
        within(LIMIT, "the tools are for all users", async || has_tool(bob).await).await;
        assert_eq!((rights(there, ann).await, rights(there, bob).await), (all_rights(true), all_rights(true)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budgets_of_a_user_and_of_a_group_apply_on_the_other_server() {
    for engine in Engine::every_mysql_with_tables().await {
        let servers = Servers::start(&engine).await;
        let Servers { model, here, there, admin, ann: (ann, ann_id), bob: (bob, bob_id) } = &servers;
        let ask = async |team: &Team, who: &Who| {
            model.reply([text("Yes.")]);
            team.ask(who, &team.conversation(who).await, "Go?").await;
        };
        let assert_refused = async |who: &Who, words: &str| {
            for team in [there, here] {
                let refused = team.post_message(who, &team.conversation(who).await).await;
                let problem = assert_problem(refused, 429, "budget-used-up").await;
                assert!(problem["detail"].as_str().unwrap().starts_with(words), "{problem}");
            }
        };
        let budgets =
            async |who: &Who| there.json(who, Method::GET, "/api/me", Value::Null, 200).await["budgets"].clone();
        let set = async |principal: String| {
            let budgets = json!([{"principal": principal, "period": "day", "tokens": 10}]);
            here.json(admin, Method::PUT, "/api/admin/budgets", budgets, 200).await;
        };
        ask(there, ann).await;
        set(format!("user:{ann_id}")).await;
        within(LIMIT, "the budget of the user arrives", async || budgets(ann).await[0]["is_shared"] == false).await;
        assert_refused(ann, "Your budget of tokens for today").await;
        ask(there, bob).await;

        let staff = group(here, admin, "Staff", &[], &[*ann_id, *bob_id]).await;
        set(format!("group:{staff}")).await;
        within(LIMIT, "the budget of the group arrives", async || budgets(bob).await[0]["group"] == "Staff").await;
        for who in [ann, bob] {
            assert_refused(who, "Your group's budget of tokens for today").await;
        }
        ask(there, admin).await;

        // The budget ends with the group.
        servers.delete_group(staff).await;
        within(LIMIT, "the budget is gone", async || budgets(bob).await.is_null()).await;
        for who in [ann, bob] {
            ask(there, who).await;
        }
    }
}
