//! The rule, as two lists for each endpoint.

/// A receive that waits: what it asks for, and its number.
#[derive(Clone, Copy)]
pub struct Posted {
    pub id: usize,
    /// `None`: from anybody.
    pub from: Option<usize>,
    pub tag: u64,
    pub ignore: u64,
}

/// A message that waits: whose it is, and its number.
#[derive(Clone, Copy)]
pub struct Waiting {
    pub id: usize,
    pub from: usize,
    pub tag: u64,
}

fn fits(posted: &Posted, message: &Waiting) -> bool {
    posted.from.is_none_or(|from| from == message.from) && (posted.tag ^ message.tag) & !posted.ignore == 0
}

/// Both lists, oldest first.
#[derive(Default)]
pub struct Lists {
    pub posted: Vec<Posted>,
    pub waiting: Vec<Waiting>,
}

impl Lists {
    /// A message arrives. The receive that it takes.
    pub fn arrive(&mut self, message: Waiting) -> Option<usize> {
        let at = self.posted.iter().position(|posted| fits(posted, &message));
        if at.is_none() {
            self.waiting.push(message);
        }
        at.map(|at| self.posted.remove(at).id)
    }

    /// A receive is posted. The message that it takes.
    pub fn post(&mut self, posted: Posted) -> Option<usize> {
        let taken = self.take(&posted);
        if taken.is_none() {
            self.posted.push(posted);
        }
        taken
    }

    /// The message that such a receive would take.
    pub fn probe(&self, posted: &Posted) -> Option<usize> {
        self.waiting.iter().find(|message| fits(posted, message)).map(|message| message.id)
    }

    /// The same, taken.
    pub fn take(&mut self, posted: &Posted) -> Option<usize> {
        let at = self.waiting.iter().position(|message| fits(posted, message))?;
        Some(self.waiting.remove(at).id)
    }

    /// A receive is withdrawn. True: it still waited.
    pub fn cancel(&mut self, id: usize) -> bool {
        let at = self.posted.iter().position(|posted| posted.id == id);
        at.is_some_and(|at| {
            self.posted.remove(at);
            true
        })
    }
}
