/// Tensors and structs of tensors to files and back.
#include "catch.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/base/file.hpp>
#include <wengert/io/trees.hpp>

#include <cstdio>
#include <map>
#include <optional>

using namespace wengert;
using D = Tensor<double>;

namespace {

struct Layer {
    D weight, bias;
};
struct Model {
    std::vector<Layer> layers;
    std::map<std::string, Tensor<float>> extra;
    std::optional<Tensor<std::int64_t>> labels;
    Tensor<bool> mask;
    int steps = 0;
};

/// A file name that goes when the test ends.
struct Scratch {
    std::string path;
    explicit Scratch(const std::string& name) : path("wengert_test_io_" + name) {}
    ~Scratch() { std::remove(path.c_str()); }
};

Model example()
{
    return {{{D{{1.0, 2.0}}, D{3.0}}, {D{{4.0}}, D{5.0}}},
            {{"a", Tensor<float>{1.5}}, {"b", Tensor<float>(2.5)}},
            Tensor<std::int64_t>{7, 8},
            Tensor<bool>{true, false},
            3};
}

}  // namespace

TEST_CASE("one tensor", "[io]")
{
    const Scratch file("one.npy");
    const D x = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
    save_npy(file.path, view(x, all(), range(0, 3, 2)));
    CHECK(allclose(load_npy<double>(file.path), D{{1.0, 3.0}, {4.0, 6.0}}, 0));
    CHECK_THROWS_WITH(load_npy<float>(file.path), contains("f8") && contains("float32"));
    CHECK_THROWS_AS(load_npy<float>(file.path), DTypeError);
    CHECK_THROWS_AS(load_npy<double>("there/is/none.npy"), Error);
    save_npy(file.path, zeros<float>({3, 0}));
    CHECK(load_npy<float>(file.path).shape() == Shape{3, 0});
    const std::string fortran =
        std::string("\x93NUMPY\x01\0v\0", 10) + "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 3), }";
    file::Writer empty(file.path);
    empty.write(fortran + std::string(128 - 1 - fortran.size(), ' ') + "\n");
    empty.commit();
    CHECK(load_npy<double>(file.path).shape() == Shape{0, 3});  // no memcpy from null (UBSan)
}

TEST_CASE("a struct of tensors", "[io]")
{
    const Scratch file("model.npz");
    const Model m = example();
    save_npz(file.path, m);
    Model like = example();
    like.layers[1].bias = D{0.0};
    like.extra.at("b") = Tensor<float>(0.0);
    *like.labels = Tensor<std::int64_t>{0, 0};
    like.mask = Tensor<bool>{false, false};
    like.steps = 9;
    like.layers[0].weight.requires_grad(true);
    const Model back = load_npz(file.path, like);
    CHECK(allclose(back.layers[1].bias, D{5.0}, 0));
    CHECK(allclose(back.extra.at("b"), Tensor<float>(2.5), 0));
    CHECK(allclose(*back.labels, Tensor<std::int64_t>{7, 8}));
    CHECK(back.mask(0).item());
    CHECK(back.steps == 9);
    CHECK(!back.layers[0].weight.is_leaf());
    CHECK(read_npz(file.path).contains("layers.1.weight"));
    CHECK(read_npz(file.path).contains("extra.b"));
}

TEST_CASE("a file with numbers of fields for names, as they were written before", "[io]")
{
    const Scratch file("numbers.npz");
    const Model m = example();
    std::map<std::string, D> doubles{{"0.0.0", m.layers[0].weight},
                                     {"0.0.1", m.layers[0].bias},
                                     {"0.1.0", m.layers[1].weight * 2.0},
                                     {"0.1.1", m.layers[1].bias}};
    save_npz(file.path, doubles);
    struct Layers {
        std::vector<Layer> layers;
    };
    const Layers back = load_npz(file.path, Layers{m.layers});
    CHECK(back.layers[1].weight(0, 0).item() == 8.0);
    doubles.erase("0.1.1");
    save_npz(file.path, doubles);
    CHECK_THROWS_WITH(load_npz(file.path, Layers{m.layers}), contains("'layers.1.bias'"));
}

TEST_CASE("named tensors", "[io]")
{
    const Scratch file("named.npz");
    save_npz(file.path, std::map<std::string, D>{{"x", D{1.0}}, {"y", D{{2.0}}}});
    const auto back = load_npz<double>(file.path);
    CHECK(back.size() == 2);
    CHECK(back.at("y").shape() == Shape{1, 1});
    save_npz(file.path, D{1.0, 2.0});
    CHECK(load_npz(file.path, D{0.0, 0.0})(1).item() == 2.0);
}

TEST_CASE("files of other structs are refused", "[io][errors]")
{
    const Scratch file("other.npz");
    save_npz(file.path, std::pair{D{1.0}, D{2.0, 3.0}});
    CHECK_THROWS_WITH(load_npz(file.path, std::pair{D{1.0}, D{2.0}}), contains("(2)") && contains("(1)"));
    CHECK_THROWS_AS(load_npz(file.path, std::pair{D{1.0}, Tensor<float>{2.0, 3.0}}), DTypeError);
    CHECK_THROWS_WITH(load_npz(file.path, std::vector<D>{D{0.0}, D{0.0, 0.0}, D{0.0}}), contains("no array"));
}
