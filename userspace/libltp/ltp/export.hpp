// SPDX-License-Identifier: MIT
#ifndef LTP_EXPORT_HPP
#define LTP_EXPORT_HPP

/// Marks what the shared library shows; everything else is hidden.
#define LTP_EXPORT __attribute__((visibility("default")))

#endif
