// The bodies of report.hpp. With WENGERT_COMPILED only wengert::compiled compiles them.
#pragma once

#include <unordered_set>

#include "../../base/separate.hpp"
#include "../report.hpp"

namespace wengert {

namespace detail {

WENGERT_INLINE std::int64_t held_bytes(const Block& b)
{
    const Block& owner = b.base ? *b.base : b;
    return static_cast<std::int64_t>(sizeof(Block) + owner.capacity);
}

}  // namespace detail

/// Linear in the number of nodes.
WENGERT_INLINE TapeReport Tape::report() const
{
    TapeReport report;
    std::unordered_set<const Block*> seen;
    std::unordered_map<std::string, std::size_t> row_of;
    for (const Node* n = first_; n; n = n->next) {
        ++report.nodes;
        const std::string key =
            std::string(n->primitive->name) + '\n' + n->at.file + ':' + std::to_string(n->at.line);
        const auto [at, fresh] = row_of.try_emplace(key, report.rows.size());
        if (fresh) report.rows.push_back({n->primitive->name, n->at});
        TapeReport::Row& row = report.rows[at->second];
        ++row.nodes;
        if (n->flags & Node::consumed) continue;
        if (extension) row.bytes += extension->bytes_of(*extension, *n);
        for (std::size_t i = 0; i <= n->input_count; ++i)
            if (const Block* b = n->saved()[i]; b && seen.insert(b->base ? b->base : b).second)
                row.bytes += detail::held_bytes(*b);
        report.saved_bytes += row.bytes;
    }
    report.saved_bytes = 0;
    for (const auto& row : report.rows) report.saved_bytes += row.bytes;
    report.node_bytes = static_cast<std::int64_t>(report.nodes * sizeof(Node));
    wengert::detail::stable_sort(report.rows, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return report;
}

WENGERT_INLINE std::ostream& operator<<(std::ostream& out, const TapeReport& r)
{
    out << r.nodes << " operations, " << r.saved_bytes << " bytes saved, " << r.node_bytes
        << " bytes of nodes\n";
    for (const auto& row : r.rows) {
        const std::string bytes = std::to_string(row.bytes), nodes = std::to_string(row.nodes);
        const std::int64_t percent = r.saved_bytes ? 100 * row.bytes / r.saved_bytes : 0;
        out << std::string(bytes.size() < 14 ? 14 - bytes.size() : 1, ' ') << bytes << "  "
            << (percent < 10    ? "  "
                : percent < 100 ? " "
                                : "")
            << percent << " %" << std::string(nodes.size() < 10 ? 10 - nodes.size() : 1, ' ') << nodes << "  "
            << row.primitive << "  " << to_string(row.at) << '\n';
    }
    return out;
}
namespace detail {

WENGERT_INLINE std::string largest_holders(const Tape& tape)
{
    const TapeReport r = tape.report();
    if (r.rows.empty() || r.rows[0].bytes == 0) return {};
    std::string text = "; the tape holds " + std::to_string(r.saved_bytes) + " bytes:";
    for (std::size_t i = 0; i < std::min<std::size_t>(r.rows.size(), 3) && r.rows[i].bytes > 0; ++i)
        text += (i ? ", " : " ") + std::to_string(r.rows[i].bytes) + " by " +
                std::string(r.rows[i].primitive) + " at " + to_string(r.rows[i].at);
    return text;
}

WENGERT_INLINE std::string holders_of_this_thread() noexcept
{
    try {
        Thread* t = this_thread;
        return t && t->tape ? largest_holders(*static_cast<const Tape*>(t->tape)) : std::string();
    } catch (...) {
        return {};
    }
}

}  // namespace detail
}  // namespace wengert
