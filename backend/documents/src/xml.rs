//! Reads XML as a sequence of elements and text. It builds no tree, so deep nesting does no harm, and it knows no
//! entities but the five of XML itself, so none expands.

use std::{
    borrow::Cow,
    io::{self, BufRead},
};

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
};

use crate::{Refusal, zip::damaged};

/// Part of an XML document. Names are without their namespace's prefix.
pub(crate) enum Node<'a> {
    Open(&'a str, Attributes<'a>),
    Close(&'a str),
    Text(Cow<'a, str>),
}

/// Attributes of an element.
pub(crate) struct Attributes<'a>(&'a BytesStart<'a>);

impl Attributes<'_> {
    /// Returns the attribute with this name. The prefix of its namespace is ignored unless `name` has one.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        // Without checks for duplicates, which take quadratic time.
        let mut attributes = self.0.attributes();
        let found = attributes.with_checks(false).filter_map(Result::ok).find(|attribute| {
            let key = attribute.key;
            key.as_ref() == name || key.local_name().as_ref() == name
        })?;
        found.normalized_value(XmlVersion::Implicit1_0).ok().map(Cow::into_owned)
    }

    /// Returns the attribute as a number.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }
}

/// Calls `visit` with each node until it returns `false`.
pub(crate) fn read(input: impl BufRead, mut visit: impl FnMut(Node<'_>) -> bool) -> Result<(), Refusal> {
    let mut reader = Reader::from_reader(input);
    reader.config_mut().expand_empty_elements = true;
    reader.config_mut().allow_dangling_amp = true;
    let mut buffer = Vec::new();
    let mut depth = 0_usize;
    loop {
        buffer.clear();
        let proceed = match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(element)) => {
                depth += 1;
                visit(Node::Open(element.local_name().as_ref(), Attributes(&element)))
            }
            Ok(Event::End(element)) => {
                depth = depth.saturating_sub(1);
                visit(Node::Close(element.local_name().as_ref()))
            }
            Ok(Event::Text(text)) => visit(Node::Text(text.xml10_content())),
            Ok(Event::CData(text)) => visit(Node::Text(text.into_inner())),
            Ok(Event::GeneralRef(reference)) => match reference.resolve_char_ref() {
                Ok(Some(character)) => visit(Node::Text(Cow::Owned(character.to_string()))),
                Ok(None) => resolve_predefined_entity(&reference).is_none_or(|text| visit(Node::Text(text.into()))),
                Err(_) => true,
            },
            Ok(Event::Eof) if depth > 0 => return Err(Refusal::unreadable("the file is damaged: its XML is cut off")),
            Ok(Event::Eof) => return Ok(()),
            Ok(_) => true,
            Err(quick_xml::Error::Io(error)) => return Err(damaged(&io::Error::from(error.kind()))),
            Err(_) => return Err(Refusal::unreadable("the file is damaged: its XML cannot be read")),
        };
        if !proceed {
            return Ok(());
        }
    }
}
