//! Pages as HTML. The template engine escapes whatever it shows; the only text that goes in as it
//! is are fragments that the engine itself rendered.

use minijinja::{
    AutoEscape, Environment, UndefinedBehavior, Value, context, syntax::SyntaxConfig, value::Serde,
};
use serde::Serialize;

use crate::session::Said;

/// Templates by name. A fragment's name is its id on the page.
const TEMPLATES: [(&str, &str); 21] = [
    ("layout", include_str!("templates/layout.html")),
    ("macros", include_str!("templates/macros.html")),
    ("sign-in", include_str!("templates/sign-in.html")),
    ("signed-in", include_str!("templates/signed-in.html")),
    ("refusal", include_str!("templates/refusal.html")),
    ("confirm", include_str!("templates/confirm.html")),
    (
        "overview-head",
        include_str!("templates/overview-head.html"),
    ),
    (
        "overview-filter",
        include_str!("templates/overview-filter.html"),
    ),
    (
        "overview-pools",
        include_str!("templates/overview-pools.html"),
    ),
    ("pool-head", include_str!("templates/pool-head.html")),
    ("pool-actions", include_str!("templates/pool-actions.html")),
    ("pool-changes", include_str!("templates/pool-changes.html")),
    (
        "pool-machines",
        include_str!("templates/pool-machines.html"),
    ),
    ("pool-history", include_str!("templates/pool-history.html")),
    ("pool-run", include_str!("templates/pool-run.html")),
    ("conditions", include_str!("templates/conditions.html")),
    ("events", include_str!("templates/events.html")),
    ("machine-head", include_str!("templates/machine-head.html")),
    (
        "machine-phases",
        include_str!("templates/machine-phases.html"),
    ),
    (
        "machine-facts",
        include_str!("templates/machine-facts.html"),
    ),
    ("calls", include_str!("templates/calls.html")),
];

/// What stands around every page.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Frame {
    pub(crate) title: String,
    /// Which entry of the navigation is current.
    pub(crate) nav: &'static str,
    /// Nobody, before somebody signs in.
    pub(crate) user: Option<String>,
    pub(crate) csrf: String,
    pub(crate) said: Option<Said>,
    /// Where updates of the page come from.
    pub(crate) live: Option<String>,
}

/// A part of a page that can be replaced by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) id: &'static str,
    /// How much of the page's width it takes.
    pub(crate) width: &'static str,
    pub(crate) html: String,
}

/// A page without its frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) nav: &'static str,
    pub(crate) fragments: Vec<Fragment>,
}

/// The engine with its templates.
pub(crate) struct Pages(Environment<'static>);

impl Pages {
    /// # Errors
    /// A template is not well formed.
    pub(crate) fn new() -> Result<Self, minijinja::Error> {
        let mut engine = Environment::new();
        engine.set_auto_escape_callback(|_| AutoEscape::Html);
        engine.set_undefined_behavior(UndefinedBehavior::Strict);
        let tight = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?;
        engine.set_syntax(tight);
        for (name, text) in TEMPLATES {
            engine.add_template(name, text)?;
        }
        Ok(Self(engine))
    }

    /// One fragment.
    pub(crate) fn fragment<T: Serialize>(
        &self,
        id: &'static str,
        width: &'static str,
        shown: &T,
        csrf: &str,
    ) -> Result<Fragment, minijinja::Error> {
        let template = self.0.get_template(id)?;
        let html = template.render(context! { page => Value::from(Serde(shown)), csrf })?;
        Ok(Fragment {
            id,
            width,
            html: html.trim().to_owned(),
        })
    }

    /// A whole document.
    pub(crate) fn document(
        &self,
        frame: &Frame,
        fragments: &[Fragment],
    ) -> Result<String, minijinja::Error> {
        let fragments: Vec<Value> = fragments
            .iter()
            .map(|fragment| {
                context! {
                    id => fragment.id,
                    width => fragment.width,
                    html => Value::from_safe_string(fragment.html.clone()),
                }
            })
            .collect();
        let template = self.0.get_template("layout")?;
        template.render(context! { frame => Value::from(Serde(frame)), fragments })
    }
}
