// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the module's pure logic: each *_test.c is a suite for the file of
 * that name in kernel/. Loading the module runs them, see run.
 */
#include <linux/module.h>

/* MODULE_IMPORT_NS() without its change of 6.13, from a name to a string. */
MODULE_INFO(import_ns, "EXPORTED_FOR_KUNIT_TESTING");
MODULE_DESCRIPTION("KUnit tests of the Loss-tolerant Transmission Protocol");
MODULE_LICENSE("GPL");
