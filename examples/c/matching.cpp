// The C++ wrapper on one page.
//
//     c++ -std=c++17 matching.cpp $(pkg-config --cflags --libs matchpoint) -o matching_cpp && ./matching_cpp
#include <cassert>
#include <iostream>
#include <utility>

#include <matchpoint.hpp>

int main(int count, char **arguments) {
    using namespace matchpoint;
    const std::uint32_t world = 0;
    Engine first(count > 1 ? arguments[1] : "list");

    assert(!first.arrive(1, mp_pair(world, 3), 7));
    assert(first.probe(Selector(world, std::nullopt, 7)) == 1u);
    assert(first.unexpected_len() == 1);

    Engine engine = std::move(first);
    assert(engine.post(1, Selector(world, 3, std::nullopt)) == 1u);
    const Selector asked(world, 4, 0);
    assert(!engine.post(2, asked));
    assert(engine.cancel(2, asked) && !engine.cancel(2, asked));
    assert(engine.posted_len() == 0 && !engine.matched_probe(Selector(world, 3, 7)));

    try {
        mp_set_hints(engine.c_engine(), world, MP_HINT_NO_ANY_SOURCE);
        engine.post(3, Selector(world, std::nullopt, 7));
        return 1;
    } catch (const Error &error) {
        assert(error.status() == MP_REFUSED_HINT);
    }
    try {
        Engine("no such engine");
        return 1;
    } catch (const Error &error) {
        std::cout << "as it should be: " << error.what() << '\n';
    }
    return 0;
}
