// A slow backend that gets ready while a quick one serves.
#pragma once

#include <atomic>
#include <thread>

#include "compiler.hpp"

namespace wengert::detail {

/// Runs in tiles until another thread has compiled the graph for `backend`, then as that. Its destruction waits for the
/// compiler. Where the backend fails the tiles stay.
class BackgroundExecutable : public Executable {
public:
    BackgroundExecutable(const Graph& g, const Backend& backend, const PlanOptions& options)
        : now_(tile.compile(g, options))
    {
        stats = now_->stats;
        thread_ = std::thread([this, g, backend, options]() noexcept {
            try {
                better_ = backend.compile(g, options);
                ready_.store(true, std::memory_order_release);
            } catch (...) {
                better_ = nullptr;
            }
        });
    }
    BackgroundExecutable(const BackgroundExecutable&) = delete;
    BackgroundExecutable& operator=(const BackgroundExecutable&) = delete;
    ~BackgroundExecutable() override { thread_.join(); }

    std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) override
    {
        if (ready_.load(std::memory_order_acquire)) {
            ready_.store(false, std::memory_order_relaxed);
            now_ = std::move(better_);
            stats = now_->stats;
            note = now_->note;
        }
        return now_->run(inputs, outputs);
    }

private:
    std::unique_ptr<Executable> now_, better_;
    std::atomic<bool> ready_{false};
    std::thread thread_;
};

}  // namespace wengert::detail
