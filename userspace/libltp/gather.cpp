// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ltp/error.hpp>
#include <ltp/gather.hpp>
#include <numeric>
#include <string>

namespace ltp {

namespace {

// -- the element types: how they are stored, and what they are summed in
// -----------------------------------------
//
// All of it is straight-line code without calls, so that the loops below become vector
// instructions.

std::uint32_t bits_of(float f) {
    std::uint32_t u;
    std::memcpy(&u, &f, sizeof(u));
    return u;
}

float float_of(std::uint32_t u) {
    float f;
    std::memcpy(&f, &u, sizeof(f));
    return f;
}

struct Float32 {
    using Stored = float;
    using Sum = float;
    static Sum load(Stored x) { return x; }
    static Stored store(Sum x) { return x; }
};

struct Float64 {
    using Stored = double;
    using Sum = double;
    static Sum load(Stored x) { return x; }
    static Stored store(Sum x) { return x; }
};

struct BFloat16 {
    using Stored = std::uint16_t;
    using Sum = float;
    static Sum load(Stored x) { return float_of(std::uint32_t{x} << 16); }
    static Stored store(Sum x) {
        const std::uint32_t u = bits_of(x);
        // Round to nearest, ties to even; a NaN must not round to infinity.
        const std::uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
        return static_cast<Stored>((u & 0x7fffffff) > 0x7f800000 ? (u >> 16 | 0x40) : rounded);
    }
};

struct Float16 {
    using Stored = std::uint16_t;
    using Sum = float;
    static Sum load(Stored x) {
        const std::uint32_t sign = std::uint32_t{x} << 16 & 0x80000000;
        const std::uint32_t magnitude = x & 0x7fff;
        // Exponent and mantissa moved to their places in a float, then scaled: also right for
        // subnormals.
        const float scaled = float_of(magnitude << 13) * float_of(0x77800000) /* 2^112 */;
        const std::uint32_t special = 0x7f800000 | magnitude << 13;
        return float_of(sign | (magnitude >= 0x7c00 ? special : bits_of(scaled)));
    }
    static Stored store(Sum x) {
        const std::uint32_t u = bits_of(x);
        const std::uint32_t sign = u >> 16 & 0x8000;
        const std::uint32_t magnitude = u & 0x7fffffff;
        // Normal: move the exponent's bias, round to nearest even.
        const std::uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
        // Subnormal: let the addition of 0.5 align and round the mantissa.
        const std::uint32_t subnormal = bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F);
        const std::uint32_t nan = 0x7e00;
        std::uint32_t h = magnitude < 0x38800000 ? subnormal : normal;
        h = magnitude >= 0x477ff000 ? 0x7c00 : h;  // 65520 and above round to infinity
        h = magnitude > 0x7f800000 ? nan : h;
        return static_cast<Stored>(sign | h);
    }
};

template <class T>
void add_range(typename T::Sum *__restrict sum, const void *data, std::size_t first,
               std::size_t count) {
    const auto *x = static_cast<const typename T::Stored *>(data) + first;

    sum += first;
    for (std::size_t i = 0; i < count; i++) sum[i] += T::load(x[i]);
}

template <class T>
void divide_range(const typename T::Sum *__restrict sum, void *mean, std::size_t first,
                  std::size_t count, std::uint32_t workers) {
    auto *y = static_cast<typename T::Stored *>(mean) + first;
    const auto divisor = static_cast<typename T::Sum>(workers);

    sum += first;
    for (std::size_t i = 0; i < count; i++) y[i] = T::store(sum[i] / divisor);
}

/// Calls @p f with the traits of @p dtype and the sum vector that belongs to them.
template <class F>
void dispatch(DType dtype, std::vector<float> &sum32, std::vector<double> &sum64, F &&f) {
    switch (dtype) {
        case DType::float32:
            return f(Float32{}, sum32.data());
        case DType::float64:
            return f(Float64{}, sum64.data());
        case DType::float16:
            return f(Float16{}, sum32.data());
        case DType::bfloat16:
            return f(BFloat16{}, sum32.data());
    }
}

}  // namespace

std::size_t dtype_size(DType dtype) noexcept {
    switch (dtype) {
        case DType::float32:
            return 4;
        case DType::float64:
            return 8;
        case DType::float16:
        case DType::bfloat16:
            return 2;
    }
    return 0;
}

const char *dtype_name(DType dtype) noexcept {
    switch (dtype) {
        case DType::float32:
            return "float32";
        case DType::float64:
            return "float64";
        case DType::float16:
            return "float16";
        case DType::bfloat16:
            return "bfloat16";
    }
    return "?";
}

Gather::Gather(std::size_t elements, DType dtype, Fill fill)
    : elements_(elements), dtype_(dtype), fill_(fill) {
    if (dtype == DType::float64)
        sum64_.resize(elements);
    else
        sum32_.resize(elements);
}

void Gather::begin() {
    std::fill(sum32_.begin(), sum32_.end(), 0.0F);
    std::fill(sum64_.begin(), sum64_.end(), 0.0);
    counts_.clear();
    block_ = 0;
    workers_ = 0;
}

void Gather::regrid(std::size_t block) {
    if (!block_) {
        block_ = block;
        counts_.assign((elements_ + block - 1) / block, 0);
        return;
    }
    // A single block covers everything: it can be cut anywhere.
    const std::size_t fine = counts_.size() == 1 ? block : std::gcd(block_, block);
    if (fine == block_) return;
    std::vector<std::uint32_t> counts((elements_ + fine - 1) / fine);
    for (std::size_t i = 0; i < counts.size(); i++) counts[i] = counts_[i * fine / block_];
    counts_ = std::move(counts);
    block_ = fine;
}

void Gather::add(const void *data, const Map &map) {
    const std::size_t size = dtype_size(dtype_);

    if (map.length() != elements_ * size)
        throw Error(EINVAL, "a map of " + std::to_string(map.length()) +
                                " bytes does not belong to " + std::to_string(elements_) +
                                " elements of " + dtype_name(dtype_) +
                                ": pass the map that came with the tensor");
    // A single segment may be of any size: nothing is cut.
    if (map.segments() > 1 && map.seg_size() % size)
        throw Error(EINVAL, "segments of " + std::to_string(map.seg_size()) +
                                " bytes cut elements of " + dtype_name(dtype_) +
                                ": send with a seg_size that is a multiple of 16");
    if (!elements_) {
        workers_++;
        return;
    }
    if (map.segments() > 1)
        regrid(map.seg_size() / size);
    else if (!block_)
        regrid(elements_);
    dispatch(dtype_, sum32_, sum64_, [&](auto traits, auto *sum) {
        using T = decltype(traits);
        if (fill_ == Fill::previous) add_range<T>(sum, data, 0, elements_);
        map.for_each(true, [&](Map::Range r) {
            const std::size_t first = r.offset / size, count = r.length / size;
            if (fill_ != Fill::previous) add_range<T>(sum, data, first, count);
            const std::size_t end = (first + count + block_ - 1) / block_;
            for (std::size_t b = first / block_; b < end; b++) counts_[b]++;
        });
    });
    workers_++;
}

void Gather::add(const void *data) {
    const std::size_t bytes = elements_ * dtype_size(dtype_);

    // One segment if a segment can be that long, so that the grid stays as coarse as it is.
    add(data,
        Map(bytes, static_cast<std::uint32_t>(std::min<std::size_t>(bytes, UINT32_MAX & ~15U)),
            true));
}

void Gather::finish(void *mean) {
    if (!workers_)
        throw Error(EINVAL, "there is nothing to average: add at least one worker's tensor");
    dispatch(dtype_, sum32_, sum64_, [&](auto traits, auto *sum) {
        using T = decltype(traits);
        for (std::size_t b = 0, end; b < counts_.size(); b = end) {
            // One loop over all blocks that have the same divisor.
            for (end = b + 1; end < counts_.size() && counts_[end] == counts_[b]; end++);
            const std::size_t first = b * block_, last = std::min(elements_, end * block_);
            // Where nobody delivered the sum is 0, whatever it is divided by.
            const std::uint32_t by =
                fill_ == Fill::mean_of_received ? std::max(counts_[b], 1U) : workers_;
            divide_range<T>(sum, mean, first, last - first, by);
        }
    });
}

double Gather::delivered() const noexcept {
    std::uint64_t got = 0;

    if (!workers_ || !elements_) return 1.0;
    for (std::size_t b = 0; b < counts_.size(); b++)
        got += counts_[b] * std::uint64_t{std::min(block_, elements_ - b * block_)};
    return static_cast<double>(got) / (static_cast<double>(elements_) * workers_);
}

}  // namespace ltp
