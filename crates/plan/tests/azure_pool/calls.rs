//! What each ARM call does to the model.

use remuda_plan::{
    azure::{
        action::{Action as Call, SetPatch},
        desired::{SetSpec, SettingSpec},
        names,
        observed::{ProvisioningState, Setting},
    },
    pool::record::OperationKind,
};

use super::{Cloud, Held, Running, place};

impl Cloud {
    /// Makes a call; the address of the operation that it started.
    pub(super) fn apply(&mut self, call: &Call) -> Result<Option<String>, &'static str> {
        let (kind, set, capacity) = match call {
            Call::PutSetting(setting) => {
                self.put_setting(setting);
                return Ok(None);
            }
            Call::DeleteSetting { name } => {
                self.settings.remove(name);
                return Ok(None);
            }
            Call::DeleteInstances { set, instance_ids } => {
                if let Some(code) = self.refusing.take() {
                    return Err(code);
                }
                self.held(set)?.end(instance_ids)?;
                return Ok(None);
            }
            Call::ResizeSet { set, from, to, .. } => return self.resize(set, *from, *to),
            Call::CreateSet { set, capacity } => {
                (OperationKind::Create, &set.name, Some(*capacity))
            }
            Call::UpdateSet(patch) => {
                let capacity = patch.sku.as_ref().map(|sku| sku.capacity);
                (OperationKind::Update, &patch.set, capacity)
            }
            Call::EmptySet { set, .. } => (OperationKind::Empty, set, Some(0)),
            Call::DeleteSet { set } => (OperationKind::Delete, set, None),
        };
        if let Some(code) = self.refusing.take() {
            return Err(code);
        }
        let mut running = self.running.iter().chain(&self.beside);
        if running.any(|running| running.set == *set) {
            return Err("AnotherOperationInProgress");
        }
        match call {
            Call::CreateSet { set, capacity } => self.create(set, *capacity)?,
            Call::UpdateSet(patch) => self.update(patch)?,
            Call::EmptySet { .. } => self.held(set)?.set.capacity = 0,
            Call::DeleteSet { .. } if !self.sets.contains_key(set) => return Ok(None),
            Call::DeleteSet { .. }
            | Call::PutSetting(_)
            | Call::DeleteSetting { .. }
            | Call::DeleteInstances { .. }
            | Call::ResizeSet { .. } => {}
        }
        self.held(set)?.set.state = match kind {
            OperationKind::Delete => ProvisioningState::Deleting,
            _ => ProvisioningState::Running,
        };
        self.started += 1;
        let running = Running {
            address: format!("https://management.azure.com/operations/{}", self.started),
            kind,
            set: set.clone(),
            capacity,
        };
        let address = running.address.clone();
        let before = self.running.replace(running.clone());
        self.beside.extend(before);
        if self.is_instant {
            self.running = None;
            self.finish(&running);
            return Ok(None);
        }
        Ok(Some(address))
    }

    /// Nobody follows how it goes: it is done, or the set ends as failed.
    fn resize(&mut self, set: &str, from: i64, to: i64) -> Result<Option<String>, &'static str> {
        if let Some(code) = self.refusing.take() {
            return Err(code);
        }
        let has_room = !self.has_no_room;
        let held = self.held(set)?;
        if held.set.capacity != from {
            return Ok(None);
        }
        if has_room {
            held.fill(to);
            held.set.state = ProvisioningState::Succeeded;
        } else {
            held.set.capacity = to;
            held.set.state = ProvisioningState::Failed;
        }
        Ok(None)
    }

    fn create(&mut self, spec: &SetSpec, capacity: i64) -> Result<(), &'static str> {
        if self.sets.contains_key(&spec.name) {
            return Err("PreconditionFailed");
        }
        self.sets
            .insert(spec.name.clone(), Held::new(spec, capacity));
        Ok(())
    }

    fn update(&mut self, patch: &SetPatch) -> Result<(), &'static str> {
        let held = self.held(&patch.set)?;
        let model = &mut held.set.model;
        model.image = patch.image.clone();
        if let Some(disk) = &patch.os_disk {
            model.os_disk = disk.clone();
        }
        if let Some(network) = &patch.network {
            model.network = network.clone();
        }
        if let Some(sku) = &patch.sku {
            model.vm_size = sku.vm_size.clone();
            held.set.capacity = sku.capacity;
        }
        if let Some(ssh) = &patch.ssh {
            model.ssh_public_keys = [ssh.public_key.clone()].into();
        }
        model.boot_diagnostics = patch.boot_diagnostics.unwrap_or(model.boot_diagnostics);
        model.encryption_at_host = patch.encryption_at_host.unwrap_or(model.encryption_at_host);
        if let Some(identity) = &patch.identity_id {
            model.identity_ids.insert(identity.clone());
        }
        for identity in &patch.removed_identity_ids {
            model.identity_ids.remove(identity);
        }
        if let Some(tags) = &patch.tags {
            held.set.tags = tags.clone();
        }
        if let Some(data) = &patch.custom_data {
            held.custom_data = data.base64.reveal().clone();
        }
        if patch.constants {
            held.set.foreign_fields.clear();
        }
        Ok(())
    }

    fn put_setting(&mut self, spec: &SettingSpec) {
        let target = self.sets.get(&spec.set_name);
        let target = target.map(|held| names::set_id(&place(), &held.set.name));
        let setting = Setting {
            name: spec.name.clone(),
            target: target.unwrap_or_default(),
            location: "westeurope".to_owned(),
            tags: spec.tags.clone(),
            profile: Some(spec.profile.clone()),
            foreign_fields: Vec::new(),
        };
        self.settings.insert(spec.name.clone(), setting);
    }
}
