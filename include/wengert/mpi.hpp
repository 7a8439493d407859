// Gradients across the ranks of an MPI program (docs/mpi.md): communication as primitives, over the MPI that the program uses.
#pragma once

#include "mpi/average.hpp"
#include "mpi/comm.hpp"
#include "mpi/gather.hpp"
#include "mpi/halo.hpp"
#include "mpi/nonblocking.hpp"
#include "mpi/nonblocking_sum.hpp"
#include "mpi/point_to_point.hpp"
#include "mpi/reduce.hpp"
#include "mpi/reproducible_sum.hpp"
#include "mpi/scalars.hpp"
#include "mpi/trees.hpp"
#include "mpi/varying.hpp"
#include "mpi/wait.hpp"
