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
//! Processes of one job run the same library on processors of one byte order.

/// Set in the tags of control messages; applications are told that the bit is not theirs (`mem_tag_format`).
pub const CONTROL: u64 = 1 << 63;
/// The tag of an [`Announce`].
pub const ANNOUNCE: u64 = CONTROL | 1;
/// The tag of a [`Request`], on the private endpoint.
pub const REQUEST: u64 = CONTROL | 2;
/// The tag of a credit: eight bytes, how many bytes of messages have been received.
pub const CREDIT: u64 = CONTROL | 3;

/// The longest address of an endpoint.
pub const ADDRESS: usize = 256;
/// The longest control message.
pub const LONGEST: usize = size_of::<Header>() + ADDRESS;

/// An endpoint's address, as the core names it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Address(pub Vec<u8>);

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
}

/// "There is a message of that many bytes; ask for it."
pub struct Announce {
    /// The sender's operation.
    pub operation: u64,
    /// The message's tag.
    pub tag: u64,
    /// Its length.
    pub bytes: u64,
    /// What came with it.
    pub data: u64,
    /// `FI_REMOTE_CQ_DATA`, if `data` means something.
    pub flags: u64,
    /// The sender's private endpoint.
    pub address: Address,
}

/// "Send me the first of its bytes, under that tag."
pub struct Request {
    /// The sender's operation.
    pub operation: u64,
    /// The tag that the data is expected under.
    pub tag: u64,
    /// How many bytes are wanted.
    pub bytes: u64,
    /// The receiver's private endpoint.
    pub address: Address,
}

impl Announce {
    /// As it is sent.
    pub fn encode(&self) -> Vec<u8> {
        let Announce { operation, tag, bytes, data, flags, ref address } = *self;
        encode(Header { operation, tag, bytes, data, flags, address: address.0.len() as u64 }, address)
    }

    /// As it was received. `None`: it is not one.
    pub fn decode(message: &[u8]) -> Option<Self> {
        let (Header { operation, tag, bytes, data, flags, .. }, address) = decode(message)?;
        Some(Announce { operation, tag, bytes, data, flags, address })
    }
}

impl Request {
    /// As it is sent.
    pub fn encode(&self) -> Vec<u8> {
        let Request { operation, tag, bytes, ref address } = *self;
        encode(Header { operation, tag, bytes, data: 0, flags: 0, address: address.0.len() as u64 }, address)
    }

    /// As it was received. `None`: it is not one.
    pub fn decode(message: &[u8]) -> Option<Self> {
        let (Header { operation, tag, bytes, .. }, address) = decode(message)?;
        Some(Request { operation, tag, bytes, address })
    }
}

fn encode(header: Header, address: &Address) -> Vec<u8> {
    let fields = [header.operation, header.tag, header.bytes, header.data, header.flags, header.address];
    let mut message: Vec<u8> = fields.iter().flat_map(|field| field.to_ne_bytes()).collect();
    message.extend_from_slice(&address.0);
    message
}

fn decode(message: &[u8]) -> Option<(Header, Address)> {
    let (header, address) = message.split_at_checked(size_of::<Header>())?;
    let mut fields =
        header.chunks_exact(8).map(|field| u64::from_ne_bytes(field.try_into().expect("eight bytes")));
    let mut field = || fields.next().expect("six fields");
    let header = Header {
        operation: field(),
        tag: field(),
        bytes: field(),
        data: field(),
        flags: field(),
        address: field(),
    };
    let length = usize::try_from(header.address).ok().filter(|&length| length <= ADDRESS)?;
    Some((header, Address(address.get(..length)?.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_messages_come_back_as_they_were_sent() {
        let address = Address(vec![7; 28]);
        let sent = Announce { operation: 1, tag: 2, bytes: 3, data: 4, flags: 5, address: address.clone() };
        let read = Announce::decode(&sent.encode()).expect("it is one");
        assert_eq!((read.operation, read.tag, read.bytes, read.data, read.flags), (1, 2, 3, 4, 5));
        assert!(read.address == address);
        let sent = Request { operation: 6, tag: 7, bytes: 8, address: address.clone() };
        let read = Request::decode(&sent.encode()).expect("it is one");
        assert_eq!((read.operation, read.tag, read.bytes), (6, 7, 8));
        assert!(read.address == address);
    }

    #[test]
    fn what_is_cut_off_is_none() {
        let whole = Request { operation: 6, tag: 7, bytes: 8, address: Address(vec![1; 16]) }.encode();
        for length in 0..whole.len() {
            assert!(Request::decode(&whole[..length]).is_none(), "{length} bytes");
        }
        let mut lying = whole;
        lying[40..48].copy_from_slice(&u64::MAX.to_ne_bytes());
        assert!(Request::decode(&lying).is_none());
    }
}
