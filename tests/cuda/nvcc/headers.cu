// Every public header with nothing compiled apart, under all warnings of nvcc.
#include <wengert/wengert.hpp>

#include <wengert/arrays.hpp>
#include <wengert/check.hpp>
#include <wengert/complex.hpp>
#include <wengert/complex_linalg.hpp>
#include <wengert/cuda.hpp>
#include <wengert/emit.hpp>
#include <wengert/fft.hpp>
#include <wengert/implicit.hpp>
#include <wengert/io.hpp>
#include <wengert/linalg.hpp>
#include <wengert/native.hpp>
#include <wengert/passes.hpp>
#include <wengert/random.hpp>
#include <wengert/report.hpp>
#include <wengert/scalar.hpp>
#include <wengert/special.hpp>

int main() {}
