//! Forms on the server's own pages, filled in as a browser without scripts does.

/// The fields of a form that a browser sends.
pub(crate) struct Form {
    /// URL to which the form is sent.
    pub(crate) action: String,
    fields: Vec<(String, String)>,
}

impl Form {
    /// Reads the form that is sent to `action` from a page.
    pub(crate) fn read(html: &str, action: &str) -> Self {
        let start = format!("action=\"{action}\">");
        let (_, form) = html.split_once(&start).unwrap_or_else(|| panic!("{start} is not in {html}"));
        let (form, _) = form.split_once("</form>").expect("the end of the form");
        let mut fields = Vec::<(String, String)>::new();
        // The name of the list whose entries follow, and `true` if it has none so far.
        let mut list = None;
        for part in form.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("the end of a tag");
            let name = attribute(tag, "name").filter(|_| !has_flag(tag, "disabled"));
            let value = || attribute(tag, "value").unwrap_or_default();
            match tag.split_whitespace().next().unwrap_or_default() {
                "input" if attribute(tag, "type").as_deref() == Some("checkbox") && !has_flag(tag, "checked") => {}
                "input" => fields.extend(name.map(|name| (name, value()))),
                "textarea" => {
                    // A browser ignores the first line break, and sends each line break as two characters.
                    let lines = unescape(text.strip_prefix('\n').unwrap_or(text)).replace('\n', "\r\n");
                    fields.extend(name.map(|name| (name, lines)));
                }
                "select" => list = name.map(|name| (name, true)),
                "/select" => list = None,
                "option" => match &mut list {
                    Some((name, is_empty)) if *is_empty => {
                        *is_empty = false;
                        fields.push((name.clone(), value()));
                    }
                    Some(_) if has_flag(tag, "selected") => fields.last_mut().expect("the first entry").1 = value(),
                    _ => {}
                },
                _ => {}
            }
        }
        Self { action: action.to_owned(), fields }
    }

    /// Returns the values of the fields with this name.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.fields.iter().filter(|(field, _)| field == name).map(|(_, value)| value.as_str()).collect()
    }

    /// Replaces the fields with this name by one.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.set_all(name, &[value]);
    }

    /// Replaces the fields with this name.
    pub(crate) fn set_all(&mut self, name: &str, values: &[&str]) {
        self.fields.retain(|(field, _)| field != name);
        self.fields.extend(values.iter().map(|value| (name.to_owned(), (*value).to_owned())));
    }

    /// Returns the body of the request.
    pub(crate) fn body(&self) -> String {
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.fields).finish()
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| unescape(value))
}

/// Returns `true` if a tag has an attribute without a value.
fn has_flag(tag: &str, name: &str) -> bool {
    tag.split('"').step_by(2).any(|outside| outside.split_whitespace().any(|word| word == name))
}

fn unescape(text: &str) -> String {
    let escapes = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    escapes.into_iter().fold(text.to_owned(), |text, (escape, character)| text.replace(escape, character))
}
