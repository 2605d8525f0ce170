# SPDX-License-Identifier: GPL-2.0
# Included by Kbuild.
ccflags-y += $(shell $(src)/kernel/compat/probe.sh $(srctree))
