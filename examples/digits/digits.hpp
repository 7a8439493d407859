// Handwritten digits, read from data/digits.txt, and a network that reads them: what the examples about them share.
#pragma once

#include <wengert/wengert.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace wg = wengert;
using Real = wg::Tensor<float>;
using Labels = wg::Tensor<std::int64_t>;

struct Images {
    Real pixels;    // (images, 64), from 0 to 1
    Labels labels;  // (images)
    std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
    Images at(const Labels& indices) const { return {take(pixels, indices, 0), take(labels, indices, 0)}; }
};

/// The first images. data/pack.py describes the format: a label, then A…P for 1…16 and a…z for runs of 1…26 zeros.
inline Images load(const std::filesystem::path& path,
                   std::size_t count = std::numeric_limits<std::size_t>::max())
{
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    std::vector<float> pixels;
    std::vector<std::int64_t> labels;
    for (std::string line; labels.size() < count && std::getline(file, line);) {
        labels.push_back(line.at(0) - '0');
        for (const char c : line.substr(1))
            if (c >= 'a')
                pixels.insert(pixels.end(), static_cast<std::size_t>(c - 'a' + 1), 0.0f);
            else
                pixels.push_back(static_cast<float>(c - 'A' + 1) / 16.0f);
    }
    return {Real({labels.size(), 64}, pixels), labels};
}

// Any aggregate of tensors can be differentiated.
struct Layer {
    Real weight, bias;
};
struct Network {
    std::vector<Layer> layers;
};

/// Weights of variance 2 / inputs keep the size of the signal through ReLU layers (He et al. 2015).
inline Network initial(wg::Key key, const std::vector<std::size_t>& sizes)
{
    Network net;
    const auto keys = wg::split(key, sizes.size() - 1);
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
        const Real weight = wg::normal<float>(keys[i], {sizes[i], sizes[i + 1]});
        net.layers.push_back({weight * std::sqrt(2.0 / double(sizes[i])), wg::zeros<float>({sizes[i + 1]})});
    }
    return net;
}

inline Real predict(const Network& net, const Real& pixels)
{
    Real x = pixels;
    for (std::size_t i = 0; i < net.layers.size(); ++i) {
        if (i > 0) x = relu(x);
        x = matmul(x, net.layers[i].weight) + net.layers[i].bias;
    }
    return x;  // logits: the larger, the likelier
}

inline Real loss(const Network& net, const Real& pixels, const Labels& labels)
{
    return cross_entropy(predict(net, pixels), labels);
}
