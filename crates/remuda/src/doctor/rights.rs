//! The manager may make every request that it makes.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::{Api, api::PostParams};
use remuda_controllers::permissions::{Duties, Reach, Rule};

use super::{finding::Finding, patient::Patient};

/// Reviews at once.
const AT_ONCE: usize = 16;

/// One question: a rule's verb, about a name where the rule is about names.
#[derive(Debug, Clone, Copy)]
struct Question {
    rule: &'static Rule,
    verb: &'static str,
    name: Option<&'static str>,
}

/// Asks the API server for each right of the manager's roles.
pub(super) async fn run(patient: &Patient) -> Vec<Finding> {
    let duties = Duties {
        core: patient.core,
        ..Duties::ALL
    };
    let questions: Vec<Question> = duties.rules().flat_map(questions).collect();
    let asked = questions.len();
    let answers: Vec<(Question, Result<bool, String>)> = stream::iter(questions)
        .map(|question| async move { (question, ask(&question, patient).await) })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut findings = Vec::new();
    if let Some(Err(error)) = answers
        .iter()
        .map(|(_, answer)| answer)
        .find(|it| it.is_err())
    {
        let found = format!("could not be asked: {error}");
        let remedy = "an API server answers these reviews to everybody: see why this one does not";
        findings.push(Finding::warn(&patient.who, found, remedy));
    }
    let denied = answers.iter().filter(|(_, answer)| *answer == Ok(false));
    let denied: Vec<Question> = denied.map(|(question, _)| *question).collect();
    findings.extend(lines(&denied, &patient.who));
    if findings.is_empty() {
        let found = format!("may do all {asked} things that the manager's roles list");
        findings.push(Finding::ok(&patient.who, found));
    }
    findings
}

fn questions(rule: &'static Rule) -> Vec<Question> {
    let verbs = rule.verbs.iter();
    let ask = |verb: &&'static str, name| Question { rule, verb, name };
    // Nobody knows the name of what is made; a role cannot limit it.
    verbs
        .flat_map(|verb| match rule.names {
            [] => vec![ask(verb, None)],
            names => names.iter().map(|name| ask(verb, Some(*name))).collect(),
        })
        .collect()
}

async fn ask(question: &Question, patient: &Patient) -> Result<bool, String> {
    let Question { rule, verb, name } = *question;
    let (resource, subresource) = match rule.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (rule.resource, None),
    };
    let namespace = match rule.reach {
        Reach::Cluster => None,
        Reach::Watched => Some(patient.namespace.clone()).filter(|it| !it.is_empty()),
        Reach::Own => Some(patient.system_namespace.clone()),
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some(rule.group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource,
                verb: Some(verb.to_owned()),
                namespace,
                name: name.map(str::to_owned),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let api: Api<SelfSubjectAccessReview> = Api::all(patient.client.clone());
    let answer = api.create(&PostParams::default(), &review).await;
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// One line a resource, with the reason why the right is needed.
fn lines(denied: &[Question], who: &str) -> Vec<Finding> {
    let mut verbs: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for Question { rule, verb, .. } in denied {
        let verbs = verbs
            .entry((rule.resource, rule.group, rule.because))
            .or_default();
        if !verbs.contains(verb) {
            verbs.push(verb);
        }
    }
    let line = |((resource, group, because), verbs): ((&str, &str, &str), Vec<&str>)| {
        let resource = if group.is_empty() {
            resource.to_owned()
        } else {
            format!("{resource} of {group}")
        };
        Finding::fail(
            who,
            format!("may not {} {resource}: {because}", verbs.join(", ")),
            "bind the roles that `remuda install` prints to the manager's ServiceAccount",
        )
    };
    verbs.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_denied_is_told_by_resource() {
        let rule = Duties::ALL.rules().next().expect("there are rules");
        let ask = |verb| Question {
            rule,
            verb,
            name: None,
        };
        let told = lines(&[ask("get"), ask("list"), ask("get")], "somebody");
        assert_eq!(told.len(), 1);
        let found = &told[0].found;
        assert!(found.starts_with("may not get, list "), "{found}");
        assert!(found.ends_with(rule.because), "{found}");
        assert_eq!(lines(&[], "somebody"), []);
    }
}
