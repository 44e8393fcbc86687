//! Whether anybody listens at a peer's address. Cores above TCP open a connection when something is to be sent, and try again for
//! ever where nobody takes it: to them, a peer that has died is as busy as one that computes. Its host knows better.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};

use crate::address_vector::Address;

/// A connection that is being opened, to be closed at once.
pub struct Knock(OwnedFd);

/// What is known of who was knocked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing yet.
    None,
    /// The host says that nobody listens there.
    Nobody,
    /// Somebody does, or the host cannot be asked.
    Perhaps,
}

impl Knock {
    /// At a socket's address (`FI_SOCKADDR_IN`, `FI_SOCKADDR_IN6`), from the interface of another, and what is known at once.
    /// `None`: it cannot be tried.
    pub fn at(address: &Address, from: &Address) -> Option<(Self, Answer)> {
        let (family, name) = socket_address(address)?;
        let (own_family, own) = socket_address(from)?;
        if family != own_family {
            return None;
        }
        let mut own = own.to_vec();
        own[PORT].fill(0);
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a call without pointers.
        let socket = unsafe { libc::socket(family, kind, 0) };
        if socket < 0 {
            return None;
        }
        // SAFETY: just opened, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // SAFETY: as many bytes as are said; the kernel reads them wherever they lie.
        if unsafe { libc::bind(socket.as_raw_fd(), own.as_ptr().cast::<sockaddr>(), own.len() as socklen_t) }
            != 0
        {
            return None;
        }
        // SAFETY: as many bytes as are said; the kernel reads them wherever they lie.
        let rc = unsafe {
            libc::connect(socket.as_raw_fd(), name.as_ptr().cast::<sockaddr>(), name.len() as socklen_t)
        };
        let error = if rc == 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(0) };
        let answer = if error == libc::EINPROGRESS { Answer::None } else { of_error(error) };
        Some((Knock(socket), answer))
    }

    /// What is known by now.
    pub fn answer(&self) -> Answer {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        // SAFETY: one entry; does not wait.
        if unsafe { libc::poll(&raw mut poll, 1, 0) } < 1 {
            return Answer::None;
        }
        let (mut error, mut length): (c_int, _) = (0, size_of::<c_int>() as socklen_t);
        // SAFETY: room for the answer, as much as is said.
        let rc = unsafe {
            let error = (&raw mut error).cast();
            libc::getsockopt(self.0.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, error, &raw mut length)
        };
        if rc == 0 { of_error(error) } else { Answer::Perhaps }
    }
}

/// Where both kinds have their port.
const PORT: std::ops::Range<usize> = 2..4;

/// Its family, and as many bytes as that takes.
fn socket_address(address: &Address) -> Option<(c_int, &[u8])> {
    let family = c_int::from(u16::from_ne_bytes(*address.0.first_chunk()?));
    let bytes = match family {
        libc::AF_INET => size_of::<sockaddr_in>(),
        libc::AF_INET6 => size_of::<sockaddr_in6>(),
        _ => return None,
    };
    Some((family, address.0.get(..bytes)?))
}

fn of_error(error: c_int) -> Answer {
    if error == libc::ECONNREFUSED { Answer::Nobody } else { Answer::Perhaps }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use super::*;

    fn address(of: SocketAddr) -> Address {
        let SocketAddr::V4(of) = of else { panic!("asked for one of IPv4") };
        let family = (libc::AF_INET as u16).to_ne_bytes();
        Address([&family[..], &of.port().to_be_bytes(), &of.ip().octets(), &[0; 8]].concat())
    }

    fn answer(at: &Address) -> Answer {
        let from = address("127.0.0.1:9".parse().expect("an address"));
        let (knock, mut answer) = Knock::at(at, &from).expect("it can be tried");
        while answer == Answer::None {
            answer = knock.answer();
        }
        answer
    }

    #[test]
    fn who_listens_may_live_and_who_does_not_is_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let at = address(listener.local_addr().expect("it is bound"));
        assert_eq!(answer(&at), Answer::Perhaps, "though it does not accept");
        drop(listener);
        assert_eq!(answer(&at), Answer::Nobody);
    }

    #[test]
    fn only_addresses_of_sockets_are_tried() {
        for bytes in [&b""[..], b"fi_shm://17", &[2, 0, 1]] {
            let address = Address(bytes.to_vec());
            assert!(Knock::at(&address, &address).is_none());
        }
    }
}
