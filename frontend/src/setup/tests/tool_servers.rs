//! Tests of the setup of a tool server.

use serde_json::{Value, json};
use tallybook_protocol::{ConfiguredToolServer, SettingsOrigin, ToolServerFields, ToolServerTest};

use super::{focuses, problem, refused, texts, write};
use crate::{
    api::ApiError,
    setup::{EntryKind, Fault, Field, Reason, Setup, SetupEffect, SetupInput, TestResult},
};

const URL: &str = "https://tools.example.com/mcp";

fn new() -> Setup {
    let mut setup = Setup::new(EntryKind::ToolServer, None);
    write(&mut setup, Field::Name, " docs ");
    write(&mut setup, Field::Address, URL);
    setup
}

fn stored() -> ConfiguredToolServer {
    ConfiguredToolServer {
        fields: ToolServerFields {
            name: "docs".to_owned(),
            url: URL.to_owned(),
            risk: Some("claimed".to_owned()),
            exclude: vec!["delete_*".to_owned(), "move".to_owned()],
            timeout_secs: Some(20),
            ..ToolServerFields::default()
        },
        origin: SettingsOrigin::Page,
        has_headers: true,
        status: Some("connected".to_owned()),
        tools: 3,
        problem: None,
        problem_code: None,
        version: Some(3),
        updated_at: None,
    }
}

fn edited() -> Setup {
    Setup::new(EntryKind::ToolServer, Some(stored().into()))
}

/// Returns the settings that the setup stores as a new tool server.
fn added(setup: &mut Setup) -> (u32, Value) {
    match setup.take(SetupInput::Save).as_slice() {
        [SetupEffect::Add(ticket, sent)] => (*ticket, Value::Object(sent.clone())),
        effects => panic!("{} effects, {:?}", effects.len(), problem(setup)),
    }
}

/// Returns the changes that the setup sends.
fn changed(setup: &mut Setup) -> Value {
    match setup.take(SetupInput::Save).as_slice() {
        [SetupEffect::Update(_, name, Some(3), changes)] if name == "docs" => Value::Object(changes.clone()),
        effects => panic!("{} effects, {:?}", effects.len(), problem(setup)),
    }
}

#[test]
fn a_new_server_needs_a_name_and_an_address_alone() {
    let mut setup = Setup::new(EntryKind::ToolServer, None);
    focuses(&mut setup, SetupInput::Save, Some(Field::Name));
    write(&mut setup, Field::Name, "docs");
    focuses(&mut setup, SetupInput::Test, Some(Field::Address));
    assert_eq!(problem(&setup), Some((Some(Field::Address), Reason::Field(Fault::Missing))));
    write(&mut setup, Field::Address, "tools.example.com");
    focuses(&mut setup, SetupInput::Save, Some(Field::Address));
    assert_eq!(added(&mut new()).1, json!({"name": "docs", "url": URL}));
}

#[test]
fn a_token_and_another_header_become_headers() {
    let mut setup = new();
    write(&mut setup, Field::Authentication, "token");
    focuses(&mut setup, SetupInput::Save, Some(Field::Secret));
    write(&mut setup, Field::Secret, " Bearer abc ");
    assert_eq!(added(&mut setup.clone()).1["headers"], json!({"Authorization": "Bearer abc"}));
    write(&mut setup, Field::Authentication, "header");
    focuses(&mut setup, SetupInput::Save, Some(Field::Header));
    write(&mut setup, Field::Header, "X-Api-Key");
    assert_eq!(added(&mut setup.clone()).1["headers"], json!({"X-Api-Key": "Bearer abc"}));
    write(&mut setup, Field::Authentication, "");
    assert_eq!(added(&mut setup.clone()).1.get("headers"), None, "a hidden field sends nothing");
    assert!(!format!("{setup:?}").contains("abc"));
}

#[test]
fn a_server_can_have_several_headers() {
    let mut setup = new();
    write(&mut setup, Field::Authentication, "token");
    write(&mut setup, Field::Secret, "abc");
    write(&mut setup, Field::MoreHeaders, "X-Team: maps\n\n X-Key :a:b \n");
    let headers = json!({"Authorization": "Bearer abc", "X-Team": "maps", "X-Key": "a:b"});
    assert_eq!(added(&mut setup.clone()).1["headers"], headers);
    assert!(!format!("{setup:?}").contains("a:b"));
    for wrong in ["X-Team", ": maps", "X-Team:", "authorization: Bearer d", "X-Team: a\nx-team: b"] {
        write(&mut setup, Field::MoreHeaders, wrong);
        focuses(&mut setup, SetupInput::Save, Some(Field::MoreHeaders));
        assert_eq!(problem(&setup), Some((Some(Field::MoreHeaders), Reason::Field(Fault::NotAHeader))), "{wrong}");
    }
    write(&mut setup, Field::Authentication, "");
    assert_eq!(added(&mut setup).1.get("headers"), None, "a hidden field sends nothing");
}

#[test]
fn an_unencrypted_address_must_be_allowed_unless_it_is_local() {
    for local in ["http://localhost:3001/mcp", "http://127.0.0.1/mcp", "http://[::1]:3001/mcp"] {
        let mut setup = new();
        write(&mut setup, Field::Address, local);
        assert_eq!(added(&mut setup).1.get("allow_http"), None, "{local}");
    }
    let mut setup = new();
    write(&mut setup, Field::Address, "http://tools.internal/mcp");
    focuses(&mut setup, SetupInput::Save, Some(Field::AllowHttp));
    write(&mut setup, Field::AllowHttp, "yes");
    assert_eq!(added(&mut setup.clone()).1["allow_http"], true);
    write(&mut setup, Field::Address, URL);
    assert_eq!(added(&mut setup).1.get("allow_http"), None);
}

#[test]
fn settings_are_sent_as_the_api_expects_them() {
    let mut setup = new();
    write(&mut setup, Field::Approval, "low");
    write(&mut setup, Field::Include, "search_*, read,,");
    write(&mut setup, Field::Timeout, "soon");
    focuses(&mut setup, SetupInput::Save, Some(Field::Timeout));
    write(&mut setup, Field::Timeout, "30");
    write(&mut setup, Field::Pin, "block");
    assert_eq!(
        added(&mut setup).1,
        json!({"name": "docs", "url": URL, "risk": "low", "include": ["search_*", "read"], "timeout_secs": 30, "pin": "block"})
    );
}

#[test]
fn refusals_are_reported_at_the_field_that_they_name() {
    let invalid = |detail: &str| ApiError::Refused {
        status: 422,
        code: "invalid-tool-server".to_owned(),
        detail: detail.to_owned(),
    };
    let mut setup = new();
    write(&mut setup, Field::Authentication, "header");
    write(&mut setup, Field::Header, "Host");
    write(&mut setup, Field::Secret, "abc");
    for (error, field) in [
        (invalid("its url is a link-local address, which is not allowed."), Some(Field::Address)),
        (invalid("\"Host\" is not a valid header name, or is reserved for the protocol."), Some(Field::Header)),
        (invalid("headers must have at most 20 members."), Some(Field::Secret)),
        (invalid("The name \"test\" is reserved. Choose another name."), Some(Field::Name)),
        (invalid("The settings cannot be read."), None),
        (refused(409, "name-taken"), Some(Field::Name)),
        (refused(409, "set-in-file"), Some(Field::Name)),
        (refused(422, "no-secret-key"), None),
    ] {
        let (ticket, _) = added(&mut setup);
        focuses(&mut setup, SetupInput::Saved(ticket, Err(error.clone())), field);
        assert_eq!(problem(&setup), Some((field, Reason::Request(error))));
    }
    let (ticket, _) = added(&mut setup);
    assert!(setup.take(SetupInput::Saved(ticket, Ok(stored().into()))) == [SetupEffect::Done("docs".to_owned())]);
}

#[test]
fn stored_headers_are_kept_replaced_or_removed() {
    assert!(edited().take(SetupInput::Save) == [SetupEffect::Done("docs".to_owned())], "nothing has changed");
    let mut setup = edited();
    let shown = texts(&setup, &[Field::Authentication, Field::Secret, Field::Exclude, Field::Timeout]);
    assert_eq!(shown, ["keep", "", "delete_*, move", "20"]);
    write(&mut setup, Field::Exclude, "");
    write(&mut setup, Field::Approval, "");
    assert_eq!(changed(&mut setup), json!({"exclude": null, "risk": null}));
    let mut setup = edited();
    write(&mut setup, Field::Authentication, "token");
    write(&mut setup, Field::Secret, "new");
    assert_eq!(changed(&mut setup), json!({"headers": {"Authorization": "Bearer new"}}));
    let mut setup = edited();
    write(&mut setup, Field::Authentication, "");
    assert_eq!(changed(&mut setup), json!({"headers": null}));
}

#[test]
fn stored_headers_are_used_only_with_the_stored_address() {
    let mut setup = edited();
    write(&mut setup, Field::Timeout, "30");
    let [SetupEffect::TestStored(_, name, sent)] = &setup.take(SetupInput::Test)[..] else { panic!("no test") };
    assert_eq!((name.as_str(), Value::Object(sent.clone())), ("docs", json!({"timeout_secs": 30})));
    let mut setup = edited();
    write(&mut setup, Field::Address, "https://other.example.com/mcp");
    for input in [SetupInput::Test, SetupInput::Save] {
        focuses(&mut setup, input, Some(Field::Authentication));
        assert_eq!(problem(&setup), Some((Some(Field::Authentication), Reason::Field(Fault::SecretAgain))));
    }
    write(&mut setup, Field::Authentication, "token");
    write(&mut setup, Field::Secret, "new");
    let [SetupEffect::TestStored(_, _, sent)] = &setup.take(SetupInput::Test)[..] else { panic!("no test") };
    assert_eq!(sent["headers"], json!({"Authorization": "Bearer new"}));
}

#[test]
fn a_test_counts_until_the_settings_change() {
    let mut setup = new();
    let [SetupEffect::Test(ticket, sent)] = &setup.take(SetupInput::Test)[..] else { panic!("no test") };
    assert_eq!(Value::Object(sent.clone()), json!({"name": "docs", "url": URL}));
    let passed = TestResult::ToolServer(ToolServerTest { ok: true, ..ToolServerTest::default() });
    assert!(setup.take(SetupInput::Tested(*ticket, Ok(passed.clone()))) == [SetupEffect::ShowTest]);
    assert_eq!(setup.test(), Some(&passed));
    write(&mut setup, Field::Approval, "low");
    assert_eq!(setup.test(), None, "it showed which calls would need approval");
}

#[test]
fn a_change_by_another_admin_is_loaded_and_own_changes_stay() {
    let mut setup = edited();
    write(&mut setup, Field::Timeout, "30");
    let [SetupEffect::Update(ticket, ..)] = &setup.take(SetupInput::Save)[..] else { panic!("no request") };
    let [SetupEffect::Load(ticket, _)] =
        &setup.take(SetupInput::Saved(*ticket, Err(refused(412, "version-changed"))))[..]
    else {
        panic!("no request")
    };
    let mut theirs = stored();
    theirs.version = Some(4);
    theirs.has_headers = false;
    theirs.fields.timeout_secs = Some(5);
    theirs.fields.risk = None;
    focuses(&mut setup, SetupInput::Loaded(*ticket, Ok(theirs.into())), None);
    assert_eq!(problem(&setup), Some((None, Reason::Changed)));
    assert_eq!(texts(&setup, &[Field::Timeout, Field::Approval, Field::Authentication]), ["30", "", ""]);
    let [SetupEffect::Update(_, _, Some(4), changes)] = &setup.take(SetupInput::Save)[..] else { panic!("no request") };
    assert_eq!(Value::Object(changes.clone()), json!({"timeout_secs": 30}));
}
