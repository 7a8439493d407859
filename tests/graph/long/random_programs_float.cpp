#include "random_programs_run.hpp"

std::string random_programs::failure_float(const Program& p) { return failure_in<float>(p); }
