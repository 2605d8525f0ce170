// SPDX-License-Identifier: MIT
// The mean of what several workers sent, when each may have lost some of it.
#ifndef LTP_GATHER_HPP
#define LTP_GATHER_HPP

#include <cstddef>
#include <cstdint>
#include <ltp/export.hpp>
#include <ltp/map.hpp>
#include <vector>

namespace ltp {

/// Element types that can be averaged. The 16-bit ones are summed in 32 bits.
enum class DType { float32, float64, float16, bfloat16 };

LTP_EXPORT std::size_t dtype_size(DType dtype) noexcept;
LTP_EXPORT const char *dtype_name(DType dtype) noexcept;

/// What stands in for a segment that a worker's message lost.
enum class Fill {
    /// Nothing: the sum is divided by the number of workers that delivered the segment. The mean
    /// stays
    /// unbiased
    /// however unevenly the loss falls. A segment that nobody delivered is 0.
    mean_of_received,
    /// Zero: the sum is divided by the number of workers, so the mean shrinks where segments are
    /// missing.
    zero,
    /// What the worker's buffer holds there: the sum is divided by the number of workers. Receive
    /// each worker
    /// into a buffer of its own, with LTP_HOLES_KEEP, and that is the worker's previous value.
    previous,
};

/// Sums the workers' messages segment by segment and divides by the count of those that delivered
/// the segment.
///
///     Gather g(n, DType::float32);
///     g.begin();
///     for (each worker)
///         g.add(data, map);
///     g.finish(mean);
///
/// The additions are made in the order of the add() calls, so equal inputs give equal bits. Workers
/// may use different segment sizes. Buffers need not be aligned beyond their element type.
class LTP_EXPORT Gather {
  public:
    Gather(std::size_t elements, DType dtype, Fill fill = Fill::mean_of_received);

    /// Forgets what was added.
    void begin();
    /// Adds one worker's message of elements() elements. Throws Error when @p map is of another
    /// length, or when its segments cut an element.
    void add(const void *data, const Map &map);
    /// Adds one worker's message that lost nothing.
    void add(const void *data);
    /// Writes the mean of elements() elements to @p mean, which may be one of the workers' buffers.
    /// Throws Error when nothing was added.
    void finish(void *mean);

    std::size_t elements() const noexcept { return elements_; }
    DType dtype() const noexcept { return dtype_; }
    Fill fill() const noexcept { return fill_; }
    std::uint32_t workers() const noexcept { return workers_; }

    /// counts()[i] workers delivered the elements [i * block(), (i + 1) * block()). block() is the
    /// workers' seg_size in elements, or what divides all of theirs when they differ.
    const std::vector<std::uint32_t> &counts() const noexcept { return counts_; }
    std::size_t block() const noexcept { return block_; }
    /// Share of all workers' elements that was delivered, 0 to 1.
    double delivered() const noexcept;

  private:
    void regrid(std::size_t block);

    std::size_t elements_;
    DType dtype_;
    Fill fill_;
    std::uint32_t workers_ = 0;
    std::size_t block_ = 0;
    std::vector<std::uint32_t> counts_;
    std::vector<float> sum32_;
    std::vector<double> sum64_;
};

}  // namespace ltp

#endif
