# shellcheck shell=bash
# What the lab's scripts share. Source it, do not run it:
#
#   . "$(dirname "$0")/lib.sh"
#   lab_tree bookworm bookworm gcc make       # a Debian tree; costs nothing if it is there already
#   "$LTP_REPO/scripts/lab/enter" --tree bookworm -- gcc --version
#
# Everything that is made lives under LTP_LAB_DIR, outside the repository, so that clones and branches share it:
#
#   trees/NAME      a Debian root directory          kernels/NAME   a User-Mode Linux build directory
#   X.key           the key of the finished X        log/X.log      all output of the last attempt to make X
#   X.tmp           X in the making                  X.lock         held by whoever makes X
#
# The key is a hash of all that goes into a thing. X is renamed into place when finished and X.key is written after it,
# so an interrupted attempt is never taken for a finished thing.

LTP_REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
: "${LTP_LAB_DIR:=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/ltp-lab}"
export LTP_REPO LTP_LAB_DIR

# ---------------------------------------------------------------- messages

say() { printf 'lab: %s\n' "$*" >&2; }

die() {
	printf 'lab: %s\n' "$*" >&2
	exit 1
}

# The comment at the top of a script is its manual; --help prints it.
lab_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$1"; }

lab_elapsed() { # SECONDS
	if (($1 < 60)); then printf '%d s' "$1"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

# One line that stays and is rewritten on a terminal, a line every 30 s elsewhere, while a step runs.
lab_ticker() { # TITLE LOG
	local start=$SECONDS last_line
	if [ -t 2 ]; then
		while sleep 0.5; do
			last_line=$(tail -c 300 "$2" 2>/dev/null | tr -c '[:print:]\n' ' ' | tail -n 1) || true
			printf '\r\033[Klab: %s, %s  %.40s' "$1" "$(lab_elapsed $((SECONDS - start)))" "$last_line" >&2
		done
	else
		while sleep 30; do
			say "$1, $(lab_elapsed $((SECONDS - start)))"
		done
	fi
}

# Kills what lab_step started. Both jobs are process groups of their own, so grandchildren go too.
lab_step_kill() {
	local pid
	[ ! -t 2 ] || echo >&2
	for pid in ${LAB_STEP_PID:-} ${LAB_TICKER_PID:-}; do
		kill -TERM -- "-$pid" 2>/dev/null || true
	done
	if [ -n "${LAB_STEP_PID:-}" ]; then
		wait "$LAB_STEP_PID" 2>/dev/null || true
		kill -KILL -- "-$LAB_STEP_PID" 2>/dev/null || true
	fi
	LAB_STEP_PID='' LAB_TICKER_PID=''
}

# Runs a long command or function with all its output in LOG and shows that it is alive. Dies when it fails.
lab_step() { # TITLE LOG COMMAND...
	local title=$1 log=$2 start=$SECONDS status=0
	shift 2
	mkdir -p "$(dirname "$log")"
	[ -t 2 ] || say "$title"
	trap 'lab_step_kill; exit 130' INT
	trap 'lab_step_kill; exit 143' TERM HUP
	set -m # a process group for each job: see lab_step_kill
	(
		set -e
		printf '=== %s\n' "$title"
		"$@"
	) >>"$log" 2>&1 </dev/null 9>&- &
	LAB_STEP_PID=$!
	lab_ticker "$title" "$log" </dev/null >/dev/null 9>&- &
	LAB_TICKER_PID=$!
	set +m
	wait "$LAB_STEP_PID" || status=$?
	kill -TERM -- "-$LAB_TICKER_PID" 2>/dev/null || true
	wait "$LAB_TICKER_PID" 2>/dev/null || true
	LAB_STEP_PID='' LAB_TICKER_PID=''
	trap - INT TERM HUP
	[ ! -t 2 ] || printf '\r\033[K' >&2
	if [ "$status" != 0 ]; then
		# With parallel makes the reason is rarely at the end.
		grep -m 5 -E 'error:|^E: |^(make|cc|ld).*cannot' "$log" >&2 || true
		tail -n 10 "$log" >&2
		die "$title failed (status $status); the whole log is $log"
	fi
	say "$title: done in $(lab_elapsed $((SECONDS - start)))"
}

# ---------------------------------------------------------------- keys, locks, stamps

# A key from words and the contents of files. Functions go in through `declare -f`, which drops comments.
lab_key() { # WORD... [-- FILE...]
	local words=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	{
		printf '%s\n' "${words[@]}"
		[ $# -eq 0 ] || cat -- "$@"
	} | sha256sum | cut -d ' ' -f 1
}

lab_is_made() { # THING KEY
	local have=''
	[ -e "$LTP_LAB_DIR/$1" ] && [ -r "$LTP_LAB_DIR/$1.key" ] && read -r have <"$LTP_LAB_DIR/$1.key" && [ "$have" = "$2" ]
}

# Takes the lock of a thing on file descriptor 9.
lab_lock() { # THING
	mkdir -p "$LTP_LAB_DIR/$(dirname "$1")" "$LTP_LAB_DIR/log" ||
		die "cannot write to $LTP_LAB_DIR: set LTP_LAB_DIR to a directory of yours"
	exec 9>"$LTP_LAB_DIR/$1.lock" || die "cannot write $LTP_LAB_DIR/$1.lock"
	if ! flock -n 9; then
		say "another process makes $1, waiting for it"
		flock 9
	fi
}

lab_log() { # THING: the name of its log file
	printf '%s/log/%s.log\n' "$LTP_LAB_DIR" "${1//\//-}"
}

lab_remove() { # PATH...: also what an earlier run made as root of a user namespace
	rm -rf --one-file-system -- "$@"
}

# Renames the finished THING.tmp to THING and writes its key.
lab_finish() { # THING KEY
	local path=$LTP_LAB_DIR/$1
	rm -f "$path.key"
	if [ -e "$path" ]; then
		lab_remove "$path.old"
		mv "$path" "$path.old"
	fi
	mv "$path.tmp" "$path"
	printf '%s\n' "$2" >"$path.key.tmp"
	mv "$path.key.tmp" "$path.key"
	lab_remove "$path.old"
}

# Makes THING with COMMAND, which leaves it in THING.tmp, unless it is there with the same key.
lab_make() { # THING KEY TITLE COMMAND...
	local thing=$1 key=$2 title=$3
	shift 3
	if lab_is_made "$thing" "$key"; then return 0; fi
	lab_lock "$thing"
	# It may have been made while this process waited.
	if ! lab_is_made "$thing" "$key"; then
		lab_remove "$LTP_LAB_DIR/$thing.tmp"
		: >"$(lab_log "$thing")"
		lab_step "$title" "$(lab_log "$thing")" "$@"
		lab_finish "$thing" "$key"
	fi
	exec 9>&-
}

# ---------------------------------------------------------------- what the host must have

# Installs the packages whose commands are missing, or says what to run.
lab_need() { # COMMAND:PACKAGE...
	local pair missing=()
	for pair; do
		command -v "${pair%%:*}" >/dev/null || [ -e "${pair%%:*}" ] || missing+=("${pair#*:}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "this host lacks ${missing[*]} (Debian's package names) and has no apt-get: install them"
	[ "$(id -u)" = 0 ] || die "this host lacks some tools: run 'apt-get install ${missing[*]}' as root"
	lab_step "installing ${missing[*]} on this host" "$(lab_log host)" lab_apt_install "${missing[@]}"
}

lab_apt_install() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get update
	apt-get install -y --no-install-recommends "$@"
}

# ---------------------------------------------------------------- Debian trees

lab_tree_path() { printf '%s/trees/%s\n' "$LTP_LAB_DIR" "$1"; }

# mmdebstrap finds its own mirror; LTP_LAB_MIRROR names another one.
lab_tree_build() { # TMP SUITE PACKAGE,...
	local tmp=$1 suite=$2 packages=$3
	# shellcheck disable=SC2016 # the hook is a script for a shell of its own
	local opts=(
		--variant=minbase
		--include="$packages"
		--aptopt='Acquire::Retries "3"'
		--dpkgopt=force-unsafe-io
		# Half of the files of a tree are pages that nobody reads in there.
		--dpkgopt=path-exclude='/usr/share/man/*'
		--dpkgopt=path-exclude='/usr/share/locale/*'
		--dpkgopt=path-exclude='/usr/share/doc/*'
		--dpkgopt=path-include='/usr/share/doc/*/copyright'
		# Mount points: the repository, the lab directory.
		--customize-hook='mkdir -p "$1/ltp" "$1/lab"'
	)
	if [ "$(id -u)" = 0 ]; then
		mmdebstrap --mode=root --format=directory "${opts[@]}" "$suite" "$tmp" \
			${LTP_LAB_MIRROR:+"$LTP_LAB_MIRROR"} || return
	else
		# All files become ours, so that a tree is removed by a plain rm and `unshare -r` sees root's files.
		mkdir -p "$tmp"
		mmdebstrap --mode=unshare --format=tar "${opts[@]}" "$suite" - ${LTP_LAB_MIRROR:+"$LTP_LAB_MIRROR"} |
			tar -x -C "$tmp" --no-same-owner --exclude='./dev/*' || return
	fi
	# Runs need no root, so everyone must be able to look into it.
	chmod 755 "$tmp"
}

# Makes trees/NAME: a minimal Debian of SUITE with PACKAGEs, unless it is there already.
lab_tree() { # NAME SUITE PACKAGE...
	local name=$1 suite=$2 key packages
	shift 2
	packages=$(printf '%s\n' "$@" | sort -u | paste -sd ,)
	key=$(lab_key "$suite" "$packages" "$(declare -f lab_tree_build)")
	if lab_is_made "trees/$name" "$key"; then return 0; fi
	lab_need mmdebstrap:mmdebstrap /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring \
		flock:util-linux unshare:util-linux xz:xz-utils
	[ "$(id -u)" = 0 ] || lab_need newuidmap:uidmap
	lab_make "trees/$name" "$key" "Debian $suite tree '$name'" \
		lab_tree_build "$LTP_LAB_DIR/trees/$name.tmp" "$suite" "$packages"
}
