// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>
#include <limits>
#include <ltp/error.hpp>
#include <ltp/gather.hpp>

#include "harness.hpp"

using ltp::DType;
using ltp::Fill;
using ltp::Gather;
using ltp::Map;

namespace {

/// What a gather has to give, written as plainly as can be.
template <class T>
std::vector<T> reference(const std::vector<std::vector<T>> &data, const std::vector<Map> &maps,
                         Fill fill) {
    std::vector<T> out(data[0].size());

    for (std::size_t i = 0; i < out.size(); i++) {
        T sum = 0;
        unsigned count = 0;
        for (std::size_t w = 0; w < data.size(); w++) {
            const bool arrived = maps[w].test(i * sizeof(T) / maps[w].seg_size());
            if (arrived || fill == Fill::previous) sum += data[w][i];
            count += arrived;
        }
        const unsigned by =
            fill == Fill::mean_of_received ? count : static_cast<unsigned>(data.size());
        out[i] = by ? sum / static_cast<T>(by) : 0;
    }
    return out;
}

template <class T>
void compare(DType dtype, test::Random &rng) {
    const std::size_t n = rng.below(3000) + 1;
    const unsigned workers = rng.below(8) + 1;
    const Fill fill = static_cast<Fill>(rng.below(3));
    const bool same_grid = rng.below(2) != 0;
    const std::uint32_t grid = (rng.below(30) + 1) * 16;
    std::vector<std::vector<T>> data(workers, std::vector<T>(n));
    std::vector<Map> maps;

    Gather g(n, dtype, fill);
    g.begin();
    double delivered = 0;
    for (auto &d : data) {
        for (T &x : d) x = static_cast<T>(rng.normal());
        Map m(n * sizeof(T), same_grid ? grid : (rng.below(30) + 1) * 16, true);
        const unsigned loss = rng.below(101);
        for (std::size_t s = 0; s < m.segments(); s++) m.set(s, rng.below(100) >= loss);
        delivered += static_cast<double>(m.delivered_bytes()) / static_cast<double>(m.length());
        g.add(d.data(), m);
        maps.push_back(m);
    }
    std::vector<T> mean(n, 7);
    g.finish(mean.data());
    CHECK(mean == reference(data, maps, fill));  // to the bit: the order of the additions is fixed
    CHECK(std::fabs(g.delivered() - delivered / workers) < 1e-9);
    for (std::size_t i = 0; i < n; i++) {
        unsigned count = 0;
        for (const Map &m : maps) count += m.test(i * sizeof(T) / m.seg_size());
        CHECK_EQ(g.counts()[i / g.block()], count);
    }
    // The result may go into one of the inputs.
    g.finish(data[0].data());
    CHECK(data[0] == mean);
}

std::uint16_t bf16(float f) {
    std::uint32_t u;
    std::memcpy(&u, &f, 4);
    return static_cast<std::uint16_t>(u >> 16);
}

/// One 16-bit value through load and store: a gather of one worker.
std::uint16_t round_trip(DType dtype, std::uint16_t x) {
    Gather g(1, dtype);
    g.begin();
    g.add(&x);
    g.finish(&x);
    return x;
}

/// (a + b) / 2 in @p dtype.
std::uint16_t mean2(DType dtype, std::uint16_t a, std::uint16_t b) {
    Gather g(1, dtype);
    g.begin();
    g.add(&a);
    g.add(&b);
    g.finish(&a);
    return a;
}

}  // namespace

TEST(gather_equals_the_reference_float32) {
    test::Random rng(2);
    for (int i = 0; i < 200; i++) compare<float>(DType::float32, rng);
}

TEST(gather_equals_the_reference_float64) {
    test::Random rng(3);
    for (int i = 0; i < 200; i++) compare<double>(DType::float64, rng);
}

TEST(gather_is_unbiased_by_uneven_loss) {
    // Worker 0 delivers half of its segments only; where it is missing the other's value stands
    // alone.
    std::vector<float> a(64, 2.0F), b(64, 4.0F), mean(64);
    Map half(256, 16, true);
    for (std::size_t s = 0; s < half.segments(); s += 2) half.set(s, false);
    Gather g(64, DType::float32);
    g.begin();
    g.add(a.data(), half);
    g.add(b.data());
    g.finish(mean.data());
    CHECK_EQ(mean[0], 4.0F);
    CHECK_EQ(mean[4], 3.0F);
    CHECK_EQ(g.delivered(), 0.75);
}

TEST(gather_starts_anew) {
    float x = 5, mean = 0;
    Gather g(1, DType::float32);
    for (int i = 0; i < 3; i++) {
        g.begin();
        g.add(&x);
        g.finish(&mean);
        CHECK_EQ(mean, 5.0F);
    }
}

TEST(gather_segment_that_nobody_delivered_is_zero) {
    float x[8] = {1, 1, 1, 1, 1, 1, 1, 1}, mean[8];
    Map m(32, 16, true);
    m.set(1, false);
    Gather g(8, DType::float32);
    g.begin();
    g.add(x, m);
    g.finish(mean);
    CHECK_EQ(mean[3], 1.0F);
    CHECK_EQ(mean[4], 0.0F);
}

TEST(gather_whole_messages_keep_the_grid_coarse) {
    std::vector<float> x(1000, 1.0F);
    Gather g(1000, DType::float32);
    g.begin();
    g.add(x.data());
    CHECK_EQ(g.block(), 1000U);
    g.add(x.data(), Map(4000, 1408, true));  // 352 elements: does not divide 1000
    CHECK_EQ(g.block(), 352U);
    g.add(x.data());
    CHECK_EQ(g.block(), 352U);
    g.finish(x.data());
    CHECK_EQ(x[999], 1.0F);
    CHECK_EQ(g.counts().back(), 3U);
}

TEST(gather_zero_elements) {
    Gather g(0, DType::float32);
    g.begin();
    g.add(nullptr, Map());
    g.add(nullptr);
    g.finish(nullptr);
    CHECK_EQ(g.delivered(), 1.0);
    CHECK_EQ(g.workers(), 2U);
}

TEST(gather_refuses_what_does_not_fit) {
    float x[8] = {};
    double y[8] = {};
    Gather g(8, DType::float32), d(8, DType::float64);
    g.begin();
    d.begin();
    CHECK_THROWS(g.finish(x), ltp::Error, "nothing to average");
    CHECK_THROWS(g.add(x, Map(28, 16, true)), ltp::Error, "8 elements of float32");
    CHECK_THROWS(d.add(y, Map(64, 12, true)), ltp::Error, "cut elements");
    d.add(y, Map(64, 100, true));  // one segment cuts nothing
}

TEST(gather_float16_values_survive) {
    for (unsigned x = 0; x < 65536; x++) {
        const auto u = static_cast<std::uint16_t>(x);
        const bool nan = (u & 0x7c00) == 0x7c00 && (u & 0x3ff);
        const std::uint16_t y = round_trip(DType::float16, u);
        if (nan)
            CHECK((y & 0x7c00) == 0x7c00 && (y & 0x3ff));
        else if (u == 0x8000)  // 0 + -0
            CHECK_EQ(y & 0x7fff, 0);
        else
            CHECK_EQ(y, u);
    }
}

TEST(gather_bfloat16_values_survive) {
    for (unsigned x = 0; x < 65536; x++) {
        const auto u = static_cast<std::uint16_t>(x);
        const bool nan = (u & 0x7f80) == 0x7f80 && (u & 0x7f);
        const std::uint16_t y = round_trip(DType::bfloat16, u);
        if (nan)
            CHECK((y & 0x7f80) == 0x7f80 && (y & 0x7f));
        else if (u == 0x8000)
            CHECK_EQ(y & 0x7fff, 0);
        else
            CHECK_EQ(y, u);
    }
}

TEST(gather_16_bits_round_to_even_and_sum_in_32) {
    // 1 and its successor: the mean lies half-way and goes to the even one.
    CHECK_EQ(mean2(DType::float16, 0x3c00, 0x3c01), 0x3c00);
    CHECK_EQ(mean2(DType::float16, 0x3c01, 0x3c02), 0x3c02);
    CHECK_EQ(mean2(DType::float16, 0x0001, 0x0002), 0x0002);  // subnormal
    CHECK_EQ(mean2(DType::float16, 0x0000, 0x0001), 0x0000);
    CHECK_EQ(mean2(DType::float16, 0x03ff, 0x0400), 0x0400);  // from subnormal to normal
    // The sum of two largest values overflows 16 bits, their mean does not.
    CHECK_EQ(mean2(DType::float16, 0x7bff, 0x7bff), 0x7bff);
    CHECK_EQ(mean2(DType::float16, 0x7c00, 0x3c00), 0x7c00);  // infinity stays
    CHECK_EQ(mean2(DType::bfloat16, bf16(1.0F), bf16(1.0F) + 1), bf16(1.0F));
    CHECK_EQ(mean2(DType::bfloat16, bf16(1.0F) + 1, bf16(1.0F) + 2), bf16(1.0F) + 2);
}
