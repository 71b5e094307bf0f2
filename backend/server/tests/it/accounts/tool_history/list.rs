//! The list of calls: each term of a filter, and pages that omit and repeat no call.

use std::time::Duration;

use chrono::TimeDelta;
use reqwest::StatusCode;
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, Team, Who},
    kit::{
        Call, calls_on, filtered, next_of, page, run, say_why, start, uuid, write_call, write_equal_calls, write_turn,
    },
};
use crate::support::{Engine, TestApp, on_every_engine};

on_every_engine! {
    async fn each_term_of_a_filter_selects_calls(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let ((_, ann), (_, ben)) = (team.user(&admin, "ann").await, team.user(&admin, "ben").await);
        let db = engine.pool().await;
        write_turn(&db, 1, ann, "Small").await;
        write_turn(&db, 2, ben, "Large one").await;
        let calls = [
            Call { tool: "docs__search", minute: 1, duration_ms: Some(7000), input: "it's \"quoted\"", ..Call::new(1, 1) },
            Call { status: "error", minute: 2, output: None, error: Some("Division by ZERO: 100%"), ..Call::new(2, 1) },
            Call { minute: 3, duration_ms: Some(200), input: r"C:\temp\a_b", ..Call::new(3, 2) },
            Call { tool: "docs__read", status: "denied", input: "a `tick`, ''", minute: 24 * 60, duration_ms: None, ..Call::new(4, 2) },
            Call { tool: "web__read", minute: 24 * 60 + 1, output: Some("日本語のテキスト Äpfel"), ..Call::new(5, 2) },
        ];
        for call in &calls {
            write_call(&db, call).await;
        }
        say_why(&team, &admin, "/admin", "to test it").await;
        say_why(&team, &admin, &filtered("user:ben"), "to test it").await;
        let day = start().format("%Y-%m-%d");
        let conversation = format!("conversation:{}", uuid(2));
        let since = (start() + TimeDelta::minutes(2)).format("since:%Y-%m-%dT%H:%M").to_string();
        let until = format!("until:{day}");
        for (filter, found) in [
            ("", vec![5, 4, 3, 2, 1]),
            ("tool:add", vec![3, 2]),
            ("tool:no-such", vec![]),
            ("server:docs", vec![4, 1]),
            ("server:built-in", vec![3, 2]),
            ("status:denied", vec![4]),
            ("user:ann", vec![2, 1]),
            ("user:ANN tool:add", vec![2]),
            (&*conversation, vec![5, 4, 3]),
            ("model:Small", vec![2, 1]),
            ("model:\"Large one\" server:docs", vec![4]),
            (&*since, vec![5, 4, 3, 2]),
            (&*until, vec![3, 2, 1]),
            ("since:100000d until:0m", vec![5, 4, 3, 2, 1]),
            ("slow:>5s", vec![1]),
            ("slow:>200ms", vec![1]),
            ("slow:<200ms", vec![5, 2]),
            ("slow:<1h status:success user:ben", vec![5, 3]),
            ("zero", vec![2]),
            ("division zero", vec![2]),
            ("division nothing", vec![]),
            ("it's", vec![1]),
            ("\"\\\"quoted\\\"\"", vec![1]),
            ("`", vec![4]),
            ("\"''\" ,", vec![4]),
            ("%", vec![2]),
            ("_", vec![3]),
            ("\\", vec![3]),
            ("\"C:\\temp\" user:ben", vec![3]),
            ("日本語 äpfel", vec![5]),
        ] {
            let html = page(&team, &admin, &filtered(filter), StatusCode::OK).await;
            assert_eq!(calls_on(&html), found, "{filter}");
        }
        let slowest = page(&team, &admin, "/admin?order=slowest&q=since%3A100000d", StatusCode::OK).await;
        assert_eq!(calls_on(&slowest), [1, 3, 5, 2]);
        for (filter, status) in [("tol:add", 422), ("\"open", 422), ("user:nobody", 200), ("conversation:x", 422)] {
            let html = page(&team, &admin, &filtered(filter), StatusCode::from_u16(status).unwrap()).await;
            assert!(html.contains("data-testid=\"problem\"") && calls_on(&html).is_empty(), "{html}");
        }
    }

    /// Even if many calls have the same time or the same duration.
    async fn pages_omit_and_repeat_no_call(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let db = engine.pool().await;
        write_turn(&db, 1, 1, "Small").await;
        for id in 1..=130 {
            let minute = if id > 120 { id } else { 0 };
            write_call(&db, &Call { minute, duration_ms: Some(id / 100), ..Call::new(id, 1) }).await;
        }
        let newest: Vec<i64> = (1..=130).rev().collect();
        let slowest: Vec<i64> = (100..=130).rev().chain((1..100).rev()).collect();
        for (address, expected) in [
            ("/admin".to_owned(), &newest),
            (filtered("tool:add status:success"), &newest),
            (filtered("slow:>0ms"), &newest[..31].to_vec()),
            (filtered("slow:<1ms tool:add"), &newest[31..].to_vec()),
            ("/admin?order=slowest".to_owned(), &slowest),
            (filtered("user:root") + "&order=slowest", &slowest),
            // The cursor of a page whose time limit was over: below a duration.
            (filtered("user:root") + "&order=slowest&after=d1", &slowest[31..].to_vec()),
        ] {
            let (mut seen, mut next) = (Vec::new(), Some(address.clone()));
            while let Some(address) = next {
                let html = page(&team, &admin, &address, StatusCode::OK).await;
                let calls = calls_on(&html);
                assert!((1..=50).contains(&calls.len()), "{address}");
                seen.extend(calls);
                next = next_of(&html);
            }
            assert_eq!(&seen, expected, "{address}");
        }
        // An invalid cursor returns the first page.
        let html = page(&team, &admin, "/admin?after=t99999999999999999999.1", StatusCode::OK).await;
        assert_eq!(calls_on(&html), newest[..50]);
    }

    /// A search shows what it has found when its time limit is over, and continues from there on request.
    async fn a_search_continues_after_its_time_limit(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = tallybook_tools::builtin().unwrap();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(tools)
            .with_settings(|settings| settings.tool_history_page_time = Duration::ZERO)
            .spawn()
            .await;
        let team = Team::of(app);
        let nobody = Who::default();
        let db = engine.pool().await;
        write_turn(&db, 1, 1, "Small").await;
        write_equal_calls(&db, 1, 900).await;
        run!(&db, "UPDATE tool_calls SET output = ? WHERE id IN (100, 800)", "a needle");
        run!(&db, "UPDATE tool_calls SET error = ? WHERE id = 100", "deep");
        for (search, found) in [("needle", [vec![800], vec![100], vec![]]), ("deep", [vec![], vec![100], vec![]])] {
            let mut next = Some(filtered(search));
            for (number, calls) in found.into_iter().enumerate() {
                let html = page(&team, &nobody, &next.unwrap(), StatusCode::OK).await;
                next = next_of(&html);
                assert_eq!(calls_on(&html), calls, "{search} {number}: {html}");
                let says = |words: &str| html.contains(words);
                let goes_on = says("data-testid=\"incomplete\"") && says(">Search older calls</a>");
                assert_eq!((goes_on, next.is_some()), (number < 2, number < 2), "{search} {number}: {html}");
                assert_eq!(says("No matches so far."), calls.is_empty() && number < 2, "{html}");
                assert_eq!(says("No more tool calls."), number == 2, "{html}");
            }
        }
    }
}
