//! What a scrape of `/metrics` shows, read as Prometheus reads it.

use std::collections::BTreeMap;

use remuda_controllers::metrics::Exposition;

use crate::world::World;

/// Samples of one scrape.
#[derive(Debug, Clone)]
pub struct Scrape(Vec<Sample>);

/// One line.
#[derive(Debug, Clone, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Scrape {
    /// Reads the text format. Panics on a line that is no sample.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.map(sample).collect())
    }

    /// Sum of the samples of a name with these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let samples = self.0.iter().filter(|sample| sample.is(name, labels));
        samples.map(|sample| sample.value).sum()
    }

    /// Sums by the value of one label.
    pub fn by(&self, name: &str, labels: &[(&str, &str)], label: &str) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for sample in self.0.iter().filter(|sample| sample.is(name, labels)) {
            let value = sample.labels.get(label).cloned().unwrap_or_default();
            *sums.entry(value).or_default() += sample.value;
        }
        sums
    }

    /// How many samples have a label of this value.
    pub fn mentions(&self, label: &str, value: &str) -> usize {
        let samples = self.0.iter();
        samples
            .filter(|sample| sample.labels.get(label).is_some_and(|it| it == value))
            .count()
    }

    /// Every label's values.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let labels = self.0.iter().flat_map(|sample| sample.labels.values());
        labels.map(String::as_str)
    }
}

impl Sample {
    fn is(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        let has =
            |(label, value): &(&str, &str)| self.labels.get(*label).is_some_and(|it| it == value);
        self.name == name && labels.iter().all(has)
    }
}

/// `name{label="value",...} number`; our values hold no quotes and no commas.
fn sample(line: &str) -> Sample {
    let (named, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let (name, labels) = named.split_once('{').unwrap_or((named, "}"));
    let labels = labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
    let labels = labels.split(',').filter(|label| !label.is_empty());
    let labels = labels.map(|label| {
        let (label, value) = label.split_once('=').unwrap_or_else(|| panic!("{line}"));
        (label.to_owned(), value.trim_matches('"').to_owned())
    });
    Sample {
        name: name.to_owned(),
        labels: labels.collect(),
        value: value.parse().unwrap_or_else(|_| panic!("{line}")),
    }
}

impl World {
    /// What a scrape shows now.
    pub fn scrape(&self) -> Scrape {
        Scrape::parse(&self.metrics.scrape(Exposition::Text))
    }
}
