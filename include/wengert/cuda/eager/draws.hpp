// Random numbers on a device: functions of their key and place, with the bits of kernels/cpu/random.hpp. The functions are those of
// emitted C (graph/text/cpp_helpers.hpp); a thread makes what comes of one block of four words.
#pragma once

#include "../../array/elsewhere.hpp"
#include "../../graph/text/cpp_helpers.hpp"
#include "../../tape/calls.hpp"
#include "sort.hpp"

namespace wengert::detail::gpu {

/// What the kernels are given; the text has the same struct.
struct Drawing {
    void* y = nullptr;
    void* place = nullptr;      ///< of words that are to be sorted
    const void* key = nullptr;  ///< where the key is, in the place of `secret` and `stream`
    long long count = 0;
    long long room = 0;  ///< beyond `count` are words that come after all others
    std::uint64_t secret = 0, stream = 0, first = 0, range = 0;
    double low = 0, high = 0, width = 0;
    int scaled = 0;
    unsigned last = 0;  ///< words up to this one mean `low`
};

inline constexpr std::string_view draw_text = R"wg(
struct wg_drawing {
    void* y;
    int64_t* place;
    const uint64_t* key;
    wg_int count, room;
    uint64_t secret, stream, first, range;
    double low, high, width;
    int scaled;
    unsigned last;
};
inline uint64_t wg_pair(const uint32_t* w) { return w[0] | (uint64_t)w[1] << 32; }

/// make(w, v): `per` elements of the words of a block.
template <class T, int per, class Make> inline void wg_draw(const wg_drawing& d, const Make& make)
{
    T* const y = (T*)d.y;
    const uint64_t secret = d.key ? d.key[0] : d.secret, stream = d.key ? d.key[1] : d.stream;
    for (wg_int b = wg_thread(); b * per < d.count; b += wg_threads()) {
        uint32_t w[4];
        T v[per];
        wg_block_i64(secret, stream, (uint64_t)b, w);
        make(w, v);
        for (int j = 0; j < per && b * per + j < d.count; ++j) y[b * per + j] = v[j];
    }
}
extern "C" __global__ void uniform_f32(const wg_drawing d)
{
    wg_draw<float, 4>(d, [&](const uint32_t* w, float* v) {
        for (int j = 0; j < 4; ++j) {
            v[j] = (float)(w[j] >> 8) * 0x1p-24f;
            if (d.scaled) v[j] = fmaf(v[j], (float)d.width, (float)d.low);
        }
    });
}
extern "C" __global__ void uniform_f64(const wg_drawing d)
{
    wg_draw<double, 2>(d, [&](const uint32_t* w, double* v) {
        for (int j = 0; j < 2; ++j) {
            v[j] = (double)(wg_pair(w + 2 * j) >> 11) * 0x1p-53;
            if (d.scaled) v[j] = fma(v[j], d.width, d.low);
        }
    });
}
extern "C" __global__ void normal_f32(const wg_drawing d)
{
    wg_draw<float, 4>(d, [&](const uint32_t* w, float* v) {
        for (int j = 0; j < 4; j += 2) {
            double z[2];
            wg_normal_f64((uint64_t)w[j] << 32, (uint64_t)w[j + 1] << 32, 0x1p-33, 0x1p-31, z);
            v[j] = (float)z[0], v[j + 1] = (float)z[1];
        }
    });
}
extern "C" __global__ void normal_f64(const wg_drawing d)
{
    wg_draw<double, 2>(d, [&](const uint32_t* w, double* v) {
        wg_normal_f64(wg_pair(w), wg_pair(w + 2), 0x1p-53, 0x1p-53, v);
    });
}
template <class T> inline void wg_choice(const wg_drawing& d)
{
    wg_draw<T, 4>(d, [&](const uint32_t* w, T* v) {
        for (int j = 0; j < 4; ++j) v[j] = w[j] <= d.last ? (T)d.low : (T)d.high;
    });
}
extern "C" __global__ void choice_f32(const wg_drawing d) { wg_choice<float>(d); }
extern "C" __global__ void choice_f64(const wg_drawing d) { wg_choice<double>(d); }
extern "C" __global__ void choice_u8(const wg_drawing d) { wg_choice<unsigned char>(d); }
template <class T> inline void wg_integers(const wg_drawing& d)
{
    wg_draw<T, 2>(d, [&](const uint32_t* w, T* v) {
        for (int j = 0; j < 2; ++j) v[j] = (T)(d.first + wg_scaled_i64(wg_pair(w + 2 * j), d.range));
    });
}
extern "C" __global__ void integers_i32(const wg_drawing d) { wg_integers<int32_t>(d); }
extern "C" __global__ void integers_i64(const wg_drawing d) { wg_integers<int64_t>(d); }
/// Words and their places.
extern "C" __global__ void words(const wg_drawing d)
{
    wg_draw<uint64_t, 2>(d, [&](const uint32_t* w, uint64_t* v) { v[0] = wg_pair(w), v[1] = wg_pair(w + 2); });
    for (wg_int i = wg_thread(); i < d.room; i += wg_threads()) {
        d.place[i] = i;
        if (i >= d.count) ((uint64_t*)d.y)[i] = ~(uint64_t)0;
    }
}
)wg";

inline std::string draws_text()
{
    std::string s = "#define UINT64_C(x) x##ULL\n";
    for (const char* name : {"block_i64", "scaled_i64", "normal_f64"}) s += cpp_helper(name, "wg_", false);
    return s + std::string(draw_text);
}

class DeviceDraw {
public:
    DeviceDraw(Gpu& gpu, const RandomDraw& what, const std::uint64_t* key, Block& out)
        : gpu_(gpu), what_(what), out_(out)
    {
        d_.y = out.data, d_.count = static_cast<long long>(out.count);
        d_.secret = key[0], d_.stream = key[1];
        if (capturing_now) d_.key = capturing_now->key;
        d_.first = what.first, d_.range = what.range;
        d_.low = what.low, d_.high = what.high, d_.width = what.width;
    }
    /// False where there is no such kernel.
    bool run()
    {
        using Form = RandomDraw::Form;
        if (out_.count == 0) return true;
        if (!Kernels::of(gpu_).has(gpu_, "draws", draws_text)) return false;
        const auto of_block = static_cast<long long>(16 / size_of(out_.dtype));
        switch (what_.form) {
        case Form::uniform:
            d_.scaled = what_.low != 0 || what_.high != 1;
            return kernel("uniform_", of_block);
        case Form::normal: return kernel("normal_", of_block);
        case Form::choice: return choice();
        case Form::integers: return kernel("integers_", 2);
        case Form::order: return order();
        case Form::key: break;
        }
        return false;
    }

private:
    bool kernel(const std::string& name, long long of_block)
    {
        const std::string full = name + row_of(out_.dtype).lane;
        run(full.c_str(), (d_.count + of_block - 1) / of_block);
        return true;
    }
    void run(const char* name, long long threads)
    {
        launch(gpu_, Kernels::of(gpu_).find(gpu_, "draws", name, draws_text), threads, d_);
    }
    /// kernels::fill_choice
    bool choice()
    {
        const double scaled = what_.p > 0.0 ? std::min(what_.p, 1.0) * 0x1p32 + 0.5 : 0.0;
        const auto limit = static_cast<std::uint64_t>(scaled);
        d_.last = limit ? static_cast<unsigned>(limit - 1) : 0U;
        if (limit == 0) d_.low = d_.high;
        return kernel("choice_", 4);
    }
    /// 0 … n − 1 in the order of a word for each.
    bool order()
    {
        if (!Kernels::of(gpu_).has(gpu_, "sort", sorting_text)) return false;
        d_.room = Sorting::room(d_.count);
        const auto scratch = [&] {
            return make_elsewhere(current_thread(), static_cast<std::uint8_t>(out_.device()), DType::int64,
                                  Shape{d_.room}, static_cast<std::size_t>(d_.room));
        };
        const Ref<Block> words = scratch(), places = scratch();
        d_.y = words->data, d_.place = places->data;
        run("words", d_.room);
        Sorting s;
        s.word = words->data, s.place = places->data, s.count = d_.room;
        sort_pairs(gpu_, s);
        gpu_.copy(out_.data, places->data, out_.bytes());
        return true;
    }

    Gpu& gpu_;
    const RandomDraw& what_;
    Block& out_;
    Drawing d_;
};

}  // namespace wengert::detail::gpu
