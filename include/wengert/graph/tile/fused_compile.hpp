// From a group to its program: the loop, where operands come from, combined instructions, registers.
#pragma once

#include "fused_direct.hpp"
#include "fused_streams.hpp"

namespace wengert::tiling {

namespace detail {

template <class A = xsimd::default_arch> class FusedCompiler : GroupStreams {
public:
    FusedCompiler(const Graph& g, const Layouts& layouts, const Group& group, FusedProgram& p)
        : GroupStreams(g, layouts, group, p)
    {}

    bool run()
    {
        if (!find_nodes() || !find_streams()) return false;
        find_loop();
        MicroPartition partition(g_, operations_, members_, long_enough());
        clusters_ = partition.clusters;
        machine_dtype_ = partition.dtype();
        numbers_ = partition.numbers;
        find_lives();
        choose_tile();
        choose_sources();
        if (!place_all(partition)) return false;
        find_sharing();
        p_.straight = straight();
        p_.scratch = memory_.size();
        return true;
    }

private:
    static constexpr std::size_t cache = 32768, second_cache = 262144;

    const GroupOperation& operation(ValueId v) { return operations_[members_[v]]; }

    /// Is there a block of the machine in every tile?
    bool long_enough() const
    {
        const std::size_t run = p_.packed ? std::min(p_.count, kernels::tile / 2) : p_.inner;
        return run >= MicroMachine<float, A>::block;
    }

    void find_lives()
    {
        for (std::uint32_t i = 0; i < clusters_.size(); ++i)
            for (ValueId v : clusters_[i].in) last_use_[v] = i;
        for (const Total& t : p_.totals) last_use_[t.of] = static_cast<std::uint32_t>(clusters_.size());
    }
    std::size_t register_bytes(const std::vector<ValueId>& values)
    {
        std::size_t bytes = 0;
        for (ValueId v : values)
            if (member(v) && !stream_of_.count(v) && !operation(v).narrow)
                bytes += size_of(operation(v).dtype);
        return bytes;
    }
    bool straight() const
    {
        constexpr std::size_t few = 8;  // tiles: more of them take so long that a pass costs nothing beside
        bool plain =
            p_.extents.size() == 1 && p_.tiles <= (p_.totals.empty() ? few : 1) && p_.micro_programs.empty();
        for (const Source& s : p_.streams)
            plain = plain && (s.kind == Source::linear || s.kind == Source::fixed);
        for (const Total& t : p_.totals) plain = plain && t.rows.length == p_.count;
        return plain;
    }
    /// Bytes an element of all that is alive at one time, at most.
    std::size_t live_bytes()
    {
        std::size_t bytes = 0, most = 0;
        for (const Source& s : p_.streams) most += s.size;
        const std::size_t streamed = most;
        for (std::uint32_t i = 0; i < clusters_.size(); ++i) {
            bytes += register_bytes(clusters_[i].out);
            most = std::max(most, streamed + bytes);
            std::vector<ValueId> dead;
            for (ValueId v : clusters_[i].in)
                if (last_use_[v] == i && std::find(dead.begin(), dead.end(), v) == dead.end())
                    dead.push_back(v);
            bytes -= register_bytes(dead);
        }
        return most;
    }

    /// The largest tile of which all that is alive at one time fits the first-level cache, 128 at least. A group that is
    /// nothing but one micro-program keeps no tiles. Of whole rows some, so that kernels of one element a row have something to do,
    /// as far as the caches go.
    void choose_tile()
    {
        const std::size_t bytes = live_bytes(), row = bytes * p_.inner;
        std::size_t tile = kernels::tile;
        while (tile > 128 && tile * bytes > cache) tile /= 2;
        if (one_call()) tile = p_.count;
        if (p_.resident)
            tile = p_.inner * std::max(cache / row, std::min<std::size_t>(8, second_cache / row));
        const bool arithmetic = clusters_.size() == 1 && clusters_[0].micro && p_.totals.empty();
        if (p_.packed) {
            const std::size_t rows = p_.count / p_.inner;
            p_.rows_per_tile = std::min(rows, std::max<std::size_t>(1, tile / p_.inner));
            p_.tile = p_.rows_per_tile * p_.inner;
            p_.tiles = (rows + p_.rows_per_tile - 1) / p_.rows_per_tile;
        } else {
            if (arithmetic && !gathers_any()) tile = 8192;
            const std::size_t parts = (p_.inner + tile - 1) / tile;  // of about the same size
            p_.tile = std::min(p_.inner, ((p_.inner + parts - 1) / parts + 127) / 128 * 128);
            p_.tiles = p_.count / p_.inner * ((p_.inner + p_.tile - 1) / p_.tile);
        }
        p_.fill = p_.resident ? p_.tile
                              : std::min(p_.tile, arithmetic ? MicroMachine<float, A>::block : kernels::tile);
    }
    /// A kernel, or sums, of all elements where they lie.
    bool one_call() const
    {
        if (operations_.size() + p_.totals.size() > 1 || p_.extents.size() > 1) return false;
        for (const GroupOperation& s : operations_)
            for (ValueId v : s.in)
                if (is_literal(v)) return false;
        return std::all_of(p_.streams.begin(), p_.streams.end(),
                           [this](const Source& s) { return kind_of(s) == Source::linear; });
    }
    void choose_sources()
    {
        for (Source& s : p_.streams) {
            s.kind = kind_of(s);
            if (s.kind == Source::linear) p_.streamed += p_.count * s.size;
            p_.moves = p_.moves || s.kind == Source::row;
            if (s.kind == Source::linear || s.kind == Source::row) continue;
            const std::size_t n = s.kind == Source::fixed ? p_.fill : s.narrow ? p_.rows_per_tile : p_.tile;
            s.scratch = memory_.reserve(n * s.size);
            p_.gathers = p_.gathers || s.kind == Source::gathered;
        }
    }
    Slot literal_slot(ValueId v)
    {
        const auto [it, fresh] = literal_of_.try_emplace(v, p_.literals.size());
        if (fresh) {
            const bool number = is_recipe_number(v);
            const std::size_t size = size_of(number ? machine_dtype_ : node(v).dtype);
            FusedProgram::Literal memory(
                static_cast<std::byte*>(::operator new[](p_.fill* size, std::align_val_t{64})));
            alignas(8) std::byte element[8];
            if (number) element_from(machine_dtype_, numbers_[v], element);
            detail::spread(number ? element : node(v).constant->data, size, p_.fill, memory.get());
            p_.literals.push_back(std::move(memory));
        }
        return static_cast<Slot>(it->second);
    }

    /// Places are numbered streams first, then literals, then registers: two passes, since all literals must be known.
    bool place_all(MicroPartition& partition)
    {
        for (const Cluster& cluster : clusters_)
            for (ValueId v : cluster.in)
                if (!member(v) && is_literal(v)) literal_slot(v);
        for (std::uint32_t i = 0; i < clusters_.size(); ++i)
            if (clusters_[i].micro)
                place_micro_program(i, partition.micro_nodes(clusters_[i]));
            else
                place_cluster(i);
        for (Total& t : p_.totals) {
            t.from = slot_of(t.of);
            t.whole = sum_kernel<A>(t.dtype, t.rows.mean);
            t.scratch = memory_.reserve(std::max(sizeof(SumStream<float, A>), sizeof(SumStream<double, A>)));
            t.sums = p_.sums;
            if (blocks_of(t) > 1) p_.sums += p_.count / t.rows.length * blocks_of(t) * sizeof(double);
        }
        return p_.streams.size() + p_.literals.size() + p_.registers.size() <= FusedProgram::max_slots;
    }
    static std::size_t blocks_of(const Total& t)
    {
        return with_real(t.dtype, [&]<class T>() { return SumStream<T, A>::blocks_of(t.rows.length); });
    }
    Slot slot_of(ValueId v)
    {
        if (const auto it = stream_of_.find(v); it != stream_of_.end()) return static_cast<Slot>(it->second);
        if (const auto it = register_of_.find(v); it != register_of_.end()) return it->second;
        return static_cast<Slot>(p_.streams.size() + literal_slot(v));
    }
    /// Kernels may write where they read, the machine may not: it may go over the last elements twice.
    void place_cluster(std::uint32_t i)
    {
        const Cluster& cluster = clusters_[i];
        Instruction o;
        const GroupOperation& s = operation(cluster.nodes[0]);
        o.kernel = s.kernel;
        if (s.node) o.primitive = s.node->primitive;
        o.rows = s.rows.kernel;
        o.parameter = s.rows.parameter;
        o.narrow = s.narrow;
        o.arity = static_cast<std::uint8_t>(cluster.in.size());
        for (std::size_t k = 0; k < cluster.in.size(); ++k) {
            o.in[k] = slot_of(cluster.in[k]);
            last_read_[cluster.in[k]] = position_;
        }
        free_dead(i);
        o.out = output_slot(cluster.nodes[0]);
        written_[cluster.nodes[0]] = position_++;
        p_.program.push_back(o);
    }
    void free_dead(std::uint32_t i)
    {
        for (ValueId v : clusters_[i].in) {
            const auto it = register_of_.find(v);
            if (it == register_of_.end() || last_use_[v] != i) continue;
            free_.emplace_back(it->second, register_size(v));
            register_of_.erase(it);
        }
    }
    void place_micro_program(std::uint32_t i, const std::vector<MicroNode>& nodes)
    {
        const Cluster& cluster = clusters_[i];
        FusedProgram::MicroProgram s;
        s.dtype = node(cluster.nodes[0]).dtype;
        ValueMap<std::size_t> number;
        const auto add = [&](ValueId v, Slot slot, bool out) {
            number[v] = s.at.size();
            s.at.push_back({slot, !same_everywhere(slot), out});
        };
        for (ValueId v : cluster.in) add(v, slot_of(v), false);
        for (ValueId v : cluster.out) add(v, output_slot(v), true);
        AccumulatorAllocation program(nodes, number);
        for (const auto& [v, at] : program.last_load) last_read_[v] = position_ + at;
        for (const auto& [v, at] : program.stored_at) written_[v] = position_ + at;
        position_ += static_cast<std::uint32_t>(program.ops.size());
        s.ops = std::move(program.ops);
        s.spills = program.spills;
        const std::size_t block = 8 * sizeof(typename Lane<float, A>::Register);
        s.spill = memory_.reserve(s.spills * block);
        s.pad = memory_.reserve(s.at.size() * block);
        free_dead(i);
        Instruction o;
        o.micro = static_cast<std::uint16_t>(p_.micro_programs.size());
        p_.micro_programs.push_back(std::move(s));
        p_.program.push_back(o);
    }
    bool same_everywhere(Slot slot) const
    {
        if (slot < p_.streams.size()) return p_.streams[slot].kind == Source::fixed;
        return slot < p_.streams.size() + p_.literals.size();
    }
    Slot output_slot(ValueId v)
    {
        const auto outside = stream_of_.find(v);
        return outside != stream_of_.end() ? static_cast<Slot>(outside->second) : new_register(v);
    }
    std::size_t register_size(ValueId v)
    {
        const GroupOperation& s = operation(v);
        return (s.narrow ? p_.rows_per_tile : p_.tile) * size_of(s.dtype);
    }
    Slot new_register(ValueId v)
    {
        const std::size_t size = register_size(v);
        Slot slot = no_slot;
        for (std::size_t k = free_.size(); k-- > 0 && slot == no_slot;)
            if (free_[k].second == size) {
                slot = free_[k].first;
                free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(k));
            }
        if (slot == no_slot) {
            slot = static_cast<Slot>(p_.streams.size() + p_.literals.size() + p_.registers.size());
            p_.registers.push_back(memory_.reserve(size));
        }
        register_of_[v] = slot;
        return slot;
    }

    void find_sharing()
    {
        p_.last_read.resize(group_.operands.size());
        p_.written.resize(group_.results.size());
        for (const auto& [v, k] : stream_of_) {
            const Source& s = p_.streams[k];
            if (s.kind != Source::linear || !(s.result || alone(s.number))) continue;
            const auto& times = s.result ? written_ : last_read_;
            if (const auto at = times.find(v); at != times.end())
                (s.result ? p_.written : p_.last_read)[s.number] = {at->second, s.size, s.narrow};
        }
        for (const auto& r : p_.written)
            for (const auto& k : p_.last_read)
                p_.sharing = p_.sharing || (r.time != FusedProgram::unshared && k.time <= r.time);
    }
    /// No other operand shows the same memory.
    bool alone(std::size_t operand) const
    {
        const ValueId v = group_.operands[operand];
        for (ValueId u : group_.operands)
            if (u != v && layouts_[u].root == layouts_[v].root) return false;
        const auto reads = [&](const Source& s) { return !s.result && s.number == operand; };
        return std::count_if(p_.streams.begin(), p_.streams.end(), reads) == 1;
    }

    std::vector<Cluster> clusters_;
    ValueMap<std::size_t> literal_of_;
    ValueMap<std::uint32_t> last_use_;  ///< as clusters
    ValueMap<std::uint32_t> last_read_,
        written_;  ///< as instructions, those of the machine among them
    std::uint32_t position_ = 0;
    DType machine_dtype_{};
    RecipeNumbers numbers_;
    ValueMap<Slot> register_of_;
    std::vector<std::pair<Slot, std::size_t>> free_;  ///< and their bytes
    Scratch memory_;
};

}  // namespace detail

}  // namespace wengert::tiling
