//! Exports of filtered calls: each call appears once, complete and in order, no matter how many or how long the calls
//! are.

use std::iter;

use reqwest::{Response, StatusCode};
use serde_json::Value;
use tallybook_mock_llm::MockLlm;

use super::kit::{run, write_equal_calls, write_turn};
use crate::{
    bad_input::assert_problem,
    support::{Engine, TestApp, on_every_engine},
};

/// Number of calls: more than fit in two chunks of an export.
const CALLS: i64 = 450;

/// Ids of calls whose texts each fill most of a chunk. Two of them are among the same 200 calls.
const LONG: [i64; 3] = [440, 430, 10];

/// Returns the body of a streamed response, which has no length.
async fn streamed(response: Response) -> String {
    assert_eq!((response.status(), response.content_length()), (StatusCode::OK, None));
    response.text().await.unwrap()
}

on_every_engine! {
    async fn exports_contain_every_call_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let db = engine.pool().await;
        write_turn(&db, 1, 1, "Small").await;
        write_equal_calls(&db, 1, CALLS).await;
        let long = "é, \"\n".repeat(300_000);
        for id in LONG {
            run!(&db, "UPDATE tool_calls SET output = ? WHERE id = ?", &long, id);
        }
        let expected = |id: i64| if LONG.contains(&id) { &*long } else { "hay" };

        let csv = streamed(app.get("/admin/export?format=csv").await).await;
        let mut reader = csv::Reader::from_reader(csv.strip_prefix('\u{feff}').unwrap().as_bytes());
        let output = reader.headers().unwrap().iter().position(|name| name == "output").unwrap();
        let mut ids = (1..=CALLS).rev();
        for (record, id) in iter::zip(reader.records(), &mut ids) {
            let record = record.unwrap();
            assert_eq!(record[0].parse::<i64>().unwrap(), id);
            assert!(record[output] == *expected(id), "{id}: {} bytes", record[output].len());
        }
        assert_eq!((ids.next(), reader.records().count()), (None, 0));

        let refused = assert_problem(app.get("/admin/export?format=csv&q=status:odd").await, 400, "bad-query").await;
        let said = refused["detail"].as_str().unwrap();
        assert!(said.starts_with("The parameter q is not valid. ") && !said.ends_with(".."), "{said}");

        let jsonl = streamed(app.get("/admin/export?format=jsonl&q=tool:add").await).await;
        assert_eq!(jsonl.lines().count(), usize::try_from(CALLS).unwrap());
        for (line, id) in iter::zip(jsonl.lines(), (1..=CALLS).rev()) {
            let call: Value = serde_json::from_str(line).unwrap();
            assert_eq!(call["id"], id);
            assert!(call["output"] == *expected(id), "{id}: {} bytes", line.len());
        }
    }
}
