#include <wengert/cuda.hpp>
#include <wengert/eigen.hpp>
#include <wengert/cuda/write_ahead.hpp>
int main(){}