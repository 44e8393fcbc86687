//! Modelled times of an operation, from the simplest to the most detailed model.

use matchpoint_model::queue::SearchOrder;
use matchpoint_model::transport::TransportModel;
use matchpoint_model::{End, Exchange, Missing, Search, Sent, Setting, Split, predict};

use super::validated::Modelled;
use crate::CalibrateError;

pub struct ModelledTimes {
    pub modelled: Modelled,
    /// The parts of the time with γ n² and δ ℓ.
    pub split: Split,
    /// The time with γ n² and δ ℓ at both ends of the intervals of the parameters.
    pub interval: (f64, f64),
}

/// Models an exchange. `attempts` are the compared entries, by rank.
pub fn exchange(
    setting: &Setting<'_>,
    of: &Exchange,
    attempts: &[u64],
) -> Result<ModelledTimes, CalibrateError> {
    let predicted = predict(setting, of).map_err(CalibrateError)?;
    let most = |time: fn(&Split) -> f64| {
        let times = predicted.processes.iter().map(|process| time(&process.split));
        times.fold(0.0, f64::max)
    };
    let [shortest, split, longest] = predicted.longest;
    let received: Vec<u64> = predicted.processes.iter().map(|process| process.received).collect();
    let known = known(setting, attempts, &received).ok();
    let with_attempts =
        known.map(|known| predict(&Setting { search: Search::Known(&known), ..*setting }, of));
    let with_attempts = with_attempts.transpose().map_err(CalibrateError)?;
    Ok(ModelledTimes {
        modelled: [
            predicted.postal_s,
            predicted.max_rate_s,
            Some(most(|split| split.transport_s)),
            (!predicted.lacks_queue()).then(|| most(|split| split.transport_s + split.queue_s)),
            predicted.missing.is_empty().then_some(split.total_s()),
            with_attempts
                .filter(|predicted| predicted.missing.is_empty())
                .map(|predicted| predicted.longest[1].total_s()),
        ],
        split,
        interval: (shortest.total_s(), longest.total_s()),
    })
}

fn known(setting: &Setting<'_>, attempts: &[u64], received: &[u64]) -> Result<Vec<[f64; 3]>, Missing> {
    let of = |(&attempts, &received): (&u64, &u64)| {
        let [shortest, value, longest] = End::ALL.map(|end| setting.machine.attempt_s(received, end));
        Ok([shortest?, value?, longest?].map(|each_s| each_s * attempts as f64))
    };
    attempts.iter().zip(received).map(of).collect()
}

/// Models messages from rank 0 to rank 1, as in figures 4, 5 and 9 of the paper: the transport at the sender plus the
/// search at the receiver.
pub fn volume(
    setting: &Setting<'_>,
    messages: u64,
    bytes: u64,
    attempts: u64,
) -> Result<ModelledTimes, CalibrateError> {
    let machine = setting.machine;
    let locality = setting.layout.locality(0, 1);
    let transport = |model, end| {
        let each_s = machine.modelled_message_s(model, locality, bytes as f64, 1, end)?;
        Ok::<f64, Missing>(each_s * messages as f64)
    };
    let all = Exchange { messages: vec![Sent { from: 0, to: 1, messages, bytes: messages * bytes }] };
    let predicted = predict(setting, &all).map_err(CalibrateError)?;
    let at = |end| {
        let transport_s = transport(TransportModel::NodeAware, end)?;
        let queue_s = machine.search_s(SearchOrder::Bound, messages, end).unwrap_or(0.0);
        Ok::<Split, Missing>(Split { transport_s, queue_s, ..predicted.processes[0].split })
    };
    let lacking = |missing: Missing| CalibrateError(missing.to_string());
    let split = at(End::Value).map_err(lacking)?;
    let interval =
        (at(End::Shortest).map_err(lacking)?.total_s(), at(End::Longest).map_err(lacking)?.total_s());
    let attempts_s = machine.attempt_s(messages, End::Value).map(|each| each * attempts as f64).ok();
    let is_complete = predicted.missing.is_empty();
    Ok(ModelledTimes {
        modelled: [
            transport(TransportModel::Postal, End::Value).ok(),
            transport(TransportModel::MaxRate, End::Value).ok(),
            Some(split.transport_s),
            (!predicted.lacks_queue()).then_some(split.transport_s + split.queue_s),
            is_complete.then_some(split.total_s()),
            attempts_s.filter(|_| is_complete).map(|queue_s| Split { queue_s, ..split }.total_s()),
        ],
        split,
        interval,
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use matchpoint_model::machine::blue_waters;
    use matchpoint_model::{Layout, Machine};

    use super::*;

    fn close(one: Option<f64>, other: f64) -> bool {
        one.is_some_and(|one| (one - other).abs() <= 1e-9 * other)
    }

    fn on_node(machine: &Machine, processes: u32) -> Setting<'_> {
        let processes = NonZeroU32::new(processes).unwrap();
        let layout = Layout { processes, ppn: processes, sockets: NonZeroU32::MIN };
        Setting { machine, layout, topology: None, search: Search::Order(SearchOrder::Bound) }
    }

    #[test]
    fn each_model_adds_what_it_knows() {
        let machine = blue_waters().unwrap();
        let setting = on_node(&machine, 4);
        let to_one = [0, 2, 3].map(|from| Sent::one(from, 1, 100));
        let all = Exchange { messages: [&to_one[..], &[Sent::one(1, 0, 100)]].concat() };
        let predicted = exchange(&setting, &all, &[0, 6, 0, 0]).unwrap();
        let [postal, max_rate, node_aware, queue, contention, attempts] = predicted.modelled;
        let on_socket = 4.4e-7 + 100.0 / 2.2e9;
        assert!(close(postal, 2.3e-6 + 100.0 / 1.3e9) && max_rate == postal);
        assert!(close(node_aware, on_socket));
        assert!(close(queue, on_socket + 8.4e-9 * 9.0) && contention == queue);
        assert!(close(attempts, on_socket + 2.0 * 8.4e-9 * 6.0));
        assert_eq!(predicted.interval, (queue.unwrap(), queue.unwrap()), "the paper gives no intervals");
    }

    #[test]
    fn volumes_are_as_in_figure_5() {
        let machine = blue_waters().unwrap();
        let predicted = volume(&on_node(&machine, 2), 1000, 100, 1000).unwrap();
        let transport = 1000.0 * (4.4e-7 + 100.0 / 2.2e9);
        assert!(close(predicted.modelled[3], transport + 8.4e-3));
        assert!(close(predicted.modelled[5], transport + 1000.0 * 2.0 * 8.4e-9));
    }
}
