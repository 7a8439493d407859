// A graph is compiled for a slow backend on another thread, while tiles run it.
#pragma once

#include <chrono>
#include <future>

#include "compiler.hpp"

namespace wengert::detail {

/// Runs in tiles until another thread has compiled the graph for `backend`, then as that. Its destruction waits for the
/// compiler. Where the backend fails the tiles stay, and a note says why.
class BackgroundExecutable : public Executable {
public:
    BackgroundExecutable(const Graph& g, const Backend& backend, const PlanOptions& options)
        : now_(Backend(tile).compile(g, options)),
          better_(std::async(std::launch::async, [=] { return backend.compile(g, options); }))
    {
        stats = now_->stats;
    }
    std::size_t run(std::vector<Ref<Block>>& inputs, std::vector<Ref<Block>>& outputs) override
    {
        if (better_.valid() && better_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
            take_over();
        return now_->run(inputs, outputs);
    }

private:
    void take_over()
    {
        const auto failed = [&](const std::string& why) {
            note = "the graph runs as tiles, as the backend failed: " + why;
        };
        try {
            now_ = better_.get();
            stats = now_->stats;
            note = now_->note;
        } catch (const std::exception& e) {
            failed(e.what());
        } catch (...) {
            failed("an exception of an unknown type");
        }
        stats_changed = true;
    }

    std::unique_ptr<Executable> now_;
    std::future<std::unique_ptr<Executable>> better_;
};

}  // namespace wengert::detail
