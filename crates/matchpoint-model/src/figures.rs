//! Curves of the paper's figures 2 to 5, 7 and 9 for a machine, without measured points, which the paper's
//! text does not contain.

use crate::estimate::End;
use crate::machine::{Locality, Machine, Missing};
use crate::queue::SearchOrder;
use crate::transport::TransportModel;

/// Time against size or number of messages, both logarithmic.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    pub number: u32,
    pub title: String,
    /// The y axis is the time in seconds.
    pub x_label: &'static str,
    pub curves: Vec<Curve>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Concurrent senders per node in figures 2 and 3.
const ACTIVE: [u32; 5] = [1, 2, 4, 8, 16];

/// Processes per node (§3).
const PPN: u32 = 16;

/// Total bytes per process in figures 4, 5, 7 and 9. Read from the figures: the paper's text does not state the totals.
const TOTALS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Maximum number of messages that a process sends in figures 4, 5, 7 and 9 of the paper (§4.1).
const MESSAGES_MAX: u64 = 10_000;

const BYTES_MAX: u64 = 1_000_000;

/// Senders over the middle link of figure 6: the processes of two Geminis with two nodes each.
const ON_MIDDLE_LINK: f64 = 4.0 * PPN as f64;

const SIZE: &str = "bytes of the message";
const MESSAGES: &str = "messages, all together of as many bytes";

/// # Errors
/// If the machine lacks a parameter.
pub fn figures(machine: &Machine) -> Result<Vec<Figure>, Missing> {
    Ok(vec![
        figure_2(machine)?,
        figure_3(machine)?,
        figure_4(machine)?,
        figure_5(machine)?,
        figure_7(machine)?,
        figure_9(machine)?,
    ])
}

/// The max-rate model has one set of parameters.
fn figure_2(machine: &Machine) -> Result<Figure, Missing> {
    let of = |active| {
        make_curve(format!("{active} per node"), message_sizes(), |bytes| {
            machine.modelled_message_s(
                TransportModel::MaxRate,
                Locality::OffNode,
                bytes as f64,
                active,
                End::Value,
            )
        })
    };
    let curves: Result<_, Missing> = ACTIVE.into_iter().map(of).collect();
    Ok(Figure {
        number: 2,
        title: "Max-rate model of a ping-pong".to_owned(),
        x_label: SIZE,
        curves: curves?,
    })
}

fn figure_3(machine: &Machine) -> Result<Figure, Missing> {
    let of = |(name, locality, active): (&str, Locality, u32)| {
        make_curve(name.to_owned(), message_sizes(), |bytes| {
            machine.message_s(locality, bytes as f64, active, End::Value)
        })
    };
    let kinds = [
        ("on-socket", Locality::OnSocket, 1),
        ("on-node", Locality::OnNode, 1),
        ("off-node, 1 per node", Locality::OffNode, 1),
        ("off-node, 16 per node", Locality::OffNode, PPN),
    ];
    let curves: Result<_, Missing> = kinds.into_iter().map(of).collect();
    Ok(Figure {
        number: 3,
        title: "Node-aware model of a ping-pong".to_owned(),
        x_label: SIZE,
        curves: curves?,
    })
}

struct Volume {
    number: u32,
    title: &'static str,
    locality: Locality,
    is_reversed: bool,
    is_contended: bool,
}

fn figure_4(machine: &Machine) -> Result<Figure, Missing> {
    let title = "HighVolumePingPong on a socket: transport alone";
    let volume =
        Volume { number: 4, title, locality: Locality::OnSocket, is_reversed: false, is_contended: false };
    volume.figure(machine)
}

fn figure_5(machine: &Machine) -> Result<Figure, Missing> {
    let title = "HighVolumePingPong on a socket, reversed: transport and queue search";
    let volume =
        Volume { number: 5, title, locality: Locality::OnSocket, is_reversed: true, is_contended: false };
    volume.figure(machine)
}

fn figure_7(machine: &Machine) -> Result<Figure, Missing> {
    let title = "HighVolumePingPong on a line of Geminis: transport and queue search";
    let volume =
        Volume { number: 7, title, locality: Locality::OffNode, is_reversed: true, is_contended: false };
    volume.figure(machine)
}

fn figure_9(machine: &Machine) -> Result<Figure, Missing> {
    let title = "HighVolumePingPong on a line of Geminis: transport, queue search and contention";
    let volume =
        Volume { number: 9, title, locality: Locality::OffNode, is_reversed: true, is_contended: true };
    volume.figure(machine)
}

impl Volume {
    fn figure(&self, machine: &Machine) -> Result<Figure, Missing> {
        let of = |total: u64| {
            let name = format!("{total} bytes in all");
            make_curve(name, message_counts().filter(|&messages| messages <= total), |messages| {
                self.time_s(machine, messages, total)
            })
        };
        let curves: Result<_, Missing> = TOTALS.into_iter().map(of).collect();
        Ok(Figure { number: self.number, title: self.title.to_owned(), x_label: MESSAGES, curves: curves? })
    }

    fn time_s(&self, machine: &Machine, messages: u64, total: u64) -> Result<f64, Missing> {
        let (count, bytes) = (messages as f64, total as f64 / messages as f64);
        let mut time_s = count * machine.message_s(self.locality, bytes, PPN, End::Value)?;
        if self.is_reversed {
            time_s += machine.search_s(SearchOrder::Bound, messages, End::Value)?;
        }
        if self.is_contended {
            time_s += machine.contention_s(ON_MIDDLE_LINK * total as f64, End::Value)?;
        }
        Ok(time_s)
    }
}

fn make_curve(
    name: String,
    at: impl Iterator<Item = u64>,
    time_s: impl Fn(u64) -> Result<f64, Missing>,
) -> Result<Curve, Missing> {
    let points: Result<Vec<(f64, f64)>, Missing> = at.map(|x| Ok((x as f64, time_s(x)?))).collect();
    Ok(Curve { name, points: points? })
}

fn message_sizes() -> impl Iterator<Item = u64> {
    round_numbers(BYTES_MAX)
}

fn message_counts() -> impl Iterator<Item = u64> {
    round_numbers(MESSAGES_MAX)
}

/// 1, 2, 3, … 10, 20, 30, … up to `last`.
fn round_numbers(last: u64) -> impl Iterator<Item = u64> {
    let decades = (0..).map(|power| 10_u64.pow(power)).take_while(move |&decade| decade <= last);
    decades.flat_map(|decade| (1..10).map(move |digit| digit * decade)).filter(move |&step| step <= last)
}
