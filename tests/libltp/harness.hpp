// SPDX-License-Identifier: MIT
// Just enough to write tests: TEST(name) { CHECK(...); }, and main() is in test_main.cpp.
#ifndef LTP_TEST_HARNESS_HPP
#define LTP_TEST_HARNESS_HPP

#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

struct Case {
    const char *name;
    void (*run)();
};

inline std::vector<Case> &cases() {
    static std::vector<Case> all;
    return all;
}

struct Register {
    Register(const char *name, void (*run)()) { cases().push_back({name, run}); }
};

/// What a failed CHECK throws.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Thrown by skip().
struct Skip : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The same numbers in every run.
class Random {
  public:
    explicit Random(unsigned seed) : engine_(seed) {}
    unsigned below(unsigned n) {
        return std::uniform_int_distribution<unsigned>(0, n - 1)(engine_);
    }
    double normal() { return std::normal_distribution<>()(engine_); }

  private:
    std::mt19937 engine_;
};

[[noreturn]] inline void skip(const std::string &why) { throw Skip(why); }

template <class A, class B>
std::string show(const char *text, const A &a, const B &b, const char *file, int line) {
    std::ostringstream s;
    s << file << ":" << line << ": " << text << ": " << a << " is not " << b;
    return s.str();
}

inline void fail(const char *text, const char *file, int line) {
    throw Failure(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

}  // namespace test

#define TEST(name)                                                   \
    static void test_##name();                                       \
    static const test::Register register_##name(#name, test_##name); \
    static void test_##name()

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition)) test::fail(#condition, __FILE__, __LINE__); \
    } while (0)

#define CHECK_EQ(a, b)                                                                           \
    do {                                                                                         \
        const auto check_a = (a);                                                                \
        const auto check_b = (b);                                                                \
        if (!(check_a == check_b))                                                               \
            throw test::Failure(test::show(#a " == " #b, check_a, check_b, __FILE__, __LINE__)); \
    } while (0)

/// That @p expression throws @p type, and that the sentence contains @p part.
#define CHECK_THROWS(expression, type, part)                                                      \
    do {                                                                                          \
        bool check_thrown = false;                                                                \
        try {                                                                                     \
            expression;                                                                           \
        } catch (const type &e) {                                                                 \
            check_thrown = true;                                                                  \
            if (std::string(e.what()).find(part) == std::string::npos)                            \
                throw test::Failure(test::show(#expression, e.what(), part, __FILE__, __LINE__)); \
        }                                                                                         \
        if (!check_thrown) test::fail(#expression " throws nothing", __FILE__, __LINE__);         \
    } while (0)

#endif
