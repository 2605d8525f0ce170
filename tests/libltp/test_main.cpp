// SPDX-License-Identifier: MIT
#include <cstring>
#include <iostream>

#include "harness.hpp"

// usage: unit [PART-OF-A-NAME]
int main(int argc, char **argv) {
    int passed = 0, failed = 0, skipped = 0;

    for (const test::Case &c : test::cases()) {
        if (argc > 1 && !std::strstr(c.name, argv[1])) continue;
        try {
            c.run();
            passed++;
        } catch (const test::Skip &s) {
            std::cout << "SKIPPED " << c.name << ": " << s.what() << "\n";
            skipped++;
        } catch (const std::exception &e) {
            std::cout << "FAILED " << c.name << ": " << e.what() << "\n";
            failed++;
        }
    }
    std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped"
              << std::endl;
    return failed || !(passed + skipped);
}
