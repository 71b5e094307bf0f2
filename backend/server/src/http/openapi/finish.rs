//! Adds to the API document what operations have in common, so that their annotations need not repeat it: path
//! parameters, authentication, the common errors and their format, and the format of streams.

use serde_json::{Map, Value, json};

/// The path parameters, with type and description. A value of another type returns 404.
const SEGMENTS: [(&str, Segment, &str); 17] = [
    ("file_id", Segment::Uuid, "ID of the file."),
    ("uuid", Segment::Uuid, "ID of the conversation."),
    ("message_id", Segment::Number, "ID of the message."),
    ("tool_call_id", Segment::Number, "ID of the tool call."),
    ("approval_id", Segment::Number, "ID of the saved approval."),
    ("share_id", Segment::Number, "ID of the share link."),
    ("session_id", Segment::Number, "ID of the session."),
    ("key_id", Segment::Number, "ID of the API key."),
    ("user_id", Segment::Number, "ID of the account."),
    ("identity_id", Segment::Number, "ID of the linked identity."),
    ("invitation_id", Segment::Number, "ID of the invitation."),
    ("change_id", Segment::Number, "ID of the change."),
    ("group_id", Segment::Number, "ID of the group."),
    ("name", Segment::Text, "Name of the model or the tool server."),
    ("server", Segment::Text, "Name of the tool server in the settings."),
    ("tool", Segment::Text, "Name of the tool on its server."),
    ("id", Segment::Text, "ID of the model or the response."),
];

/// The paths whose `PATCH` changes settings, and the schema with these settings.
const CHANGES: [(&str, &str); 3] = [
    ("/api/admin/models/{name}", "NewModel"),
    ("/api/admin/tool-servers/{name}", "NewToolServer"),
    ("/api/admin/settings", "ServerSettings"),
];

#[derive(Clone, Copy)]
enum Segment {
    Uuid,
    Number,
    Text,
}

/// Completes the document. On a server without accounts, no operation needs authentication.
pub(crate) fn finish(document: &mut Value, has_accounts: bool) {
    plain_text(document);
    for (path, settings) in CHANGES {
        let members = members_of(&document["components"]["schemas"], &document["components"]["schemas"][settings]);
        let body = &mut document["paths"][path]["patch"]["requestBody"]["content"]["application/json"];
        body["schema"] = json!({"type": "object", "properties": members});
    }
    if let Some(frames) = document.pointer_mut("/components/schemas/ChatEvent/oneOf").and_then(Value::as_array_mut) {
        for frame in frames {
            let data = &mut frame["properties"]["data"];
            *data = text_of(&data.take());
        }
    }
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            complete(path, method, operation, has_accounts);
        }
    }
    if has_accounts {
        document["components"]["securitySchemes"] = json!({
            "session": {
                "type": "apiKey", "in": "cookie", "name": "__Host-tallybook_session",
                "description": "Session cookie, set at sign-in. Its name is `tallybook_session` on localhost.",
            },
            "key": {"type": "http", "scheme": "bearer", "description": "An API key from `POST /api/keys`."},
        });
    }
}

/// Returns the properties of a schema and of those that it consists of. Each can also be null, which gives a setting
/// its default again.
fn members_of(schemas: &Value, schema: &Value) -> Map<String, Value> {
    let named = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    if let Some(name) = named {
        return members_of(schemas, &schemas[name]);
    }
    let own = schema["properties"].as_object().into_iter().flatten();
    let own = own.map(|(name, value)| (name.clone(), or_null(value)));
    let parts = schema["allOf"].as_array().into_iter().flatten();
    own.chain(parts.flat_map(|part| members_of(schemas, part))).collect()
}

/// Returns the schema of a value that can be null.
fn or_null(schema: &Value) -> Value {
    match schema.get("type") {
        Some(Value::Array(_)) => schema.clone(),
        Some(kind @ Value::String(_)) if schema.get("enum").is_none() => {
            let mut schema = schema.clone();
            schema["type"] = json!([kind, "null"]);
            schema
        }
        _ => json!({"oneOf": [{"type": "null"}, schema]}),
    }
}

fn complete(path: &str, method: &str, operation: &mut Value, has_accounts: bool) {
    for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
        // Removes the type null: a client omits an optional parameter without a value, and cannot send it as null.
        if let Some(kind) = parameter.pointer("/schema/type/0").cloned() {
            parameter["schema"]["type"] = kind;
        }
    }
    let segments = path.split('/').filter_map(|part| segment(part.strip_prefix('{')?.strip_suffix('}')?));
    let segments: Vec<Value> = segments.collect();
    let has_segments = !segments.is_empty();
    let has_query = !operation["parameters"].is_null();
    if has_segments {
        let asked = operation["parameters"].take();
        let asked = asked.as_array().cloned().unwrap_or_default();
        operation["parameters"] = segments.into_iter().chain(asked).collect();
    }
    let is_open = operation["security"] == json!([{}]);
    if is_open || !has_accounts {
        operation["security"] = json!([]);
    } else if operation["security"].is_null() {
        operation["security"] = json!([{"session": []}, {"key": []}]);
    }
    let has_body = !operation["requestBody"].is_null();
    let is_small = path == "/healthz" || path == "/openapi.json";
    let is_asked = has_accounts && !is_open;
    let common = [
        (has_segments, "404", "It does not exist, or it belongs to another user."),
        (has_query || has_body, "400", "The request cannot be parsed."),
        (has_body, "408", "The request body took too long to arrive."),
        (has_body, "413", "The request body is too large."),
        (has_body, "415", "The request body is not JSON."),
        (is_asked, "401", "The request has no valid session and no valid API key."),
        (true, "403", "The caller lacks permission, or a page of another site sent the request."),
        (!is_small, "500", "The server failed. Its log has the cause, with the request ID."),
        (!is_small, "503", "Temporarily unavailable. `Retry-After` says when to retry."),
        (method != "get", "507", "The server cannot save data because the disk is full."),
    ];
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    for (_, status, text) in common.into_iter().filter(|(is_so, ..)| *is_so) {
        // `/v1` returns only statuses that OpenAI's clients know.
        let status = if path.starts_with("/v1/") && status == "507" { "503" } else { status };
        responses.entry(status).or_insert_with(|| json!({"description": text}));
    }
    for (status, response) in responses {
        describe(path, status, response);
    }
}

/// Returns the schema of a string that contains JSON of this shape.
fn text_of(shape: &Value) -> Value {
    json!({"type": "string", "contentMediaType": "application/json", "contentSchema": shape})
}

/// Replaces the schema of a stream with that of its events, which contain their data as a string.
fn describe_stream(stream: &mut Value) {
    let schema = stream["schema"].take();
    let data = text_of(&schema);
    stream["schema"] = match schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        // The schema of these events already has `data` as a string.
        Some("ChatEvent") => schema,
        Some("FeedEvent") => json!({
            "type": "object", "required": ["event", "data"], "properties": {"event": {"type": "string"}, "data": data},
        }),
        _ => json!({"type": "object", "required": ["data"], "properties": {"data": data}}),
    };
}

fn segment(name: &str) -> Option<Value> {
    let (_, kind, description) = SEGMENTS.iter().find(|(known, ..)| *known == name)?;
    let schema = match kind {
        Segment::Uuid => json!({"type": "string", "format": "uuid"}),
        Segment::Number => json!({"type": "integer", "format": "int64"}),
        Segment::Text => json!({"type": "string", "minLength": 1}),
    };
    Some(json!({"name": name, "in": "path", "required": true, "schema": schema, "description": description}))
}

/// Adds the body to an error, and a description to a response that has none.
fn describe(path: &str, status: &str, response: &mut Value) {
    if response["description"].as_str().is_none_or(str::is_empty) {
        response["description"] = if status == "201" { json!("Created.") } else { json!("Success.") };
    }
    if let Some(stream) = response.pointer_mut("/content/text~1event-stream") {
        describe_stream(stream);
    }
    if !status.starts_with(['4', '5']) || !response["content"].is_null() {
        return;
    }
    let (kind, schema) = if path.starts_with("/v1/") {
        ("application/json", "ErrorBody")
    } else {
        ("application/problem+json", "Problem")
    };
    let content = json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
    response["content"] = Map::from_iter([(kind.to_owned(), content)]).into();
}

/// Removes the markup of rustdoc links, and `crate::` paths, from all descriptions.
fn plain_text(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(plain_text),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "description" || name == "summary" => {
                        *text = text.replace("[`", "`").replace("`]", "`").replace("crate::", "");
                    }
                    other => plain_text(other),
                }
            }
        }
        _ => {}
    }
}
