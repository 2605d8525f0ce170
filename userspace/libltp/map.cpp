// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ltp/error.hpp>
#include <ltp/map.hpp>

namespace ltp {

Map::Map(std::size_t length, std::uint32_t seg_size, bool arrived)
    : length_(length), seg_size_(seg_size) {
    if (!seg_size && length)
        throw Error(EINVAL, "a map of a message that is not empty needs a seg_size above 0");
    segments_ = length ? (length + seg_size - 1) / seg_size : 0;
    words_.assign((segments_ + 63) / 64, arrived ? ~std::uint64_t{0} : 0);
    clear_tail();
}

void Map::assign(std::size_t length, std::uint32_t seg_size, std::uint32_t segments,
                 const void *words, std::size_t words_bytes) {
    if (!seg_size || (length + seg_size - 1) / seg_size != segments)
        throw Error(
            EPROTO,
            "the kernel's map does not fit its message: load the module that belongs to this "
            "library");
    length_ = length;
    seg_size_ = seg_size;
    segments_ = segments;
    words_.assign((segments_ + 63) / 64, 0);
    std::memcpy(words_.data(), words, std::min(words_bytes, words_.size() * sizeof(words_[0])));
    clear_tail();
}

void Map::clear_tail() noexcept {
    if (segments_ % 64) words_.back() &= (std::uint64_t{1} << (segments_ % 64)) - 1;
}

void Map::set(std::size_t segment, bool arrived) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (segment % 64);

    if (segment >= segments_) return;
    if (arrived)
        words_[segment / 64] |= bit;
    else
        words_[segment / 64] &= ~bit;
}

std::size_t Map::delivered() const noexcept {
    std::size_t n = 0;

    for (const std::uint64_t w : words_) n += static_cast<std::size_t>(__builtin_popcountll(w));
    return n;
}

std::size_t Map::delivered_bytes() const noexcept {
    std::size_t n = delivered() * seg_size_;

    if (segments_ && test(segments_ - 1)) n -= segments_ * seg_size_ - length_;
    return n;
}

double Map::fraction() const noexcept {
    return segments_ ? static_cast<double>(delivered()) / static_cast<double>(segments_) : 1.0;
}

Map::Range Map::bytes(std::size_t segment) const noexcept {
    const std::size_t start = segment * seg_size_;

    if (segment >= segments_) return {length_, 0};
    return {start, std::min<std::size_t>(seg_size_, length_ - start)};
}

std::size_t Map::next(std::size_t from, bool arrived) const noexcept {
    const std::uint64_t flip = arrived ? 0 : ~std::uint64_t{0};

    if (from >= segments_) return segments_;
    std::size_t word = from / 64;
    std::uint64_t bits = (words_[word] ^ flip) & (~std::uint64_t{0} << (from % 64));
    while (!bits) {
        if (++word == words_.size()) return segments_;
        bits = words_[word] ^ flip;
    }
    return std::min(segments_, word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits)));
}

std::vector<Map::Range> Map::holes() const {
    std::vector<Range> out;

    for_each_hole([&](Range r) { out.push_back(r); });
    return out;
}

}  // namespace ltp
