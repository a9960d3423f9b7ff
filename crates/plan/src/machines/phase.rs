//! The phase of a Machine (Cluster API document, 5.6): later rules win.

/// What the phase looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PhaseFacts {
    /// `status.initialization.bootstrapDataSecretCreated`.
    pub bootstrap_created: bool,
    /// `status.initialization.infrastructureProvisioned`.
    pub provisioned: bool,
    /// `spec.providerID` is set.
    pub has_provider_id: bool,
    /// `status.nodeRef` is set.
    pub has_node: bool,
    /// Condition `Updating` holds.
    pub updating: bool,
    /// It is being deleted.
    pub deleting: bool,
}

/// The word for `status.phase`.
pub fn phase(facts: PhaseFacts) -> &'static str {
    if facts.deleting {
        return "Deleting";
    }
    if facts.updating {
        return "Updating";
    }
    if facts.has_node && facts.provisioned {
        return "Running";
    }
    if facts.has_provider_id {
        return "Provisioned";
    }
    if facts.bootstrap_created && !facts.provisioned {
        return "Provisioning";
    }
    "Pending"
}
