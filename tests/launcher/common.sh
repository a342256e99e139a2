# SPDX-License-Identifier: BSD-3-Clause
# For the launcher's tests: a copy of the launcher with stand-in libraries beside it, in a folder of the test's own, and
# checks of what it says and answers. Sourced with the launcher's path, the C compiler and the working folder.

set -u
compiler=$2
work=$3
rm -rf "$work"
mkdir -p "$work/bin" "$work/lib" "$work/test"
work=$(cd -P -- "$work" && pwd)
cp "$1" "$work/bin/truerma"
truerma=$work/bin/truerma
cd "$work/test" || exit 1
failures=0

# The stand-ins say so when they are loaded: that is how a test knows that a preload took effect.
for abi in mpich openmpi abi; do
    printf '#include <unistd.h>\n__attribute__((constructor)) static void hello(void) {
        if (write(1, "loaded %s\\n", %d) < 0)
            _exit(99);\n}\n' "$abi" $((8 + ${#abi})) >loaded.c
    "$compiler" -shared -fPIC -o "$work/lib/libtruerma-$abi.so" loaded.c || exit 1
done

# expect STATUS PATTERN command... : the exit code, and an extended regular expression that the one line (or the first of
# several) printed must match. The environment is empty but for PATH and what the caller puts before with `env`.
expect() {
    local status=$1 pattern=$2 output answer
    shift 2
    output=$(env -i PATH="$work/path:/usr/bin:/bin" "$@" 2>&1)
    answer=$?
    if [ $answer -ne "$status" ]; then
        echo "FAILED: $*: exit code $answer, expected $status; it said: $output"
        failures=$((failures + 1))
    elif ! head -n 1 <<<"$output" | grep -Eq -- "$pattern"; then
        echo "FAILED: $*: expected a line like /$pattern/; it said: $output"
        failures=$((failures + 1))
    fi
}

preload_is() { # EXPECTED BEFORE command... : LD_PRELOAD in a program behind the command, when it was BEFORE
    local expected=$1 before=$2 value
    shift 2
    value=$(env -i PATH=/usr/bin:/bin TRUERMA_ABI=mpich LD_PRELOAD="$before" "$@" sh -c 'echo "$LD_PRELOAD"' 2>/dev/null | tail -n 1)
    [ "$value" = "$expected" ] || {
        echo "FAILED: $*: LD_PRELOAD='$before' became '$value', expected '$expected'"
        failures=$((failures + 1))
    }
}

# A refusal is one line.
expect_refused() { # STATUS PATTERN command...
    local lines
    expect "$@"
    shift 2
    lines=$(env -i PATH="$work/path:/usr/bin:/bin" "$@" 2>&1 | wc -l)
    [ "$lines" -eq 1 ] || {
        echo "FAILED: $*: said $lines lines, expected 1"
        failures=$((failures + 1))
    }
}

abi_of() { # MPI : the ABI of a name of tools/mpi-env
    case $1 in
    *-abi) echo abi ;;
    *) echo "${1%-*}" ;;
    esac
}

# library NAME [flags...] : a stand-in for a shared library, made in lib/ with NAME as its own name.
library() {
    local name=$1
    shift
    mkdir -p lib
    printf 'int MPI_Stand_in(void);\nint MPI_Stand_in(void) { return 0; }\n' >library.c
    "$compiler" -shared -fPIC -Wl,-soname,"$name" -Wl,--no-as-needed -o "lib/$name" library.c "$@" || exit 1
}

# program NAME [flags...] : a program that links what the flags say.
program() {
    local name=$1
    shift
    printf 'int main(void) { return 0; }\n' >program.c
    "$compiler" -Wl,--no-as-needed -Wl,--allow-shlib-undefined -o "$name" program.c "$@" || exit 1
}

# script NAME FIRST-LINE : an executable script.
script() {
    printf '%s\n' "$2" >"$1"
    chmod +x "$1"
}

finish() {
    [ $failures -eq 0 ] && echo "all checks passed"
    exit $((failures > 0))
}
