// A long loop body in phases. A function of the library is one chain of some thirty instructions that wait for one another. A body
// with several functions holds too few independent chains at a time to keep the processor busy. So each function is computed for
// some vectors in a row, which are independent, then the next function, and last the rest of the body. Values of functions wait in
// memory that stays in the first-level cache. Cheap values are computed again in each phase. The operations on an element are the
// same, and so are its bits.
#pragma once

#include <string>
#include <vector>

#include "term_code.hpp"

namespace wengert::detail {

class LoopPhases {
public:
    /// Functions in a body that is cut; more of them would take more memory and text than they save time.
    static constexpr std::size_t least = 2, most = 8;

    /// `body`: statements in order; those that name nothing are stores.
    explicit LoopPhases(const std::vector<BodyLine>& body) : body_(body), uses_(body.size())
    {
        for (std::size_t i = 0; i < body.size(); ++i) {
            number_.push_back(body[i].function.empty() ? body.size() : functions_.size());
            if (!body[i].function.empty()) functions_.push_back(i);
        }
        if (functions_.size() < least || functions_.size() > most) return;
        for (std::size_t i = 0; i < body.size(); ++i)
            for (const std::string& name : body[i].reads)
                if (const std::size_t k = defined(name, i); k < i) uses_[i].push_back(k);
        write();
    }
    /// The phases, p0 to p`count() − 1`; none where the body is better left whole.
    std::size_t count() const noexcept { return text_.empty() ? 0 : functions_.size() + 1; }
    const std::string& text() const noexcept { return text_; }

private:
    std::size_t defined(const std::string& name, std::size_t before) const
    {
        std::size_t i = 0;
        while (i < before && body_[i].name != name) ++i;
        return i;
    }
    /// What phase p needs: its own function, or the stores, and all that these are made of, functions before it excepted.
    std::vector<bool> needed(std::size_t p) const
    {
        std::vector<bool> need(body_.size(), false);
        if (p < functions_.size()) need[functions_[p]] = true;
        for (std::size_t i = body_.size(); i-- > 0;) {
            if (p == functions_.size() && body_[i].name.empty()) need[i] = true;
            if (need[i] && !kept(i, p))
                for (const std::size_t k : uses_[i]) need[k] = true;
        }
        return need;
    }
    /// Worked out before phase p?
    bool kept(std::size_t i, std::size_t p) const { return number_[i] < p; }
    std::string place(std::size_t i) const { return "q" + std::to_string(number_[i]) + " + k * N"; }
    void write()
    {
        std::string out;
        std::size_t statements = 0;
        for (std::size_t k = 0; k < functions_.size(); ++k)
            out += "    alignas(64) " + body_[functions_[k]].function + " q" + std::to_string(k) +
                   "[N * phase_vectors];\n";
        for (std::size_t p = 0; p <= functions_.size(); ++p) {
            const std::vector<bool> need = needed(p);
            std::string at;
            out += "    const auto p" + std::to_string(p) +
                   " = [&](long j, auto c, int k) __attribute__((always_inline)) {\n";
            for (std::size_t i = 0; i < body_.size(); ++i) {
                if (!need[i]) continue;
                ++statements;
                if (kept(i, p))
                    out += "        const auto " + body_[i].name + " = load<" + body_[i].function + "v>(" +
                           place(i) + ");\n";
                else
                    append_line(out, body_[i], at);
            }
            if (p < functions_.size())
                out += "        store(" + place(functions_[p]) + ", " + body_[functions_[p]].name + ");\n";
            out += "    };\n";
        }
        // what is done again takes a part of what a function does
        if (statements <= body_.size() + 8 * functions_.size()) text_ = std::move(out);
    }

    const std::vector<BodyLine>& body_;
    std::vector<std::vector<std::size_t>> uses_;  ///< of each statement: those that it reads
    std::vector<std::size_t> functions_;          ///< statements
    std::vector<std::size_t> number_;  ///< of each statement: that among the functions, or too many
    std::string text_;
};

}  // namespace wengert::detail
