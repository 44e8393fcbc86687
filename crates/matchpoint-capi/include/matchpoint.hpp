// C++17 over matchpoint.h: an engine with a destructor, std::optional for matches, exceptions for refusals.
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

// A call that was refused.
class Error : public std::runtime_error {
public:
    explicit Error(std::int64_t status) : Error(status, mp_status_text(status)) {}
    Error(std::int64_t status, const std::string &text) : std::runtime_error(text), status_(status) {}

    std::int64_t status() const noexcept { return status_; }

private:
    std::int64_t status_;
};

// Selector of a receive: std::nullopt is any source, or any tag.
struct Selector {
    std::uint64_t pair;
    std::uint64_t tag;
    std::uint64_t ignore;

    Selector(std::uint32_t context, std::optional<std::uint32_t> source, std::optional<std::uint64_t> tag)
        : pair(mp_pair(context, source.value_or(MP_ANY_SOURCE))), tag(tag.value_or(0)), ignore(tag ? 0 : MP_ANY_TAG) {}
};

// An engine, for one thread at a time.
class Engine {
public:
    // As mp_create; an empty name is the default.
    explicit Engine(const std::string &name = "", std::uint32_t flags = 0) {
        char text[512] = "";
        mp_engine *made = nullptr;
        const std::int64_t status = mp_create(name.c_str(), flags, &made, text, sizeof text);
        if (status != MP_OK) throw Error(status, text);
        engine_.reset(made);
    }

    // Returns the matched message, or none if the receive is queued.
    std::optional<std::uint64_t> post(std::uint64_t receive, const Selector &asked) {
        return id(mp_post(c_engine(), receive, asked.pair, asked.tag, asked.ignore));
    }

    // Returns the matched receive, or none if the message is queued.
    std::optional<std::uint64_t> arrive(std::uint64_t message, std::uint64_t pair, std::uint64_t tag) {
        return id(mp_arrive(c_engine(), message, pair, tag));
    }

    // The message that a receive would take.
    std::optional<std::uint64_t> probe(const Selector &asked) {
        return id(mp_probe(c_engine(), asked.pair, asked.tag, asked.ignore));
    }

    // Takes the message that a receive would take.
    std::optional<std::uint64_t> matched_probe(const Selector &asked) {
        return id(mp_matched_probe(c_engine(), asked.pair, asked.tag, asked.ignore));
    }

    // Returns true if the receive was posted.
    bool cancel(std::uint64_t receive, const Selector &asked) {
        const std::int64_t status = mp_cancel(c_engine(), receive, asked.pair, asked.tag, asked.ignore);
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
