//! The matching rule, implemented with two lists per endpoint.

#[derive(Clone, Copy)]
pub struct Posted {
    pub id: usize,
    /// `None` is any source.
    pub from: Option<usize>,
    pub tag: u64,
    pub ignore: u64,
}

#[derive(Clone, Copy)]
pub struct Unexpected {
    pub id: usize,
    pub from: usize,
    pub tag: u64,
}

fn is_match(posted: &Posted, message: &Unexpected) -> bool {
    posted.from.is_none_or(|from| from == message.from) && (posted.tag ^ message.tag) & !posted.ignore == 0
}

/// Both lists, oldest entry first.
#[derive(Default)]
pub struct Lists {
    pub posted: Vec<Posted>,
    pub unexpected: Vec<Unexpected>,
}

impl Lists {
    /// Returns the receive that the message takes.
    pub fn arrive(&mut self, message: Unexpected) -> Option<usize> {
        let at = self.posted.iter().position(|posted| is_match(posted, &message));
        if at.is_none() {
            self.unexpected.push(message);
        }
        at.map(|at| self.posted.remove(at).id)
    }

    /// Returns the message that the receive takes.
    pub fn post(&mut self, posted: Posted) -> Option<usize> {
        let taken = self.take(&posted);
        if taken.is_none() {
            self.posted.push(posted);
        }
        taken
    }

    pub fn probe(&self, posted: &Posted) -> Option<usize> {
        self.unexpected.iter().find(|message| is_match(posted, message)).map(|message| message.id)
    }

    pub fn take(&mut self, posted: &Posted) -> Option<usize> {
        let at = self.unexpected.iter().position(|message| is_match(posted, message))?;
        Some(self.unexpected.remove(at).id)
    }

    pub fn cancel(&mut self, id: usize) -> bool {
        let at = self.posted.iter().position(|posted| posted.id == id);
        at.is_some_and(|at| {
            self.posted.remove(at);
            true
        })
    }
}
