// The images of digits and their labels, read from data/digits.txt.
#pragma once

#include <wengert/wengert.hpp>

#include <filesystem>
#include <fstream>
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

/// data/pack.py describes the format: a label, then A…P for 1…16 and a…z for runs of 1…26 zeros.
inline Images load(const std::filesystem::path& path)
{
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    std::vector<float> pixels;
    std::vector<std::int64_t> labels;
    for (std::string line; std::getline(file, line);) {
        labels.push_back(line.at(0) - '0');
        for (const char c : line.substr(1))
            if (c >= 'a')
                pixels.insert(pixels.end(), static_cast<std::size_t>(c - 'a' + 1), 0.0f);
            else
                pixels.push_back(static_cast<float>(c - 'A' + 1) / 16.0f);
    }
    return {Real({labels.size(), 64}, pixels), labels};
}
