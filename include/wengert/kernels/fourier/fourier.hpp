// Which library transforms: pocketfft where its header is found, else FFTW, opened when it is first used. WENGERT_FFTW chooses FFTW
// all the same. All sources of a program must see the same.
#pragma once

#if !defined(WENGERT_FFTW) && __has_include(<pocketfft_hdronly.h>)
#include "pocketfft.hpp"
namespace wengert::kernels {
namespace fourier = pocket;
}
#else
#include "fftw.hpp"
namespace wengert::kernels {
namespace fourier = fftw;
}
#endif
