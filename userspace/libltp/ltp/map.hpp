// SPDX-License-Identifier: MIT
// Which segments of a message arrived.
#ifndef LTP_MAP_HPP
#define LTP_MAP_HPP

#include <cstddef>
#include <cstdint>
#include <ltp/export.hpp>
#include <vector>

namespace ltp {

/// The bitmap of a flow. Segment i holds the bytes [i * seg_size, (i + 1) * seg_size) of the
/// message; the last segment may be shorter. Bit i % 64 of word i / 64 is set if segment i arrived,
/// as in struct ltp_rcvmap.
class LTP_EXPORT Map {
  public:
    /// A stretch of the message, in bytes.
    struct Range {
        std::size_t offset;
        std::size_t length;
        bool operator==(const Range &o) const { return offset == o.offset && length == o.length; }
    };

    Map() = default;

    /// The map of a message of @p length bytes of which all (@p arrived) or nothing arrived.
    Map(std::size_t length, std::uint32_t seg_size, bool arrived);

    /// Takes the kernel's words over. @p words may hold fewer than @p segments bits: what is
    /// missing counts as not arrived.
    void assign(std::size_t length, std::uint32_t seg_size, std::uint32_t segments,
                const void *words, std::size_t words_bytes);

    std::size_t length() const noexcept { return length_; }
    std::uint32_t seg_size() const noexcept { return seg_size_; }
    std::size_t segments() const noexcept { return segments_; }
    const std::vector<std::uint64_t> &words() const noexcept { return words_; }

    bool test(std::size_t segment) const noexcept {
        return segment < segments_ && (words_[segment / 64] >> (segment % 64) & 1);
    }
    void set(std::size_t segment, bool arrived) noexcept;

    /// Segments that arrived.
    std::size_t delivered() const noexcept;
    /// Bytes that arrived.
    std::size_t delivered_bytes() const noexcept;
    /// Share of the segments that arrived, 0 to 1; 1 for an empty map.
    double fraction() const noexcept;
    bool whole() const noexcept { return delivered() == segments_; }

    /// The bytes of segment @p segment.
    Range bytes(std::size_t segment) const noexcept;

    /// The first segment at or after @p from whose bit is @p arrived; segments() if there is none.
    std::size_t next(std::size_t from, bool arrived) const noexcept;

    /// Calls @p f(Range) for each maximal stretch of bytes that arrived (or did not), in ascending
    /// order.
    template <class F>
    void for_each(bool arrived, F &&f) const {
        for (std::size_t first = next(0, arrived); first < segments_;) {
            const std::size_t end = next(first, !arrived);
            const std::size_t start = first * seg_size_;
            const std::size_t stop = end == segments_ ? length_ : end * seg_size_;
            f(Range{start, stop - start});
            first = next(end, arrived);
        }
    }
    template <class F>
    void for_each_hole(F &&f) const {
        for_each(false, f);
    }
    std::vector<Range> holes() const;

    bool operator==(const Map &o) const {
        return length_ == o.length_ && seg_size_ == o.seg_size_ && segments_ == o.segments_ &&
               words_ == o.words_;
    }

  private:
    void clear_tail() noexcept;

    std::size_t length_ = 0;
    std::uint32_t seg_size_ = 0;
    std::size_t segments_ = 0;
    std::vector<std::uint64_t> words_;
};

}  // namespace ltp

#endif
