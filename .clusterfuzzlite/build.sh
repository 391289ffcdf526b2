#!/bin/bash -eu
# SPDX-License-Identifier: BSD-2-Clause
# Builds all fuzzers into $OUT with their corpora, as OSS-Fuzz and ClusterFuzzLite want it: $CC, $CXX, $CFLAGS,
# $LIB_FUZZING_ENGINE, $WORK. The libraries that they need go along, since the machine that runs them has none.
make -j"$(nproc)" CCACHE= BUILD="$WORK/obj" FUZZ_DIR="$OUT" CC="$CC" CLANG="${BPF_CLANG:-clang}" \
    CFLAGS="$CFLAGS -Wno-missing-field-initializers" FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    FUZZ_LD="$CXX $CFLAGS" LDFLAGS="-Wl,-rpath,'\$\$ORIGIN/lib'" fuzz-targets
mkdir -p "$OUT/lib"
for source in test/fuzz/*/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    (cd "test/fuzz/corpus/$name" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*)
    ldd "$OUT/$name" | awk '$3 ~ /^\// && $3 !~ /\/lib(c|m|pthread|stdc\+\+|gcc_s)\.so/ { print $3 }'
done | sort -u | xargs -r cp -Lt "$OUT/lib"
