//! Control messages. Short messages of the application travel as they are: these are all that is added.
//!
//! ```text
//! sender                                                          receiver
//!   │  Announce (tag, length, operation, private address)            │   in place of a long message, in its order
//!   ├───────────────────────────────────────────────────────────────▶│
//!   │                            ⋮                                   │   it is matched
//!   │  Request (operation, tag of the data, bytes, private address)  │
//!   │◀───────────────────────────────────────────────────────────────┤   between private endpoints
//!   │  the data, into the application's buffer                       │
//!   ├───────────────────────────────────────────────────────────────▶│
//! ```
//!
//! A short message whose send is complete on delivery (`FI_DELIVERY_COMPLETE`) is in its announcement, and acknowledged
//! ([`ARRIVED`]) once it lies in the buffer of its receive, or is kept for one: a core says so when it lies in a buffer
//! of ours, which is too early (fi_endpoint(3)). Those of a sender that arrive together are acknowledged together.
//!
//! To a peer that may not know the sender ([`acquaintance`](super::acquaintance)) all messages are announced, with the
//! sender's own address; a tiny one is in its announcement. The first of them is answered ([`KNOWN`]) if the
//! receiver's core knows whom it is from.
//!
//! Of a peer that answers none of this for seconds it is found out whether it lives ([`ALIVE`]).
//!
//! Processes of one job run the same library on processors of one byte order.

use std::ops::Deref;

use crate::abi::flags::DELIVERY_COMPLETE;
use crate::address_vector::LONGEST as ADDRESS;

/// Set in the tags of control messages; applications are told that the bit is not theirs (`mem_tag_format`).
pub const CONTROL: u64 = 1 << 63;
/// The tag of an [`Announce`].
pub const ANNOUNCE: u64 = CONTROL | 1;
/// The tag of a [`Request`], on the private endpoint.
pub const REQUEST: u64 = CONTROL | 2;
/// The tag of a credit: eight bytes, how many bytes of messages have been received.
pub const CREDIT: u64 = CONTROL | 3;
/// The tag of the answer "I know you", which is empty.
pub const KNOWN: u64 = CONTROL | 4;
/// The tag of the answer "your messages have arrived": eight bytes each, the sender's operations.
pub const ARRIVED: u64 = CONTROL | 5;

/// The tag of a message that is empty, means nothing and is not answered: whether it can be sent tells whether the peer lives
/// ([`inquiries`](super::inquiries)). To a private endpoint, a [`Request`] for nothing of no operation is as much.
pub const ALIVE: u64 = CONTROL | 6;

/// The longest control message, without a message of the application's in it.
pub const LONGEST: usize = size_of::<Header>() + 2 * ADDRESS;

/// The beginning of an announcement or a request.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    operation: u64,
    tag: u64,
    bytes: u64,
    data: u64,
    flags: u64,
    address: u64,
    name: u64,
}

/// "There is a message of that many bytes; ask for it", or "here is one".
pub struct Announce<'a> {
    /// The sender's operation; 0: the message is here, and nobody waits for an answer.
    pub operation: u64,
    /// The message's tag.
    pub tag: u64,
    /// Its length.
    pub bytes: u64,
    /// What came with it.
    pub data: u64,
    /// `FI_REMOTE_CQ_DATA`, if `data` means something; `FI_DELIVERY_COMPLETE`, if the message is here and the sender's
    /// operation is to be told.
    pub flags: u64,
    /// The address of the sender's private endpoint.
    pub address: &'a [u8],
    /// The sender's own; empty for a peer that knows it by its messages.
    pub name: &'a [u8],
}

/// "Send me the first of its bytes, under that tag."
pub struct Request<'a> {
    /// The sender's operation.
    pub operation: u64,
    /// The tag that the data is expected under.
    pub tag: u64,
    /// How many bytes are wanted.
    pub bytes: u64,
    /// The address of the receiver's private endpoint.
    pub address: &'a [u8],
}

impl<'a> Announce<'a> {
    /// As it is sent; the message follows, if it is there.
    pub fn encode(&self) -> Encoded {
        let Announce { operation, tag, bytes, data, flags, address, name } = *self;
        let (address_length, name_length) = (address.len() as u64, name.len() as u64);
        let header =
            Header { operation, tag, bytes, data, flags, address: address_length, name: name_length };
        encode(header, [address, name])
    }

    /// As it was received, and the message, if it is here. `None`: it is not one.
    pub fn decode(message: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let Decoded { header, address, name, rest: payload } = decode(message)?;
        let Header { operation, tag, bytes, data, flags, .. } = header;
        let is_here = operation == 0 || flags & DELIVERY_COMPLETE != 0;
        let is_whole = !is_here || payload.len() as u64 == bytes;
        is_whole.then_some((Announce { operation, tag, bytes, data, flags, address, name }, payload))
    }
}

impl<'a> Request<'a> {
    /// As it is sent.
    pub fn encode(&self) -> Encoded {
        let Request { operation, tag, bytes, address } = *self;
        let length = address.len() as u64;
        let header = Header { operation, tag, bytes, data: 0, flags: 0, address: length, name: 0 };
        encode(header, [address, &[]])
    }

    /// As it was received. `None`: it is not one.
    pub fn decode(message: &'a [u8]) -> Option<Self> {
        let Decoded { header: Header { operation, tag, bytes, .. }, address, .. } = decode(message)?;
        Some(Request { operation, tag, bytes, address })
    }
}

/// The bytes of an announcement or a request, without a message of the application's.
pub struct Encoded {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Encoded {
    fn append(&mut self, part: &[u8]) {
        self.bytes[self.length..][..part.len()].copy_from_slice(part);
        self.length += part.len();
    }
}

impl Deref for Encoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

fn encode(header: Header, addresses: [&[u8]; 2]) -> Encoded {
    let Header { operation, tag, bytes, data, flags, address, name } = header;
    let mut encoded = Encoded { bytes: [0; LONGEST], length: 0 };
    for field in [operation, tag, bytes, data, flags, address, name] {
        encoded.append(&field.to_ne_bytes());
    }
    for address in addresses {
        encoded.append(address);
    }
    encoded
}

/// An announcement or a request, taken apart.
struct Decoded<'a> {
    header: Header,
    address: &'a [u8],
    name: &'a [u8],
    rest: &'a [u8],
}

fn decode(message: &[u8]) -> Option<Decoded<'_>> {
    let (header, rest) = message.split_at_checked(size_of::<Header>())?;
    let mut fields =
        header.chunks_exact(8).map(|field| u64::from_ne_bytes(field.try_into().expect("eight bytes")));
    let mut field = || fields.next().expect("seven fields");
    let header = Header {
        operation: field(),
        tag: field(),
        bytes: field(),
        data: field(),
        flags: field(),
        address: field(),
        name: field(),
    };
    let (address, rest) = split(rest, header.address)?;
    let (name, rest) = split(rest, header.name)?;
    Some(Decoded { header, address, name, rest })
}

/// An address of that length, and what comes after it.
fn split(message: &[u8], length: u64) -> Option<(&[u8], &[u8])> {
    let length = usize::try_from(length).ok().filter(|&length| length <= ADDRESS)?;
    message.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_messages_come_back_as_they_were_sent() {
        let (address, name) = (&[7; 28][..], &[8; 16][..]);
        for (operation, payload) in [(1, &b""[..]), (0, b"abc")] {
            let sent = Announce { operation, tag: 2, bytes: 3, data: 4, flags: 5, address, name };
            let message = [&sent.encode(), payload].concat();
            let (read, with) = Announce::decode(&message).expect("it is one");
            assert_eq!(
                (read.operation, read.tag, read.bytes, read.data, read.flags),
                (operation, 2, 3, 4, 5)
            );
            assert_eq!((read.address, read.name, with), (address, name, payload));
        }
        let sent = Request { operation: 6, tag: 7, bytes: 8, address }.encode();
        let read = Request::decode(&sent).expect("it is one");
        assert_eq!((read.operation, read.tag, read.bytes, read.address), (6, 7, 8, address));
    }

    #[test]
    fn what_is_cut_off_is_none() {
        let whole = Request { operation: 6, tag: 7, bytes: 8, address: &[1; 16] }.encode();
        for length in 0..whole.len() {
            assert!(Request::decode(&whole[..length]).is_none(), "{length} bytes");
        }
        let mut lying = whole.to_vec();
        lying[40..48].copy_from_slice(&u64::MAX.to_ne_bytes());
        assert!(Request::decode(&lying).is_none());
        let (address, name) = (&[1; 16][..], &[2; 16][..]);
        let here = Announce { operation: 0, tag: 1, bytes: 4, data: 0, flags: 0, address, name };
        let is_one = |announce: &Announce, payload: &[u8]| {
            Announce::decode(&[&announce.encode(), payload].concat()).is_some()
        };
        assert!(!is_one(&here, b"abc"), "a byte is missing");
        let later = Announce { operation: 9, ..here };
        assert!(is_one(&later, b""), "it is asked for");
        let awaited = Announce { flags: DELIVERY_COMPLETE, ..later };
        assert!(!is_one(&awaited, b""), "all of it is missing");
    }
}
