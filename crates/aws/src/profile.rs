//! The shared config and credentials files of an identity Secret, read from memory: which keys or
//! which chain of roles a profile means.
//!
//! Only what can be used without this process's own surroundings is accepted. A profile that
//! wants a command, a token file, an environment or an instance role is refused by name.

use std::collections::BTreeMap;

use remuda_plan::pool::secret::Secret;

/// Sections by name, each with its settings.
type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// What a profile comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The keys to begin with.
    pub(crate) keys: Keys,
    /// Roles to assume, in this order; empty for plain keys.
    pub(crate) roles: Vec<Role>,
}

/// Long-lived or session keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    /// `AKIA…`; not a secret by itself, yet never printed.
    pub(crate) access_key_id: Secret<String>,
    /// The secret key.
    pub(crate) secret_access_key: Secret<String>,
    /// Session token.
    pub(crate) session_token: Option<Secret<String>>,
}

/// A role to assume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Role {
    /// `arn:aws:iam::…:role/…`.
    pub(crate) arn: String,
    /// Session name, as CloudTrail shows it.
    pub(crate) session_name: String,
    /// External id, when the role's trust asks for one.
    pub(crate) external_id: Option<Secret<String>>,
    /// Seconds, when the profile says.
    pub(crate) duration_seconds: Option<i32>,
    /// Region of the STS endpoint, when the profile says.
    pub(crate) region: Option<String>,
}

/// Roles that may follow one another. AWS limits a chained session to an hour anyway; the bound
/// here keeps a loop of profiles from being followed. Ours.
const LONGEST_CHAIN: usize = 5;

/// Session name where the profile gives none.
const SESSION_NAME: &str = "remuda";

/// Settings that reach outside the Secret.
const OUTSIDE: &[&str] = &[
    "credential_process",
    "credential_source",
    "web_identity_token_file",
    "sso_session",
    "sso_start_url",
    "sso_account_id",
    "mfa_serial",
];

/// Follows `profile` through the two files.
///
/// # Errors
/// What is missing or refused, naming profile and setting, never a value.
pub(crate) fn chain(
    profile: &str,
    config: Option<&str>,
    credentials: Option<&str>,
) -> Result<Chain, String> {
    let sections = merge(config, credentials)?;
    let mut roles = Vec::new();
    let mut name = profile.to_owned();
    loop {
        let section = sections.get(&name).ok_or_else(|| {
            format!(
                "profile {name} is in neither the config nor the credentials file of the Secret"
            )
        })?;
        if let Some(setting) = OUTSIDE.iter().find(|key| section.contains_key(**key)) {
            return Err(format!(
                "profile {name} sets {setting}, which reaches outside the Secret; give keys or role_arn with source_profile"
            ));
        }
        let Some(arn) = section.get("role_arn") else {
            let keys = keys(&name, section)?;
            // The innermost role is assumed first.
            roles.reverse();
            return Ok(Chain { keys, roles });
        };
        roles.push(role(&name, arn, section)?);
        if roles.len() > LONGEST_CHAIN {
            return Err(format!(
                "profile {profile} leads through more than {LONGEST_CHAIN} roles"
            ));
        }
        let source = section
            .get("source_profile")
            .ok_or_else(|| format!("profile {name} sets role_arn without source_profile"))?;
        if *source == name {
            // A profile may be its own source when it holds keys as well.
            let keys = keys(&name, section)?;
            roles.reverse();
            return Ok(Chain { keys, roles });
        }
        name.clone_from(source);
    }
}

fn role(name: &str, arn: &str, section: &BTreeMap<String, String>) -> Result<Role, String> {
    let duration_seconds = section
        .get("duration_seconds")
        .map(|text| {
            text.parse()
                .map_err(|_| format!("profile {name}: duration_seconds is not a whole number"))
        })
        .transpose()?;
    Ok(Role {
        arn: arn.to_owned(),
        session_name: section
            .get("role_session_name")
            .map_or(SESSION_NAME, String::as_str)
            .to_owned(),
        external_id: section.get("external_id").cloned().map(Secret::new),
        duration_seconds,
        region: section.get("region").cloned(),
    })
}

fn keys(name: &str, section: &BTreeMap<String, String>) -> Result<Keys, String> {
    let need = |key: &str| {
        section
            .get(key)
            .filter(|value| !value.is_empty())
            .cloned()
            .map(Secret::new)
            .ok_or_else(|| format!("profile {name} has neither role_arn nor {key}"))
    };
    Ok(Keys {
        access_key_id: need("aws_access_key_id")?,
        secret_access_key: need("aws_secret_access_key")?,
        session_token: section.get("aws_session_token").cloned().map(Secret::new),
    })
}

/// Sections of both files by profile name; for a setting in both, the credentials file wins.
fn merge(config: Option<&str>, credentials: Option<&str>) -> Result<Sections, String> {
    let mut merged = Sections::new();
    for (name, settings) in parse("config", config.unwrap_or_default())? {
        // The config file calls them `profile x`, all but the default.
        let name = name
            .strip_prefix("profile ")
            .map_or(name.as_str(), str::trim)
            .to_owned();
        merged.entry(name).or_default().extend(settings);
    }
    for (name, settings) in parse("credentials", credentials.unwrap_or_default())? {
        merged.entry(name).or_default().extend(settings);
    }
    Ok(merged)
}

/// Sections of one file. Indented lines are settings of a setting, which none of ours has.
fn parse(file: &str, text: &str) -> Result<Sections, String> {
    let mut sections = Sections::new();
    let mut current: Option<String> = None;
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = bare.strip_prefix('[') {
            let (name, _) = rest
                .split_once(']')
                .ok_or_else(|| format!("{file} line {}: a section without ]", index + 1))?;
            let name = name.trim().to_owned();
            sections.entry(name.clone()).or_default();
            current = Some(name);
            continue;
        }
        if line.starts_with([' ', '\t']) {
            continue;
        }
        let (key, value) = bare
            .split_once('=')
            .ok_or_else(|| format!("{file} line {}: neither a section nor a setting", index + 1))?;
        let section = current
            .as_ref()
            .ok_or_else(|| format!("{file} line {}: a setting before any section", index + 1))?;
        // Comments after a value begin with white space and # or ;.
        let value = value
            .split(" #")
            .next()
            .and_then(|value| value.split(" ;").next())
            .unwrap_or_default()
            .trim();
        sections
            .entry(section.clone())
            .or_default()
            .insert(key.trim().to_lowercase(), value.to_owned());
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "\
[default]
region = eu-west-1
# who we are
[profile pools]
role_arn = arn:aws:iam::111122223333:role/pools
source_profile = base
role_session_name = captf
external_id = e-1 # given by the account's owner
region = eu-west-1

[profile outer]
role_arn=arn:aws:iam::444455556666:role/outer
source_profile=pools
";
    const CREDENTIALS: &str = "\
[base]
aws_access_key_id = AKIAEXAMPLE
aws_secret_access_key = wJalr/secret=
[own]
aws_access_key_id = AKIAOWN
aws_secret_access_key = s
aws_session_token = t
";

    #[test]
    fn a_role_is_assumed_with_the_keys_of_its_source_profile() {
        let chain = chain("pools", Some(CONFIG), Some(CREDENTIALS)).expect("a chain");
        assert_eq!(chain.keys.access_key_id.reveal(), "AKIAEXAMPLE");
        assert_eq!(chain.keys.secret_access_key.reveal(), "wJalr/secret=");
        let [role] = chain.roles.as_slice() else {
            unreachable!("one role");
        };
        assert_eq!(role.arn, "arn:aws:iam::111122223333:role/pools");
        assert_eq!(role.session_name, "captf");
        assert_eq!(
            role.external_id.as_ref().map(|id| id.reveal().as_str()),
            Some("e-1")
        );
        assert_eq!(role.region.as_deref(), Some("eu-west-1"));
    }

    #[test]
    fn chained_roles_are_assumed_from_the_inside_out() {
        let chain = chain("outer", Some(CONFIG), Some(CREDENTIALS)).expect("a chain");
        let arns: Vec<&str> = chain.roles.iter().map(|role| role.arn.as_str()).collect();
        assert_eq!(
            arns,
            [
                "arn:aws:iam::111122223333:role/pools",
                "arn:aws:iam::444455556666:role/outer"
            ]
        );
        assert_eq!(chain.roles[1].session_name, SESSION_NAME);
    }

    #[test]
    fn plain_keys_need_no_config_file() {
        let chain = chain("own", None, Some(CREDENTIALS)).expect("a chain");
        assert!(chain.roles.is_empty());
        assert_eq!(
            chain
                .keys
                .session_token
                .as_ref()
                .map(|t| t.reveal().as_str()),
            Some("t")
        );
    }

    #[test]
    fn what_reaches_outside_the_secret_is_refused_by_name() {
        for setting in OUTSIDE {
            let config = format!("[profile p]\n{setting} = x\nrole_arn = a\n");
            let why = chain("p", Some(&config), None).expect_err("refused");
            assert!(why.contains(setting) && why.contains("profile p"), "{why}");
        }
    }

    #[test]
    fn missing_pieces_are_named_and_values_are_not() {
        let why = chain("nobody", Some(CONFIG), None).expect_err("no such profile");
        assert!(why.contains("nobody"), "{why}");
        let why = chain("pools", Some(CONFIG), None).expect_err("no source");
        assert!(why.contains("base"), "{why}");
        let why = chain("p", None, Some("[p]\naws_access_key_id = AKIAVISIBLE\n"))
            .expect_err("half a key");
        assert!(
            why.contains("aws_secret_access_key") && !why.contains("AKIAVISIBLE"),
            "{why}"
        );
    }

    #[test]
    fn a_loop_of_profiles_ends() {
        let config = "[profile a]\nrole_arn = r\nsource_profile = b\n[profile b]\nrole_arn = r\nsource_profile = a\n";
        assert!(
            chain("a", Some(config), None)
                .expect_err("a loop")
                .contains("roles")
        );
    }
}
