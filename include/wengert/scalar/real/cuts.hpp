// ValueReads: a mode that lists the lines at which numbers left what is recorded.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "real.hpp"

namespace wengert {

/// While it lives it lists on this thread the lines where value(), or a conversion to a plain number, cut a dependence: for codes
/// that have been ported by changing types. A line of the library (lround) is that of its caller, where debug information tells.
class ValueReads {
public:
    struct Line {
        Site at;
        std::size_t count = 0;
    };
    ValueReads() : outer_(std::exchange(detail::value_reads(), &lines_)) {}
    ValueReads(const ValueReads&) = delete;
    ValueReads& operator=(const ValueReads&) = delete;
    ~ValueReads() { detail::value_reads() = outer_; }

    /// The lines so far, in the order in which they were first met.
    std::vector<Line> lines() const
    {
        std::vector<Line> out;
        for (const Site& at : lines_) {
            const auto same = [&](const Line& l) {
                return l.at.line == at.line && std::string_view(l.at.file) == at.file;
            };
            const auto found = std::find_if(out.begin(), out.end(), same);
            if (found == out.end())
                out.push_back({at, 1});
            else
                ++found->count;
        }
        return out;
    }

private:
    std::vector<Site> lines_;
    std::vector<Site>* outer_;
};

/// A line of text each: "3 times at heat.cpp:42".
inline std::ostream& operator<<(std::ostream& out, const ValueReads& reads)
{
    for (const auto& [at, count] : reads.lines())
        out << count << (count == 1 ? " time at " : " times at ")
            << (at.line ? to_string(at) : "a line that is not known") << '\n';
    return out;
}

}  // namespace wengert
