// A slow backend that gets ready while a quick one serves.
#pragma once

#include <atomic>
#include <thread>

#include "compiler.hpp"

namespace wengert::detail {

/// Runs in tiles until another thread has compiled the graph for `backend`, then as that. Its destruction waits for the
/// compiler. Where the backend fails the tiles stay, and a note says why.
class BackgroundExecutable : public Executable {
public:
    BackgroundExecutable(const Graph& g, const Backend& backend, const PlanOptions& options)
        : now_(tile.compile(g, options))
    {
        stats = now_->stats;
        thread_ = std::thread([this, g, backend, options]() noexcept {
            try {
                better_ = backend.compile(g, options);
            } catch (const std::exception& e) {
                failure_ = e.what();
            } catch (...) {
                failure_ = "an exception of an unknown type";
            }
            ready_.store(true, std::memory_order_release);
        });
    }
    BackgroundExecutable(const BackgroundExecutable&) = delete;
    BackgroundExecutable& operator=(const BackgroundExecutable&) = delete;
    ~BackgroundExecutable() override { thread_.join(); }

    std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) override
    {
        if (ready_.load(std::memory_order_acquire)) {
            ready_.store(false, std::memory_order_relaxed);
            take_over();
        }
        return now_->run(inputs, outputs);
    }

private:
    void take_over()
    {
        if (better_) {
            now_ = std::move(better_);
            stats = now_->stats;
            note = now_->note;
        } else {
            note = "the graph runs as tiles, as the backend failed: " + failure_;
        }
        news = true;
    }

    std::string failure_;
    std::unique_ptr<Executable> now_, better_;
    std::atomic<bool> ready_{false};
    std::thread thread_;
};

}  // namespace wengert::detail
