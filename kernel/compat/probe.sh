#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Looks into the headers of the kernel a module is built for and prints one
# -DLTP_HAVE_... for each thing found there. Kbuild adds them to the compiler's
# flags (see probe.mk), compat.h acts on them.
#
# Distributions backport, so a kernel's version says nothing about its headers.
# What the preprocessor can see by itself, macros, is probed in compat.h.

set -eu

include=${1:?usage: probe.sh KERNEL_SOURCE_TREE}/include
if [ ! -e "$include/net/sock.h" ]; then
	echo "probe.sh: no kernel headers in $include" >&2
	# An unknown flag stops the compiler: better than a wrong guess.
	echo "-DLTP_HAVE_ --no-kernel-headers-in-$include"
	exit 1
fi

# probe NAME HEADER REGEX: the header is seen as one line without comments,
# each run of blanks as one space.
probe() {
	[ -e "$include/$2" ] || return 0
	if tr -s '[:space:]' ' ' <"$include/$2" | sed 's,/\*[^*]*\*/,,g' |
		grep -qE -- "$3"; then
		printf -- '-DLTP_HAVE_%s ' "$1"
	fi
}

# Headers split off others
probe UNALIGNED_H linux/unaligned.h ''
probe GSO_H net/gso.h ''
probe PROTO_MEMORY_H net/proto_memory.h ''
probe RPS_H net/rps.h ''

# Members of structures
probe PROTO_ACCEPT_ARG net/sock.h '\(\*accept\)\(struct sock \*sk, struct proto_accept_arg \*'
probe PROTO_IOCTL_KARG net/sock.h '\(\*ioctl\)\(struct sock \*sk, int cmd, int \*'
probe PROTO_RECVMSG_4 net/sock.h '\(\*recvmsg\)\(struct sock \*sk, struct msghdr \*msg, size_t len, int flags\)'
probe PROTO_PINFO_OFFSET net/sock.h ' ipv6_pinfo_offset;'
probe INET_FL_LIST net/inet_sock.h '\*ipv6_fl_list;'

# Types
probe SOCKADDR_UNSIZED linux/socket.h 'struct sockaddr_unsized \{'

# Functions
probe HRTIMER_SETUP linux/hrtimer.h ' hrtimer_setup\('
probe SK_UID net/sock.h ' sk_uid\(const struct sock'
probe SK_DROPS_INC net/sock.h ' sk_drops_inc\('
probe IP6_DST_STORE_BOOL net/ip6_route.h ' ip6_dst_store\(struct sock \*sk, struct dst_entry \*dst, bool'
probe IPV6_RECV_ERROR_3 net/ipv6.h ' ipv6_recv_error\(struct sock \*sk, struct msghdr \*msg, int len\)'
probe UDP_TUNNEL_SK net/udp_tunnel.h ' udp_tunnel_sock_release\(struct sock \*'
probe UDP_TUNNEL_CB_FLAGS net/udp_tunnel.h ' udp_tunnel_xmit_skb\([^;]*u16 ipcb_flags\);'
printf '\n'
