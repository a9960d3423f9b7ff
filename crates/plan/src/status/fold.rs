//! `fold`: the one place that decides conditions, events, record and requeue.
//!
//! In: the [`World`] a pass began with and the [`Pass`]. Out: a [`Publication`]. Folding the same
//! world and pass again with everything written fed back writes nothing; nor does any pass of a
//! pool in which nothing changed: `status.lastRefresh` and `lastDriftCheck` move only when
//! something else is written, and the schedule lives in [`Memory`](crate::pool::world::Memory).

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{
    condition::{ConditionStatus, ConditionType, Reason},
    draft::Draft,
    event::{Event, EventReason},
    machines, notices, outcome,
    pass::{Pass, PassEnd},
    publication::{
        FinalizerChange, MetadataWrite, OwnerPatch, Publication, RecordWrite, Requeue, SpecWrite,
    },
    reading, ready, requeue, rest, standing, transitions,
    wire::{Operation, PoolStatus},
};
use crate::pool::{
    autoscaling,
    gate::{Next, Release},
    hash::hex,
    keys,
    record::Record,
    world::{RecordRead, World},
};

/// Judges a pass: what to write, and when to look again.
pub fn fold(world: &World, pass: &Pass, now: Timestamp) -> Publication {
    match pass.gate.next {
        Next::Ignore => return untouched(),
        Next::Release(Release::ExternallyManaged) => return released_to_its_manager(world),
        Next::AddFinalizer | Next::Prepare(_) | Next::Release(_) | Next::Rest | Next::Go(_) => {}
    }
    let mut draft = Draft::new(world, pass, now);
    standing::conditions(&mut draft);
    outcome::operations(&mut draft);
    reading::read(&mut draft);
    reading::drift_standing(&mut draft);
    machines::told(&mut draft);
    release(&mut draft);
    ready::provisioning(&mut draft);
    ready::inputs_applied(&mut draft);
    let record = record_write(&mut draft);
    record_standing(&mut draft);
    ready::summary(&mut draft);
    metadata(&mut draft);
    let owner = write_back(&mut draft);
    notices::tell(&mut draft);
    transitions::tell(&mut draft);
    publish(draft, record, owner, now)
}

fn untouched() -> Publication {
    Publication {
        status: None,
        spec: SpecWrite::default(),
        metadata: MetadataWrite::default(),
        owner: None,
        record: None,
        events: Vec::new(),
        requeue: Requeue::OnChange,
        memory: None,
        rest: None,
    }
}

fn released_to_its_manager(world: &World) -> Publication {
    let mut publication = untouched();
    if has_finalizer(world) {
        publication.metadata.finalizer = Some(FinalizerChange::Remove);
        publication.events.push(Event::new(
            EventReason::ExternallyManagedReleased,
            "the pool is managed by someone else; nothing was destroyed",
        ));
    }
    publication
}

fn has_finalizer(world: &World) -> bool {
    world
        .pool
        .metadata
        .finalizers
        .iter()
        .any(|it| it == keys::FINALIZER)
}

/// The finalizer goes: what is told about it.
fn release(draft: &mut Draft<'_>) {
    let Next::Release(release) = draft.pass.gate.next else {
        return;
    };
    if has_finalizer(draft.world) {
        match release {
            Release::Retained => draft.tell(
                EventReason::InfrastructureRetained,
                "the infrastructure stays in the cloud, its record in this namespace",
            ),
            Release::Abandoned => draft.tell(
                EventReason::InfrastructureAbandoned,
                "the infrastructure was given up; whatever exists must be deleted by hand",
            ),
            Release::NeverApplied
            | Release::ExternallyManaged
            | Release::Moved
            | Release::HeldAtRetainedState => {}
        }
    }
    outcome::release_finalizer(draft);
}

/// The pool is done with: nothing is to be looked at again.
fn over(draft: &Draft<'_>) -> bool {
    draft.metadata.finalizer == Some(FinalizerChange::Remove)
        || matches!(draft.pass.gate.next, Next::Release(_))
}

/// What happens to the record Secret.
fn record_write(draft: &mut Draft<'_>) -> Option<RecordWrite> {
    let found = match &draft.world.record {
        RecordRead::Found {
            record,
            retained_from,
            owned,
        } => Some((record, retained_from.is_some() || !owned)),
        RecordRead::Missing | RecordRead::Corrupt(_) | RecordRead::Failed(_) => None,
    };
    if over(draft) {
        let destroyed = draft
            .goal()
            .is_some_and(|goal| goal.operation == Operation::Destroy);
        return match draft.pass.gate.next {
            Next::Release(Release::Retained) => found.map(|_| RecordWrite::Retain),
            Next::Release(Release::NeverApplied | Release::Abandoned) => {
                found.map(|_| RecordWrite::Delete)
            }
            _ if destroyed => Some(RecordWrite::Delete),
            _ => None,
        };
    }
    let wish = draft.record.clone()?;
    if !may_write_record(draft) {
        return None;
    }
    let stored = [
        found.map(|(record, _)| record.as_ref()),
        draft.pass.record.as_ref(),
    ]
    .into_iter()
    .flatten()
    .max_by_key(|record| record.revision);
    let revision = stored.map_or(0, |record| record.revision);
    let same = stored.is_some_and(|record| equal_but_revision(record, &wish));
    let repair = found.is_some_and(|(_, repair)| repair);
    if same && !repair {
        if let Some(record) = draft.record.as_mut() {
            record.revision = revision;
        }
        return None;
    }
    if repair {
        owner_repaired(draft);
    }
    let record = draft.record.as_mut()?;
    record.revision = revision + 1;
    Some(RecordWrite::Save(Box::new(record.clone())))
}

/// A record that is another pool's, or cannot be read, is not written over.
fn may_write_record(draft: &Draft<'_>) -> bool {
    use crate::pool::findings::StateFinding;
    match &draft.pass.gate.findings.state {
        Some(
            StateFinding::Retained(_)
            | StateFinding::Corrupt(_)
            | StateFinding::Unreadable(_)
            | StateFinding::LostForGood,
        )
        | None => false,
        Some(
            StateFinding::NotFound
            | StateFinding::Read(_)
            | StateFinding::Lost
            | StateFinding::Adopting(_),
        ) => true,
    }
}

fn owner_repaired(draft: &mut Draft<'_>) {
    let adopting = draft
        .conditions
        .before(ConditionType::StateReadable)
        .is_some_and(|before| before.reason == Reason::RetainedStateFound);
    let retained = matches!(
        &draft.world.record,
        RecordRead::Found { retained_from: Some(uid), .. }
            if *uid != draft.world.pool.metadata.uid
    );
    if retained && !adopting {
        draft.tell(
            EventReason::RetainedStateAdopted,
            "the record that a deleted pool of this name left is taken over",
        );
    } else if !retained {
        draft.tell(
            EventReason::OwnerReferencesRepaired,
            "the record names this pool as its owner again",
        );
    }
}

fn equal_but_revision(left: &Record, right: &Record) -> bool {
    let mut left = left.clone();
    left.revision = right.revision;
    left == *right
}

/// A record that was made in this pass is readable from now on.
fn record_standing(draft: &mut Draft<'_>) {
    let unread = draft
        .conditions
        .get(ConditionType::StateReadable)
        .is_some_and(|condition| {
            matches!(condition.reason, Reason::StateNotFound | Reason::StateLost)
        });
    let unrecoverable = matches!(draft.pass.end, PassEnd::Unrecoverable(_));
    if draft.record.is_some() && unread && !unrecoverable && may_write_record(draft) {
        draft.conditions.set(
            ConditionType::StateReadable,
            ConditionStatus::True,
            Reason::StateRead,
            standing::RECORD_READ,
        );
    }
    if let Some(record) = &draft.record
        && record.revision > 0
    {
        draft.status.observed_state_serial = Some(record.revision);
    }
}

/// The finalizer comes first; block-move stays as long as an operation is announced. A paused pool
/// does nothing, and what it had begun is recorded: it may move.
fn metadata(draft: &mut Draft<'_>) {
    if draft.pass.gate.next == Next::AddFinalizer && !has_finalizer(draft.world) {
        draft.metadata.finalizer = Some(FinalizerChange::Add);
    }
    let annotations = &draft.world.pool.metadata.annotations;
    let present = annotations.contains_key(keys::BLOCK_MOVE);
    let rests = over(draft) || draft.pass.gate.findings.paused;
    let wanted = draft.status.active_job.is_some() && !rests;
    if wanted != present {
        draft.metadata.annotations.insert(
            keys::BLOCK_MOVE.to_owned(),
            wanted.then(|| "true".to_owned()),
        );
    }
}

/// The claim and the observed count, while the gate came as far as to look at them.
fn write_back(draft: &mut Draft<'_>) -> Option<OwnerPatch> {
    draft.pass.gate.findings.autoscaling.as_ref()?;
    let owner = draft.world.owner.found()?;
    let patch = autoscaling::write_back(owner, draft.status.replicas)?;
    if let Some((old, new)) = patch.replicas {
        draft.tell(EventReason::ReplicasWrittenBack, format!("{old} -> {new}"));
    }
    Some(OwnerPatch { body: patch.body })
}

fn publish(
    mut draft: Draft<'_>,
    record: Option<RecordWrite>,
    owner: Option<OwnerPatch>,
    now: Timestamp,
) -> Publication {
    let pool = &draft.world.pool;
    let over = over(&draft);
    let requeue = requeue::decide(&draft, now, over);
    let rest = rest::of(&draft);
    let mut spec = std::mem::take(&mut draft.spec);
    // Our own spec write raises the generation by one; its precondition makes that certain.
    let writes_spec = spec != SpecWrite::default();
    let generation = pool
        .metadata
        .generation
        .map(|generation| generation + i64::from(writes_spec));
    if writes_spec {
        spec.resource_version
            .clone_from(&pool.metadata.resource_version);
    }
    let mut status = draft.status;
    status.conditions = draft.conditions.finish(generation);
    status.observed_generation = generation.filter(|generation| *generation > 0);
    status.state_secret_suffix = Some(state_secret_suffix(draft.world));
    status.infrastructure_machine_kind = ready::infrastructure_machine_kind(draft.world);
    let changed = status != pool.status;
    if changed {
        stamp(&mut status, &draft.memory);
    }
    let mut publication = Publication {
        status: changed.then_some(status),
        spec,
        metadata: draft.metadata,
        owner,
        record,
        events: draft.events,
        requeue,
        memory: (!over).then_some(draft.memory),
        rest,
    };
    publication.rest = rest.filter(|_| !publication.writes());
    publication
}

/// The times of the last reads go along with a write that is made anyway.
fn stamp(status: &mut PoolStatus, memory: &crate::pool::world::Memory) {
    let seconds = |time: Option<Timestamp>| {
        time.and_then(|time| Timestamp::from_second(time.as_second()).ok())
    };
    if let Some(read) = seconds(memory.refreshed_at.max(memory.drift_checked_at)) {
        status.last_refresh = status.last_refresh.max(Some(read));
    }
    if let Some(checked) = seconds(memory.drift_checked_at) {
        status.last_drift_check = status.last_drift_check.max(Some(checked));
    }
}

/// 16 hex digits over namespace, kind and name, then `-mp` (captf document 1.5).
fn state_secret_suffix(world: &World) -> String {
    let pool = &world.pool.metadata;
    let text = format!("{}/{}/{}", pool.namespace, keys::POOL_KIND, pool.name);
    let digest: String = hex(&Sha256::digest(text.as_bytes()))
        .chars()
        .take(16)
        .collect();
    format!("{digest}-mp")
}
