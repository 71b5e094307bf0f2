//! Reads the API document for its HTML page: the operations by subject, and the schemas.

use actix_web::http::StatusCode;
use serde_json::Value;

use super::{
    examples::{EXAMPLES, Example},
    inline_text::Line,
};

/// A subject and its operations.
pub(crate) struct Subject {
    pub(crate) name: String,
    /// HTML id of the subject.
    pub(crate) id: String,
    pub(crate) description: Line,
    pub(crate) operations: Vec<Operation>,
}

/// An operation: a method of a path.
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) summary: Line,
    pub(crate) description: Vec<Line>,
    /// Authentication that the operation needs.
    pub(crate) access: Access,
    pub(crate) parameters: Vec<Field>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) is_body_required: bool,
    pub(crate) answers: Vec<Answer>,
    pub(crate) examples: Vec<&'static Example>,
}

/// Authentication that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Everybody,
    KeyOrSession,
    Session,
}

/// A field of a schema, or a parameter.
pub(crate) struct Field {
    pub(crate) name: String,
    /// Location of a parameter, such as `query`; empty for a field.
    pub(crate) place: String,
    pub(crate) kind: Line,
    pub(crate) is_required: bool,
    pub(crate) description: Line,
}

/// A body of one media type.
pub(crate) struct Body {
    pub(crate) media_type: String,
    pub(crate) kind: Line,
}

/// A response.
pub(crate) struct Answer {
    pub(crate) status: String,
    pub(crate) reason: &'static str,
    pub(crate) is_refusal: bool,
    pub(crate) description: Line,
    pub(crate) headers: Vec<String>,
    pub(crate) bodies: Vec<Body>,
}

/// A named schema.
pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) description: Line,
    /// Type of the schema; empty if the schema has fields.
    pub(crate) kind: Line,
    pub(crate) fields: Vec<Field>,
    /// Fields of each form, if the schema is a choice of several forms.
    pub(crate) forms: Vec<Vec<Field>>,
}

/// Returns the subjects in the document's order, with their operations.
pub(crate) fn subjects(document: &Value) -> Vec<Subject> {
    let read = |tag: &Value| {
        let name = text(&tag["name"]);
        let operations = operations(document, &name);
        let id = format!("subject-{}", name.to_lowercase());
        Subject { id, description: Line::read(&text(&tag["description"])), operations, name }
    };
    document["tags"].as_array().into_iter().flatten().map(read).collect()
}

fn operations(document: &Value, subject: &str) -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, item) in fields_of(&document["paths"]) {
        for method in ["get", "post", "put", "patch", "delete"] {
            let operation = &item[method];
            if operation["tags"][0] == subject {
                found.push(read_operation(path, method, operation));
            }
        }
    }
    // Operations that have examples come first.
    let place = |operation: &Operation| EXAMPLES.iter().position(|example| example.operation == operation.id);
    found.sort_by_key(|operation| place(operation).unwrap_or(EXAMPLES.len()));
    found
}

fn read_operation(path: &str, method: &str, operation: &Value) -> Operation {
    let id = text(&operation["operationId"]);
    let access = match operation["security"].as_array().map(Vec::as_slice) {
        None | Some([]) => Access::Everybody,
        Some(ways) if ways.iter().any(|way| way.get("key").is_some()) => Access::KeyOrSession,
        Some(_) => Access::Session,
    };
    let parameter = |one: &Value| Field {
        name: text(&one["name"]),
        place: text(&one["in"]),
        kind: Line::of(&one["schema"]),
        is_required: one["required"] == true,
        description: Line::read(&text(&one["description"])),
    };
    let answers = fields_of(&operation["responses"]).map(|(status, answer)| Answer {
        reason: status.parse().ok().and_then(|code: StatusCode| code.canonical_reason()).unwrap_or_default(),
        is_refusal: status.starts_with(['4', '5']),
        description: Line::read(&text(&answer["description"])),
        headers: fields_of(&answer["headers"]).map(|(name, _)| name.clone()).collect(),
        bodies: bodies(&answer["content"]),
        status: status.clone(),
    });
    Operation {
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: Line::read(&text(&operation["summary"])),
        description: text(&operation["description"])
            .split("\n\n")
            .filter(|it| !it.is_empty())
            .map(Line::read)
            .collect(),
        access,
        parameters: operation["parameters"].as_array().into_iter().flatten().map(parameter).collect(),
        bodies: bodies(&operation["requestBody"]["content"]),
        is_body_required: operation["requestBody"]["required"] == true,
        answers: answers.collect(),
        examples: EXAMPLES.iter().filter(|example| example.operation == id).collect(),
        id,
    }
}

fn bodies(content: &Value) -> Vec<Body> {
    let body =
        |(media_type, it): (&String, &Value)| Body { media_type: media_type.clone(), kind: Line::of(&it["schema"]) };
    fields_of(content).map(body).collect()
}

/// Returns the schemas by name.
pub(crate) fn schemas(document: &Value) -> Vec<Schema> {
    let all = &document["components"]["schemas"];
    let read = |(name, schema): (&String, &Value)| {
        let own = properties(all, schema);
        let forms: Vec<Vec<Field>> = match schema["oneOf"].as_array() {
            Some(forms) if own.is_empty() => forms.iter().map(|form| properties(all, form)).collect(),
            _ => Vec::new(),
        };
        let forms = if forms.iter().any(Vec::is_empty) { Vec::new() } else { forms };
        let has_fields = !own.is_empty() || !forms.is_empty();
        Schema {
            name: name.clone(),
            description: Line::read(&text(&schema["description"])),
            kind: if has_fields { Line::default() } else { Line::of(schema) },
            fields: own,
            forms,
        }
    };
    fields_of(all).map(read).collect()
}

/// Returns the fields of a schema, including those of the schemas in `allOf`. The field that identifies a form comes
/// first, then the required fields.
fn properties(all: &Value, schema: &Value) -> Vec<Field> {
    let mut found = Vec::new();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let named = part["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        found.extend(properties(all, named.map_or(part, |name| &all[name])));
    }
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
    found.extend(fields_of(&schema["properties"]).map(|(name, field)| Field {
        name: name.clone(),
        place: String::new(),
        kind: Line::of(field),
        is_required: is_required(name),
        description: description_of(field),
    }));
    let is_mark = |name: &str| schema["properties"][name]["enum"].as_array().is_some_and(|values| values.len() == 1);
    found.sort_by_key(|field| (!is_mark(&field.name), !field.is_required));
    found
}

/// Returns the description of a field. If the field may be null, the description is in one of its choices.
fn description_of(field: &Value) -> Line {
    let choices = field["oneOf"].as_array().into_iter().flatten();
    let said = std::iter::once(field).chain(choices).find_map(|it| it["description"].as_str());
    Line::read(said.unwrap_or_default())
}

fn fields_of(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace("\n\n", "\u{0}").replace('\n', " ").replace('\u{0}', "\n\n")
}
