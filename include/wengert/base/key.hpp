// Keys of counter-based random numbers. A draw is a pure function of (key, position). So no state is shared, the order of drawing
// does not matter, and any part of a stream can be drawn anywhere.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace wengert {

namespace philox {

using Block = std::array<std::uint32_t, 4>;

inline constexpr std::uint32_t multiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
inline constexpr std::uint32_t weyl[2] = {0x9E3779B9u, 0xBB67AE85u};

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", section
/// 3.4): four words from a 128-bit counter, lowest word first, under a 64-bit key.
constexpr Block block(Block counter, std::uint64_t key)
{
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{multiplier[0]} * counter[0];
        const std::uint64_t b = std::uint64_t{multiplier[1]} * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(a)};
        k0 += weyl[0];
        k1 += weyl[1];
    }
    return counter;
}

}  // namespace philox

/// 126 bits of identity: `secret` is Philox's key, `stream` (62 bits) the upper half of its counter. The two
/// bits left over tell draws (0), split (1) and fold_in (2) apart, so that no child ever repeats a word that
/// a fill has used. Two children of any kind are equal by chance only, 2^-126 a pair. Use a key once, split
/// it first if it has to serve twice.
struct Key {
    std::uint64_t secret;
    std::uint64_t stream;
    /// Which key of a running trace this is, which copies keep; 0: a constant. No part of the key's value.
    std::uint64_t origin = 0;

    /// Neighbouring seeds give unrelated keys.
    explicit constexpr Key(std::uint64_t seed) : Key(philox::block({0, 0, 0, 3u << 30}, seed)) {}

    friend constexpr bool operator==(const Key& a, const Key& b)
    {
        return a.secret == b.secret && a.stream == b.stream;
    }

    /// The child number i of the kind `domain`.
    constexpr Key child(std::uint64_t i, std::uint32_t domain) const;

private:
    explicit constexpr Key(const philox::Block& b)
        : secret(b[0] | std::uint64_t{b[1]} << 32), stream((b[2] | std::uint64_t{b[3]} << 32) >> 2)
    {}
};

/// Sees what a thread makes of the keys that are inputs of a trace.
struct KeyHook {
    /// The origin of `child`, which is parent.child(i, domain).
    std::uint64_t (*on_child)(KeyHook&, const Key& parent, std::uint64_t i, std::uint32_t domain,
                              const Key& child);
};
/// The calling thread's hook or null: one for all libraries of a process.
inline constinit thread_local KeyHook* key_hook __attribute__((visibility("default"))) = nullptr;

/// Its children belong to no trace: for work that is no part of a program traced.
inline KeyHook untraced_keys{
    [](KeyHook&, const Key&, std::uint64_t, std::uint32_t, const Key&) { return std::uint64_t{0}; }};
/// The origin that was last used on a thread without a hook: another thread than the one that traces (Trace::demand_one_thread).
inline std::atomic<std::uint64_t> origin_elsewhere __attribute__((visibility("default"))) = 0;

constexpr Key Key::child(std::uint64_t i, std::uint32_t domain) const
{
    Key made(philox::block({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32),
                            static_cast<std::uint32_t>(stream),
                            static_cast<std::uint32_t>(stream >> 32) | domain << 30},
                           secret));
    if (origin != 0 && !std::is_constant_evaluated()) {
        if (key_hook)
            made.origin = key_hook->on_child(*key_hook, *this, i, domain, made);
        else
            origin_elsewhere.store(origin, std::memory_order_relaxed);
    }
    return made;
}

/// Two keys, independent of each other and of what is drawn from `key`: the first two of split(key, n).
constexpr std::pair<Key, Key> split(const Key& key) { return {key.child(0, 1), key.child(1, 1)}; }

/// n independent keys; the i-th does not depend on n.
std::vector<Key> split(const Key& key, std::size_t n);

/// The key of step, layer or worker i: any of 2^64 children, without making the others.
constexpr Key fold_in(const Key& key, std::uint64_t i) { return key.child(i, 2); }

}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/key.ipp"
#endif
