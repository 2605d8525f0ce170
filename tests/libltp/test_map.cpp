// SPDX-License-Identifier: MIT
#include <ltp/error.hpp>
#include <ltp/map.hpp>

#include "harness.hpp"

using ltp::Map;

TEST(map_empty) {
    const Map m;
    CHECK_EQ(m.segments(), 0U);
    CHECK_EQ(m.fraction(), 1.0);
    CHECK(m.whole());
    CHECK(m.holes().empty());
}

TEST(map_whole_and_nothing) {
    const Map all(1000, 16, true), none(1000, 16, false);
    CHECK_EQ(all.segments(), 63U);
    CHECK_EQ(all.delivered(), 63U);
    CHECK_EQ(all.delivered_bytes(), 1000U);
    CHECK(all.whole());
    CHECK(all.holes().empty());
    CHECK_EQ(none.delivered_bytes(), 0U);
    CHECK_EQ(none.fraction(), 0.0);
    CHECK_EQ(none.holes().size(), 1U);
    CHECK(none.holes()[0] == (Map::Range{0, 1000}));
}

TEST(map_last_segment_is_shorter) {
    Map m(1000, 300, false);
    CHECK_EQ(m.segments(), 4U);
    m.set(3, true);
    CHECK_EQ(m.delivered_bytes(), 100U);
    CHECK(m.bytes(3) == (Map::Range{900, 100}));
    CHECK(m.bytes(2) == (Map::Range{600, 300}));
    CHECK_EQ(m.bytes(4).length, 0U);
    CHECK(!m.test(4));
}

TEST(map_takes_kernel_words) {
    Map m;
    // Bits beyond the last segment are noise.
    const std::uint64_t words[2] = {~0ULL, ~0ULL};
    m.assign(70 * 16, 16, 70, words, sizeof(words));
    CHECK_EQ(m.delivered(), 70U);
    // A map that was cut counts as not arrived from there on.
    m.assign(70 * 16, 16, 70, words, 8);
    CHECK_EQ(m.delivered(), 64U);
    CHECK(m.holes()[0] == (Map::Range{64 * 16, 6 * 16}));
}

TEST(map_refuses_what_does_not_fit) {
    Map m;
    const std::uint64_t w = 0;
    CHECK_THROWS(m.assign(100, 0, 1, &w, 8), ltp::Error, "map");
    CHECK_THROWS(m.assign(100, 16, 6, &w, 8), ltp::Error, "map");
    CHECK_THROWS(m.assign(100, 16, 8, &w, 8), ltp::Error, "map");
    CHECK_THROWS(Map(10, 0, true), ltp::Error, "seg_size");
}

TEST(map_iterates_as_bit_by_bit) {
    test::Random rng(1);

    for (int round = 0; round < 300; round++) {
        const std::size_t segments = rng.below(400) + 1;
        const std::uint32_t seg = (rng.below(8) + 1) * 16;
        const std::size_t length = segments * seg - rng.below(seg);
        Map m(length, seg, false);
        std::vector<bool> bytes(length);
        const unsigned density = rng.below(101);
        std::size_t arrived = 0;
        for (std::size_t i = 0; i < segments; i++)
            if (rng.below(100) < density) {
                m.set(i, true);
                arrived++;
                for (std::size_t b = i * seg; b < std::min(length, (i + 1) * seg); b++)
                    bytes[b] = true;
            }
        CHECK_EQ(m.delivered(), arrived);
        std::vector<bool> seen(length);
        std::size_t last = 0;
        m.for_each(true, [&](Map::Range r) {
            CHECK(r.length > 0);
            CHECK(!last || r.offset > last);  // maximal: something lies between two stretches
            last = r.offset + r.length;
            for (std::size_t b = r.offset; b < last; b++) seen[b] = true;
        });
        CHECK(seen == bytes);
        m.for_each_hole([&](Map::Range r) {
            for (std::size_t b = r.offset; b < r.offset + r.length; b++) {
                CHECK(!seen[b]);
                seen[b] = true;
            }
        });
        CHECK(seen == std::vector<bool>(length, true));
    }
}
