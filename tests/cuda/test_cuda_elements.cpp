// Kernels that take several elements at once, short rows, long lines: all lengths about the edges, in place and out of step, with the
// host's bits.
#include "cuda/everywhere.hpp"

namespace {

/// x where the operations of this thread are.
template <class T> Tensor<T> put(const Tensor<T>& x)
{
    return Tensor<T>(wg::AnyTensor{wg::placed(x.any().value), {}});
}
template <class F> void on(const F& f) { CHECK(same_everywhere(f) == 0); }
template <class T> Tensor<T> numbers(const wg::Shape& shape, std::uint64_t seed = 3)
{
    const wg::OnDevice host(0);
    if constexpr (std::is_floating_point_v<T>)
        return wg::normal<T>(wg::Key(seed), shape);
    else if constexpr (std::is_same_v<T, bool>)
        return wg::normal<float>(wg::Key(seed), shape) > 0.0F;
    else
        return wg::randint<T>(wg::Key(seed), shape, -9, 10);
}

}  // namespace

TEMPLATE_TEST_CASE("elements go in packs, at any length, alignment and place", "[gpu][libraries]", float,
                   double, std::int32_t, std::int64_t)
{
    using T = TestType;
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 1000, 2047, 2049, 70001}) {
        CAPTURE(n);
        const Tensor<T> x = numbers<T>({n + 3}), y = numbers<T>({n + 3}, 5);
        for (const std::int64_t skipped : {0, 1, 2, 3}) {
            const auto part = [&](const Tensor<T>& t) {
                return view(put(t), wg::range(skipped, skipped + n));
            };
            on([&] { return part(x) * part(y) + part(x); });
            on([&] { return where(part(x) > part(y), part(x), T(3)); });
            on([&] { return part(x) * T(2) + put(y)(0); });
            on([&] { return part(x) > part(y); });
            on([&] {
                Tensor<T> z = copy(put(x));
                Tensor<T> of_it = view(z, wg::range(skipped, skipped + n));
                of_it *= part(y);
                of_it += of_it;
                return z;
            });
        }
        on([&] { return wg::cast<float>(put(x)) + wg::cast<float>(put(y)) * 0.5F; });
        on([&] { return (put(x) > T(0)) && (put(y) > T(1)); });
    }
}

TEMPLATE_TEST_CASE("copies of any length, from and to any place, in line and not", "[gpu][libraries]", float,
                   double, std::int32_t, std::int64_t, bool)
{
    using T = TestType;
    for (const std::int64_t n : {1, 3, 4, 15, 16, 17, 63, 64, 65, 255, 257, 4099, 70001}) {
        CAPTURE(n);
        const Tensor<T> x = numbers<T>({n + 16}), y = numbers<T>({2 * n}, 5);
        for (const std::int64_t skipped : {0, 1, 2, 4, 16}) {
            const auto part = [&](const Tensor<T>& t) {
                return view(put(t), wg::range(skipped, skipped + n));
            };
            on([&] { return copy(part(x)); });
            on([&] { return wg::concatenate({view(put(x), wg::range(0, skipped)), part(x), put(y)}, 0); });
            on([&] { return wg::roll(part(x), 1 + skipped, 0); });
            on([&] { return wg::roll(part(x), -1 - skipped, 0); });
            on([&] {
                Tensor<T> z = copy(put(x));
                view(z, wg::range(skipped, skipped + n)) = view(put(y), wg::range(n, 2 * n));
                view(z, wg::range(0, n)) = view(z, wg::range(skipped, skipped + n));  // of its own elements
                return z;
            });
        }
        on([&] { return copy(view(put(y), wg::range(0, 2 * n, 2))); });
        on([&] { return copy(flip(put(y), 0)); });
        on([&] { return copy(wg::broadcast_to(put(x)(0), {n})); });
        on([&] { return copy(transpose(reshape(put(y), {2, n}))); });
    }
}

TEST_CASE("elements of several axes lie anywhere", "[gpu][libraries]")
{
    for (const wg::Shape& s : {wg::Shape{1, 1}, wg::Shape{3, 5}, wg::Shape{64, 33}, wg::Shape{7, 1}}) {
        const Tensor<float> x = numbers<float>(s);
        const Tensor<double> row = numbers<double>({s[1]});
        CAPTURE(wg::to_string(s));
        on([&] { return copy(transpose(put(x))); });
        on([&] { return transpose(put(x)) * transpose(put(x)); });
        on([&] { return wg::cast<double>(put(x)) + put(row); });
        on([&] { return flip(put(x), 1) - put(x); });
        on([&] { return wg::full<float>({s[0], s[1]}, 2.0F) * transpose(copy(transpose(put(x)))); });
    }
    const Tensor<float> cube = numbers<float>({5, 6, 7});
    on([&] { return transpose(put(cube), {2, 0, 1}) + transpose(put(cube), {2, 0, 1}); });
}

TEST_CASE("a division by an extent is a product and a shift", "[gpu]")
{
    using wg::detail::gpu::Division;
    const auto right = [](long long n, long long i) {
        const Division by(n);
        return static_cast<long long>(static_cast<std::uint64_t>(i) * by.times >> by.shift) == i / n;
    };
    constexpr long long most = 0x7fffffff;
    bool all = true;
    for (long long n = 1; n < 3000; ++n)
        for (const long long i :
             {0LL, 1LL, n - 1, n, n + 1, 7 * n - 1, 7 * n, most / n * n - 1, most / n * n, most})
            all = all && (i > most || right(n, i));
    for (int k = 0; k < 31; ++k)
        for (long long d = -2; d <= 2; ++d)
            for (int j = 0; j < 31; ++j)
                for (long long e = -2; e <= 2; ++e) {
                    const long long n = (1LL << k) + d, i = (1LL << j) + e;
                    all = all && (n < 1 || i < 0 || right(n, i));
                }
    for (const long long n : {641LL, 65537LL, 1000003LL, most - 1, most})
        for (long long i = 0; i < most; i += 104729) all = all && right(n, i);
    CHECK(all);
}

TEMPLATE_TEST_CASE("casts to whole numbers are the host's, also of what is none", "[gpu][libraries]", float,
                   double)
{
    using T = TestType;
    using L = std::numeric_limits<T>;
    const Tensor<T> x = {T(0),
                         T(-0.0),
                         T(1.9),
                         T(-1.9),
                         T(2147483520),
                         T(-2147483648.0),
                         T(2147483648.0),
                         T(-2147483904.0),
                         T(4e9),
                         T(-4e9),
                         T(9.2233715e18),
                         T(-9223372036854775808.0),
                         T(9223372036854775808.0),
                         T(-9.3e18),
                         T(1e30),
                         T(-1e30),
                         L::infinity(),
                         -L::infinity(),
                         L::quiet_NaN(),
                         L::denorm_min(),
                         L::max()};
    on([&] { return wg::cast<std::int32_t>(put(x)); });
    on([&] { return wg::cast<std::int64_t>(put(x)); });
    on([&] { return wg::cast<bool>(put(x)); });
    const auto f = [](const Tensor<T>& t) {
        return std::pair(wg::cast<std::int32_t>(t * T(1)), wg::cast<std::int64_t>(t * T(1)));
    };
    auto frozen = wg::freeze([&](const Tensor<T, wg::cuda>& t) {
        return std::pair(wg::cast<std::int32_t>(t * T(1)), wg::cast<std::int64_t>(t * T(1)));
    });
    for (int k = 0; k < 4; ++k) {
        const auto [small, large] = frozen(wg::to<wg::cuda>(x));
        const auto [right_small, right_large] = f(x);
        CHECK(bits(small) == bits(right_small));
        CHECK(bits(large) == bits(right_large));
    }
    // on a device the conversion of the hardware does otherwise: it is asked for within the range alone
    using namespace wg::detail;
    const auto text = [](const wg::Primitive& p) {
        const wg::DType in[] = {wg::dtype_of<T>()};
        return gpu::elementwise_text(p, in);
    };
    CHECK_THAT(text(cast_primitive<xsimd::default_arch, std::int32_t, T>), contains("wg_cast_i32(a0)"));
    CHECK_THAT(text(cast_primitive<xsimd::default_arch, std::int64_t, T>), contains("wg_cast_i64(a0)"));
}

TEMPLATE_TEST_CASE("folds of short rows, of rows of many parts and of few columns", "[gpu][libraries]", float,
                   double, std::int64_t)
{
    using T = TestType;
    const auto folds = [](const wg::Shape& shape, std::int64_t axis) {
        const Tensor<T> x = numbers<T>(shape);
        CAPTURE(wg::to_string(shape), axis);
        on([&] { return sum(put(x), {axis}); });
        on([&] { return amax(put(x), {axis}); });
        on([&] { return argmax(put(x), axis); });
        if constexpr (std::is_floating_point_v<T>) {
            on([&] { return logsumexp(put(x), {axis}) + var(put(x), {axis}); });
            on([&] { return softmax(put(x), axis); });
        }
    };
    for (std::int64_t n = 1; n < 70; n += n < 20 ? 1 : 7) folds({300, n}, 1);
    // rows of many parts: eight are joined at once, and what is left over in order
    for (const std::int64_t parts : {2, 3, 7, 8, 9, 14, 15, 17, 23, 64, 65})
        for (const std::int64_t more : {0, 1}) folds({1, parts * 2048 + more}, 1);
    // columns, sixteen elements at once, then four, then one
    for (std::int64_t n = 1; n < 40; ++n) folds({n, 70}, 0);
    for (const std::int64_t n : {271, 272, 275}) folds({n, 70}, 0);
    // parts of columns, joined by a block for some columns
    for (const std::int64_t parts : {31, 32, 33, 64, 65, 100})
        for (const std::int64_t columns : {1, 3, 33}) folds({parts * 256 + 5, columns}, 0);
    folds({2, 256 * 40, 5}, 1);
}

TEMPLATE_TEST_CASE("rows of frozen functions may be shorter than the order of their sums", "[gpu][libraries]",
                   float, double)
{
    using T = TestType;
    for (const std::int64_t n : {2, 3, 4, 5, 9, 10, 16, 17, 31, 33, 63, 65}) {
        CAPTURE(n);
        const auto f = [](const auto& x) {
            return softmax(x * T(3), 1) * var(x, {1}, true) + logsumexp(x, {1}, true);
        };
        const Tensor<T> x = numbers<T>({37, n});
        auto frozen = wg::freeze([&](const Tensor<T, wg::cuda>& t) { return f(t); });
        auto here = wg::freeze([&](const Tensor<T>& t) { return f(t); });
        for (int k = 0; k < 4; ++k) CHECK(bits(frozen(wg::to<wg::cuda>(x))) == bits(here(x)));
    }
}

TEMPLATE_TEST_CASE("scans along lines of all lengths", "[gpu][libraries]", float, double, std::int32_t,
                   std::int64_t)
{
    using T = TestType;
    const auto scans = [](const wg::Shape& shape, std::int64_t axis) {
        const Tensor<T> x = numbers<T>(shape);
        CAPTURE(wg::to_string(shape), axis);
        for (const bool reverse : {false, true}) {
            on([&] { return cumsum(put(x), axis, reverse); });
            on([&] { return cumprod(put(x), axis, reverse); });
            if constexpr (std::is_floating_point_v<T>) on([&] { return cummax(put(x), axis, reverse); });
        }
        if constexpr (std::is_floating_point_v<T>)
            on([&] {
                return wg::grad([&](const Tensor<T>& t) { return sum(cumprod(t, axis) + cummax(t, axis)); })(
                    put(x));
            });
    };
    for (const std::int64_t n : {1, 2, 127, 128, 129, 1023, 1024, 1025, 3000}) {
        scans({n}, 0);
        scans({2, n}, 1);
        scans({n, 3}, 0);
    }
    scans({2, 200, 3}, 1);
    scans({2000, 130}, 1);  // many lines
}

TEST_CASE("the text of index programs is that of one type, and scans have one of their own", "[gpu]")
{
    using namespace wg::detail::gpu;
    for (const wg::DTypeRow& row : wg::dtype_rows) {
        const auto d = static_cast<wg::DType>(&row - wg::dtype_rows);
        for (const std::string& text : {index_text(d), scan_text_of(d)}) {
            CHECK_THAT(text, contains("<" + std::string(row.c) + ">(p); }"));
            for (const wg::DTypeRow& other : wg::dtype_rows)
                if (&other != &row) CHECK_THAT(text, !contains("<" + std::string(other.c) + ">(p); }"));
        }
        CHECK_THAT(index_text(d), !contains("wg_scan"));
    }
}
