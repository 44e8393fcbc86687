// The C++17 interface over matchpoint.h: class Engine returns matches as std::optional and throws refusals as exceptions.
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef MATCHPOINT_HPP
#define MATCHPOINT_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <matchpoint.h>

namespace matchpoint {

// The exception for a refused call or an invalid engine name.
class Error : public std::runtime_error {
public:
    explicit Error(std::int64_t status) : Error(status, mp_status_text(status)) {}
    Error(std::int64_t status, const std::string &text) : std::runtime_error(text), status_(status) {}

    std::int64_t status() const noexcept { return status_; }

private:
    std::int64_t status_;
};

// The messages that a receive matches. std::nullopt is any source or any tag.
struct Selector {
    std::uint64_t pair;
    std::uint64_t tag;
    std::uint64_t ignore;

    Selector(std::uint32_t context, std::optional<std::uint32_t> source, std::optional<std::uint64_t> tag)
        : pair(mp_pair(context, source.value_or(MP_ANY_SOURCE))), tag(tag.value_or(0)), ignore(tag ? 0 : MP_ANY_TAG) {}
};

// An engine that one thread at a time may call.
class Engine {
public:
    // Creates an engine as mp_create does. An empty name is the default engine.
    explicit Engine(const std::string &name = "", std::uint32_t flags = 0) {
        char text[512] = "";
        mp_engine *made = nullptr;
        const std::int64_t status = mp_create(name.c_str(), flags, &made, text, sizeof text);
        if (status != MP_OK) throw Error(status, text);
        engine_.reset(made);
    }

    // Posts a receive. Returns the message that matched, or std::nullopt if the receive was queued.
    std::optional<std::uint64_t> post(std::uint64_t receive, const Selector &selector) {
        return id(mp_post(c_engine(), receive, selector.pair, selector.tag, selector.ignore));
    }

    // Delivers a message. Returns the receive that matched, or std::nullopt if the message was queued.
    std::optional<std::uint64_t> arrive(std::uint64_t message, std::uint64_t pair, std::uint64_t tag) {
        return id(mp_arrive(c_engine(), message, pair, tag));
    }

    // Returns the message that a receive would match, and leaves the message queued.
    std::optional<std::uint64_t> probe(const Selector &selector) {
        return id(mp_probe(c_engine(), selector.pair, selector.tag, selector.ignore));
    }

    // Removes and returns the message that a receive would match.
    std::optional<std::uint64_t> matched_probe(const Selector &selector) {
        return id(mp_matched_probe(c_engine(), selector.pair, selector.tag, selector.ignore));
    }

    // Withdraws a posted receive. Returns true if the receive was posted.
    bool cancel(std::uint64_t receive, const Selector &selector) {
        const std::int64_t status = mp_cancel(c_engine(), receive, selector.pair, selector.tag, selector.ignore);
        if (status < 0) throw Error(status);
        return status == MP_FOUND;
    }

    std::int64_t posted_len() const noexcept { return mp_posted_len(engine_.get()); }
    std::int64_t unexpected_len() const noexcept { return mp_unexpected_len(engine_.get()); }
    mp_engine *c_engine() const noexcept { return engine_.get(); }

private:
    struct Destroy {
        void operator()(mp_engine *engine) const noexcept { mp_destroy(engine); }
    };

    static std::optional<std::uint64_t> id(mp_outcome outcome) {
        if (outcome.status < 0) throw Error(outcome.status);
        return outcome.status == MP_MATCHED ? std::optional<std::uint64_t>(outcome.id) : std::nullopt;
    }

    std::unique_ptr<mp_engine, Destroy> engine_;
};

} // namespace matchpoint

#endif
