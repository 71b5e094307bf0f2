//! Describes languages in a few lines each, and tokenizes all of them with one tokenizer. It finds comments, strings,
//! numbers, and words.

use crate::token::{Kind, Token};

/// The syntax of a language, in as much detail as highlighting needs.
struct Lexicon {
    names: &'static [&'static str],
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    /// Delimiters of strings. A longer one comes before its own prefix.
    quotes: &'static [Quote],
    keywords: &'static str,
    types: &'static str,
    constants: &'static str,
    /// `true` if keywords are case-insensitive, such as `SELECT` and `select`.
    any_case: bool,
    /// `true` if a word that starts with a capital letter is a type.
    capitals_are_types: bool,
    /// Prefixes of variables, such as `$` in `$name`.
    sigils: &'static [char],
}

/// A delimiter of strings.
struct Quote {
    mark: &'static str,
    /// `true` if the string may contain line breaks.
    lines: bool,
    /// `true` if a backslash escapes the next character.
    escapes: bool,
}

const fn quote(mark: &'static str) -> Quote {
    Quote { mark, lines: false, escapes: true }
}

const fn block(mark: &'static str) -> Quote {
    Quote { mark, lines: true, escapes: true }
}

const fn raw(mark: &'static str) -> Quote {
    Quote { mark, lines: true, escapes: false }
}

/// The common syntax of most languages with braces.
const BRACES: Lexicon = Lexicon {
    names: &[],
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    quotes: &[quote("\""), quote("'")],
    keywords: "",
    types: "",
    constants: "true false null",
    any_case: false,
    capitals_are_types: true,
    sigils: &[],
};

static LEXICONS: &[Lexicon] = &[
    Lexicon {
        names: &["c", "h"],
        keywords: "auto break case const continue default do else enum extern for goto if inline register restrict return \
                   sizeof static struct switch typedef union volatile while #include #define #if #ifdef #ifndef #else \
                   #elif #endif #pragma #undef #error",
        types: "bool char double float int long short signed size_t ssize_t unsigned void int8_t int16_t int32_t int64_t \
                uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t FILE",
        constants: "true false NULL nullptr",
        capitals_are_types: false,
        sigils: &['#'],
        ..BRACES
    },
    Lexicon {
        names: &["cpp", "c++", "cc", "cxx", "hpp", "hxx", "arduino", "cuda", "objective-c", "objc"],
        keywords: "alignas alignof auto break case catch class co_await co_return co_yield concept const consteval constexpr \
                   constinit const_cast continue decltype default delete do dynamic_cast else enum explicit export extern \
                   final for friend goto if inline mutable namespace new noexcept operator override private protected \
                   public register reinterpret_cast requires return sizeof static static_assert static_cast struct switch \
                   template this throw try typedef typeid typename union using virtual volatile while #include #define \
                   #if #ifdef #ifndef #else #elif #endif #pragma #undef #error",
        types: "bool char char8_t char16_t char32_t double float int long short signed size_t unsigned void wchar_t \
                int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t string vector map set",
        constants: "true false NULL nullptr",
        sigils: &['#'],
        ..BRACES
    },
    Lexicon {
        names: &["csharp", "c#", "cs"],
        quotes: &[raw("\"\"\""), quote("\""), quote("'")],
        keywords: "abstract as async await base break case catch checked class const continue default delegate do else enum \
                   event explicit extern finally fixed for foreach get goto if implicit in init interface internal is lock \
                   namespace new operator out override params partial private protected public readonly record ref \
                   required return sealed set sizeof stackalloc static struct switch this throw try typeof unchecked \
                   unsafe using var virtual void volatile when where while with yield",
        types: "bool byte char decimal double dynamic float int long nint nuint object sbyte short string uint ulong ushort",
        ..BRACES
    },
    Lexicon {
        names: &["java"],
        quotes: &[block("\"\"\""), quote("\""), quote("'")],
        keywords: "abstract assert break case catch class const continue default do else enum extends final finally for goto \
                   if implements import instanceof interface native new package permits private protected public record \
                   return sealed static strictfp super switch synchronized this throw throws transient try var void \
                   volatile while yield",
        types: "boolean byte char double float int long short",
        ..BRACES
    },
    Lexicon {
        names: &["kotlin", "kt", "kts"],
        quotes: &[raw("\"\"\""), quote("\""), quote("'")],
        keywords: "abstract actual annotation as break by class companion const constructor continue crossinline data do \
                   else enum expect external final finally for fun get if import in infix init inline inner interface \
                   internal is lateinit noinline object open operator out override package private protected public \
                   reified return sealed set super suspend tailrec this throw try catch typealias val value var vararg \
                   when where while",
        ..BRACES
    },
    Lexicon {
        names: &["scala"],
        quotes: &[raw("\"\"\""), quote("\""), quote("'")],
        keywords: "abstract case catch class def do else enum export extends extension final finally for given if implicit \
                   import lazy match new object override package private protected return sealed super then this throw \
                   trait try type using val var while with yield",
        ..BRACES
    },
    Lexicon {
        names: &["dart"],
        quotes: &[block("\"\"\""), block("'''"), quote("\""), quote("'")],
        keywords: "abstract as assert async await base break case catch class const continue default deferred do else enum \
                   export extends extension external factory final finally for get if implements import in interface is \
                   late library mixin new on operator part required rethrow return sealed set show static super switch \
                   sync this throw try typedef var void when while with yield",
        types: "bool double dynamic int num",
        ..BRACES
    },
    Lexicon {
        names: &["go", "golang"],
        quotes: &[raw("`"), quote("\""), quote("'")],
        keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map \
                   package range return select struct switch type var",
        types: "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string \
                uint uint8 uint16 uint32 uint64 uintptr",
        constants: "true false nil iota",
        capitals_are_types: false,
        ..BRACES
    },
    Lexicon {
        names: &["swift"],
        quotes: &[block("\"\"\""), quote("\"")],
        keywords: "actor any as async await break case catch class continue default defer deinit do else enum extension \
                   fallthrough fileprivate final for func guard if import in indirect infix init inout internal is isolated \
                   lazy let mutating nonisolated open operator override precedencegroup private protocol public repeat \
                   required rethrows return self Self some static struct subscript super switch throw throws try \
                   typealias unowned var weak where while",
        constants: "true false nil",
        ..BRACES
    },
    Lexicon {
        names: &["php"],
        line_comments: &["//", "#"],
        keywords: "abstract and array as break callable case catch class clone const continue declare default do echo else \
                   elseif enum extends final finally fn for foreach function global goto if implements include include_once \
                   instanceof insteadof interface isset list match namespace new or print private protected public \
                   readonly require require_once return static switch throw trait try unset use var while xor yield",
        types: "bool float int iterable mixed never object string void",
        any_case: true,
        sigils: &['$'],
        ..BRACES
    },
    Lexicon {
        names: &["ruby", "rb", "crystal"],
        line_comments: &["#"],
        block_comment: Some(("=begin", "=end")),
        quotes: &[block("\""), block("'"), block("`")],
        keywords: "alias and attr_accessor attr_reader attr_writer begin break case class def do else elsif end ensure \
                   extend for if in include loop module next not or private protected public raise redo require \
                   require_relative rescue retry return self super then undef unless until when while yield",
        constants: "true false nil",
        sigils: &['@', '$'],
        ..BRACES
    },
    Lexicon {
        names: &["lua"],
        line_comments: &["--"],
        block_comment: Some(("--[[", "]]")),
        keywords: "and break do else elseif end for function goto if in local not or repeat return then until while",
        constants: "true false nil",
        capitals_are_types: false,
        ..BRACES
    },
    Lexicon {
        names: &["powershell", "ps1", "pwsh"],
        line_comments: &["#"],
        block_comment: Some(("<#", "#>")),
        quotes: &[block("\""), raw("'")],
        keywords: "begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for foreach \
                   from function if in param process return switch throw trap try until using while",
        any_case: true,
        capitals_are_types: false,
        sigils: &['$'],
        ..BRACES
    },
    Lexicon {
        names: &["sql", "mysql", "postgresql", "postgres", "psql", "sqlite", "plsql", "tsql", "mariadb"],
        line_comments: &["--"],
        quotes: &[raw("'"), raw("\""), raw("`")],
        keywords: "add all alter analyze and any as asc begin between by cascade case check collate column commit conflict \
                   constraint create cross database default delete desc distinct do drop each else end escape except exists \
                   explain fetch filter first following for foreign from full function grant group having if ignore ilike in \
                   index inner insert intersect into is join key lateral left like limit merge natural not nothing nulls of \
                   offset on or order outer over partition preceding primary procedure recursive references rename replace \
                   restrict returning returns revoke right rollback row rows savepoint select set table temporary then to \
                   transaction trigger truncate union unique update using values view when where window with",
        types: "bigint binary blob bool boolean bytea char date datetime decimal double float int integer interval json \
                jsonb numeric real serial smallint text time timestamp timestamptz tinyint uuid varbinary varchar",
        constants: "true false null current_date current_time current_timestamp",
        any_case: true,
        capitals_are_types: false,
        ..BRACES
    },
];

/// Returns the tokens of `code` in the language with this lower-case name; none if the language is unknown.
pub(crate) fn tokens(code: &str, name: &str) -> Vec<Token> {
    if matches!(name, "diff" | "patch" | "udiff") {
        return patch(code);
    }
    let lexicon = LEXICONS.iter().find(|lexicon| lexicon.names.contains(&name));
    lexicon.map(|lexicon| Words { lexicon, code, at: 0 }.collect()).unwrap_or_default()
}

/// Returns the tokens of a patch: whole lines, whose kind follows from how they start.
fn patch(code: &str) -> Vec<Token> {
    let mut start = 0;
    let lines = code.split_inclusive('\n').filter_map(|line| {
        let range = start..start + line.trim_end_matches(['\n', '\r']).len();
        start += line.len();
        let kind = if ["+++", "---", "diff ", "index "].iter().any(|head| line.starts_with(head)) {
            Kind::Comment
        } else if line.starts_with("@@") {
            Kind::Keyword
        } else if line.starts_with('+') {
            Kind::Added
        } else if line.starts_with('-') {
            Kind::Removed
        } else {
            return None;
        };
        Some(Token { kind, range })
    });
    lines.collect()
}

/// Iterates over the tokens of code.
struct Words<'a> {
    lexicon: &'static Lexicon,
    code: &'a str,
    at: usize,
}

impl Iterator for Words<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        while let Some(first) = self.rest().chars().next() {
            let start = self.at;
            let kind = self.read(first);
            if let Some(kind) = kind {
                return Some(Token { kind, range: start..self.at });
            }
        }
        None
    }
}

impl<'a> Words<'a> {
    fn rest(&self) -> &'a str {
        &self.code[self.at..]
    }

    /// Advances past the token or the character at the current position. Returns the kind of the token; `None` if it is
    /// plain.
    fn read(&mut self, first: char) -> Option<Kind> {
        let rest = self.rest();
        if let Some((open, close)) = self.lexicon.block_comment
            && let Some(inside) = rest.strip_prefix(open)
        {
            self.at += inside.find(close).map_or(rest.len(), |end| open.len() + end + close.len());
            return Some(Kind::Comment);
        }
        // Checked before words: languages with `#` comments have no words that start with `#`, unlike C with its
        // directives.
        if self.lexicon.line_comments.iter().any(|mark| rest.starts_with(mark)) {
            self.at += rest.find('\n').unwrap_or(rest.len());
            return Some(Kind::Comment);
        }
        if let Some(quote) = self.lexicon.quotes.iter().find(|quote| rest.starts_with(quote.mark)) {
            self.at += quote.mark.len() + end_of_string(&rest[quote.mark.len()..], quote);
            return Some(Kind::String);
        }
        if first.is_ascii_digit() {
            self.at += end_of_number(rest);
            return Some(Kind::Literal);
        }
        let has_sigil = self.lexicon.sigils.contains(&first);
        if has_sigil || first.is_alphabetic() || first == '_' {
            let inside = &rest[first.len_utf8()..];
            let end = inside.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(inside.len());
            self.at += first.len_utf8() + end;
            return self.word(&rest[..first.len_utf8() + end], has_sigil);
        }
        self.at += first.len_utf8();
        None
    }

    fn word(&self, word: &str, has_sigil: bool) -> Option<Kind> {
        let is_in = |list: &str| {
            list.split(' ')
                .any(|entry| if self.lexicon.any_case { entry.eq_ignore_ascii_case(word) } else { entry == word })
        };
        if is_in(self.lexicon.keywords) {
            Some(Kind::Keyword)
        } else if is_in(self.lexicon.types) {
            Some(Kind::Type)
        } else if is_in(self.lexicon.constants) {
            Some(Kind::Literal)
        } else if has_sigil {
            (word.len() > 1).then_some(Kind::Name)
        } else if self.rest().starts_with('(') {
            Some(Kind::Function)
        } else {
            let is_type = self.lexicon.capitals_are_types && word.starts_with(char::is_uppercase);
            is_type.then_some(Kind::Type)
        }
    }
}

/// Returns the end of a string, after its closing delimiter. `text` starts after the opening one.
fn end_of_string(text: &str, quote: &Quote) -> usize {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if text[at..].starts_with(quote.mark) {
            return at + quote.mark.len();
        }
        if letter == '\n' && !quote.lines {
            return at;
        }
        if letter == '\\' && quote.escapes {
            letters.next();
        }
    }
    text.len()
}

/// Returns the end of a number, including its decimal point, exponent and suffix: `0xff_u8`, `1.5e-3f`.
fn end_of_number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let ends = |at: usize| match bytes[at] {
        b'.' => !bytes.get(at + 1).is_some_and(u8::is_ascii_digit),
        b'+' | b'-' => !matches!(bytes[at - 1], b'e' | b'E') || text.starts_with("0x"),
        byte => !(byte.is_ascii_alphanumeric() || byte == b'_'),
    };
    (1..bytes.len()).find(|at| ends(*at)).unwrap_or(bytes.len())
}
