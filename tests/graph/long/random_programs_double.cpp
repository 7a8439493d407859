#include "random_programs_run.hpp"

std::string random_programs::failure_double(const Program& p) { return failure_in<double>(p); }
