#include "graph/random/random_programs_beside.hpp"

std::unique_ptr<random_programs::Session> random_programs::session_float(const Program& p)
{
    return std::make_unique<SessionOf<float>>(p);
}
