// Kernels that were compiled ahead: machine code and PTX under the hash of their text, in one piece of memory that an object of the
// program's holds (the CMake target wengert::cuda_kernels). cuda/write_ahead.hpp makes it; the sources of code are in kernels.hpp.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace wengert::detail::gpu {

/// Code of one text.
struct AheadImage {
    bool ptx = false;       ///< else machine code
    int architecture = 0;   ///< 90 for compute capability 9.0
    std::string_view code;  ///< with a 0 behind it

    /// Machine code runs on later devices of the same major number, PTX on all later ones.
    bool runs_on(int device) const noexcept
    {
        return architecture <= device && (ptx || architecture / 10 == device / 10);
    }
    /// In a file: "hash ptx architecture bytes", the code, a 0.
    void write(const std::string& hash, std::string& to) const
    {
        to += hash + (ptx ? " 1 " : " 0 ") + std::to_string(architecture) + ' ' +
              std::to_string(code.size()) + '\n';
        (to += code) += '\0';
    }
};

class Ahead {
public:
    static Ahead& get()
    {
        static auto* const all = new Ahead;
        return *all;
    }
    /// Before main, or before any kernel is looked for.
    bool add(std::string_view file)
    {
        while (!file.empty()) add_image(file);
        return true;
    }
    bool empty() const noexcept { return images_.empty(); }
    /// What may run on a device, in the order in which it is tried: machine code, the nearest first, then PTX.
    std::vector<AheadImage> of(const std::string& hash, int device) const
    {
        std::vector<AheadImage> some;
        if (const auto found = images_.find(hash); found != images_.end())
            std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(some),
                         [&](const AheadImage& i) { return i.runs_on(device); });
        std::stable_sort(some.begin(), some.end(), [](const AheadImage& a, const AheadImage& b) {
            return a.ptx != b.ptx ? b.ptx : a.architecture > b.architecture;
        });
        return some;
    }

private:
    void add_image(std::string_view& file)
    {
        std::string_view line = file.substr(0, file.find('\n'));
        file.remove_prefix(line.size() + 1);
        const auto word = [&] {
            const std::string_view w = line.substr(0, line.find(' '));
            line.remove_prefix(std::min(w.size() + 1, line.size()));
            return w;
        };
        const auto number = [&] {
            const std::string_view w = word();
            std::size_t n = 0;
            std::from_chars(w.data(), w.data() + w.size(), n);
            return n;
        };
        const std::string hash(word());
        AheadImage image;
        image.ptx = number() == 1;
        image.architecture = static_cast<int>(number());
        image.code = file.substr(0, number());
        file.remove_prefix(image.code.size() + 1);
        images_[hash].push_back(image);
    }

    std::unordered_map<std::string, std::vector<AheadImage>> images_;
};

}  // namespace wengert::detail::gpu
