// A rank that is lost while the others wait for it: lost_rank.py runs this. The first argument says how: exit, kill, throw.
#include <mpi.h>
#include <unistd.h>
#include <wengert/mpi.hpp>
#include <wengert/wengert.hpp>

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace mpi = wengert::mpi;
using D = wengert::Tensor<double>;

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    const std::string how = argc > 1 ? argv[1] : "";
    const mpi::Comm world(MPI_COMM_WORLD);
    const mpi::Watchdog dog(3.0);
    const auto loss = [&](const D& x) {
        const D y = mpi::allreduce(x, mpi::sum, world);
        if (world.rank() == 0 && how == "exit") _exit(3);
        if (world.rank() == 0 && how == "kill") std::raise(SIGKILL);
        if (world.rank() == 0 && how == "throw") throw std::runtime_error("rank 0 has had enough");
        return sum(mpi::allreduce(y * y, mpi::sum, world));
    };
    try {
        static_cast<void>(wengert::grad(loss)(D({1.0, 2.0})));
    } catch (const mpi::CommunicationError& e) {
        std::printf("%s\n", e.what());
        std::fflush(stdout);
        _exit(1);
    }
    MPI_Finalize();
}
