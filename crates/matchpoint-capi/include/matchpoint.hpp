// matchpoint.h for C++17: an engine that ends itself, results as std::optional, failures as exceptions.
//
// Nothing is kept here that the C interface does not have: c_engine() gives the pointer for all that is not wrapped.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef MATCHPOINT_HPP
#define MATCHPOINT_HPP

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "matchpoint.h"

namespace matchpoint {

// A call that was refused (MP_REFUSED_...), or was none (MP_INVALID, MP_PANICKED, MP_BUSY).
class Error : public std::runtime_error {
public:
    explicit Error(std::int32_t status) : std::runtime_error(mp_status_text(status)), status_(status) {}
    Error(std::int32_t status, const char *text) : std::runtime_error(text), status_(status) {}
    std::int32_t status() const noexcept { return status_; }

private:
    std::int32_t status_;
};

// What a receive or a probe asks for; both may be left open.
inline mp_selector selector(std::uint32_t context, std::optional<std::uint32_t> source,
                            std::optional<std::uint64_t> tag) noexcept {
    return {tag.value_or(0), tag ? 0 : MP_ANY_TAG, context, source.value_or(MP_ANY_SOURCE)};
}

// What a message says of itself.
inline mp_envelope envelope(std::uint32_t context, std::uint32_t source, std::uint64_t tag) noexcept {
    return {tag, context, source};
}

// The two queues of one process. One thread at a time.
class Engine {
public:
    // `name` is written name:key=value,...; the empty one is the default.
    explicit Engine(const std::string &name = "") {
        char text[512] = "";
        mp_engine *made = nullptr;
        const std::int32_t status = mp_engine_create(name.c_str(), &made, text, sizeof text);
        if (status != MP_OK) throw Error(status, text);
        engine_.reset(made);
    }

    // The message taken, or none: the receive is queued.
    std::optional<std::uint64_t> post(std::uint64_t receive, const mp_selector &asked) {
        std::uint64_t message = 0;
        const std::int32_t status = mp_engine_post(c_engine(), receive, &asked, &message);
        return found(status, message);
    }

    // The receive taken, or none: the message is queued.
    std::optional<std::uint64_t> arrive(std::uint64_t message, const mp_envelope &says) {
        std::uint64_t receive = 0;
        const std::int32_t status = mp_engine_arrive(c_engine(), message, &says, &receive);
        return found(status, receive);
    }

    // The message that a receive would take.
    std::optional<std::uint64_t> probe(const mp_selector &asked) {
        std::uint64_t message = 0;
        const std::int32_t status = mp_engine_probe(c_engine(), &asked, &message);
        return found(status, message);
    }

    // The same, taken.
    std::optional<std::uint64_t> matched_probe(const mp_selector &asked) {
        std::uint64_t message = 0;
        const std::int32_t status = mp_engine_matched_probe(c_engine(), &asked, &message);
        return found(status, message);
    }

    // Whether the receive was still posted. `asked` is what it was posted with.
    bool cancel(std::uint64_t receive, const mp_selector &asked) {
        return found(mp_engine_cancel(c_engine(), receive, &asked), 0).has_value();
    }

    std::int64_t posted_len() const noexcept { return mp_engine_posted_len(engine_.get()); }
    std::int64_t unexpected_len() const noexcept { return mp_engine_unexpected_len(engine_.get()); }
    mp_engine *c_engine() const noexcept { return engine_.get(); }

private:
    struct Destroy {
        void operator()(mp_engine *engine) const noexcept { mp_engine_destroy(engine); }
    };

    static std::optional<std::uint64_t> found(std::int32_t status, std::uint64_t id) {
        if (status < 0) throw Error(status);
        return status == MP_FOUND ? std::optional<std::uint64_t>(id) : std::nullopt;
    }

    std::unique_ptr<mp_engine, Destroy> engine_;
};

} // namespace matchpoint

#endif
