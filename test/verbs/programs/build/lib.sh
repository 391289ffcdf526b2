# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the scripts beside it, each of which fetches the source of a program that no package of Debian 12 has,
# builds it as it is in the cache, and prints where it is. Exit status 2: it cannot be built; 3: its source cannot be
# fetched.
#   NORNIC_LAB_CACHE   the cache (~/.cache/nornic-lab)
#   NORNIC_LAB_GIT     where repositories are, OWNER+NAME/repo in it, in the place of https://github.com/OWNER/NAME
# shellcheck shell=bash
set -euo pipefail

# cache_enter NAME: goes to the program's directory in the cache
cache=
cache_enter() {
    cache=${NORNIC_LAB_CACHE:-$HOME/.cache/nornic-lab}/$1
    mkdir -p "$cache"
    cd "$cache"
}

fail() {
    echo "$(basename "$0"): $1" >&2
    exit 2
}

# needs PACKAGE...: of Debian, to build it
needs() {
    local package missing=
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=" $package"
    done
    [ -z "$missing" ] || fail "to build it needs: apt-get install$missing"
}

# debian_source SUITE PACKAGE: fetches its tar, as upstream has it. Apt's configuration stays as it is.
debian_source() {
    local uri keyring=/usr/share/keyrings/debian-archive-keyring.gpg private
    ls "$2"_*.orig.tar.* >/dev/null 2>&1 && return
    # shellcheck disable=SC2016 # apt-get knows them
    uri=$(apt-get indextargets --format '$(IDENTIFIER) $(RELEASE) $(COMPONENT) $(REPO_URI)' |
        awk '$1 == "Packages" && $2 == "bookworm" && $3 == "main" { print $4; exit }')
    [ -n "$uri" ] || { echo "apt knows no suite bookworm: apt-get update" >&2 && exit 3; }
    mkdir -p apt/lists/partial apt/cache/archives/partial
    echo "deb-src [signed-by=$keyring] $uri $1 main" >apt/sources.list
    private=(-o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User=root)
    # the tar alone: a mirror may have let go of what Debian has changed since
    { apt-get "${private[@]}" -qq update &&
        apt-get "${private[@]}" -qq source --download-only --tar-only "$2"; } >&2 || exit 3
}

# unpack PACKAGE DIRECTORY: what debian_source() has fetched, into a new directory
unpack() {
    rm -rf "$2"
    mkdir "$2"
    # shellcheck disable=SC2012 # versions, not odd names
    tar -xf "$(ls "$1"_*.orig.tar.* | sort -V | tail -1)" -C "$2" --strip-components=1
}

# git_source OWNER/NAME COMMIT DIRECTORY: that commit, or tag, of a repository on GitHub
git_source() {
    local from=https://github.com/$1
    [ -d "$3/.git" ] && return
    [ -z "${NORNIC_LAB_GIT:-}" ] || from=file://$NORNIC_LAB_GIT/${1/\//+}/repo
    rm -rf "$3.new"
    { git init -q "$3.new" && git -C "$3.new" fetch -q --depth 1 "$from" "$2" &&
        git -C "$3.new" -c advice.detachedHead=false checkout -q FETCH_HEAD; } >&2 || exit 3
    mv "$3.new" "$3"
}
