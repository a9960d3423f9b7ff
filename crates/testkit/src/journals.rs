//! What was asked of the API server and of the clouds, by their journals.

use crate::world::World;

/// A point in both journals; the default is their beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    kubernetes: u64,
    aws: u64,
    azure: u64,
}

impl World {
    /// Where both journals stand.
    pub fn mark(&self) -> Mark {
        Mark {
            kubernetes: self.server.management().journal().total(),
            aws: self.aws.journal().next_number(),
            azure: self.azure.journal().next_number(),
        }
    }

    /// Write requests to the management API since a mark, as `verb path`. More than the journal
    /// keeps is an error of the test.
    pub fn kubernetes_writes(&self, since: Mark) -> Vec<String> {
        let instance = self.server.management();
        let journal = instance.journal();
        let count = usize::try_from(journal.total() - since.kubernetes).unwrap();
        let writes = journal.writes();
        assert!(
            count <= writes.len(),
            "{count} writes, more than the journal keeps"
        );
        writes[writes.len() - count..]
            .iter()
            .map(|write| format!("{} {}", write.verb, write.path))
            .collect()
    }

    /// Writes to AWS since a mark, as `service:Action`.
    pub fn aws_writes(&self, since: Mark) -> Vec<String> {
        let calls = self.aws.journal().since(since.aws);
        calls
            .iter()
            .filter(|call| call.write && !call.from_instance)
            .map(remuda_sim::Call::name)
            .collect()
    }

    /// Writes to Azure since a mark, as `service:Action`; tokens are no writes.
    pub fn azure_writes(&self, since: Mark) -> Vec<String> {
        let calls = self.azure.journal().since(since.azure);
        calls
            .iter()
            .filter(|call| call.write)
            .map(remuda_sim::Call::name)
            .collect()
    }

    /// All calls to AWS since a mark, as `service:Action`; those of instances left out.
    pub fn aws_calls(&self, since: Mark) -> Vec<String> {
        let calls = self.aws.journal().since(since.aws);
        calls
            .iter()
            .filter(|call| !call.from_instance)
            .map(remuda_sim::Call::name)
            .collect()
    }
}
