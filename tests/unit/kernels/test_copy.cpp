#include "catch.hpp"

#include <wengert/kernels/cpu/copy.hpp>

#include <random>
#include <vector>

namespace {

using Index = std::vector<std::int64_t>;

Index row_major(const Index& dims)
{
    Index strides(dims.size(), 1);
    for (std::size_t a = dims.size(); a-- > 1;) strides[a - 1] = strides[a] * dims[a];
    return strides;
}

/// Copies the slow way and through the kernel; the rest of both destinations must stay as it was.
template <class T>
bool agrees(const Index& dims, const Index& src_strides, std::int64_t src_offset, const Index& dst_strides,
            std::size_t src_size, std::size_t dst_size)
{
    std::vector<T> src(src_size), want(dst_size, T(99)), got(dst_size, T(99));
    for (std::size_t i = 0; i < src_size; ++i) src[i] = static_cast<T>(i % 90);
    std::int64_t count = 1;
    for (std::int64_t d : dims) count *= d;
    for (std::int64_t flat = 0; flat < count; ++flat) {
        std::int64_t rest = flat, s = src_offset, d = 0;
        for (std::size_t a = dims.size(); a-- > 0; rest /= dims[a]) {
            s += rest % dims[a] * src_strides[a];
            d += rest % dims[a] * dst_strides[a];
        }
        want[static_cast<std::size_t>(d)] = src[static_cast<std::size_t>(s)];
    }
    wengert::kernels::copy_strided(dims.size(), dims.data(), src_strides.data(),
                                   reinterpret_cast<const std::byte*>(src.data() + src_offset),
                                   dst_strides.data(), reinterpret_cast<std::byte*>(got.data()), sizeof(T));
    return want == got;
}

}  // namespace

TEMPLATE_TEST_CASE("permuted, broadcast, reversed and stepped copies", "[copy]", float, double, std::int8_t,
                   std::int16_t, long double)
{
    std::mt19937 random(3);
    const std::int64_t lengths[] = {1, 2, 3, 5, 8, 33, 70};
    for (int trial = 0; trial < 400; ++trial) {
        const std::size_t rank = random() % 5;
        Index dims(rank), order(rank);
        std::int64_t size = 1;
        for (std::size_t a = 0; a < rank; ++a) {
            order[a] = static_cast<std::int64_t>(a);
            dims[a] = lengths[random() % (size > 5000 ? 2 : 7)];
            size *= dims[a];
        }
        std::shuffle(order.begin(), order.end(), random);
        // The source is laid out along `order`, every `step`-th element of it is used.
        const std::int64_t step = trial % 3 == 0 ? 2 : 1;
        Index src(rank);
        std::int64_t stride = step, offset = 0;
        for (std::int64_t a : order) {
            const auto at = static_cast<std::size_t>(a);
            src[at] = stride;
            stride *= dims[at];
        }
        for (std::size_t a = 0; a < rank; ++a) {
            if (trial % 5 == 1 && a % 2 == 0) src[a] = 0;
            if (trial % 7 == 2 && a % 2 == 1) offset += src[a] * (dims[a] - 1), src[a] = -src[a];
        }
        Index dst = row_major(dims);
        if (trial % 4 == 3)
            for (std::int64_t& d : dst) d *= 2;
        CAPTURE(dims, src, dst);
        REQUIRE(agrees<TestType>(dims, src, offset, dst, static_cast<std::size_t>(stride + 1),
                                 static_cast<std::size_t>(2 * size + 1)));
    }
}

TEST_CASE("an empty shape copies nothing and rank 32 is walked", "[copy]")
{
    CHECK(agrees<float>({3, 0, 2}, {1, 1, 1}, 0, {0, 2, 1}, 4, 4));
    Index dims(32, 1), src(32, 0), dst(32, 0);
    dims[0] = dims[15] = dims[31] = 3;
    src[0] = 1, src[15] = 3, src[31] = 9;
    dst[0] = 9, dst[15] = 3, dst[31] = 1;
    CHECK(agrees<double>(dims, src, 0, dst, 27, 27));
}
