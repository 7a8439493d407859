// Where memory is refused, and of files, errors name what was called and the line of the call.
#include "../catch.hpp"
#include "../lacks.hpp"

#include <cstdio>
#include <map>

#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/elementwise/math.hpp>
#include <wengert/ops/matmul.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/io/trees.hpp>

namespace wg = wengert;
using D = wg::Tensor<double>;

namespace {

using E = wg::Error;

std::string here(int line) { return "(test_lines_of_memory.cpp:" + std::to_string(line) + ")"; }

/// What `lacks` gives where one of f's first allocations from the pool fails: that of the result is among them.
template <class F> std::string refused(const F& f, const std::string& name, int line)
{
    std::string texts;
    for (std::int64_t n = 1; n <= 8; ++n) {
        wg::memory::injection = {n, 0, 1};
        const std::string text = lacks<wg::MemoryError>(f, "[" + name + "] ", here(line));
        wg::memory::injection = {};
        if (text.empty()) return "";
        texts += text + "\n";
    }
    return texts;
}

struct Scratch {
    std::string path;
    explicit Scratch(const std::string& name) : path("wengert_test_lines_" + name) {}
    ~Scratch() { std::remove(path.c_str()); }
};

}  // namespace

TEST_CASE("new tensors that find no memory have the name and the line of the call")
{
    const D x = wg::ones<double>({100}), far = wg::broadcast_to(wg::ones<double>({1}), {100});
    const wg::Key key(1);
    CHECK(refused([&] { wg::ones<double>({100}); }, "ones", __LINE__) == "");
    CHECK(refused([&] { wg::zeros<double>({100}); }, "zeros", __LINE__) == "");
    CHECK(refused([&] { wg::full<double>({100}, 2.0); }, "full", __LINE__) == "");
    CHECK(refused([&] { wg::ones_like(x); }, "ones_like", __LINE__) == "");
    CHECK(refused([&] { wg::zeros_like(x); }, "zeros_like", __LINE__) == "");
    CHECK(refused([&] { wg::full_like(x, 2.0); }, "full_like", __LINE__) == "");
    CHECK(refused([&] { wg::eye<double>(10); }, "eye", __LINE__) == "");
    CHECK(refused([&] { wg::arange<double>(100.0); }, "arange", __LINE__) == "");
    CHECK(refused([&] { wg::linspace<double>(0.0, 1.0, 100); }, "linspace", __LINE__) == "");
    CHECK(refused([&] { wg::copy(x); }, "copy", __LINE__) == "");
    CHECK(refused([&] { wg::normal<double>(key, {100}); }, "normal", __LINE__) == "");
    CHECK(refused([&] { wg::uniform<double>(key, {100}); }, "uniform", __LINE__) == "");
    CHECK(refused([&] { wg::bernoulli(key, {1000}); }, "bernoulli", __LINE__) == "");
    CHECK(refused([&] { wg::randint(key, {100}, 0, 5); }, "randint", __LINE__) == "");
    CHECK(refused([&] { wg::permutation(key, 100); }, "permutation", __LINE__) == "");
    CHECK(refused([&] { wg::dropout_mask<double>(key, {100}, 0.5); }, "dropout_mask", __LINE__) == "");
    CHECK(wg::memory::injection.fail_at == 0);
}

TEST_CASE("operations that find no memory have the name and the line of the call")
{
    const D x = wg::ones<double>({100}), m = wg::ones<double>({10, 10});
    CHECK(refused([&] { exp(x); }, "exp", __LINE__) == "");
    CHECK(refused([&] { x + 1.0; }, "add", __LINE__) == "");
    CHECK(refused([&] { matmul(m, m); }, "matmul", __LINE__) == "");
    CHECK(refused([&] { wg::flip(x, 0); }, "flip", __LINE__) == "");
    CHECK(refused([&] { wg::cast<float>(x); }, "cast", __LINE__) == "");
    CHECK(refused([&] { wg::concatenate({x, x}, 0); }, "concatenate", __LINE__) == "");
    CHECK(refused([&] { wg::stack({x, x}, 0); }, "stack", __LINE__) == "");
    const D large = wg::broadcast_to(m, {50, 10, 10});
    CHECK(refused([&] { sum(large, 0); }, "sum", __LINE__) == "");
    D y = x;  // as x sees its elements, too, a write copies them
    CHECK(refused([&] { wg::view(y, wg::range(0, 3)) = 1.0; }, "assign_view", __LINE__) == "");
    CHECK(refused([&] { wg::view(y, wg::range(0, 3)) += 1.0; }, "add_view", __LINE__) == "");
}

TEST_CASE("errors of files have the line of the call")
{
    const Scratch npy("x.npy"), npz("x.npz");
    const D x = {1.0, 2.0};
    wg::save_npy(npy.path, x);
    wg::save_npz(npz.path, x);
    const std::string none = "wengert_test_lines_none";
    CHECK(lacks<E>([&] { wg::load_npy<double>(none); }, "cannot open", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::load_npz<double>(none); }, "cannot open", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::load_npz(none, x); }, "cannot open", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::save_npy(none + "/x", x); }, "cannot create", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::save_npz(none + "/x", x); }, "cannot create", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::load_npy<double>("."); }, "directory", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::load_npy<double>(npz.path); }, "not a .npy file", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::load_npz<double>(npy.path); }, "not a zip archive", here(__LINE__)) == "");
    CHECK(lacks<wg::DTypeError>([&] { wg::load_npy<float>(npy.path); }, "f8", here(__LINE__)) == "");
    CHECK(lacks<wg::DTypeError>([&] { wg::load_npz<float>(npz.path); }, "f8", here(__LINE__)) == "");
    CHECK(lacks<wg::ShapeError>([&] { wg::load_npz(npz.path, D{1.0}); }, "shape (2)", here(__LINE__)) == "");
    CHECK(lacks<E>([&] { wg::load_npz(npz.path, std::pair(x, x)); }, "no array", here(__LINE__)) == "");
    CHECK(lacks<wg::TapeError>([&] { wg::save_npy(npy.path, D()); }, "[save_npy]", here(__LINE__)) == "");
}
