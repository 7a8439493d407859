// Descriptions at their limits: what is none is refused when it is first used, with its name and the read; positions and strides
// beyond 2^31; folds and scans of every type of elements.
#include "graph/c/emit_programs.hpp"

#include <sys/mman.h>

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/ops/along.hpp>
#include <wengert/io/buffers.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/view.hpp>

/// A description that a test makes up on the spot. It has no derivative.
struct Described {
    static constexpr std::string_view name = "described";
    static constexpr bool flat = true;
    std::int64_t how;  ///< the address of a function: parameters are numbers, so that they can be compared
    void describe(Index& p) const { reinterpret_cast<void (*)(Index&)>(how)(p); }
};

namespace {

template <class Out, class... X> Tensor<Out> by(void (*how)(Index&), const X&... x)
{
    return apply<Described, Out>({reinterpret_cast<std::int64_t>(how)}, Site{}, x...);
}
template <class E, class F> std::string thrown(const F& f)
{
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing was thrown";
}
Positions list(std::initializer_list<Position> of)
{
    Positions all;
    for (const Position& p : of) all.push_back(p);
    return all;
}

}  // namespace

TEST_CASE("a description that is none is refused when it is first used, with its name and the read")
{
    const Tensor<double> x = numbers<double>({3, 4}, 1);
    const auto refused = [&](void (*how)(Index&)) { return thrown<ShapeError>([&] { by<double>(how, x); }); };
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.write(i);
              p.read(0, list({i[0] - 1, i[1]}));
          }) == "[described] read 0, axis 0 of shape (3, 4): the position i0 - 1 goes from -1 to 1");
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.write(i);
              p.read(0, i);
              p.read(0, list({i[0], i[1] * 2}));
          }) == "[described] read 1, axis 1 of shape (3, 4): the position 2 i1 goes from 0 to 6");
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.write(i);
              p.read(0, list({i[0]}));
          }) == "[described] read 0: 1 positions for an array of shape (3, 4)");
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.write(i);
              p.read(1, i);
          }) == "[described] read 0: there is no operand 1 of 1");
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.write(i);
              p.read(0, list({i[0], wrap(i[1]) + 1}));
          }).find("[described] read 0, axis 1 of shape (3, 4): a position is not changed after wrap") == 0);
    CHECK(refused([](Index& p) {
              const Positions i = p.axes({2, 2, 2, 2});
              p.write(i);
              p.read(0, list({0, i[0] + i[1] + i[2] + i[3]}));
          }).find("[described] read 0, axis 1 of shape (3, 4): a position is not changed") == 0);
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.write(i);
              p.read(0, list({i[0], clamp(i[1] * (std::int64_t{1} << 60))}));
          })
              .find("[described] read 0, axis 1 of shape (3, 4): the position 1152921504606846976 i1 is too "
                    "large") == 0);
    CHECK(refused([](Index& p) { p.read(0, p.axes_of(0)); }) ==
          "[described] its description: a read before it is said where to");
    CHECK(refused([](Index& p) { p.write(p.axes_of(0)); }) ==
          "[described] its description reads nothing: each element of the result needs one");
    CHECK(refused([](Index&) {}) ==
          "[described] its description reads nothing: each element of the result needs one");
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.write(i);
              p.read(0, i);
              p.arrange({5});
          }).find("[described] what is written in shape (3, 4) has no elements for (5)") == 0);
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.scan(i[0] + 1, Scan::add);
              p.write(i);
              p.read(0, i);
          }) == "[described] its description: the scanned axis is no axis");
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.scan(i[0], Scan::recurrence);
              p.write(i);
              p.read(0, i);
          }).find("[described] a recurrence, and nothing else, has a coefficient") == 0);
    CHECK(refused([](Index& p) {
              const Positions i = p.axes_of(0);
              p.write(list({i[0] + 1, i[1]}), {3, 4});
              p.read(0, i);
          }) == "[described] write 0, axis 0 of shape (3, 4): the position i0 + 1 goes from 1 to 3");
    // nothing of that is computed, nor does a graph take it
    CHECK(thrown<ShapeError>([&] {
              auto frozen = freeze([](const Tensor<double>& t) {
                  return by<double>(
                      [](Index& p) {
                          const Positions i = p.axes_of(0);
                          p.write(i);
                          p.read(0, list({i[0] + 1, i[1]}));
                      },
                      t * 2.0);
              });
              frozen(x);
          }) == "[described] read 0, axis 0 of shape (3, 4): the position i0 + 1 goes from 1 to 3");
}

TEST_CASE("elements of another type than the result's are refused: they would be read as what they are not")
{
    const auto same = [](Index& p) {
        const Positions i = p.axes_of(0);
        p.write(i);
        p.read(0, i);
    };
    const Tensor<float> x = numbers<float>({3, 4}, 1);
    CHECK(thrown<DTypeError>([&] { by<double>(same, x); }) ==
          "[described] read 0: elements of float32 in a result of float64");
    CHECK(thrown<DTypeError>([&] {
              by<std::int64_t>(same, x);
          }).find("[described] read 0: elements of float32") == 0);
    CHECK(thrown<DTypeError>([&] {
              by<double>(
                  [](Index& p) {
                      const Positions i = p.axes_of(1);
                      p.write_into(i, 0);
                      p.read(1, i);
                  },
                  x, numbers<double>({3, 4}, 1));
          }) ==
          "[described] operand 0, which the result is first: elements of float32 in a result of float64");
    CHECK(thrown<DTypeError>([&] {
              by<float>(
                  [](Index& p) {
                      const Positions i = p.axes_of(0);
                      p.scan(i[1], Scan::first_maximum);
                      p.write(i);
                      p.read(0, i);
                  },
                  x);
          }).find("[described] the place of a maximum is of int64") == 0);
    CHECK(thrown<DTypeError>([&] {
              by<float>(
                  [](Index& p) {
                      const Positions i = p.axes_of(0);
                      p.write(i);
                      p.read(0, list({0, p.element(1, i)}));
                  },
                  x, x);
          }) == "[described] positions are elements of int64");
}

namespace {

constexpr std::int64_t n = (std::int64_t{1} << 32) + 7, far = (std::int64_t{1} << 31) + 3;

/// A vector of as many bools as no machine need have: pages are made when they are touched. `at` are true.
Tensor<bool> long_vector(std::initializer_list<std::int64_t> at)
{
    const auto bytes = static_cast<std::size_t>(n);
    void* const p =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(p != MAP_FAILED);
    auto* const elements = static_cast<bool*>(p);
    for (const std::int64_t i : at) elements[i] = true;
    return borrow(elements, {n}, std::shared_ptr<const void>(p, [bytes](void* q) { ::munmap(q, bytes); }));
}

}  // namespace

TEST_CASE("positions and strides beyond 2^31, on every executor")
{
    const Tensor<bool> x = long_vector({0, far, 2 * far - 2, n - 1, 1});
    const Tensor<std::int64_t> places = {far, 5, n - 1, -1, -far};
    using L = const Tensor<bool>&;
    const auto f = [&](L t, const Tensor<std::int64_t>& i) {
        return std::vector<Tensor<bool>>{view(t, range(0, n, far)),
                                         take(t, i, 0),
                                         take_along_axis(t, i, 0),
                                         t(far),
                                         t(n - 2),
                                         by<bool>(
                                             [](Index& p) {  // every far one
                                                 const Position k = p.axis(2);
                                                 p.write(list({k}));
                                                 p.read(0, list({k * far}));
                                             },
                                             t),
                                         by<bool>(
                                             [](Index& p) {  // from the end on, round and round
                                                 const Position k = p.axis(9);
                                                 p.write(list({k}));
                                                 p.read(0, list({wrap(n - 1 + k * far)}));
                                             },
                                             t),
                                         by<bool>(
                                             [](Index& p) {
                                                 const Position k = p.axis(4);
                                                 p.write(list({k}));
                                                 p.read(0, list({clamp(far * 5 - k * far)}));
                                             },
                                             t),
                                         by<bool>(
                                             [](Index& p) {
                                                 const Position k = p.axis(5);
                                                 p.write(list({k}));
                                                 p.read(0, list({mirror(k * far - far)}));
                                             },
                                             t),
                                         by<bool>(
                                             [](Index& p) {
                                                 const Position k = p.axis(6);
                                                 p.write(list({k}));
                                                 p.read(0, list({masked(k * far - 2 * far)}), 1.0);
                                             },
                                             t)};
    };
    const auto element = [](std::int64_t i) {
        return i == 0 || i == 1 || i == far || i == 2 * far - 2 || i == n - 1;
    };
    const auto eager = f(x, places);
    const auto expect = [&](std::size_t k, std::size_t at, bool want) {
        INFO("result " << k << ", element " << at);
        CHECK(eager[k].array()(at) == want);
    };
    for (std::size_t k : {0U, 5U})
        for (std::size_t j = 0; j < 2; ++j) expect(k, j, element(static_cast<std::int64_t>(j) * far));
    for (std::size_t k : {1U, 2U})
        for (std::size_t j = 0; j < 5; ++j) {
            const std::int64_t i = places.data()[j];
            expect(k, j, element(i < 0 ? i + n : i));
        }
    CHECK((eager[3].item() && !eager[4].item()));
    for (std::int64_t k = 0; k < 9; ++k)
        expect(6, static_cast<std::size_t>(k), element((n - 1 + k * far) % n));
    for (std::int64_t k = 0; k < 4; ++k)
        expect(7, static_cast<std::size_t>(k),
               element(std::clamp<std::int64_t>(far * 5 - k * far, 0, n - 1)));
    for (std::int64_t k = 0; k < 5; ++k) {
        std::int64_t i = k * far - far;
        while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
        expect(8, static_cast<std::size_t>(k), element(i));
    }
    for (std::int64_t k = 0; k < 6; ++k) {
        const std::int64_t i = k * far - 2 * far;
        expect(9, static_cast<std::size_t>(k), i < 0 || i >= n || element(i));
    }
    for (const Backend& backend : std::vector<Backend>{interpret, tile, native}) {
        INFO(backend.name);
        auto frozen = freeze(f, {.backend = backend, .check = false});
        frozen(x, places);
        const auto got = frozen(x, places);
        for (std::size_t k = 0; k < eager.size(); ++k) {
            INFO("result " << k);
            CHECK(same_elements(*readable(got[k].any().value), *readable(eager[k].any().value)));
        }
    }
    Program p{"far", {}, {x.any().value, places.any().value}, {}};
    p.graph = trace_graph(
        [&](const std::vector<AnyTensor>& in) {
            std::vector<AnyTensor> out;
            for (const auto& y : f(Tensor<bool>(in[0]), Tensor<std::int64_t>(in[1]))) out.push_back(y.any());
            return out;
        },
        p.inputs);
    for (const auto& y : eager) p.expected.push_back(readable(y.any().value));
    check({p});
}

namespace {

template <Combine how> void fold_rows(Index& p)
{
    const Positions i = p.axes_of(0);
    p.fold(list({i[0]}), how);
    p.read(0, i);
}
template <Combine how> void fold_columns(Index& p)
{
    const Positions i = p.axes_of(0);
    p.fold(list({i[1]}), how);
    p.read(0, i);
}
template <Scan what, bool back> void scan_rows(Index& p)
{
    const Positions i = p.axes_of(0);
    p.scan(i[1], what, back);
    p.write(i);
    p.read(0, i);
}
template <class T> std::vector<Tensor<T>> met(const Tensor<T>& x)
{
    std::vector<Tensor<T>> all;
    for (auto* how :
         {fold_rows<Combine::add>, fold_rows<Combine::multiply>, fold_rows<Combine::maximum>,
          fold_rows<Combine::minimum>, fold_columns<Combine::add>, fold_columns<Combine::multiply>,
          fold_columns<Combine::maximum>, fold_columns<Combine::minimum>, scan_rows<Scan::add, false>,
          scan_rows<Scan::multiply, true>, scan_rows<Scan::maximum, false>})
        all.push_back(by<T>(how, x));
    return all;
}
template <class T> Program met_program(std::string name, const Tensor<T>& x)
{
    return program<T>(std::move(name), {x}, [](const std::vector<Tensor<T>>& in, const auto& out) {
        for (const auto& y : met(in[0])) out(y);
        out(by<std::int64_t>(scan_rows<Scan::first_maximum, true>, in[0]));
    });
}
template <class T> Tensor<T> few(const Shape& shape)
{
    auto b = make_block(dtype_of<T>(), shape);
    for (std::size_t i = 0; i < b->count; ++i)
        b->template as<T>()[i] = static_cast<T>(static_cast<int>(i * 7 % 11) - 5);
    return Tensor<T>(AnyTensor{b, {}});
}

}  // namespace

TEST_CASE("a program's own folds and scans of every type of elements, on every executor")
{
    std::vector<Program> all;
    for (const Shape& s : {Shape{3, 4}, Shape{2, 0}, Shape{0, 2}}) {
        const std::string of = std::to_string(s[0]) + std::to_string(s[1]);
        all.push_back(met_program("f" + of, few<float>(s)));
        all.push_back(met_program("d" + of, few<double>(s)));
        all.push_back(met_program("i" + of, few<std::int32_t>(s)));
        all.push_back(met_program("l" + of, few<std::int64_t>(s)));
    }
    const Tensor<bool> truths = numbers<double>({3, 4}, 1) > 0.0;
    for (auto* how : {fold_rows<Combine::add>, scan_rows<Scan::maximum, false>})
        CHECK(thrown<DTypeError>([&] { by<bool>(how, truths); }) ==
              "[described] read 0: truth values are moved, not added or compared");
    for (const Program& p : all) {
        INFO(p.name);
        const auto compiled = compile_native(p.graph, {}), tiles = Backend(tile).compile(p.graph, {});
        CHECK(compiled->note == "");
        for (Executable* e : {compiled.get(), tiles.get()}) {
            std::vector<Ref<Block>> in = p.inputs, out;
            e->run(in, out);
            for (std::size_t k = 0; k < out.size(); ++k) {
                INFO("output " << k);
                CHECK(same_elements(*readable(out[k]), *p.expected[k]));
            }
        }
    }
    const Compiled object(all);
    if (!object.object) return;
    for (const Program& p : all) {
        std::vector<Ref<Block>> out;
        REQUIRE(object(p, p.inputs, &out) == 0);
        for (std::size_t k = 0; k < out.size(); ++k) {
            INFO(p.name << ", output " << k);
            CHECK(same_elements(*out[k], *p.expected[k]));
        }
    }
}

/// Plain C++ on whole arrays: nothing of it is known.
struct Reversed {
    static constexpr std::string_view name = "reversed";
    static constexpr bool flat = true;
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        auto y = copy_of(*x);
        std::reverse(y->template as<T>(), y->template as<T>() + y->count);
        return y;
    }
};

TEST_CASE("explain() says what is a host call, and nothing of what is described")
{
    const Tensor<double> x = numbers<double>({3, 4}, 1);
    int line = 0;
    for (const Backend& backend : std::vector<Backend>{interpret, tile, native}) {
        auto frozen = freeze(
            [&](const Tensor<double>& t) {
                line = __LINE__ + 1;
                const Site at{__builtin_FILE(), __LINE__};
                return by<double>(fold_rows<Combine::add>, exp(t)) + sum(apply<Reversed, double>({}, at, t));
            },
            {.backend = backend});
        frozen(x);
        CHECK_THAT(frozen.explain(),
                   contains("reversed at test_index_limits.cpp:" + std::to_string(line) + " is a host call"));
        CHECK(frozen.explain().find("described") == std::string::npos);
        auto other = freeze([](const Tensor<double>& t) { return by<double>(scan_rows<Scan::add, true>, t); },
                            {.backend = backend});
        other(x);
        CHECK(other.explain().find("host call") == std::string::npos);
    }
}
