// Pairs of a word and a place in ascending order: a bitonic network (Batcher 1968) over tiles in shared memory, and steps between
// tiles. No two pairs are equal, so there is one sorted order.
#pragma once

#include <bit>

#include "kernels.hpp"

namespace wengert::detail::gpu {

/// What the kernels are given; the text has the same struct.
struct Sorting {
    static constexpr long long tile = 1024;
    void* word = nullptr;
    void* place = nullptr;
    long long count = 0;  ///< a power of two, of whole tiles
    long long run = 0, step = 0;

    /// The number of pairs that are sorted for n. Those behind the first n must be greater.
    static long long room(long long n)
    {
        return std::max(tile, static_cast<long long>(std::bit_ceil(static_cast<unsigned long long>(n))));
    }
};

inline constexpr std::string_view sort_text = R"wg(
struct wg_sorting {
    uint64_t* word;
    int64_t* place;
    wg_int count, run, step;
};
inline void wg_ordered(uint64_t& a, uint64_t& b, int64_t& i, int64_t& k, bool ascending)
{
    if ((a > b || (a == b && i > k)) != ascending) return;
    const uint64_t word = a;
    const int64_t place = i;
    a = b, b = word, i = k, k = place;
}
/// Runs of `run` elements are sorted from halves that ascend and descend; those of a tile from single ones on where run is 0.
extern "C" __global__ void sort_tiles(const wg_sorting s)
{
    __shared__ uint64_t word[1024];
    __shared__ int64_t place[1024];
    for (wg_int first = (wg_int)blockIdx.x * 1024; first < s.count; first += (wg_int)gridDim.x * 1024) {
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) word[i] = s.word[first + i], place[i] = s.place[first + i];
        const wg_int last = s.run ? s.run : 1024;
        for (wg_int run = s.run ? s.run : 2; run <= last; run *= 2)
            for (int step = run < 1024 ? (int)run / 2 : 512; step > 0; step /= 2) {
                __syncthreads();
                for (int t = threadIdx.x; t < 512; t += blockDim.x) {
                    const int a = 2 * t - (t & (step - 1)), b = a + step;
                    wg_ordered(word[a], word[b], place[a], place[b], !((first + a) & run));
                }
            }
        __syncthreads();
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) s.word[first + i] = word[i], s.place[first + i] = place[i];
        __syncthreads();
    }
}
extern "C" __global__ void sort_step(const wg_sorting s)
{
    for (wg_int t = wg_thread(); t < s.count / 2; t += wg_threads()) {
        const wg_int a = 2 * t - (t & (s.step - 1)), b = a + s.step;
        wg_ordered(s.word[a], s.word[b], s.place[a], s.place[b], !(a & s.run));
    }
}
)wg";

inline std::string sorting_text() { return std::string(sort_text); }

/// Sorts s.count pairs.
inline void sort_pairs(Gpu& gpu, Sorting s)
{
    const auto kernel = [&](const char* name, long long threads) {
        launch(gpu, Kernels::of(gpu).find(gpu, "sort", name, sorting_text), threads, s);
    };
    s.run = 0;
    kernel("sort_tiles", s.count / 4);
    for (s.run = 2 * Sorting::tile; s.run <= s.count; s.run *= 2) {
        for (s.step = s.run / 2; s.step >= Sorting::tile; s.step /= 2) kernel("sort_step", s.count / 2);
        kernel("sort_tiles", s.count / 4);
    }
}

}  // namespace wengert::detail::gpu
